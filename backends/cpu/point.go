package cpu

import (
	"fmt"
	"slices"
	"strings"

	"tensortapestry.org/tapc/backends/cnest"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/nest"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/scalar"
)

// axis is a dimension that code runs along: its C variable, from 0, is at the present place.
type axis struct {
	nest.Dim
	variable string
}

// placeOf writes which place of some axes the number rest is, which is used up.
func placeOf(t *cnest.Text, axes []axis) {
	for i, a := range slices.Backward(axes) {
		if i == 0 {
			t.Line("const int64_t %s = rest;", a.variable)
			return
		}
		t.Line("const int64_t %s = rest %% %d;", a.variable, a.Extent)
		t.Line("rest /= %d;", a.Extent)
	}
	t.Line("(void)rest;")
}

// point writes the values of a kernel at a place of its axes, for the lanes of a vector along one of them.
type point struct {
	v      *vectors
	k      *schedule.Kernel
	views  []nest.View
	axes   []axis
	along  int // the axis that lanes follow, or -1
	n      int
	count  string // text of the number of live lanes
	locals map[int]value
	sums   map[*scalar.Expr]value
	ahead  map[int]string // by operand: arrays that hold what is read of it, by the place in the fold
	known
}

// known is what code knows of the place that it is for.
type known struct {
	inside  string // C variable that says that all lanes stand inside the borders that guard loads, or ""
	spanned *axis  // of a span, if that variable says as well what is known of its places: choices of loops that no lane follows ask it
	here    int    // so many axes, whose part of where an operand is stands in variables q
	part    *lanes // that the code is for, or nil
}

// lanes are those from one on up to another.
type lanes struct{ from, to int64 }

// start is the number of the element that a view is at where all loops start.
func start(k *schedule.Kernel, v nest.View) int64 {
	at := v.Base
	for l, s := range v.Steps {
		at += s * k.Loops[l].Start
	}
	return at
}

// offset writes the number of the element that a view is at, the axis of the lanes at its first lane. Axes in skip do not
// count.
func (p *point) offset(v nest.View, skip ...int) string {
	return offsetText(start(p.k, v), p.axes, v, skip...)
}

func offsetText(base int64, axes []axis, v nest.View, skip ...int) string {
	var b strings.Builder
	for i, a := range axes {
		s := a.Step(v)
		if s == 0 || a.Extent == 1 || contains(skip, i) {
			continue
		}
		if b.Len() > 0 {
			b.WriteString(" + ")
		}
		if s == 1 {
			b.WriteString(a.variable)
		} else {
			fmt.Fprintf(&b, "%s * %s", a.variable, number(s))
		}
	}
	if base != 0 || b.Len() == 0 {
		if b.Len() > 0 {
			b.WriteString(" + ")
		}
		b.WriteString(number(base))
	}
	return b.String()
}

func contains(list []int, x int) bool {
	for _, y := range list {
		if x == y {
			return true
		}
	}
	return false
}

// number writes a constant that is multiplied with or added to 64-bit numbers.
func number(n int64) string {
	switch {
	case n > 1<<31-1 || n < -1<<31:
		return fmt.Sprintf("INT64_C(%d)", n)
	case n < 0:
		return fmt.Sprintf("(%d)", n)
	}
	return fmt.Sprint(n)
}

// address writes a pointer to the element of an operand that is at the place.
func (p *point) address(ref int) string {
	view := p.views[ref]
	if p.here == 0 {
		return fmt.Sprintf("p%d + %s", ref, p.offset(view))
	}
	return fmt.Sprintf("p%d + (q%d + %s)", ref, ref, offsetText(0, p.axes[p.here:], view))
}

// load reads an operand.
func (p *point) load(ref int) value {
	d, view := p.k.Operands[ref].Type(), p.views[ref]
	step := int64(0)
	if p.along >= 0 {
		step = p.axes[p.along].Step(view)
	}
	x := value{typ: d}
	if array, ok := p.ahead[ref]; ok {
		x.text, x.uniform = p.v.w.Load(d, array), true
		return x
	}
	switch step {
	case 0:
		x.text, x.uniform = p.v.w.Load(d, fmt.Sprintf("*(%s)", p.address(ref))), true
		return x
	case 1:
		x.text = p.v.load(d, p.n, p.address(ref), p.count)
	default:
		x.text = p.v.gather(d, p.n, p.address(ref), number(step), p.count)
	}
	if d == scalar.Bool {
		return p.v.truth(x.text, p.n)
	}
	return x
}

// store writes a value to an operand.
func (p *point) store(ref int, x value) string {
	d, view := p.k.Operands[ref].Type(), p.views[ref]
	at := fmt.Sprintf("p%d + %s", ref, p.offset(view))
	step := int64(0)
	if p.along >= 0 {
		step = p.axes[p.along].Step(view)
	}
	if step == 0 {
		return fmt.Sprintf("p%d[%s] = %s", ref, p.offset(view), x.text)
	}
	if d == scalar.BFloat16 && x.uniform {
		x = p.v.bf16(d, p.n, p.v.splat(value{text: x.text, typ: scalar.Float32, uniform: true}, p.n))
	}
	x = p.v.splat(x, p.n)
	if d == scalar.Bool {
		x.text = p.v.bytes(x, p.n)
	}
	if step == 1 {
		return p.v.store(d, p.n, at, x.text, p.count)
	}
	return p.v.scatter(d, p.n, at, number(step), x.text, p.count)
}

