package product

import (
	"fmt"
	"slices"
	"strings"

	"tensortapestry.org/tapc/backends/cnest"
	"tensortapestry.org/tapc/backends/cpu/point"
	"tensortapestry.org/tapc/backends/cpu/unit"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/nest"
)

// PaddedCopy writes the function that copies a row of an operand and fills what is around it.
type PaddedCopy struct {
	*cnest.Text
	E       *unit.Unit
	Operand schedule.Operand
	Padded  *nest.Padded
	Kept    string        // the C type of elements in the copy
	Fill    func() string // writes the byte that is around, where it is not 0
	Elements
}

// Elements writes how elements are copied.
type Elements struct {
	Run    func(from, to string, n int64) string // a statement that copies neighbours
	Places func() string                         // names the function that transposes neighbours on the way
	One    func(element string) string           // an element as the copy has it
}

// Write writes the function.
func (p *PaddedCopy) Write(about, name string) {
	n := len(p.Padded.Dims)
	outer, across, inner, live := p.Padded.Dims[:n-2], p.Padded.Dims[n-2], p.Padded.Dims[n-1], p.Padded.Live
	r, strides := p.E.Buffers[p.Operand.Buffer].Range, p.E.Buffers[p.Operand.Buffer].Strides
	row := across.Extent() * inner.Extent()
	p.E.Raw(p.Operand.Buffer)
	p.Line("\n// A row of %s %s around.", p.Operand.Name, about)
	p.Open("static void %s(void *const *b, int64_t rest, %s *to) {", name, p.Kept)
	fill, voids := "0", "(void)b, (void)rest"
	if p.Fill != nil {
		p.Line("const int fill = %s;", p.Fill())
		fill, voids = "fill", "(void)b, (void)rest, (void)fill"
	}
	var inside []string
	at := ""
	for _, d := range slices.Backward(outer) {
		start, end := point.Number(live.Start[d.Dim]), point.Number(live.End[d.Dim])
		p.Line("const int64_t x%d = rest %% %d + %s;", d.Dim, d.Extent(), point.Number(d.First))
		p.Line("rest /= %d;", d.Extent())
		if d.First < live.Start[d.Dim] || d.Last >= live.End[d.Dim] {
			inside = append(inside, fmt.Sprintf("x%d >= %s && x%d < %s", d.Dim, start, d.Dim, end))
		}
		at += fmt.Sprintf(" + (x%d - %s) * %s", d.Dim, point.Number(r.Start[d.Dim]), point.Number(strides[d.Dim]))
	}
	p.Line("%s;", voids)
	if len(inside) > 0 {
		p.Open("if (!(%s)) {", strings.Join(inside, " && "))
		p.Line("__builtin_memset(to, %s, %d * sizeof *to);", fill, row)
		p.Line("return;")
		p.Close()
	}
	first := max(across.First, live.Start[across.Dim])
	end := max(first, min(across.Last+1, live.End[across.Dim]))
	before, between, behind := first-across.First, end-first, across.Last+1-end
	values := inner.Extent()
	if before > 0 {
		p.Line("__builtin_memset(to, %s, %d * sizeof *to);", fill, before*values)
	}
	if behind > 0 {
		p.Line("__builtin_memset(to + %d, %s, %d * sizeof *to);", (before+between)*values, fill, behind*values)
	}
	if between > 0 {
		stored := p.E.W.Stored(p.E.Buffers[p.Operand.Buffer].Type())
		p.Line("const %s *from = (const %s *)b[%d]%s + %s + %s;", stored, stored, p.E.Slot(p.Operand.Buffer), at,
			point.Number((first-r.Start[across.Dim])*strides[across.Dim]), point.Number((inner.First-r.Start[inner.Dim])*strides[inner.Dim]))
		p.row(fmt.Sprintf("to + %d", before*values), between, values, strides[across.Dim], strides[inner.Dim])
	}
	p.Close()
}

// row writes the copying of elements that are there: live times n neighbours in the copy, which are steps apart at from.
func (p *PaddedCopy) row(to string, live, n, stepAcross, stepInner int64) {
	across, inner := point.Number(stepAcross), point.Number(stepInner)
	switch {
	case stepInner == 1 && stepAcross == n:
		p.Line("%s;", p.Run("from", to, live*n))
	case stepInner == 1:
		p.Line("for (int64_t x = 0; x < %d; x++) %s;", live, p.Run("from + x * "+across, fmt.Sprintf("%s + x * %d", to, n), n))
	case stepAcross == 1:
		p.Line("%s(from, %s, %s, %d, %d);", p.Places(), inner, to, live, n)
	default:
		p.Open("for (int64_t x = 0; x < %d; x++) {", live)
		p.Line("for (int64_t y = 0; y < %d; y++) (%s)[x * %d + y] = %s;", n, to, n, p.One(fmt.Sprintf("from[x * %s + y * %s]", across, inner)))
		p.Close()
	}
}

// pad writes the function that copies a row of the left operand and puts zeros around it.
func pad(p *Product) {
	stored := p.E.W.Stored(p.D)
	c := &PaddedCopy{Text: p.Text, E: p.E, Operand: p.K.Operands[p.C.Left], Padded: p.C.Padded, Kept: stored, Elements: Elements{
		Run: func(from, to string, n int64) string {
			return fmt.Sprintf("__builtin_memcpy(%s, %s, %d * sizeof *to)", to, from, n)
		},
		Places: func() string {
			x := p.E.V.Of(p.D, p.N)
			return Places(x, "", "TAPC_KEPT "+stored, "TAPC_ONE(x) x", transposing(x, p.N))
		},
		One: func(element string) string { return element },
	}}
	c.Write("with zeros", fmt.Sprintf("%s_pad_row", p.Name))
}
