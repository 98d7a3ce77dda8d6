package language

import (
	"math/rand/v2"
	"slices"
	"strconv"

	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/dialects/tensorops/kernels/declaration"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/zspace"
	"tensortapestry.org/tapc/passes/rewrite"
	"tensortapestry.org/tapc/passes/rewrite/values"
)

// instance makes a small random graph that holds an operation of the rule's pattern: random dtypes, shapes, starts and
// parts, with other consumers of what the pattern produces and a consumer of the result in some. The guard may or may not
// hold. It is false for a try that came to nothing, such as two uses of a name with shapes
// that differ; the caller tries again. Same source, same graph. A test evaluates such graphs before and after the rule.
func (c *compiled) instance(rnd *rand.Rand) (*ir.Graph, bool) {
	m := &maker{g: ir.New(), rnd: rnd, bound: make([]binding, c.slots)}
	pat := c.patterns[rnd.IntN(len(c.patterns))]
	types := scalar.DTypes()
	d := types[rnd.IntN(len(types))]
	if m.chance(0.5) {
		d = []scalar.DType{scalar.Float32, scalar.Int32}[rnd.IntN(2)]
	}
	shape := m.shape(rnd.IntN(4))
	sel, ok := m.operation(pat, shape, d)
	if !ok {
		return nil, false
	}
	if m.chance(0.6) {
		m.use(sel)
	}
	for range rnd.IntN(2) {
		if m.chance(0.3) && len(m.middle) > 0 {
			m.use(m.middle[rnd.IntN(len(m.middle))])
		}
	}
	return m.g, true
}

// maker builds one instance from the result up.
type maker struct {
	g      *ir.Graph
	rnd    *rand.Rand
	bound  []binding
	middle []ir.Selection // results of inner operations
}

func (m *maker) chance(p float64) bool { return m.rnd.Float64() < p }

func (m *maker) shape(rank int) []int64 {
	s := make([]int64, rank)
	for i := range s {
		s[i] = 1 + int64(m.rnd.IntN(3))
		if m.chance(0.02) {
			s[i] = 0
		}
	}
	return s
}

// tensor makes a tensor that has a box of the shape, at a random place; part allows it to be larger.
func (m *maker) tensor(shape []int64, d scalar.DType, label string, part bool) ir.Selection {
	whole, box := zspace.MustShape(shape...), zspace.MustShape(shape...)
	for i := range shape {
		at := int64(m.rnd.IntN(11) - 5)
		box.Start[i], box.End[i] = at, at+shape[i]
		whole.Start[i], whole.End[i] = at, at+shape[i]
		if part && m.chance(0.2) {
			whole.Start[i] -= int64(m.rnd.IntN(2))
			whole.End[i] += int64(m.rnd.IntN(3))
		}
	}
	n := m.g.Add(&tensorops.Tensor{DType: d.String(), Range: whole}, label)
	return ir.Select(n.ID, box)
}

// use adds a consumer of part of a tensor.
func (m *maker) use(sel ir.Selection) {
	t := tensorops.TensorOf(m.g, sel.Tensor)
	out := m.tensor(sel.Range().Shape(), t.Type(), "use"+strconv.Itoa(m.g.Bound()), false)
	m.g.Add(&tensorops.Operation{Kernel: "op:broadcast", Inputs: ir.PortsOf([]ir.Port{{Name: "tensor", Sel: []ir.Selection{sel}}}),
		Outputs: ir.PortsOf([]ir.Port{{Name: "result", Sel: []ir.Selection{out}}})}, "")
}

// operation makes an operation of a pattern whose result has a box of the given shape and type.
func (m *maker) operation(p *pattern, shape []int64, d scalar.DType) (ir.Selection, bool) {
	if p.decl == nil {
		return ir.Selection{}, false
	}
	inner := len(m.middle) > 0 || p.as >= 0
	sel := m.tensor(shape, d, "", inner)
	out := ir.Select(sel.Tensor, tensorops.TensorOf(m.g, sel.Tensor).Range)
	c := caller{maker: m, p: p, sizes: map[string][]int64{}, types: map[string]scalar.DType{}, params: ir.Attrs{}}
	if !c.bindOutput(out.Range().Shape(), d) {
		return sel, false
	}
	m.middle = append(m.middle, sel)
	if p.as >= 0 && !m.bind(p.as, sel) {
		return sel, false
	}
	body := &tensorops.Operation{Kernel: kernels.ID(p.kernel)}
	if !c.inputs(body) || !c.otherParams() {
		return sel, false
	}
	body.Params = c.params
	body.Outputs = ir.PortsOf([]ir.Port{{Name: c.out.Name(), Sel: []ir.Selection{out}}})
	m.g.Add(body, "")
	return sel, true
}