// usesAny says whether an expression uses the value of one of some loops.
func usesAny(loops []int, e *scalar.Expr) bool {
	found := false
	e.Walk(func(e *scalar.Expr) bool {
		found = found || e.Op == scalar.Loop && contains(loops, e.Ref)
		return !found
	})
	return found
}

// local gives the value of an earlier statement.
func (p *point) local(ref int) value { return p.locals[ref] }

// loop gives the value of a loop variable, which is an axis of its own or has one value.
func (p *point) loop(ref int) value {
	first := p.k.Loops[ref].Start
	for i, a := range p.axes {
		if a.Inner() != ref {
			continue
		}
		text := fmt.Sprintf("(%s + %s)", a.variable, number(first))
		if i == p.along {
			return p.v.count(text, p.n)
		}
		return value{text: text, typ: scalar.Int64, uniform: true}
	}
	return value{text: fmt.Sprintf("INT64_C(%d)", first), typ: scalar.Int64, uniform: true}
}

func (p *point) reduce(e *scalar.Expr) value {
	if e.IsAt() {
		return p.at(e)
	}
	return p.sums[e]
}

// at writes what stands at a computed place, the same for all lanes; 0 if that is none.
func (p *point) at(e *scalar.Expr) value {
	l := e.Over[0]
	loop, variable := p.k.Loops[l], fmt.Sprintf("h%d", l)
	place := p.v.expr(e.Args[1], p.n, p)
	inner := *p
	inner.axes = append(slices.Clone(p.axes), axis{nest.Dim{Loops: []int{l}, Extent: loop.Extent()}, variable})
	x := p.v.expr(e.Args[0], p.n, &inner)
	zero := value{text: p.v.w.Const(scalar.Zero(e.Type)), typ: e.Type, uniform: true}
	if !x.uniform {
		zero = p.v.splat(zero, p.n)
	}
	x.text = fmt.Sprintf("({ const int64_t %s = (%s) - %s; %s >= 0 && %s < %d ? %s : %s; })", variable, place.text, number(loop.Start), variable, variable, loop.Extent(),
		x.text, zero.text)
	return x
}

// name declares a variable of a value and gives it.
func (p *point) name(t *cnest.Text, variable string, x value) value {
	c := p.v.w.Type(x.typ)
	if !x.uniform {
		c = p.v.typ(x.typ, p.n)
		if x.typ == scalar.Bool {
			c = p.v.maskType(x.mask, p.n)
		}
	}
	t.Line("const %s %s = %s;", c, variable, x.text)
	x.text = variable
	return x
}

// statements writes some statements at the present place.
func (p *point) statements(t *cnest.Text, list []int) {
	for _, i := range list {
		s := p.k.Statements[i]
		t.Line("// %s = %s", s.Name, cnest.Clip(s.Value.Format(p.k)))
		x := p.v.expr(s.Value, p.n, p)
		if s.Store >= 0 {
			t.Line("%s;", p.store(int(s.Store), x))
		} else {
			p.locals[i] = p.name(t, fmt.Sprintf("v%d", i), x)
		}
	}
}

// vectorKernel says whether all that a kernel computes can be written with vectors: of types that there are vectors of, and
// reading only elements that exist wherever its loops stand, since lanes that a choice does not pick are read too; one operand
// aside.
func vectorKernel(k *schedule.Kernel, buffers map[ir.NodeID]*schedule.Buffer, aside int) bool {
	for _, s := range k.Statements {
		if !canVectorize(s.Value) {
			return false
		}
	}
	return vectorBounds(k, buffers, aside)
}

// vectorBounds says whether operands are read only inside their buffers, wherever the loops stand; one operand aside.
func vectorBounds(k *schedule.Kernel, buffers map[ir.NodeID]*schedule.Buffer, aside int) bool {
	for i := range k.Operands {
		if i != aside && !nest.Inside(k, buffers, i) {
			return false
		}
	}
	return true
}

// pointers declares the pointers of some operands.
func pointers(t *cnest.Text, e *emitter, k *schedule.Kernel, operands []int) {
	for _, i := range operands {
		o, constant, alone := k.Operands[i], "", "restrict "
		if o.Mode == schedule.Read {
			constant = "const "
			e.raw(o.Buffer)
		}
		if _, ok := e.held[o.Buffer]; ok { // results may take the place of what they are made of
			alone = ""
		}
		t.Line("%s%s *%sp%d = b[%d]; // %s", constant, e.w.Stored(o.Type()), alone, i, e.slot(o.Buffer), o.Name)
	}
}
