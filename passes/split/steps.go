package split

import (
	"slices"

	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/dialects/tensorops/kernels/instance"
	"tensortapestry.org/tapc/dialects/tensorops/reduced"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/scalar"
)

// coordinate gives the coordinate of an instance's first operand that a dim moves along.
func coordinate(in *instance.Instance, dim int) (int, bool) {
	k := slices.IndexFunc(in.Operands[0].Access.Projection, func(row []int64) bool { return row[dim] != 0 })
	return k, k >= 0 && !in.Operands[0].Decl.Out
}

// dimAt gives the dim that an instance reduces and along which a coordinate of its first operand moves.
func dimAt(in *instance.Instance, k int) (int, bool) {
	for _, d := range reduced.Dims(in) {
		if at, ok := coordinate(in, d); ok && at == k {
			return d, true
		}
	}
	return 0, false
}

// single says whether an operation has one result.
func (s *steps) single() bool {
	out := s.n.Body.(*tensorops.Operation).Outputs
	return out.Len() == 1 && len(out.At(0).Sel) == 1
}

// input gives an input by the first of its names in the kernel's declaration.
func (s *steps) input(name string) (ir.Selection, bool) {
	for _, o := range s.in.Operands {
		if !o.Decl.Out && !o.View && o.Decl.Name() == name {
			return o.Sel, true
		}
	}
	return ir.Selection{}, false
}

// result is the element type of the first result.
func (s *steps) result() scalar.DType {
	for _, o := range s.in.Operands {
		if o.Decl.Out {
			return o.Type
		}
	}
	return scalar.Invalid
}

// narrow says whether an operation has narrow floats, which reductions keep wider.
func (s *steps) narrow() bool {
	d := s.result()
	return d.IsFloat() && d != d.Wide() && s.single()
}

// cast gives a tensor in another type, itself if it has that.
func (s *steps) cast(x ir.Selection, d scalar.DType) ir.Selection {
	if s.c.typeOf(x.Tensor) == d {
		return x
	}
	return s.add("op:cast", ir.Attrs{}.With("dtype", ir.StringAttr(d.String())), one("tensor", x))
}

// wide gives an input in the type that it is computed in.
func (s *steps) wide(name string) ir.Selection {
	x, _ := s.input(name)
	return s.cast(x, s.c.typeOf(x.Tensor).Wide())
}

// widening notes the conversions to wider floats that one step alone reads: each of its parts converts what it reads.
func (s *steps) widening() {
	readers := map[ir.NodeID]int{}
	for _, m := range s.made {
		m.Body.(*tensorops.Operation).Inputs.All(func(_, _ int, sel *ir.Selection) { readers[sel.Tensor]++ })
	}
	for _, m := range s.made {
		if op := m.Body.(*tensorops.Operation); op.Kernel == "op:cast" {
			from, to := op.Inputs.At(0).Sel[0].Tensor, op.Outputs.At(0).Sel[0].Tensor
			if d := s.c.typeOf(from); d.IsFloat() && d != d.Wide() && d.Wide() == s.c.typeOf(to) && readers[to] == 1 {
				s.c.widening[to] = m
			}
		}
	}
}

// converted converts what a part of a reduction reads of narrow floats, and nothing else: its box of the operand stays narrow up to there.
func (c *cutter) converted(n *ir.Node, inputs ir.Ports) {
	inputs.All(func(_, _ int, sel *ir.Selection) {
		m := c.widening[sel.Tensor]
		if m == nil {
			return
		}
		op, box := m.Body.(*tensorops.Operation), sel.Range().Clone()
		from, whole := op.Inputs.At(0).Sel[0], op.Outputs.At(0).Sel[0].Range()
		source := box.Clone()
		for k, start := range from.Range().Start {
			source.Start[k], source.End[k] = box.Start[k]+start-whole.Start[k], box.End[k]+start-whole.Start[k]
		}
		t := c.tensor(n, c.typeOf(sel.Tensor).String(), box.Shape())
		t.Body.(*tensorops.Tensor).Range = box
		*sel = ir.Select(t.ID, box)
		c.widening[t.ID] = c.operation(n, op.Kernel, op.Params, ir.PortsOf([]ir.Port{{Name: op.Inputs.At(0).Name, Sel: []ir.Selection{ir.Select(from.Tensor, source)}}}),
			ir.PortsOf([]ir.Port{{Name: op.Outputs.At(0).Name, Sel: []ir.Selection{*sel}}}))
	})
}

