package cpu

import "fmt"

// pieceLeft is how many bytes the panels of a piece's rows take, for one run of the fold. Storing whole vectors reaches over the end.
func (p *product) pieceLeft() int64 {
	return roundUp((p.cut.rows*p.cut.fold+int64(p.n))*int64(p.d.Size()), panelBytes)
}

// placePiece finds the memory of a thread for the panels of its rows, and for unfinished sums that are too many for the stack.
func (p *product) placePiece() {
	bytes := int64(0)
	if p.c.Piecewise {
		bytes = p.pieceLeft()
	}
	if p.split() && p.openBytes() > maxSums {
		p.openAt, bytes = bytes, bytes+p.openBytes()
	}
	if p.own = bytes; bytes > 0 {
		p.ownSlot = p.e.needThread(bytes)
	}
}

// openBytes is the size of the unfinished sums of a piece.
func (p *product) openBytes() int64 { return p.openSums() * int64(p.n) * int64(p.d.Wide().Size()) }

// pieceMemory declares what a thread has for itself.
func (p *product) pieceMemory() {
	if p.own > 0 {
		p.Line("char *const own = (char *)b[%d] + worker * %s;", p.ownSlot, number(p.own))
	}
	if p.c.Piecewise {
		p.Line("%s *const rows = (%s *)own; // %s in panels of %d rows", p.e.w.Stored(p.d), p.e.w.Stored(p.d), p.k.Operands[p.c.Left].Name, p.cut.tileRows)
	}
	switch t := p.e.v.typ(p.vectorType(), p.n); {
	case !p.split():
	case p.openBytes() > maxSums:
		p.Line("%s *const open = (%s *)(own + %d); // unfinished sums", t, t, p.openAt)
	default:
		p.e.stack(p.openBytes())
		p.Line("%s open[%d]; // unfinished sums", t, p.openSums())
	}
}

// leftFunction writes the function that puts some rows of the left operand in panels, each as many rows as a tile has, one run of the fold.
func (p *product) leftFunction() {
	o, rows, n := p.k.Operands[p.c.Left], p.cut.tileRows, int64(p.n)
	stored, step := p.e.w.Stored(p.d), number(p.c.Row.Step(p.c.Views[p.c.Left]))
	p.Line("")
	p.Line("// Some rows of %s in panels of %d rows, %d values of the fold each.", o.Name, rows, p.cut.fold)
	p.Open("static void k%d_left(const %s *from, int64_t rows, int64_t values, %s *to) {", p.number, stored, stored)
	p.Open("for (; rows > 0; rows -= %d, from += %s, to += %d) {", rows, number(rows*p.c.Row.Step(p.c.Views[p.c.Left])), rows*p.cut.fold)
	p.Line("int64_t k = 0;")
	p.Line("if (rows >= %d) for (; k + %d <= values; k += %d) %s;", rows, n, n,
		p.e.v.turn(p.d, p.n, int(rows), "from + k", step, fmt.Sprintf("to + k * %d", rows), fmt.Sprint(rows)))
	p.Open("for (; k < values; k++) {")
	p.Line("for (int64_t r = 0; r < %d && r < rows; r++) to[k * %d + r] = from[r * %s + k];", rows, rows, step)
	p.Close()
	p.Close()
	p.Close()
}

// packLeft writes the call that puts the rows of a piece in panels: one run of the fold, from some value on.
func (p *product) packLeft(from, values string) {
	if p.c.Piecewise {
		p.Line("k%d_left(left + %s%s, i1 - i0, %s, rows);", p.number, p.leftOffset("i0"), from, values)
	}
}