func (m *maker) bind(slot int, sel ir.Selection) bool {
	if b := &m.bound[slot]; b.bound {
		return b.sel.Equal(sel)
	}
	m.bound[slot] = binding{bound: true, sel: sel}
	return true
}

// caller chooses the operands of one operation.
type caller struct {
	*maker
	p      *pattern
	out    *declaration.Operand
	sizes  map[string][]int64
	types  map[string]scalar.DType
	params ir.Attrs
}

// bindOutput takes the sizes of dimensions and groups, and a type, from the result.
func (c *caller) bindOutput(shape []int64, d scalar.DType) bool {
	for i := range c.p.decl.Operands {
		if o := &c.p.decl.Operands[i]; o.Out {
			if c.out != nil {
				return false
			}
			c.out = o
		}
	}
	if !c.bindType(c.out, d) {
		return false
	}
	rest := len(shape)
	for _, x := range c.out.Index {
		if x.Group == "" {
			rest--
		}
	}
	if rest < 0 {
		return false
	}
	for _, x := range c.out.Index {
		n := 1
		if x.Group != "" {
			n = rest
		}
		if n > len(shape) || !c.bindItem(x, shape[:n]) {
			return false
		}
		shape = shape[n:]
	}
	return len(shape) == 0
}

func (c *caller) bindType(o *declaration.Operand, d scalar.DType) bool {
	for _, v := range c.p.decl.Types {
		if v.Name == o.Type {
			c.types[v.Name] = d
			return v.Allows(d)
		}
	}
	return o.Type == d.String()
}

func (c *caller) bindItem(x declaration.IndexItem, shape []int64) bool {
	switch {
	case x.At != "":
		return false
	case x.Group == "":
		c.sizes[x.Dim] = shape
	case x.Use == declaration.Permute:
		perm := c.rnd.Perm(len(shape))
		if c.chance(0.3) {
			slices.Sort(perm)
		}
		whole, list := make([]int64, len(shape)), make([]int64, len(shape))
		for i, p := range perm {
			whole[p] = shape[i]
			list[i] = int64(p)
			if c.chance(0.2) {
				list[i] -= int64(len(shape))
			}
		}
		c.sizes[x.Group] = whole
		return c.param(x.Attr, ir.IntsAttr(list...))
	case x.Use == declaration.Drop:
		return c.undrop(x, shape)
	case x.Group != "":
		c.sizes[x.Group] = shape
	default:
		return false
	}
	return true
}

// undrop chooses the dimensions of a group that a result without some of them may come from.
func (c *caller) undrop(x declaration.IndexItem, shape []int64) bool {
	var whole, axes []int64
	keep := c.chance(0.5)
	for _, n := range shape {
		if keep && n == 1 && c.chance(0.5) {
			axes = append(axes, int64(len(whole)))
			n = 1 + int64(c.rnd.IntN(3))
		}
		if !keep && c.chance(0.2) {
			axes = append(axes, int64(len(whole)))
			whole = append(whole, 1+int64(c.rnd.IntN(3)))
		}
		whole = append(whole, n)
	}
	c.sizes[x.Group] = whole
	return c.param(x.Attr, ir.IntsAttr(axes...)) && c.param("keepdims", ir.BoolAttr(keep))
}

// param sets a parameter if the pattern allows the value.
func (c *caller) param(name string, v ir.AttrValue) bool {
	c.params = c.params.With(name, v)
	for _, a := range c.p.attrs {
		if a.name != name {
			continue
		}
		if a.slot < 0 {
			return a.value.Equal(v)
		}
		b := &c.bound[a.slot]
		ok := !b.bound || b.attr.Equal(v)
		*b = binding{bound: true, attr: v}
		return ok
	}
	def, ok := c.p.decl.Default(name)
	return c.p.rest >= 0 || ok && def.Equal(v)
}

