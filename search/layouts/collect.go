package layouts

import (
	"fmt"
	"slices"
	"strings"

	"tensortapestry.org/tapc/cost/marginal"
	"tensortapestry.org/tapc/cost/price"
	"tensortapestry.org/tapc/dialects/application/cut"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/dialects/tensorops/reduced"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/permission"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/zspace"
	"tensortapestry.org/tapc/passes/propagate"
	"tensortapestry.org/tapc/passes/split"
	"tensortapestry.org/tapc/search/fusion"
	"tensortapestry.org/tapc/search/meshes"
	"tensortapestry.org/tapc/search/runs"
)

// collect finds the operations and tensors of the graph, and which of them are planned alike.
func (x *Space) collect(lib *kernels.Library) error {
	var steps []step
	known := map[string]*step{}
	for _, id := range ir.NewFlow(x.graph, tensorops.OperationKind).Order(x.graph) {
		n, op := x.graph.Node(id), tensorops.OperationOf(x.graph, id)
		if op.IsSource() || op.IsSink() || tensorops.IsPrecomputed(n) {
			continue
		}
		key := lib.Said(x.graph, n, true)
		first, ok := known[key]
		if !ok {
			s, err := x.step(lib, n, op)
			if err != nil {
				return err
			}
			first = &s
			known[key], first.like = first, first
		} else {
			n.SetTags(x.graph.Node(first.id).Tags())
		}
		steps = append(steps, first.of(n, x.graph.Name(id), op))
	}
	for _, s := range steps {
		x.line.order = append(x.line.order, s.id)
	}
	list := listed(steps)
	class, at := repeated(steps, list), map[ir.NodeID]int{}
	for i, s := range steps {
		at[s.id] = i
	}
	unstored := fusion.Unstored(x.graph, lib, func(op ir.NodeID) bool { i, ok := at[op]; return ok && list.Repeats.Near(i) })
	list.Mark(func(tensor int) bool { return unstored.Has(ir.NodeID(tensor)) })
	x.line.staged(list)
	x.classify(steps, class)
	x.uses(steps, class)
	crossings(x, steps)
	x.alive(list, steps)
	for _, o := range x.ops {
		o.cuts = meshes.Assignments(x.meshes, o.extents(), func(d int) bool { return o.dims[d].free })
	}
	for _, t := range x.tensors {
		t.keeps = meshes.Assignments(x.meshes, t.extents, func(int) bool { return true })
	}
	x.route()
	join(x, steps, list, unstored)
	return nil
}

// of is the step of an operation that is equal, but for its names.
func (s *step) of(n *ir.Node, name string, op *tensorops.Operation) step {
	o := *s.op
	o.name = name
	out := step{id: n.ID, op: &o, like: s}
	for _, a := range o.operands {
		ports := &op.Inputs
		if a.out {
			ports = &op.Outputs
		}
		out.tensors = append(out.tensors, ports.At(a.port).Sel[a.entry].Tensor)
	}
	return out
}

// step looks at one operation.
func (x *Space) step(lib *kernels.Library, n *ir.Node, op *tensorops.Operation) (step, error) {
	s := step{id: n.ID, op: &operation{name: x.graph.Name(n.ID)}}
	if err := cut.Sign(x.graph, lib, n); err != nil {
		return s, err
	}
	o, err := marginal.Of(x.graph, lib, n)
	if err != nil {
		return s, err
	}
	all, err := o.Part(o.Box)
	if err != nil {
		return s, err
	}
	s.op.work = price.Operation{Count: all.Count, Type: all.Type, Matrix: x.settings.Allow.Has(permission.TF32)}
	if o.Said() != nil {
		s.op.said = o
	}
	tag, err := reducedOf(x.graph, lib, n)
	if err != nil {
		return s, err
	}
	space := cut.SpaceOf(x.graph, lib, n)
	for j, name := range space.Names {
		s.op.dims = append(s.op.dims, dimension{name: name, extent: space.Index.End[j] - space.Index.Start[j], free: true})
	}
	if err := s.operands(x.graph, n, op, space.Index, tag); err != nil {
		return s, err
	}
	s.op.wide = wide(x.graph, op, tag)
	s.op.freedom(x, tag, func(name string) bool { return split.Divisible(x.graph, lib, n, name) == nil })
	return s, nil
}

