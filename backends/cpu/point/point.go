// Package point writes the values of a kernel at one point of its loops, for the lanes of a vector along one of them: what its operands have there, under
// guards, and its statements. Rows, loops and scans have these as statements of their trees (backends/codegen/builder, trees/vectors.go); here they are text for the
// templates of products, which trees only call: epilogues on a vector of sums that C gives by value, zero points, and what is seldom computed (product/seldom.go). As a
// tree, an epilogue needs a memory that is a parameter, and a number of lanes that is known when the function is called. It must not import backends/cpu. Read
// next: point.go, guard.go.
package point

import (
	"fmt"
	"slices"
	"strings"

	"tensortapestry.org/tapc/backends/cnest"
	"tensortapestry.org/tapc/backends/cpu/unit"
	"tensortapestry.org/tapc/backends/cpu/vector"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/nest"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/scalar"
)

// Axis is a dimension that code runs along: its C variable, from 0, is at the present place.
type Axis struct {
	nest.Dim
	Variable string
}

// Axes gives the axes of some dimensions: their variables are a letter and a number.
func Axes(letter string, dims []nest.Dim) []Axis {
	var out []Axis
	for i, d := range dims {
		out = append(out, Axis{d, fmt.Sprintf("%s%d", letter, i)})
	}
	return out
}

// Count is how many indices axes have, up to 2^40.
func Count(axes []Axis) int64 {
	n := int64(1)
	for _, a := range axes {
		n = nest.SaturatingProduct(n, a.Extent)
	}
	return n
}

// Coordinates lists the variables of axes as further arguments or, behind a type, parameters.
func Coordinates(axes []Axis, prefix string) string {
	text := ""
	for _, a := range axes {
		text += ", " + prefix + a.Variable
	}
	return text
}

// Voids marks the variables of axes as used, for a list of such marks.
func Voids(axes []Axis) string {
	text := ""
	for _, a := range axes {
		text += "(void)" + a.Variable + ", "
	}
	return text
}

// Follows gives the axes that a view moves along.
func Follows(axes []Axis, v nest.View) []Axis {
	return slices.DeleteFunc(slices.Clone(axes), func(a Axis) bool { return a.Step(v) == 0 })
}

// Point writes the values of a kernel at a place of its axes, for the lanes of a vector along one of them.
type Point struct {
	V      *vector.Printer
	K      *schedule.Kernel
	Views  []nest.View
	Axes   []Axis
	Along  int // the axis that lanes follow, or -1
	N      int
	Count  string // text of the number of live lanes
	Locals map[int]vector.Value
	Sums   map[*scalar.Expr]vector.Value
}

// Start is the number of the element that a view is at where all loops start.
func Start(k *schedule.Kernel, v nest.View) int64 {
	at := v.Base
	for l, s := range v.Steps {
		at += s * k.Loops[l].Start
	}
	return at
}

// Offset writes the number of the element that a view is at, the axis of the lanes at its first lane.
func (p *Point) Offset(v nest.View) string { return OffsetText(Start(p.K, v), p.Axes, v) }

// OffsetText writes the number of the element that a view is at, from a base.
func OffsetText(base int64, axes []Axis, v nest.View) string {
	var b strings.Builder
	for _, a := range axes {
		s := a.Step(v)
		if s == 0 || a.Extent == 1 {
			continue
		}
		if b.Len() > 0 {
			b.WriteString(" + ")
		}
		if s == 1 {
			b.WriteString(a.Variable)
		} else {
			fmt.Fprintf(&b, "%s * %s", a.Variable, Number(s))
		}
	}
	if base != 0 || b.Len() == 0 {
		if b.Len() > 0 {
			b.WriteString(" + ")
		}
		b.WriteString(Number(base))
	}
	return b.String()
}

// Number writes a constant that is multiplied with or added to 64-bit numbers.
func Number(n int64) string {
	switch {
	case n > 1<<31-1 || n < -1<<31:
		return fmt.Sprintf("INT64_C(%d)", n)
	case n < 0:
		return fmt.Sprintf("(%d)", n)
	}
	return fmt.Sprint(n)
}

// address writes a pointer to the element of an operand that is at the place.
func (p *Point) address(ref int) string { return fmt.Sprintf("p%d + %s", ref, p.Offset(p.Views[ref])) }

// Load reads an operand.
func (p *Point) Load(ref int) vector.Value {
	d, view := p.K.Operands[ref].Type(), p.Views[ref]
	step := int64(0)
	if p.Along >= 0 {
		step = p.Axes[p.Along].Step(view)
	}
	x := vector.Value{Type: d}
	switch step {
	case 0:
		x.Text, x.Uniform = p.V.W.Load(d, fmt.Sprintf("*(%s)", p.address(ref))), true
		return x
	case 1:
		x.Text = p.V.Of(d, p.N).Load(p.address(ref), p.Count)
	default:
		x.Text = p.V.Of(d, p.N).Gather(p.address(ref), Number(step), p.Count)
	}
	if d == scalar.Bool {
		return p.V.Truth(x.Text, p.N)
	}
	return x
}

