package rewrite

import (
	"slices"

	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/dialects/tensorops/kernels/declaration"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/scalar"
)

// compiled is a rule of the language, ready to match.
type compiled struct {
	patterns []*pattern
	guard    condition    // nil for none
	results  []resultExpr // alternatives
	slots    int
}

// binding is what a variable stands for.
type binding struct {
	bound bool
	sel   ir.Selection
	seq   []ir.Selection
	attr  ir.AttrValue
	rest  ir.Attrs
}

// state is what a match has bound so far. It belongs to the site, so that a rule can be used by several runs at once.
type state struct {
	slots  []binding
	trail  []int // slots in the order in which they were bound
	from   []ir.NodeID
	result ir.Selection
}

func (st *state) start(slots int) {
	st.undo(0)
	if len(st.slots) < slots {
		st.slots = make([]binding, slots)
	}
	st.from = st.from[:0]
}

// undo unbinds what was bound since the trail was mark long.
func (st *state) undo(mark int) {
	for _, i := range st.trail[mark:] {
		st.slots[i].bound = false
	}
	st.trail = st.trail[:mark]
}

func (st *state) set(slot int) *binding {
	b := &st.slots[slot]
	b.bound = true
	st.trail = append(st.trail, slot)
	return b
}

// match is the Match of a rule of the language. The rule never fits an operation with another number of outputs than one.
func (c *compiled) match(s *Site) (Result, bool) {
	out, ok := s.Result()
	if !ok {
		return Result{}, false
	}
	for _, p := range c.patterns {
		if p.kernel != s.kernel.name {
			continue
		}
		s.state.start(c.slots)
		s.state.result = out
		root := Def{Node: s.Node, Op: s.Op, Kernel: s.kernel.name, Inputs: s.Op.Inputs}
		if !s.matchOp(p, root, out) || c.guard != nil && !c.guard(s) {
			continue
		}
		var all []Result
		for i := range c.results {
			if o, ok := c.results[i].build(s); ok {
				all = append(all, One(o, slices.Clone(s.state.from)...))
			}
		}
		if len(all) > 0 {
			all[0].Others = all[1:]
			return all[0], true
		}
	}
	return Result{}, false
}

// matchOp matches an operation that computes sel. Ports are matched in order; what one port has bound is not taken back for
// the next.
func (s *Site) matchOp(p *pattern, d Def, sel ir.Selection) bool {
	if p.as >= 0 && !s.bindSelection(p.as, sel) {
		return false
	}
	ports := 0
	for i := range p.ports {
		var sels []ir.Selection
		if port := portOf(d.Inputs, p.ports[i].names); port != nil {
			sels = port.Sel
			ports++
		}
		if !s.matchItems(p.ports[i].items, sels) {
			return false
		}
	}
	if ports != d.Inputs.Len() || !s.matchAttrs(p, d.Op.Params) {
		return false
	}
	if d.Node != s.Node {
		s.state.from = append(s.state.from, d.Node.ID)
	}
	return true
}

func portOf(ports ir.Ports, names []string) *ir.Port {
	for _, p := range ports.Each() {
		if slices.Contains(names, p.Name) {
			return &p
		}
	}
	return nil
}

// matchItems matches the entries of a port; sequences take as few as they can.
func (s *Site) matchItems(items []item, sels []ir.Selection) bool {
	if len(items) == 0 {
		return len(sels) == 0
	}
	it, rest := &items[0], items[1:]
	switch {
	case it.slot >= 0 && it.kind == sequenceVar && len(rest) == 0:
		s.state.set(it.slot).seq = sels
		return true
	case it.slot >= 0 && it.kind == sequenceVar:
		mark, from := len(s.state.trail), len(s.state.from)
		for n := range len(sels) + 1 {
			s.state.set(it.slot).seq = sels[:n]
			if s.matchItems(rest, sels[n:]) {
				return true
			}
			s.state.undo(mark)
			s.state.from = s.state.from[:from]
		}
		return false
	case it.slot >= 0 && it.kind == optionalVar:
		n := min(1, len(sels))
		s.state.set(it.slot).seq = sels[:n]
		return s.matchItems(rest, sels[n:])
	}
	return len(sels) > 0 && s.matchOne(it, sels[0]) && s.matchItems(rest, sels[1:])
}

func (s *Site) matchOne(it *item, sel ir.Selection) bool {
	switch {
	case it.slot >= 0:
		return s.bindSelection(it.slot, sel)
	case it.number != nil:
		v, ok := s.Splat(sel)
		if !ok {
			return false
		}
		w, err := scalar.Literal(v.DType, *it.number)
		return err == nil && v.Same(w)
	}
	d, ok := s.producer(sel)
	if !ok || d.Kernel != it.sub.kernel {
		return false
	}
	if d.Inputs, ok = s.driver.restrict(d, sel); !ok {
		return false
	}
	return s.matchOp(it.sub, d, sel)
}

