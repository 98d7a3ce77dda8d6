// Package point is what the templates of kernels say of places: axes with their variables, the offsets of operands there and their pointers. It must not import backends/cpu.
// Read next: point.go.
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

// Start is the number of the element that a view is at where all loops start.
func Start(k *schedule.Kernel, v nest.View) int64 {
	at := v.Base
	for l, s := range v.Steps {
		at += s * k.Loops[l].Start
	}
	return at
}

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

// UsesAny says whether an expression uses the value of one of some loops.
func UsesAny(loops []int, e *scalar.Expr) bool {
	return e.Any(func(e *scalar.Expr) bool { return e.Op == scalar.Loop && slices.Contains(loops, e.Ref) })
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
