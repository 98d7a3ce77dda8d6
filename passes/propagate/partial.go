package propagate

import (
	"slices"

	"tensortapestry.org/tapc/cost/reshard"
	"tensortapestry.org/tapc/dialects/application/planfile"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/dialects/tensorops/kernels/instance"
	"tensortapestry.org/tapc/dialects/tensorops/reduced"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/ir/scalar"
)

// partials is the search for the tensors that stay partial.
type partials struct {
	p       *propagation
	readers map[ir.NodeID][]*operation // of each tensor; nil for one that something else reads, or nobody does
	stay    map[ir.NodeID]planfile.Axes
	refused ir.NodeSet // tensors that do not
}

// find finds out which tensors stay partial: as many as the operations that read them pass on, but for those that are cheaper combined at once.
func (f *partials) find() error {
	for _, o := range f.p.ops {
		if len(o.reducing()) > 0 && (f.p.cutOtherwise(o) || !f.p.splits(o, f.p.level(o, o.rank))) { // what it reduces is whole
			clear(o.axes[o.rank:])
		}
	}
	for again := true; again; {
		f.flow()
		again = f.early()
	}
	for id, l := range f.p.tensors {
		if a := l.annotated; a > 0 && len(l.partial) > 0 && !slices.Equal(sorted(l.partial), sorted(f.stay[id])) {
			n := f.p.plan.Tensors[a-1]
			return diag.Errorf("TAP0842", constraint, n.From, "tensor %s can not be partial as it is annotated", n.Tensor).
				Want("partial along "+f.p.plan.Mesh.Names(l.partial), "partial along "+f.p.plan.Mesh.Names(f.stay[id])).
				WithHint("an operation reduces along the axis, and all that read the tensor distribute over what combines it")
		}
		l.partial = f.stay[id]
	}
	return nil
}

func sorted(a planfile.Axes) planfile.Axes {
	a = slices.Clone(a)
	slices.Sort(a)
	return a
}

// readersOf gives for each tensor the operations that read it; nil for one that something else reads, or nobody does.
func readersOf(p *propagation) map[ir.NodeID][]*operation {
	all, known := map[ir.NodeID]int{}, map[ir.NodeID][]*operation{}
	for n := range p.g.Nodes() {
		if op, ok := n.Body.(*tensorops.Operation); ok {
			op.Inputs.All(func(_, _ int, s *ir.Selection) { all[s.Tensor]++ })
		}
	}
	for _, o := range p.ops {
		for i := range o.operands {
			if x := &o.operands[i]; !x.out {
				all[x.sel.Tensor]--
				known[x.sel.Tensor] = append(known[x.sel.Tensor], o)
			}
		}
	}
	for id, n := range all {
		if n > 0 {
			delete(known, id)
		}
	}
	return known
}

// flow finds the tensors that stay partial beside those that are refused: first all that could, then without those that an operation does not pass on,
// until there are none.
func (f *partials) flow() {
	for again := true; again; {
		again = false
		clear(f.stay)
		for _, o := range f.p.ops {
			f.pass(o)
			gives := o.gives()
			for i := range o.operands {
				x := &o.operands[i]
				if !x.out || f.refused.Has(x.sel.Tensor) || f.readers[x.sel.Tensor] == nil || !f.mayStay(o, x) {
					continue
				}
				for _, a := range gives {
					if l := f.p.tensors[x.sel.Tensor]; !slices.ContainsFunc(l.dims, func(d planfile.Axes) bool { return slices.Contains(d, a) }) {
						f.stay[x.sel.Tensor] = append(f.stay[x.sel.Tensor], a)
					}
				}
			}
		}
		for _, o := range f.p.ops {
			for i := range o.operands {
				if t := o.operands[i].sel.Tensor; !o.operands[i].out && len(f.stay[t]) > 0 && !contains(o.passes, f.stay[t]) && !f.refused.Has(t) {
					f.refused.Add(t)
					again = true
				}
			}
		}
	}
}