// bindSelection binds a variable, or compares with what it stands for already.
func (s *Site) bindSelection(slot int, sel ir.Selection) bool {
	if b := &s.state.slots[slot]; b.bound {
		return b.sel.Equal(sel)
	}
	s.state.set(slot).sel = sel
	return true
}

// matchAttrs matches the parameters of an operation; one that is not given has its default.
func (s *Site) matchAttrs(p *pattern, params ir.Attrs) bool {
	for i := range p.attrs {
		a := &p.attrs[i]
		v, ok := params.Get(a.name)
		if !ok {
			if v, ok = defaultOf(p.decl, a.name); !ok {
				return false
			}
		}
		if a.slot < 0 {
			if !v.Equal(a.value) {
				return false
			}
		} else if b := &s.state.slots[a.slot]; !b.bound {
			s.state.set(a.slot).attr = v
		} else if !b.attr.Equal(v) {
			return false
		}
	}
	return s.matchRest(p, params)
}

func (s *Site) matchRest(p *pattern, params ir.Attrs) bool {
	if p.rest >= 0 {
		s.state.set(p.rest).rest = nil
	}
	for _, a := range params {
		if slices.ContainsFunc(p.attrs, func(q attrPattern) bool { return q.name == a.Name }) {
			continue
		}
		if p.rest >= 0 {
			b := &s.state.slots[p.rest]
			b.rest = append(b.rest, a)
		} else if v, ok := defaultOf(p.decl, a.Name); !ok || !v.Equal(a.Value) {
			return false
		}
	}
	return true
}

// sameAttrs says whether parameters are the same, where those that are not given have their defaults: one number is that of every dimension.
func sameAttrs(d *declaration.Kernel, a, b ir.Attrs) bool {
	in := func(x, y ir.Attrs) bool {
		return !slices.ContainsFunc(x, func(p ir.Attr) bool {
			if v, ok := y.Get(p.Name); ok {
				return !v.Equal(p.Value)
			}
			v, ok := defaultOf(d, p.Name)
			list, every := p.Value.Ints()
			return !ok || !v.Equal(p.Value) && (!every || slices.ContainsFunc(list, func(n int64) bool { return !v.Equal(ir.IntAttr(n)) }))
		})
	}
	return in(a, b) && in(b, a)
}

// defaultOf gives the value that a kernel's parameter has when it is not given.
func defaultOf(d *declaration.Kernel, name string) (ir.AttrValue, bool) {
	if d != nil {
		if a, ok := d.Attr(name); ok && a.HasDefault {
			return a.Fallback(), true
		}
	}
	return ir.AttrValue{}, false
}

// Splat gives the value of every cell of a selection, if a constant with one inline value produces its tensor.
func (s *Site) Splat(sel ir.Selection) (scalar.Value, bool) {
	v, ok := s.Inline(sel)
	if !ok || v.Kind == ir.AttrList {
		return scalar.Value{}, false
	}
	return Inline(v, s.Type(sel))
}

// Inline gives the inline value of the constant that produces a selection's tensor: a number, a boolean, or lists of
// them nested as the tensor's shape.
func (s *Site) Inline(sel ir.Selection) (ir.AttrValue, bool) {
	p := s.driver.index.producer[sel.Tensor]
	op := tensorops.OperationOf(s.Graph, p)
	if op == nil || op.Inputs.Len() > 0 || !s.driver.index.kernelOf(p).constant || len(op.Params) != 1 {
		return ir.AttrValue{}, false
	}
	return op.Params.Get("value")
}

// Inline reads one inline value of a constant as an element of a type. It is false for a value that the type does not have
// exactly, but a float is rounded to a narrower float type.
func Inline(v ir.AttrValue, d scalar.DType) (scalar.Value, bool) {
	const exact = 1 << 53
	switch {
	case v.Kind == ir.AttrBool && d.IsBool():
		return scalar.BoolValue(v.Int != 0), true
	case v.Kind == ir.AttrInt && d.IsInt():
		x := scalar.IntValue(d, v.Int)
		return x, x.I == v.Int && v.Int > -exact && v.Int < exact
	case v.Kind == ir.AttrInt && d.IsFloat():
		return scalar.FloatValue(d, float64(v.Int)), v.Int > -exact && v.Int < exact
	case v.Kind == ir.AttrFloat && d.IsFloat():
		return scalar.FloatValue(d, v.Num), true
	}
	return scalar.Value{}, false
}

// InlineOf writes an element as the inline value of a constant. It is false for what has no such form: NaN, infinities,
// integers that a float64 can not hold, complex numbers.
func InlineOf(v scalar.Value) (ir.AttrValue, bool) {
	const exact = 1 << 53
	switch d := v.DType; {
	case d.IsBool():
		return ir.BoolAttr(v.Bool()), true
	case d.IsInt():
		return ir.IntAttr(v.I), v.I > -exact && v.I < exact
	case d.IsFloat():
		return ir.FloatAttr(v.F), v.F-v.F == 0
	}
	return ir.AttrValue{}, false
}
