package layouts

import (
	"fmt"
	"slices"

	"tensortapestry.org/tapc/dialects/application/cut"
	"tensortapestry.org/tapc/dialects/application/planfile"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/ir/permission"
	"tensortapestry.org/tapc/passes/propagate"
	"tensortapestry.org/tapc/passes/split"
	"tensortapestry.org/tapc/search"
	"tensortapestry.org/tapc/search/meshes"
)

// Plan writes a trial as a plan file has it: the mesh, how each tensor is kept, the permissions and, where propagation would cut an operation otherwise with these, the cut.
func (x *Space) Plan(t search.Trial, lib *kernels.Library) (*planfile.Plan, error) {
	p := x.plan(t)
	out := &planfile.Plan{Permissions: x.settings.Allow}
	for axis, size := range p.tables.mesh {
		out.Mesh = append(out.Mesh, planfile.Axis{Name: string("xyz"[axis]), Size: size})
	}
	labels := x.labels()
	for n := range x.graph.Nodes() {
		c, planned := x.found.tensorOf[n.ID]
		if !planned || labels[n.Label] != 1 || n.Label == "" {
			continue
		}
		y := x.tensors[c]
		l := planfile.Layout{Dims: make([]planfile.Axes, len(y.extents)), Open: make([]bool, len(y.extents))}
		for k := range y.extents {
			l.Dims[k] = y.keeps[p.keeps[c]].Along(k)
		}
		out.Tensors = append(out.Tensors, planfile.Annotation{Tensor: n.Label, Layout: l, Priority: p.moved(c)})
	}
	if err := x.cutting(&p, lib, labels, out); err != nil || x.line.stages == 1 {
		return out, err
	}
	return out, staging(x, &p, labels, out)
}

// moved is 1 of a tensor that some operation does not read or give as it is kept, and so says last how that is cut; 0 of others.
func (p *plan) moved(tensor int) int64 {
	x := p.tables.space
	for _, i := range x.tensors[tensor].edges {
		o := x.ops[x.edges[i].op]
		if o.operands[x.edges[i].operand].needs(o, o.cuts[p.cuts[x.edges[i].op]]).layout != x.tensors[tensor].keeps[p.keeps[tensor]] {
			return 1
		}
	}
	return 0
}

// labels counts the nodes that each label and kernel names: what a plan says of one may name no other.
func (x *Space) labels() map[string]int {
	count := map[string]int{}
	for n := range x.graph.Nodes() {
		count[n.Label]++
		if op, ok := n.Body.(*tensorops.Operation); ok && op.Kernel != n.Label {
			count[op.Kernel]++
		}
	}
	return count
}

// cutting adds the cuts that do not follow from the annotations, whatever else is allowed where the plan is carried out.
func (x *Space) cutting(p *plan, lib *kernels.Library, labels map[string]int, out *planfile.Plan) error {
	strict, err := x.carried(out, propagate.Settings{Library: lib})
	if err != nil {
		return err
	}
	loose, err := x.carried(out, propagate.Settings{Library: lib, Allow: permission.Reassociate, Split: split.One})
	if err != nil {
		return err
	}
	for n := range x.graph.Nodes() {
		m, planned := x.found.opOf[n.ID]
		if !planned {
			continue
		}
		o := x.ops[m.class]
		counts := meshes.Parts(p.tables.mesh, o.cuts[p.cuts[m.class]], len(o.dims))
		how := levels(o, counts)
		found := slices.Equal(counts, whole(loose[n.ID], len(counts)))
		if found && (x.settings.Allow.Has(permission.Reassociate) || slices.Equal(counts, whole(strict[n.ID], len(counts)))) || len(how.Levels) == 0 { // a sum of all has no cut that says that it is whole
			continue
		}
		if n.Label == "" || labels[n.Label] != 1 {
			return diag.Errorf("TAP2904", "plan", x.graph.At(n, ""), "a plan can not say how %s is cut", x.graph.Name(n.ID)).
				Want("an operation with a label of its own", fmt.Sprintf("%q", n.Label))
		}
		out.Cuts = append(out.Cuts, planfile.Cut{Target: n.Label, Cut: how})
	}
	return nil
}

// levels writes a cut: reduced dimensions by name first, then those of the index in order, which may have other names in the parts.
func levels(o *operation, counts []int64) (c cut.Cut) {
	var first, second cut.Level
	for j, d := range o.dims {
		switch part := (cut.Part{Count: counts[j]}); {
		case !d.reduced:
			second.Parts = append(second.Parts, part)
		case counts[j] > 1:
			first.Names, first.Parts = append(first.Names, d.name), append(first.Parts, part)
		}
	}
	if len(first.Parts) > 0 {
		c.Levels = append(c.Levels, first)
	}
	whole := !slices.ContainsFunc(second.Parts, func(p cut.Part) bool { return p.Count > 1 })
	if len(second.Parts) > 0 && (len(first.Parts) == 0 || !whole) {
		c.Levels = append(c.Levels, second)
	}
	return c
}

// carried gives into how many parts propagation cuts each dimension of operations: those of the index, and behind them those that are reduced.
func (x *Space) carried(plan *planfile.Plan, s propagate.Settings) (map[ir.NodeID][]int64, error) {
	operations, err := propagate.Find(x.graph.Clone(), plan, s)
	if err != nil {
		return nil, err
	}
	found := map[ir.NodeID][]int64{}
	for _, o := range operations {
		for _, axes := range o.Axes {
			found[o.Node] = append(found[o.Node], plan.Mesh.Parts(axes))
		}
	}
	return found, nil
}

// whole gives of so many dimensions into how many parts each is cut, of the first of which that is known.
func whole(parts []int64, n int) []int64 {
	return append(slices.Clone(parts), slices.Repeat([]int64{1}, n-len(parts))...)
}

// staging says where a plan has its stages: on a mesh whose first axis is theirs, each operation is placed on the devices of its stage that have its block.
func staging(x *Space, p *plan, labels map[string]int, out *planfile.Plan) error {
	inner := planfile.Mesh(slices.Clone(out.Mesh))
	group := inner.Devices()
	out.Mesh = slices.Insert(out.Mesh, 0, planfile.Axis{Name: stageAxis, Size: int64(x.line.stages)})
	for i := range out.Tensors {
		for _, axes := range out.Tensors[i].Layout.Dims {
			for k := range axes {
				axes[k]++
			}
		}
	}
	out.Devices = make([]planfile.Device, out.Mesh.Devices())
	for i, id := range x.line.order {
		n, m := x.graph.Node(id), x.found.opOf[id]
		if n.Label == "" || labels[n.Label] != 1 {
			return diag.Errorf("TAP0964", "plan", x.graph.At(n, ""), "a plan can not say on which stage %s is", x.graph.Name(id)).
				Want("an operation with a label of its own", n.Label)
		}
		o := x.ops[m.class]
		a := o.cuts[p.cuts[m.class]]
		counts, where := meshes.Parts(p.tables.mesh, a, len(o.dims)), planfile.Place{Target: n.Label}
		shards := meshes.Product(counts)
		where.Shards = make([][]int64, shards)
		for d := range group {
			shard := int64(0)
			for j := range o.dims {
				shard = shard*counts[j] + inner.Place(a.Along(j), d)
			}
			where.Shards[shard] = append(where.Shards[shard], int64(x.line.stageOf[i])*group+d)
		}
		out.Place = append(out.Place, where)
	}
	return nil
}
