// Package marginal says what any part of an operation takes, and so what one more step along each of its dimensions does: work, bytes, and the cells that
// it touches.
//
// Of a kernel that tapc knows that follows from its declaration, of any other from the tags of the operation: its signature, and its MarginalCosts. It
// knows no machines. Read next: cost/price, which makes times of it.
package marginal

import (
	"slices"

	"tensortapestry.org/tapc/cost/work"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/dialects/tensorops/kernels/declaration"
	"tensortapestry.org/tapc/dialects/tensorops/kernels/instance"
	"tensortapestry.org/tapc/dialects/tensorops/reduced"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/check"
	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/zspace"
)

// CodeKnown is of costs that a file gives to an operation whose kernel's declaration says them.
const CodeKnown = "TAP0247"

// Amount is what a part of an operation takes.
type Amount struct {
	work.Count
	Type      scalar.DType // that most operations compute with
	Bytes     float64      // loaded and stored, as often as that happens
	Footprint float64      // bytes of different cells of the operands
	Memory    float64      // bytes that are held beside them
}

// minus is what a takes more than b.
func (a Amount) minus(b Amount) Amount {
	a.Count = a.Count.Minus(b.Count)
	a.Bytes, a.Footprint, a.Memory = a.Bytes-b.Bytes, a.Footprint-b.Footprint, a.Memory-b.Memory
	return a
}

// Operation is one, with the box of its dimensions: those of its index, then those that it reduces, and, of a kernel that tapc knows, then others.
type Operation struct {
	Names []string // none of a kernel that tapc does not know
	Box   zspace.Range
	rank  int                // of the index
	dims  []int              // of the instance, for each dimension of the box
	in    *instance.Instance // nil if tapc does not know the kernel
	g     *ir.Graph
	n     *ir.Node
	costs *tensorops.MarginalCosts
}

// Of looks at an operation. One whose kernel tapc does not know has a signature, an index and costs, or the error is that of the kernel.
func Of(g *ir.Graph, lib *kernels.Library, n *ir.Node) (*Operation, error) {
	o := &Operation{g: g, n: n, costs: tensorops.CostsOf(n)}
	_, known := lib.Find(n.Body.(*tensorops.Operation).Kernel)
	if !known && o.costs != nil && tensorops.SignatureOf(n) != nil && tensorops.IndexOf(n) != nil {
		o.Box = tensorops.IndexOf(n).Range.Clone()
		o.rank = o.Box.Rank()
		if r := tensorops.ReducedOf(n); r != nil {
			o.Box = r.Index(o.Box)
		}
		return o, nil
	}
	in, err := lib.BindOperation(g, n.ID)
	if err != nil {
		d, ok := err.(diag.Diagnostic)
		if ok && !known {
			err = d.WithHint("an operation with signature, index and costs needs no kernel to be priced")
		}
		return nil, err
	}
	if err := o.check(in.Decl); err != nil {
		return nil, err
	}
	o.order(in)
	return o, nil
}

// check refuses costs of a kernel that has its own.
func (o *Operation) check(d *declaration.Kernel) error {
	if o.costs == nil {
		return nil
	}
	return diag.Errorf(CodeKnown, kernels.ConstraintID, o.g.At(o.n, check.TagField(tensorops.CostsKind)), "%s has costs of its own", o.g.Name(o.n.ID)).
		Want("none, for the declaration of kernel "+d.Name+" says what it takes", "a tag")
}

// CheckOperations refuses costs of operations whose kernels tapc knows.
func CheckOperations(g *ir.Graph, lib *kernels.Library) (found diag.List) {
	for n := range g.Nodes() {
		if op, ok := n.Body.(*tensorops.Operation); ok && tensorops.CostsOf(n) != nil {
			if d, known := lib.Find(op.Kernel); known {
				o := Operation{g: g, n: n, costs: tensorops.CostsOf(n)}
				found = append(found, diag.FromError(o.check(d))...)
			}
		}
	}
	return found
}

// order puts the dims of an instance in the order of the box.
func (o *Operation) order(in *instance.Instance) {
	o.in = in
	add := func(i int) {
		d := in.Dims[i]
		o.Names, o.dims = append(o.Names, d.Name), append(o.dims, i)
		o.Box.Start, o.Box.End = append(o.Box.Start, 0), append(o.Box.End, d.Extent)
	}
	for i, d := range in.Dims {
		if d.Index {
			add(i)
		}
	}
	o.rank = len(o.dims)
	for _, i := range reduced.Dims(in) {
		add(i)
	}
	for i := range in.Dims {
		if !slices.Contains(o.dims, i) {
			add(i)
		}
	}
}

// Said gives the costs that the graph says of an operation; nil of a kernel that tapc knows.
func (o *Operation) Said() *tensorops.MarginalCosts {
	if o.in != nil {
		return nil
	}
	return o.costs
}