// Store writes a value to an operand.
func (p *Point) Store(ref int, x vector.Value) string {
	d, view := p.K.Operands[ref].Type(), p.Views[ref]
	at := fmt.Sprintf("p%d + %s", ref, p.Offset(view))
	step := int64(0)
	if p.Along >= 0 {
		step = p.Axes[p.Along].Step(view)
	}
	if step == 0 {
		return fmt.Sprintf("p%d[%s] = %s", ref, p.Offset(view), x.Text)
	}
	if d == scalar.BFloat16 && x.Uniform {
		x = p.V.BF16(d, p.N, p.V.Splat(vector.Value{Text: x.Text, Type: scalar.Float32, Uniform: true}, p.N))
	}
	x = p.V.Splat(x, p.N)
	if d == scalar.Bool {
		x.Text = p.V.Bytes(x, p.N)
	}
	if step == 1 {
		return p.V.Of(d, p.N).Store(at, x.Text, p.Count)
	}
	return p.V.Of(d, p.N).Scatter(at, Number(step), x.Text, p.Count)
}

// UsesAny says whether an expression uses the value of one of some loops.
func UsesAny(loops []int, e *scalar.Expr) bool {
	return e.Any(func(e *scalar.Expr) bool { return e.Op == scalar.Loop && slices.Contains(loops, e.Ref) })
}

// Local gives the value of an earlier statement.
func (p *Point) Local(ref int) vector.Value { return p.Locals[ref] }

// Loop gives the value of a loop variable, which is an axis of its own or has one value.
func (p *Point) Loop(ref int) vector.Value {
	first := p.K.Loops[ref].Start
	for i, a := range p.Axes {
		if a.Inner() != ref {
			continue
		}
		text := fmt.Sprintf("(%s + %s)", a.Variable, Number(first))
		if i == p.Along {
			return p.V.Count(text, p.N)
		}
		return vector.Value{Text: text, Type: scalar.Int64, Uniform: true}
	}
	return vector.Value{Text: fmt.Sprintf("INT64_C(%d)", first), Type: scalar.Int64, Uniform: true}
}

// Reduce gives the value of a reduction that was written before.
func (p *Point) Reduce(e *scalar.Expr) vector.Value { return p.Sums[e] }

// Name declares a variable of a value and gives it.
func (p *Point) Name(t *cnest.Text, variable string, x vector.Value) vector.Value {
	c := p.V.W.Type(x.Type)
	if !x.Uniform {
		c = p.V.Type(x.Type, p.N)
		if x.Type == scalar.Bool {
			c = p.V.MaskType(x.Mask, p.N)
		}
	}
	t.Line("const %s %s = %s;", c, variable, x.Text)
	x.Text = variable
	return x
}

// Statements writes the statements from one on, up to another, at the present index.
func (p *Point) Statements(t *cnest.Text, from, to int) {
	for i := from; i < to; i++ {
		s := p.K.Statements[i]
		t.Line("// %s = %s", s.Name, cnest.Clip(s.Value.Format(p.K)))
		x := p.V.Expr(s.Value, p.N, p)
		if s.Store >= 0 {
			t.Line("%s;", p.Store(int(s.Store), x))
		} else {
			p.Locals[i] = p.Name(t, fmt.Sprintf("v%d", i), x)
		}
	}
}

// VectorKernel says whether all that a kernel computes can be written with vectors: of types that there are vectors of, and
// reading only elements that exist wherever its loops stand, since lanes that a choice does not pick are read too; one operand
// aside.
func VectorKernel(k *schedule.Kernel, buffers map[ir.NodeID]*schedule.Buffer, aside int) bool {
	for _, s := range k.Statements {
		if !vector.CanVectorize(s.Value) {
			return false
		}
	}
	return VectorBounds(k, buffers, aside)
}

// VectorBounds says whether operands are read only inside their buffers, wherever the loops stand; one operand aside.
func VectorBounds(k *schedule.Kernel, buffers map[ir.NodeID]*schedule.Buffer, aside int) bool {
	for i := range k.Operands {
		if i != aside && !nest.Inside(k, buffers, i) {
			return false
		}
	}
	return true
}

// Pointers declares the pointers of some operands.
func Pointers(t *cnest.Text, e *unit.Unit, k *schedule.Kernel, operands []int) {
	for _, i := range operands {
		o, constant, alone := k.Operands[i], "", "restrict "
		if o.Mode == schedule.Read {
			constant = "const "
			e.Raw(o.Buffer)
		}
		if e.Holds(o.Buffer) || overlaid(e, k, o) { // results may take the place of what they are made of
			alone = ""
		}
		t.Line("%s%s *%sp%d = b[%d]; // %s", constant, e.W.Stored(o.Type()), alone, i, e.Slot(o.Buffer), o.Name)
	}
}

// overlaid says whether an operand is an output over an input, or an input of a kernel that stores to an output over it.
func overlaid(e *unit.Unit, k *schedule.Kernel, o schedule.Operand) bool {
	over := func(buffer ir.NodeID) ir.NodeID {
		if b := e.Buffers[buffer]; b != nil {
			return b.Over
		}
		return ir.NoNode
	}
	return over(o.Buffer) != ir.NoNode || slices.ContainsFunc(k.Operands, func(w schedule.Operand) bool { return w.Mode == schedule.Write && over(w.Buffer) == o.Buffer })
}