// mayStay says whether a result of an operation may be partial: it is all of its tensor, at 0, and no annotation says that it is not.
func (f *partials) mayStay(o *operation, x *operand) bool {
	l, results := f.p.tensors[x.sel.Tensor], 0
	for i := range o.operands {
		if o.operands[i].out {
			results++
		}
	}
	return (results == 1 && o.wide == 0 || len(o.reducing()) == 0) && x.sel.Range().Equal(l.box) && !slices.ContainsFunc(l.box.Start, func(n int64) bool { return n != 0 }) &&
		(l.annotated == 0 || len(l.partial) > 0)
}

// pass finds out along which axes an operation passes on that its inputs are partial.
func (f *partials) pass(o *operation) {
	o.passes, o.joined = nil, false
	var axes planfile.Axes
	for i := range o.operands {
		for _, a := range f.stay[o.operands[i].sel.Tensor] {
			if !o.operands[i].out && !slices.Contains(axes, a) {
				axes = append(axes, a)
			}
		}
	}
	for _, a := range axes {
		if o.in != nil && !f.p.cutOtherwise(o) && f.distributes(o, a) {
			o.passes = append(o.passes, a)
		}
	}
}

// distributes says whether an operation passes an axis on: it distributes over what combines the inputs that are partial along it, and no other input is cut
// along it, nor the operation.
func (f *partials) distributes(o *operation, axis int) bool {
	uses := func(d planfile.Axes) bool { return slices.Contains(d, axis) }
	if slices.ContainsFunc(o.axes, uses) {
		return false
	}
	by := scalar.NoOp
	for i := range o.operands {
		x := &o.operands[i]
		if x.out {
			continue
		}
		if !slices.Contains(f.stay[x.sel.Tensor], axis) {
			if slices.ContainsFunc(f.p.tensors[x.sel.Tensor].dims, uses) {
				return false
			}
			continue
		}
		from := f.p.producer[x.sel.Tensor].combine
		if by != scalar.NoOp && by != from {
			return false
		}
		by = from
	}
	if o.combine != scalar.NoOp && o.combine != by && len(o.reducing()) > 0 {
		return false
	}
	of := func(t ir.NodeID) bool { return slices.Contains(f.stay[t], axis) }
	if !reduced.Distributes(o.in, by, func(x *instance.Operand) bool { return of(x.Sel.Tensor) }) {
		if !joins(o.n.Body.(*tensorops.Operation), o.in, by, of) {
			return false
		}
		o.joined = true
	}
	o.combine = by
	return true
}

// early refuses the tensors that are cheaper combined where they are computed than where what is computed from them is. It says whether there are any.
func (f *partials) early() (found bool) {
	later := map[ir.NodeID]float64{} // what it takes to combine what comes of a tensor
	for _, o := range slices.Backward(f.p.ops) {
		for i := range o.operands {
			x := &o.operands[i]
			if !x.out || len(o.gives()) == 0 {
				continue
			}
			t := x.sel.Tensor
			now := reshard.Arrive(f.p.plan.Mesh, first(f.p.ways(o, x, reshard.Layout{Dims: f.p.tensors[t].dims})))
			if len(f.stay[t]) == 0 {
				later[t] = now
				continue
			}
			for _, r := range f.readers[t] {
				later[t] += f.share(r, later)
			}
			if l := f.p.tensors[t]; now < later[t] && l.annotated == 0 && !f.refused.Has(t) {
				f.refused.Add(t)
				found = true
				later[t] = now
			}
		}
	}
	return found
}

// share is what combining the results of an operation takes, for each of its partial inputs.
func (f *partials) share(o *operation, later map[ir.NodeID]float64) float64 {
	inputs, sum := 0.0, 0.0
	for i := range o.operands {
		if x := &o.operands[i]; x.out {
			sum += later[x.sel.Tensor]
		} else if len(f.stay[x.sel.Tensor]) > 0 {
			inputs++
		}
	}
	return sum / max(inputs, 1)
}