// Part gives what a part of the box takes.
func (o *Operation) Part(box zspace.Range) (Amount, error) {
	if o.in == nil {
		return o.said(box)
	}
	return o.declared(box)
}

// Step gives what one more step along a dimension of the box takes: that in the middle, since at the ends less may be read.
func (o *Operation) Step(dim int) (Amount, error) {
	more := o.Box.Clone()
	if n := more.End[dim] - more.Start[dim]; n > 2 {
		more.End[dim] = more.Start[dim] + n/2 + 1
	}
	less := more.Clone()
	less.End[dim]--
	a, err := o.Part(more)
	if err != nil || less.End[dim] <= less.Start[dim] {
		return a, err
	}
	b, err := o.Part(less)
	return a.minus(b), err
}

// declared counts by the declaration of the kernel.
func (o *Operation) declared(box zspace.Range) (a Amount, err error) {
	dims := zspace.Range{Start: make(zspace.Point, len(o.dims)), End: make(zspace.Point, len(o.dims))}
	for i, d := range o.dims {
		dims.Start[d], dims.End[d] = box.Start[i], box.End[i]
	}
	var touched []float64
	a.Count, a.Type, touched = work.OfInstance(o.in, dims.Shape())
	hulls, reached := map[ir.NodeID]zspace.Range{}, map[ir.NodeID]float64{}
	for i, x := range o.in.Operands {
		a.Bytes += touched[i] * float64(x.Type.Size())
		if touched[i] == 0 || dims.Empty() {
			continue
		}
		r, err := o.in.Reads(i, dims)
		if err != nil {
			return a, err
		}
		if h, ok := hulls[x.Sel.Tensor]; ok {
			r, _ = zspace.Bounding(h, r)
		}
		hulls[x.Sel.Tensor] = r
		reached[x.Sel.Tensor] += touched[i]
	}
	for id, r := range hulls {
		a.Footprint += min(cells(r), reached[id]) * float64(tensorops.TensorOf(o.g, id).Type().Size())
	}
	return a, nil
}

// said counts by the tags of the operation.
func (o *Operation) said(box zspace.Range) (a Amount, err error) {
	op, sig := o.n.Body.(*tensorops.Operation), tensorops.SignatureOf(o.n)
	if o.costs.DType != "" {
		if a.Type, err = scalar.ParseDType(o.costs.DType); err != nil {
			return a, err
		}
	}
	index := zspace.Range{Start: box.Start[:o.rank], End: box.End[:o.rank]}
	reads := func(port string, entry int, m zspace.ProjectionMap) (zspace.Range, error) {
		return tensorops.ReadsOf(o.n).Selects(port, entry, m, index)
	}
	inputs := sig.Inputs
	if r := tensorops.ReducedOf(o.n); r != nil && !slices.Equal(box.Shape()[o.rank:], o.Box.Shape()[o.rank:]) { // a part of what is reduced
		inputs = r.Inputs
		reads = func(_ string, _ int, m zspace.ProjectionMap) (zspace.Range, error) { return m.Apply(box) }
	}
	in, err := o.touches(&a, op.Inputs, inputs, reads)
	if err != nil {
		return a, err
	}
	out, err := o.touches(&a, op.Outputs, sig.Outputs, func(_ string, _ int, m zspace.ProjectionMap) (zspace.Range, error) { return m.Apply(index) })
	a.Loads, a.Stores, a.Bytes = in, out, a.Footprint
	for _, t := range o.costs.Terms {
		n := 1.0
		for _, d := range t.Over {
			n *= float64(box.End[d] - box.Start[d])
		}
		a.Products, a.Vector = a.Products+n*float64(t.Products), a.Vector+n*float64(t.Operations)
		a.Bytes, a.Memory = a.Bytes+n*float64(t.Bytes), a.Memory+n*float64(t.Memory)
	}
	return a, err
}

// touches adds the bytes that are selected of some ports, and gives how many cells these are.
func (o *Operation) touches(a *Amount, ports ir.Ports, maps ir.PortMaps, selects func(port string, entry int, m zspace.ProjectionMap) (zspace.Range, error)) (all float64, err error) {
	ports.All(func(port, entry int, s *ir.Selection) {
		t, m := tensorops.TensorOf(o.g, s.Tensor), maps.Get(ports.At(port).Name)
		if a.Type == scalar.Invalid {
			a.Type = t.Type()
		}
		if m == nil || entry >= len(m.Maps) || err != nil {
			return
		}
		var r zspace.Range
		r, err = selects(m.Name, entry, m.Maps[entry])
		all += cells(r)
		a.Footprint += cells(r) * float64(t.Type().Size())
	})
	return all, err
}

func cells(r zspace.Range) float64 {
	n, _ := r.BigSize().Float64()
	return n
}
