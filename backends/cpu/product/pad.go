package product

import (
	"fmt"

	"tensortapestry.org/tapc/backends/cpu/point"
	"tensortapestry.org/tapc/backends/cpu/vector"
	"tensortapestry.org/tapc/dialects/schedule/nest"
)

// PadRows is how many rows the padded copy of the left operand has: places of all but its two innermost dimensions.
func (p *Product) PadRows() int64 {
	n := int64(1)
	for _, d := range p.C.Padded.Dims[:len(p.C.Padded.Dims)-2] {
		n *= d.Extent()
	}
	return n
}

// padTask writes the function with which a thread copies some rows of the left operand and puts zeros around them.
func (p *Product) padTask() {
	dims := p.C.Padded.Dims
	outer, across, inner := dims[:len(dims)-2], dims[len(dims)-2], dims[len(dims)-1]
	o := p.K.Operands[p.C.Left]
	buffer, stored := p.E.Buffers[o.Buffer], p.E.W.Stored(p.D)
	row := across.Extent() * inner.Extent()
	p.E.Raw(o.Buffer)
	p.Line("")
	p.Line("// %s with zeros around.", o.Name)
	p.Open("static void k%d_pad(void *ctx, int64_t begin, int64_t end, int worker) {", p.Number)
	p.Line("const tapc_part *part = ctx;")
	p.Line("void *const *b = part->b;")
	p.Line("(void)worker;")
	p.Line("%s *to = (%s *)((char *)b[%d] + %d) + begin * %d;", stored, stored, p.Pad.Slot, p.Pad.At, row)
	p.Open("for (int64_t row = begin; row < end; row++, to += %d) {", row)
	p.Line("int64_t rest = row;")
	inside, at := "", ""
	for i := len(outer) - 1; i >= 0; i-- {
		d := outer[i]
		r := buffer.Range
		p.Line("const int64_t x%d = rest %% %d + %s;", d.Dim, d.Extent(), point.Number(d.First))
		p.Line("rest /= %d;", d.Extent())
		if d.First < r.Start[d.Dim] || d.Last >= r.End[d.Dim] {
			if inside != "" {
				inside += " && "
			}
			inside += fmt.Sprintf("x%d >= %s && x%d < %s", d.Dim, point.Number(r.Start[d.Dim]), d.Dim, point.Number(r.End[d.Dim]))
		}
		at += fmt.Sprintf(" + (x%d - %s) * %s", d.Dim, point.Number(r.Start[d.Dim]), point.Number(buffer.Strides[d.Dim]))
	}
	p.Line("(void)rest;")
	if inside != "" {
		p.Open("if (!(%s)) {", inside)
		p.Line("__builtin_memset(to, 0, %d * sizeof *to);", row)
		p.Line("continue;")
		p.Close()
	}
	p.padRow(across, inner, at)
	p.Close()
	p.Close()
}

// padRow writes the copying of one row.
func (p *Product) padRow(across, inner nest.PaddedDim, at string) {
	o := p.K.Operands[p.C.Left]
	buffer, stored := p.E.Buffers[o.Buffer], p.E.W.Stored(p.D)
	r := buffer.Range
	first, end := max(across.First, r.Start[across.Dim]), min(across.Last+1, r.End[across.Dim])
	end = max(first, end)
	before, live, behind := first-across.First, end-first, across.Last+1-end
	n := inner.Extent()
	stepAcross, stepInner := buffer.Strides[across.Dim], buffer.Strides[inner.Dim]
	p.Line("const %s *from = (const %s *)b[%d]%s + %s + %s;", stored, stored, p.E.Slot(o.Buffer), at,
		point.Number((first-r.Start[across.Dim])*stepAcross), point.Number((inner.First-r.Start[inner.Dim])*stepInner))
	if before > 0 {
		p.Line("__builtin_memset(to, 0, %d * sizeof *to);", before*n)
	}
	if behind > 0 {
		p.Line("__builtin_memset(to + %d, 0, %d * sizeof *to);", (before+live)*n, behind*n)
	}
	switch {
	case stepInner == 1 && stepAcross == n:
		p.Line("__builtin_memcpy(to + %d, from, %d * sizeof *to);", before*n, live*n)
	case stepInner == 1:
		p.Line("for (int64_t x = 0; x < %d; x++) __builtin_memcpy(to + (%d + x) * %d, from + x * %s, %d * sizeof *to);", live, before, n, point.Number(stepAcross), n)
	case stepAcross == 1:
		square := p.E.V.Of(p.D, p.N).Transpose(p.N, "from + y * step + x", "step", "to + x * values + y", "values")
		name := vector.TransposePlaces(p.E.V, "tapc_turn_places_"+vector.ElementName(p.D), stored, stored, square, "from[y * step + x]", p.N)
		p.Line("%s(from, %s, to + %d, %d, %d);", name, point.Number(stepInner), before*n, live, n)
	default:
		p.Open("for (int64_t x = 0; x < %d; x++) {", live)
		p.Line("for (int64_t y = 0; y < %d; y++) to[(%d + x) * %d + y] = from[x * %s + y * %s];", n, before, n, point.Number(stepAcross), point.Number(stepInner))
		p.Close()
	}
}