// unconverted takes the conversions away that the parts of an operation have of their own.
func (c *cutter) unconverted(inputs ir.Ports) {
	inputs.All(func(_, _ int, sel *ir.Selection) {
		if m := c.widening[sel.Tensor]; m != nil {
			delete(c.widening, sel.Tensor)
			c.unmake(m)
		}
	})
}

// last puts a last step behind others if these give another type than the results have, or if nothing else was added.
func (s *steps) last(x ir.Selection) { s.cast(x, s.result()) }

// widened is the same operation on wider floats: that is how its reductions compute.
func (s *steps) widened() {
	op := s.n.Body.(*tensorops.Operation)
	var args []arg
	for _, p := range op.Inputs.Each() {
		a := arg{Name: p.Name}
		for _, sel := range p.Sel {
			if d := s.c.typeOf(sel.Tensor); d.IsFloat() {
				sel = s.cast(sel, d.Wide())
			}
			a.Sel = append(a.Sel, sel)
		}
		args = append(args, a)
	}
	s.last(s.addAll(op.Kernel, op.Params, []string{s.declared(op.Outputs.At(0).Name)}, args...)[0])
}

// number is a scalar.
func (s *steps) number(value float64, d scalar.DType) ir.Selection {
	return s.add("op:full", ir.Attrs{}.With("value", ir.FloatAttr(value)).With("shape", ir.IntsAttr()).With("dtype", ir.StringAttr(d.String())))
}

// with gives the parameters of an operation that have some names.
func (s *steps) with(names ...string) ir.Attrs {
	var out ir.Attrs
	for _, name := range names {
		if v, ok := s.n.Body.(*tensorops.Operation).Params.Get(name); ok {
			out = out.With(name, v)
		}
	}
	return out
}

// float is a parameter that is a number.
func (s *steps) float(name string) float64 {
	v, _ := s.in.Params[name].Number()
	return v
}

// two applies a kernel of two operands.
func (s *steps) two(kernel, a, b string, x, y ir.Selection) ir.Selection {
	return s.add(kernel, nil, one(a, x), one(b, y))
}

func (s *steps) sum(x, y ir.Selection) ir.Selection {
	return s.add("op:add", nil, one("tensors", x, y))
}
func (s *steps) product(x, y ir.Selection) ir.Selection {
	return s.add("op:mul", nil, one("tensors", x, y))
}
func (s *steps) less(x, y ir.Selection) ir.Selection { return s.two("op:sub", "a", "b", x, y) }
func (s *steps) by(x, y ir.Selection) ir.Selection   { return s.two("op:div", "a", "b", x, y) }

// each applies a kernel of one operand.
func (s *steps) each(kernel string, x ir.Selection) ir.Selection {
	return s.add(kernel, nil, one("tensor", x))
}

// kept is the parameters of a reduction along the operation's dimensions, which stay with size 1 if keep says so or the operation does.
func (s *steps) kept(keep bool) ir.Attrs {
	params := s.dims()
	if keep {
		params = params.With("keepdims", ir.BoolAttr(true))
	} else if v, ok := s.with("keepdims").Get("keepdims"); ok {
		params = params.With("keepdims", v)
	}
	return params
}

// over reduces a tensor along the dimensions of the operation, which stay with size 1 if keep says so or the operation does.
func (s *steps) over(kernel string, x ir.Selection, keep bool) ir.Selection {
	return s.add(kernel, s.kept(keep), one("tensor", x))
}

// dims is the parameter that says which coordinates of its first operand an operation reduces.
func (s *steps) dims() ir.Attrs {
	dims := []int64{}
	for _, d := range reduced.Dims(s.in) {
		if k, ok := coordinate(s.in, d); ok {
			dims = append(dims, int64(k+s.before))
		}
	}
	return ir.Attrs{}.With("dims", ir.IntsAttr(dims...))
}

// count is how many values are reduced to one.
func (s *steps) count() float64 {
	n := 1.0
	for _, d := range reduced.Dims(s.in) {
		n *= float64(s.in.Dims[d].Extent)
	}
	return n
}
