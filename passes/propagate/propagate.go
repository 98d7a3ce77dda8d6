// Package propagate is the pass that finds out how operations are cut from how a few tensors lie on a mesh of devices. Axes go from a tensor to the
// dimensions of the indices of operations that read or write it, and on to their other tensors, as signatures say and nothing else; so forwards and
// backwards, until nothing changes. What does not agree is resolved by a transfer, which is reported. It must not import another pass. Read next:
// links.go, then dialects/application/planfile.
package propagate

import (
	"cmp"
	"slices"

	"tensortapestry.org/tapc/dialects/application"
	"tensortapestry.org/tapc/dialects/application/cut"
	"tensortapestry.org/tapc/dialects/application/planfile"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/ir/zspace"
)

// constraint is the id under which the pass reports.
const constraint = "propagate"

// layout is how a tensor lies on the mesh. A dimension that is open may have axes added. By says for each axis which annotation put it there.
type layout struct {
	box       zspace.Range
	dims      []planfile.Axes
	open      []bool
	by        map[int]int
	annotated int // the number of its annotation, from 1
}

// operation is one whose index gets axes.
type operation struct {
	n        *ir.Node
	index    zspace.Range
	names    []string
	operands []operand
	axes     []planfile.Axes // of each dimension of the index
	by       map[int]int     // the annotation of each axis
	derived  bool            // it was signed for this
}

// propagation is the work on one graph.
type propagation struct {
	g       *ir.Graph
	plan    *planfile.Plan
	tensors map[ir.NodeID]*layout
	ops     []*operation // in an order of their dependences
}

// Run cuts the operations of a graph as the annotations of a plan say, replacing applications they had, and gives the number of applications
// made and the transfers that the layouts need.
func Run(g *ir.Graph, lib *kernels.Library, plan *planfile.Plan) (int, []Transfer, error) {
	if len(plan.Tensors) == 0 {
		return 0, nil, nil
	}
	p := &propagation{g: g, plan: plan, tensors: map[ir.NodeID]*layout{}}
	if err := p.collect(lib); err != nil {
		return 0, nil, err
	}
	if err := p.annotate(); err != nil {
		return 0, nil, err
	}
	transfers, err := p.transfers()
	if err != nil {
		return 0, nil, err
	}
	made, err := p.cut(lib)
	return made, transfers, err
}

// collect signs the operations and finds their links.
func (p *propagation) collect(lib *kernels.Library) error {
	for n := range p.g.Nodes() {
		if t, ok := n.Body.(*tensorops.Tensor); ok {
			l := &layout{box: t.Range, dims: make([]planfile.Axes, t.Range.Rank()), by: map[int]int{}}
			l.open = slices.Repeat([]bool{true}, t.Range.Rank())
			p.tensors[n.ID] = l
		}
	}
	for _, id := range ir.NewFlow(p.g, tensorops.OperationKind).Order(p.g) {
		n, op := p.g.Node(id), tensorops.OperationOf(p.g, id)
		if op.IsSource() || op.IsSink() || tensorops.IsPrecomputed(n) {
			continue
		}
		signed := tensorops.SignatureOf(n) != nil && tensorops.IndexOf(n) != nil
		if err := cut.Sign(p.g, lib, n); err != nil {
			return err
		}
		s := cut.SpaceOf(p.g, lib, n)
		o := &operation{n: n, index: s.Index, names: s.Names, axes: make([]planfile.Axes, s.Index.Rank()), by: map[int]int{}, derived: !signed}
		if err := p.link(o, op); err != nil {
			return err
		}
		p.ops = append(p.ops, o)
	}
	return nil
}

// annotate puts annotations in place and propagates them, those of the least priority first.
func (p *propagation) annotate() error {
	list := make([]int, len(p.plan.Tensors))
	for i := range list {
		list[i] = i
		if err := p.check(i); err != nil {
			return err
		}
	}
	slices.SortStableFunc(list, func(a, b int) int { return cmp.Compare(p.plan.Tensors[a].Priority, p.plan.Tensors[b].Priority) })
	for i, a := range list {
		if last := i+1 == len(list) || p.plan.Tensors[list[i+1]].Priority != p.plan.Tensors[a].Priority; last {
			p.spread(p.plan.Tensors[a].Priority)
		}
	}
	return nil
}

// check puts an annotation in place. What is annotated holds from the beginning; priorities say what is carried on first.
func (p *propagation) check(i int) error {
	a := p.plan.Tensors[i]
	refuse := func(expected, found string) error {
		return diag.Errorf("TAP0841", constraint, a.From, "the annotation of %s does not fit", a.Tensor).Want(expected, found)
	}
	var labels []string
	for n := range p.g.Nodes() {
		if n.Body.Kind() != tensorops.TensorKind {
			continue
		}
		if labels = append(labels, n.Label); n.Label != a.Tensor {
			continue
		}
		return p.place(i, p.tensors[n.ID], refuse)
	}
	d := refuse("the label of a tensor", a.Tensor).(diag.Diagnostic)
	if near, ok := diag.Nearest(a.Tensor, labels); ok {
		return d.WithHint("did you mean %q?", near)
	}
	return d
}

// cut cuts the operations that got axes, and takes signatures away from the others that had none.
func (p *propagation) cut(lib *kernels.Library) (made int, err error) {
	apps := application.ByOperation(p.g)
	for _, o := range p.ops {
		counts := make([]int64, len(o.axes))
		for j, axes := range o.axes {
			counts[j] = p.plan.Mesh.Parts(axes)
		}
		if !slices.ContainsFunc(counts, func(n int64) bool { return n > 1 }) {
			if o.derived {
				cut.Unsign(o.n)
			}
			continue
		}
		for _, a := range apps[o.n.ID] {
			p.g.Remove(a)
		}
		ids, err := cut.Operation(p.g, lib, o.n, "the plan", cut.Grid(counts...))
		if err != nil {
			return made, err
		}
		made += len(ids)
	}
	return made, nil
}