// otherParams sets the parameters that the pattern names and the operands did not decide.
func (c *caller) otherParams() bool {
	for _, a := range c.p.attrs {
		if _, done := c.params.Get(a.name); done {
			continue
		}
		v, ok := a.value, true
		if a.slot >= 0 {
			if b := c.bound[a.slot]; b.bound {
				v = b.attr
			} else if v, ok = c.p.decl.Default(a.name); ok {
				v = values.Other(c.rnd, c.p.decl, a.name, v)
			}
		}
		if def, has := c.p.decl.Default(a.name); has && def.Equal(v) && c.chance(0.5) {
			continue // a parameter with its default may be left out
		}
		if !ok || !c.param(a.name, v) {
			return false
		}
	}
	return true
}

func (c *caller) inputs(body *tensorops.Operation) bool {
	for _, port := range c.p.ports {
		i, _ := c.p.decl.Named(port.names[0])
		p := ir.Port{Name: port.names[c.rnd.IntN(len(port.names))]}
		for _, it := range port.items {
			if !c.item(it, &c.p.decl.Operands[i], &p) {
				return false
			}
		}
		if len(p.Sel) > 0 {
			body.Inputs = body.Inputs.With(p)
		}
	}
	return true
}

// item makes the selections of one entry of a port.
func (c *caller) item(it item, o *declaration.Operand, p *ir.Port) bool {
	n := 1
	if it.slot >= 0 && it.kind == sequenceVar {
		n = c.rnd.IntN(3)
	} else if it.slot >= 0 && it.kind == optionalVar {
		n = c.rnd.IntN(2)
	}
	for range n {
		shape, d, ok := c.operand(o)
		if !ok {
			return false
		}
		sel, ok := c.value(it, shape, d)
		if !ok {
			return false
		}
		p.Sel = append(p.Sel, sel)
	}
	return true
}

func (c *caller) value(it item, shape []int64, d scalar.DType) (ir.Selection, bool) {
	switch {
	case it.sub != nil:
		return c.operation(it.sub, shape, d)
	case it.number != nil:
		v, err := scalar.Literal(d, *it.number)
		if err != nil {
			return ir.Selection{}, false
		}
		a, ok := rewrite.InlineOf(v)
		sel := c.tensor(shape, d, "", true)
		out := ir.Select(sel.Tensor, tensorops.TensorOf(c.g, sel.Tensor).Range)
		c.g.Add(&tensorops.Operation{Kernel: "op:constant", Params: ir.Attrs{{Name: "value", Value: a}},
			Outputs: ir.PortsOf([]ir.Port{{Name: "result", Sel: []ir.Selection{out}}})}, "")
		return sel, ok
	case it.kind != selectionVar || !c.bound[it.slot].bound:
		sel := c.tensor(shape, d, "in"+strconv.Itoa(c.g.Bound()), true)
		if it.kind == selectionVar {
			c.bind(it.slot, sel)
		}
		return sel, true
	}
	sel := c.bound[it.slot].sel
	return sel, slices.Equal(sel.Range().Shape(), shape) && tensorops.TensorOf(c.g, sel.Tensor).Type() == d
}

// operand chooses the shape and type of an input.
func (c *caller) operand(o *declaration.Operand) ([]int64, scalar.DType, bool) {
	d, ok := c.types[o.Type]
	if !ok {
		if d, ok = c.inputType(o); !ok {
			return nil, d, false
		}
	}
	var shape []int64
	for _, x := range o.Index {
		name := x.Group
		if x.Group == "" {
			name = x.Dim
		}
		sizes, known := c.sizes[name]
		if !known {
			sizes = c.shape(1)
			c.sizes[name] = sizes
		}
		if x.Use == declaration.Broadcast && c.chance(0.5) {
			sizes = c.narrow(sizes)
		}
		shape = append(shape, sizes...)
	}
	return shape, d, true
}

// inputType chooses the type of an input that the result does not decide.
func (c *caller) inputType(o *declaration.Operand) (scalar.DType, bool) {
	for _, v := range c.p.decl.Types {
		if v.Name == o.Type {
			types := slices.DeleteFunc(scalar.DTypes(), func(d scalar.DType) bool { return !v.Allows(d) })
			d := types[c.rnd.IntN(len(types))]
			c.types[v.Name] = d
			return d, true
		}
	}
	d, err := scalar.ParseDType(o.Type)
	return d, err == nil
}

// narrow gives a shape that broadcasts to another.
func (c *caller) narrow(shape []int64) []int64 {
	out := slices.Clone(shape[c.rnd.IntN(len(shape)+1):])
	for i := range out {
		if c.chance(0.3) {
			out[i] = 1
		}
	}
	return out
}
