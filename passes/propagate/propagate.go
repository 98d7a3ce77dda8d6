// Package propagate is the pass that finds out how operations are cut from how a few tensors lie on a mesh of devices. Axes go from a tensor to the
// dimensions of operations that read or write it, and on to their other tensors, as signatures say and nothing else; so forwards and
// backwards, until nothing changes. A dimension that an operation reduces carries axes where its partial results may be combined in any order: the results
// are partial then, and stay so through operations that distribute over what combines them. What does not agree is resolved by a transfer, which is
// reported. It must not import another pass. Read next: model.go, partial.go, then dialects/application/planfile.
package propagate

import (
	"cmp"
	"fmt"
	"slices"

	"tensortapestry.org/tapc/cost/machine"
	"tensortapestry.org/tapc/cost/reshard"
	"tensortapestry.org/tapc/dialects/application/cut"
	"tensortapestry.org/tapc/dialects/application/planfile"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/ir/permission"
	"tensortapestry.org/tapc/ir/zspace"
)

// Settings are what propagation depends on beside a graph and a plan.
type Settings struct {
	Library *kernels.Library
	Allow   permission.Set
	Split   Partial
	Machine *machine.Machine // that transfers are priced for; nil for none
	Kind    string           // of its devices; "" for the first
	Devices int64            // as many as the mesh has, on which applications are placed; or 1 at most, on which all are
}

// Result is what propagation found out: how all tensors lie on the mesh, how operations are cut, and which transfers that needs.
type Result struct {
	Plan       *planfile.Plan // with an annotation of each tensor that has a label
	Operations []Operation    // in an order of their dependences
	Transfers  []Transfer
	Parts      map[ir.NodeID]Part // what operations of the graph that was cut are parts of
	terms      map[ir.NodeID]*terms
	before     []*ir.Node // what parts of narrow sums read and is converted for that
}

// Part says what an operation of the graph that was cut is: one of Operations, on all of what that reduces or on the part of a number.
type Part struct {
	Operation int
	Number    int64 // -1 for all
}

// Block gives what the device of a number computes of an operation: a box of its index, and the number of the part of what it reduces.
func (r *Result) Block(operation int, device int64) (zspace.Range, int64, error) {
	o, m := &r.Operations[operation], r.Plan.Mesh
	box, err := part(m, o.Index, o.Axes[:o.Index.Rank()], device)
	number := int64(0)
	for _, axes := range append(slices.Clone(o.Axes[o.Index.Rank():]), o.Passes) {
		number = number*m.Parts(axes) + m.Place(axes, device)
	}
	return box, number, err
}

// Operation is how one is cut. Axes are those of its index and, behind them, of what it reduces; Tensors are its inputs and, behind them, its results.
type Operation struct {
	Node            ir.NodeID
	Name, Label     string
	Kernel          string
	Names           []string
	Index           zspace.Range
	Passes          planfile.Axes // along which it is on partial inputs
	Axes            []planfile.Axes
	Inputs, Outputs []Held
}

// Held is a tensor that an operation reads or writes, and the bytes of the greatest part of it that a device has.
type Held struct {
	Tensor ir.NodeID
	Bytes  float64
}

// Run cuts the operations of a graph as the annotations of a plan say, replacing applications they had, and gives the number of applications
// made and what was found out.
func Run(g *ir.Graph, plan *planfile.Plan, s Settings) (int, *Result, error) {
	if len(plan.Tensors) == 0 {
		return 0, &Result{Plan: plan}, nil
	}
	p, err := found(g, plan, s)
	if err != nil {
		return 0, nil, err
	}
	r, m := p.result(), &mover{p: p}
	if s.Machine != nil {
		if m.place, err = reshard.On(s.Machine, s.Kind, plan.Mesh); err != nil {
			return 0, nil, err
		}
	}
	if r.Transfers, err = m.transfers(); err != nil {
		return 0, nil, err
	}
	made, err := cutAll(p, r, s.Devices > 1)
	if err == nil && s.Devices > 1 {
		if err = place(g, r); err == nil {
			if err = p.spreadTerms(r); err == nil {
				err = p.convert(r)
			}
		}
	}
	return made, r, err
}

// Find gives how Run would cut the operations of a graph, which gets signatures alone. What moves it does not say, so that it takes the same for any number of devices.
func Find(g *ir.Graph, plan *planfile.Plan, s Settings) ([]Operation, error) {
	if len(plan.Tensors) == 0 {
		return nil, nil
	}
	p, err := found(g, plan, s)
	if err != nil {
		return nil, err
	}
	return p.result().Operations, nil
}

