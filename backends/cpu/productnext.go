package cpu

import (
	"fmt"
	"slices"

	"tensortapestry.org/tapc/backends/cpu/point"
)

// coming is what a tile fetches while it multiplies: what tiles after it need and no cache near by has. It does so little by little, as
// what it loads itself would have to wait behind many lines at once.
type coming uint8

const (
	nothing     coming = iota
	rowsNext           // the rows of the next tile, which stand where they always do
	columnsNext        // the panels of the next columns
	stripNext          // the same, a line with every value of the fold in the last tiles that use the present ones
	pieceNext          // the columns of the next piece, which its thread then puts in panels
)

// leastTiles is how many tiles have to share the next columns.
const leastTiles = 16

// fewStrips is how many times a piece's rows are used at most for their being fetched to matter.
const fewStrips = 4

// whatComes chooses what tiles fetch.
func (p *product) whatComes() coming {
	last := len(p.c.Reduction) - 1
	if last < 0 || p.c.Window != nil {
		return nothing
	}
	far := func(operand int) bool { return p.e.Buffers[p.k.Operands[operand].Buffer].Bytes >= p.e.Target.L2/2 }
	columns := (p.form == prepared || p.form == packed) && far(p.c.Right) && p.strips() > 1 && p.cut.tileCols%p.panel == 0
	simple := last == 0 && p.c.Padded == nil
	switch {
	case !simple:
	case columns && p.tilesAcross() < leastTiles:
		if p.form == prepared && p.tilesAcross() >= max(2, p.cut.tileCols/p.panel) && (!p.columnsLast() || p.cut.cols == p.cut.tileCols) {
			return stripNext
		}
	case p.tilesDown() < 2:
	case columns && !p.columnsLast() && p.cut.block < p.cut.fold:
		return columnsNext
	case p.form == local && !p.blockwise() && p.c.Col.Step(p.c.Views[p.c.Right]) == 1 && far(p.c.Right) && p.c.Col.Extent > p.cut.cols && p.roomForNext():
		return pieceNext
	case p.form != direct && p.leftWidth() == 0 && far(p.c.Left) && p.c.Row.Extent > p.cut.tileRows && p.strips() <= fewStrips && !p.split() && p.neighbours():
		return rowsNext
	}
	return nothing
}

// strips is how many columns of tiles there are.
func (p *product) strips() int64 { return (p.c.Col.Extent + p.cut.tileCols - 1) / p.cut.tileCols }

// neighbours says whether the rows of the left operand stand one behind the other.
func (p *product) neighbours() bool {
	left, fold := p.c.Views[p.c.Left], p.c.Reduction[len(p.c.Reduction)-1]
	return fold.Step(left) == 1 && p.c.Row.Step(left) == fold.Extent
}

// tilesAcross is how many tiles use a strip of columns, or a part of it if the fold is split, one behind the other.
func (p *product) tilesAcross() int64 {
	if !p.columnsLast() || p.split() {
		return p.tilesDown()
	}
	down := (p.c.Row.Extent + p.cut.rows - 1) / p.cut.rows
	rest := p.c.Row.Extent - (down-1)*p.cut.rows
	return (down*p.inner-1)*p.tilesDown() + (rest+p.cut.tileRows-1)/p.cut.tileRows
}

// roomForNext says whether the second cache has room for the next piece's columns beside what the present one takes.
func (p *product) roomForNext() bool {
	return 2*p.share()+p.cut.rows*p.length*int64(p.d.Size()) <= p.e.Target.L2*3/4
}

// tilesDown is how many tiles of rows a piece has.
func (p *product) tilesDown() int64 {
	return (min(p.cut.rows, p.c.Row.Extent) + p.cut.tileRows - 1) / p.cut.tileRows
}

// nextParameters and nextArguments say from which address on, and in which steps, a tile fetches: maybe from beyond what there is, so they are
// numbers.
func (p *product) nextParameters() string {
	switch p.comes {
	case nothing:
		return ""
	case columnsNext:
		return ", uintptr_t next"
	}
	return ", uintptr_t next, uintptr_t step"
}

func (p *product) nextArguments() string {
	switch p.comes {
	case nothing:
		return ""
	case columnsNext:
		return ", next"
	}
	return ", next, step"
}