// wide says how many times as large as the elements of an operation's results those of its partial ones are: narrow floats are summed in wider ones, and rounded once.
func wide(g *ir.Graph, op *tensorops.Operation, tag *tensorops.Reduced) int {
	d := tensorops.TensorOf(g, op.Outputs.At(0).Sel[0].Tensor).Type()
	if tag == nil || !reduced.Rounded(scalar.Add, d) || tag.Dimensions[0].Combine != "sum" && tag.Dimensions[0].Combine != "prod" {
		return 1
	}
	return d.Wide().Size() / max(d.Size(), 1)
}

// reducedOf gives what an operation reduces; nil if it reduces nothing, or has a kernel that is not known and so can not be cut along it.
func reducedOf(g *ir.Graph, lib *kernels.Library, n *ir.Node) (*tensorops.Reduced, error) {
	in, err := lib.BindOperation(g, n.ID)
	if err != nil {
		return nil, nil
	}
	return reduced.Of(in)
}

// operands finds what an operation reads and writes, and along what.
func (s *step) operands(g *ir.Graph, n *ir.Node, op *tensorops.Operation, index zspace.Range, tag *tensorops.Reduced) (fault error) {
	sig, reads := tensorops.SignatureOf(n), tensorops.ReadsOf(n)
	wide := index
	if tag != nil {
		wide = tag.Index(index)
	}
	for _, out := range []bool{true, false} {
		ports, maps := op.Inputs, sig.Inputs
		if out {
			ports, maps = op.Outputs, sig.Outputs
		}
		ports.All(func(port, entry int, sel *ir.Selection) {
			name := ports.At(port).Name
			m := maps.Get(name)
			if fault != nil || m == nil || entry >= len(m.Maps) {
				return
			}
			body := tensorops.TensorOf(g, sel.Tensor)
			box := sel.Range()
			a := operand{out: out, port: port, entry: entry, dims: slices.Repeat([]int{-1}, box.Rank()), halo: make([]int64, box.Rank()),
				bytes: cells(box) * float64(sizeOf(body.Type()))}
			if !out && body.Type().IsFloat() && body.Type().Bits() < 32 {
				s.op.work.Narrow = body.Type()
			}
			if box.Equal(body.Range) {
				boxOf := func(b zspace.Range) (zspace.Range, error) {
					if out {
						return (*tensorops.Reads)(nil).Selects(name, entry, m.Maps[entry], b)
					}
					return reads.Selects(name, entry, m.Maps[entry], b)
				}
				if a.dims, fault = propagate.Along(index, box.Rank(), boxOf); fault == nil {
					a.halos(index, boxOf)
				}
				if fault == nil && !out && tag != nil {
					fault = a.reduced(tag, wide, index.Rank(), name, entry)
				}
			}
			s.op.operands = append(s.op.operands, a)
		})
	}
	return fault
}

// reduced finds the reduced dimensions that go along dimensions of an input which no dimension of the index does.
func (a *operand) reduced(tag *tensorops.Reduced, wide zspace.Range, rank int, port string, entry int) error {
	m := tag.Inputs.Get(port)
	if m == nil || entry >= len(m.Maps) {
		return nil
	}
	all, err := propagate.Along(wide, len(a.dims), m.Maps[entry].Apply)
	if err != nil {
		return err
	}
	for k, j := range all {
		if a.dims[k] < 0 && j >= rank {
			a.dims[k] = j
		}
	}
	return nil
}

// halos finds what two halves of an index both read.
func (a *operand) halos(index zspace.Range, boxOf func(zspace.Range) (zspace.Range, error)) {
	for k, j := range a.dims {
		if j < 0 {
			continue
		}
		low, high := index.Clone(), index.Clone()
		low.End[j] = index.Start[j] + (index.End[j]-index.Start[j])/2
		high.Start[j] = low.End[j]
		first, err := boxOf(low)
		second, bad := boxOf(high)
		if err == nil && bad == nil {
			a.halo[k] = max(0, first.End[k]-second.Start[k])
		}
	}
}