// Complete gives a plan with annotations of all tensors that have a label, and with all else that it had, which cuts operations as it did. Where annotations that are all there from the beginning
// would cut one otherwise, as it may follow several of its tensors, those that the plan had go first, or stay alone.
func Complete(g *ir.Graph, plan *planfile.Plan, s Settings) (*planfile.Plan, error) {
	if len(plan.Tensors) == 0 {
		return plan, nil
	}
	g = g.Clone() // which gets signatures
	p, err := found(g, plan, s)
	if err != nil {
		return nil, err
	}
	r := p.result()
	all, last := *plan, *plan
	all.Tensors, last.Tensors = r.Plan.Tensors, slices.Clone(plan.Tensors)
	behind := int64(0)
	for _, a := range plan.Tensors {
		behind = max(behind, a.Priority+1)
	}
	for _, a := range r.Plan.Tensors {
		if !slices.ContainsFunc(plan.Tensors, func(x planfile.Annotation) bool { return x.Tensor == a.Tensor }) {
			a.Priority = behind
			last.Tensors = append(last.Tensors, a)
		}
	}
	for _, x := range []*planfile.Plan{&all, &last} {
		operations, err := Find(g, x, s)
		if err == nil && slices.EqualFunc(operations, r.Operations, Operation.cutAs) {
			return x, nil
		}
	}
	return plan, nil
}

// cutAs says whether an operation is cut as another.
func (o Operation) cutAs(x Operation) bool {
	return o.Node == x.Node && slices.Equal(o.Passes, x.Passes) && slices.EqualFunc(o.Axes, x.Axes, slices.Equal)
}

// found propagates the annotations of a plan.
func found(g *ir.Graph, plan *planfile.Plan, s Settings) (*propagation, error) {
	if points := plan.Mesh.Devices(); s.Devices > 1 && s.Devices != points {
		return nil, diag.Errorf("TAP0846", constraint, plan.Tensors[0].From, "the plan's mesh has another number of devices").Want(fmt.Sprint(s.Devices), fmt.Sprint(points))
	}
	p := &propagation{g: g, lib: s.Library, allow: s.Allow, split: s.Split, plan: plan, tensors: map[ir.NodeID]*layout{}, producer: map[ir.NodeID]*operation{}}
	if err := p.collect(); err != nil {
		return nil, err
	}
	if err := p.annotate(); err != nil {
		return nil, err
	}
	f := &partials{p: p, readers: readersOf(p), stay: map[ir.NodeID]planfile.Axes{}}
	return p, f.find()
}

// collect signs the operations and finds their links.
func (p *propagation) collect() error {
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
		if err := cut.Sign(p.g, p.lib, n); err != nil {
			return err
		}
		s := cut.SpaceOf(p.g, p.lib, n)
		o := &operation{n: n, rank: s.Index.Rank(), box: s.Index.Clone(), names: slices.Clone(s.Names), by: map[int]int{}, derived: !signed}
		if err := p.link(o, op); err != nil {
			return err
		}
		o.axes = make([]planfile.Axes, o.box.Rank())
		p.ops = append(p.ops, o)
		for i := range o.operands {
			if o.operands[i].out {
				p.producer[o.operands[i].sel.Tensor] = o
			}
		}
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

// result says how tensors lie and operations are cut.
func (p *propagation) result() *Result {
	r := &Result{Plan: &planfile.Plan{Cuts: p.plan.Cuts, Mesh: p.plan.Mesh}}
	for n := range p.g.Nodes() {
		if l := p.tensors[n.ID]; l != nil && n.Label != "" {
			r.Plan.Tensors = append(r.Plan.Tensors, p.annotation(n.Label, l))
		}
	}
	for _, o := range p.ops {
		x := Operation{Node: o.n.ID, Name: p.g.Name(o.n.ID), Label: o.n.Label, Kernel: o.n.Body.(*tensorops.Operation).Kernel, Names: o.names,
			Index: o.index(), Axes: o.axes, Passes: o.passes}
		for i := range o.operands {
			h := Held{o.operands[i].sel.Tensor, p.held(&o.operands[i])}
			if o.operands[i].out {
				x.Outputs = append(x.Outputs, h)
			} else {
				x.Inputs = append(x.Inputs, h)
			}
		}
		r.Operations = append(r.Operations, x)
	}
	return r
}

// held is what the device with the greatest part of a tensor has.
func (p *propagation) held(x *operand) float64 {
	l, n := p.tensors[x.sel.Tensor], float64(p.size(x))
	for k := range l.dims {
		parts := p.plan.Mesh.Parts(l.dims[k])
		n *= float64((l.box.End[k] - l.box.Start[k] + parts - 1) / parts)
	}
	return n
}

// annotation says how a tensor lies, as a plan file has it.
func (p *propagation) annotation(label string, l *layout) planfile.Annotation {
	return planfile.Annotation{Tensor: label, Layout: planfile.Layout{Dims: l.dims, Open: make([]bool, len(l.dims))}, Partial: l.partial}
}