// next declares them for a tile. The lines of a piece's columns are shared out between tiles: the first fetches the first line of every
// value of the fold, the second the next; those that find none left fetch what they have.
func (p *product) next() {
	at := fmt.Sprintf("(i - i0) / %d", p.cut.tileRows)
	declare := func(base, offset, what string) {
		p.Line("const uintptr_t next = (uintptr_t)%s + (uintptr_t)(%s) * sizeof *w; // the next %s", base, offset, what)
	}
	// some tiles, from one on, fetch in steps of some elements
	some := func(ordinal string, step int64) {
		p.Line("const int64_t tile = %s;", at)
		p.Line("const uintptr_t step = %s ? (uintptr_t)%s * sizeof *w : 0;", ordinal, point.Number(step))
	}
	switch p.comes {
	case rowsNext:
		p.Line("const uintptr_t step = %d;", panelBytes)
		declare("a", point.Number(p.cut.tileRows*p.c.Row.Step(p.c.Views[p.c.Left])), "rows")
	case columnsNext:
		declare("w", fmt.Sprintf("%s + %s * %d", point.Number(p.cut.tileCols*p.deep()), at, p.blocksOf()*p.pace()*p.panel), "columns")
	case stripNext:
		first := p.tilesAcross() - p.cut.tileCols/p.panel
		if p.columnsLast() && !p.split() {
			at = fmt.Sprintf("piece %% %d * %d + %s", (p.c.Row.Extent+p.cut.rows-1)/p.cut.rows*p.inner, p.tilesDown(), at)
		}
		far := point.Number(p.cut.tileCols * p.deep())
		if p.split() {
			far = fmt.Sprintf("(f + fn < %d ? fn * %d : %s - f * %d)", p.innerFold(), p.panel, far, p.panel)
		}
		some(fmt.Sprintf("tile >= %d", first), p.panel)
		declare("w", fmt.Sprintf("step ? %s + (tile - %d) * %s : 0", far, first, point.Number(p.panel*p.deep())), "columns")
	case pieceNext:
		if p.cut.cols > p.cut.tileCols {
			at += fmt.Sprintf(" + (j - j0) / %d * %d", p.cut.tileCols, p.tilesDown())
		}
		o, view, line := p.k.Operands[p.c.Right], p.c.Views[p.c.Right], int64(panelBytes/p.d.Size())
		from := point.OffsetText(point.Start(p.k, view), append(slices.Clone(p.groups()), point.Axis{Dim: p.c.Col, Variable: "j1"}), view)
		some(fmt.Sprintf("tile < %d", (p.cut.cols+line-1)/line), p.c.Reduction[0].Step(view))
		declare(fmt.Sprintf("b[%d]", p.e.Slot(o.Buffer)), fmt.Sprintf("%s + (step ? tile : 0) * %d", from, line), "piece")
	}
}

// fetchStep writes what a tile fetches with every value of the fold, and fetchBlock with every block of them.
func (p *product) fetchStep() {
	switch p.comes {
	case rowsNext:
		p.Line("TAPC_FETCH((const char *)next, 0, 0, 3), next += step;")
	case stripNext, pieceNext:
		p.Line("TAPC_FETCH((const char *)next, 0, 0, 2), next += step;")
	}
}

func (p *product) fetchBlock() {
	if p.comes != columnsNext {
		return
	}
	n, size := p.pace(), int64(p.d.Size())
	for x := int64(0); x < p.cut.tileCols; x += p.panel {
		p.Line("for (int x = 0; x < %d; x++) TAPC_FETCH((const char *)next, x * %d + %s, 0, 2);", n, panelBytes, point.Number(x*p.deep()*size))
	}
	p.Line("next += %d;", n*panelBytes)
}

// pace is how many values of the fold each block of a tile fetches of the next columns, so that the tiles of a piece fetch all.
func (p *product) pace() int64 {
	n := p.tilesDown() * p.blocksOf()
	return (p.cut.fold + n - 1) / n
}

// blocksOf is how many blocks a run of the fold has.
func (p *product) blocksOf() int64 { return (p.cut.fold + p.cut.block - 1) / p.cut.block }
