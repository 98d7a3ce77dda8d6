package cpu

import (
	"fmt"
	"slices"
	"strings"

	"tensortapestry.org/tapc/backends/cnest"
	"tensortapestry.org/tapc/backends/cpu/vector"
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
	v      *vector.Printer
	k      *schedule.Kernel
	views  []nest.View
	axes   []axis
	along  int // the axis that lanes follow, or -1
	n      int
	count  string // text of the number of live lanes
	locals map[int]vector.Value
	sums   map[*scalar.Expr]vector.Value
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
		if s == 0 || a.Extent == 1 || slices.Contains(skip, i) {
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

// Load reads an operand.
func (p *point) Load(ref int) vector.Value {
	d, view := p.k.Operands[ref].Type(), p.views[ref]
	step := int64(0)
	if p.along >= 0 {
		step = p.axes[p.along].Step(view)
	}
	x := vector.Value{Type: d}
	if array, ok := p.ahead[ref]; ok {
		x.Text, x.Uniform = p.v.W.Load(d, array), true
		return x
	}
	switch step {
	case 0:
		x.Text, x.Uniform = p.v.W.Load(d, fmt.Sprintf("*(%s)", p.address(ref))), true
		return x
	case 1:
		x.Text = p.v.Of(d, p.n).Load(p.address(ref), p.count)
	default:
		x.Text = p.v.Of(d, p.n).Gather(p.address(ref), number(step), p.count)
	}
	if d == scalar.Bool {
		return p.v.Truth(x.Text, p.n)
	}
	return x
}

// store writes a value to an operand.
func (p *point) store(ref int, x vector.Value) string {
	d, view := p.k.Operands[ref].Type(), p.views[ref]
	at := fmt.Sprintf("p%d + %s", ref, p.offset(view))
	step := int64(0)
	if p.along >= 0 {
		step = p.axes[p.along].Step(view)
	}
	if step == 0 {
		return fmt.Sprintf("p%d[%s] = %s", ref, p.offset(view), x.Text)
	}
	if d == scalar.BFloat16 && x.Uniform {
		x = p.v.BF16(d, p.n, p.v.Splat(vector.Value{Text: x.Text, Type: scalar.Float32, Uniform: true}, p.n))
	}
	x = p.v.Splat(x, p.n)
	if d == scalar.Bool {
		x.Text = p.v.Bytes(x, p.n)
	}
	if step == 1 {
		return p.v.Of(d, p.n).Store(at, x.Text, p.count)
	}
	return p.v.Of(d, p.n).Scatter(at, number(step), x.Text, p.count)
}

// usesAny says whether an expression uses the value of one of some loops.
func usesAny(loops []int, e *scalar.Expr) bool {
	found := false
	e.Walk(func(e *scalar.Expr) bool {
		found = found || e.Op == scalar.Loop && slices.Contains(loops, e.Ref)
		return !found
	})
	return found
}

// Local gives the value of an earlier statement.
func (p *point) Local(ref int) vector.Value { return p.locals[ref] }

// Loop gives the value of a loop variable, which is an axis of its own or has one value.
func (p *point) Loop(ref int) vector.Value {
	first := p.k.Loops[ref].Start
	for i, a := range p.axes {
		if a.Inner() != ref {
			continue
		}
		text := fmt.Sprintf("(%s + %s)", a.variable, number(first))
		if i == p.along {
			return p.v.Count(text, p.n)
		}
		return vector.Value{Text: text, Type: scalar.Int64, Uniform: true}
	}
	return vector.Value{Text: fmt.Sprintf("INT64_C(%d)", first), Type: scalar.Int64, Uniform: true}
}

func (p *point) Reduce(e *scalar.Expr) vector.Value {
	if e.IsAt() {
		return p.at(e)
	}
	return p.sums[e]
}

// at writes what stands at a computed place, the same for all lanes; 0 if that is none.
func (p *point) at(e *scalar.Expr) vector.Value {
	l := e.Over[0]
	loop, variable := p.k.Loops[l], fmt.Sprintf("h%d", l)
	place := p.v.Expr(e.Args[1], p.n, p)
	inner := *p
	inner.axes = append(slices.Clone(p.axes), axis{nest.Dim{Loops: []int{l}, Extent: loop.Extent()}, variable})
	x := p.v.Expr(e.Args[0], p.n, &inner)
	zero := vector.Value{Text: p.v.W.Const(scalar.Zero(e.Type)), Type: e.Type, Uniform: true}
	if !x.Uniform {
		zero = p.v.Splat(zero, p.n)
	}
	x.Text = fmt.Sprintf("({ const int64_t %s = (%s) - %s; %s >= 0 && %s < %d ? %s : %s; })", variable, place.Text, number(loop.Start), variable, variable, loop.Extent(),
		x.Text, zero.Text)
	return x
}

// name declares a variable of a value and gives it.
func (p *point) name(t *cnest.Text, variable string, x vector.Value) vector.Value {
	c := p.v.W.Type(x.Type)
	if !x.Uniform {
		c = p.v.Type(x.Type, p.n)
		if x.Type == scalar.Bool {
			c = p.v.MaskType(x.Mask, p.n)
		}
	}
	t.Line("const %s %s = %s;", c, variable, x.Text)
	x.Text = variable
	return x
}

// statements writes some statements at the present place.
func (p *point) statements(t *cnest.Text, list []int) {
	for _, i := range list {
		s := p.k.Statements[i]
		t.Line("// %s = %s", s.Name, cnest.Clip(s.Value.Format(p.k)))
		x := p.v.Expr(s.Value, p.n, p)
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
		if !vector.CanVectorize(s.Value) {
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
func pointers(t *cnest.Text, e *unit, k *schedule.Kernel, operands []int) {
	for _, i := range operands {
		o, constant, alone := k.Operands[i], "", "restrict "
		if o.Mode == schedule.Read {
			constant = "const "
			e.raw(o.Buffer)
		}
		if e.holds(o.Buffer) { // results may take the place of what they are made of
			alone = ""
		}
		t.Line("%s%s *%sp%d = b[%d]; // %s", constant, e.w.Stored(o.Type()), alone, i, e.slot(o.Buffer), o.Name)
	}
}