// freedom says along which dimensions an operation can be cut: those of the index along which all results go, and those that are reduced once, by
// what may be combined in another order.
func (o *operation) freedom(x *Space, tag *tensorops.Reduced, divisible func(name string) bool) {
	for j := range o.dims {
		for _, a := range o.operands {
			if a.out && !slices.Contains(a.dims, j) {
				o.dims[j].free = false
			}
		}
	}
	if tag == nil {
		return
	}
	for _, d := range tag.Dimensions {
		exact := d.Combine != "sum" && d.Combine != "prod" || !o.work.Type.IsFloat()
		// With stages, a plan can not say where partial results are.
		once := x.line.stages == 1 && !strings.Contains(d.Combine, ",") && d.Combine != tensorops.LogSumExp && d.Combine != tensorops.Moments
		free := !d.Stored && once && (exact || x.settings.Allow.Has(permission.Reassociate)) && x.settings.has(Reduced)
		along := slices.ContainsFunc(o.operands, func(a operand) bool { return slices.Contains(a.dims, len(o.dims)) })
		o.dims = append(o.dims, dimension{name: d.Name, extent: d.Extent, reduced: true, free: free && along && d.Extent > 1 && divisible(d.Name)})
	}
}

// classify makes the classes: of operations by the numbers that they have, of tensors by who makes or first reads them.
func (x *Space) classify(steps []step, class []int) {
	numbers := runs.Numbers[int]{}
	for i := range steps {
		c, fresh := numbers.Of(class[i])
		if fresh {
			x.ops = append(x.ops, steps[i].op)
		}
		x.ops[c].count++
		x.found.opOf[steps[i].id], class[i] = member{c, steps[i].tensors}, c
	}
}

// uses finds the tensors of operands, makers first.
func (x *Space) uses(steps []step, class []int) {
	type maker struct {
		use
		leaf bool
	}
	classes, numbers := runs.Numbers[maker]{}, runs.Numbers[edge]{}
	for _, out := range []bool{true, false} {
		for i, s := range steps {
			for k, a := range s.op.operands {
				id := s.tensors[k]
				if _, known := x.found.tensorOf[id]; known || a.out != out {
					continue
				}
				key := maker{use{class[i], k}, !out}
				c, fresh := classes.Of(key)
				if fresh {
					x.tensors = append(x.tensors, x.tensor(id, key.use, !out))
				}
				x.tensors[c].count++
				x.found.tensorOf[id] = c
			}
		}
	}
	for i, s := range steps {
		for k, id := range s.tensors {
			e := edge{use{class[i], k}, x.found.tensorOf[id]}
			n, fresh := numbers.Of(e)
			if fresh {
				x.edges, x.times = append(x.edges, e), append(x.times, 0)
			}
			x.times[n]++
			steps[i].edges = append(steps[i].edges, n)
		}
	}
}

func (x *Space) tensor(id ir.NodeID, made use, leaf bool) *tensor {
	body := tensorops.TensorOf(x.graph, id)
	t := &tensor{name: x.graph.Name(id), made: made, leaf: leaf, bytes: cells(body.Range) * float64(sizeOf(body.Type()))}
	for d := range body.Range.Start {
		t.extents = append(t.extents, body.Range.End[d]-body.Range.Start[d])
	}
	return t
}

func sizeOf(d scalar.DType) int { return max(d.Size(), 1) }

// alive finds what lives while each operation runs on the devices of its stage, beside inputs and constants.
func (x *Space) alive(list *runs.List, steps []step) {
	class := func(tensor int) int {
		c := x.found.tensorOf[ir.NodeID(tensor)]
		if x.tensors[c].leaf {
			return -1
		}
		return c
	}
	spots, ends := list.Lives(x.line.stageOf, class)
	seen := map[string]bool{}
	for i, s := range steps {
		waits(x, &s, ends[i])
		p := spot{edges: s.edges, Spot: spots[i]}
		if key := fmt.Sprint(p); !seen[key] {
			seen[key] = true
			x.spots = append(x.spots, p)
		}
	}
}

// cells is how many cells a box has.
func cells(r zspace.Range) float64 {
	n := 1.0
	for d := range r.Start {
		n *= float64(max(0, r.End[d]-r.Start[d]))
	}
	return n
}
