package tile

import (
	"math"
	"slices"

	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/cost"
	"tensortapestry.org/tapc/dialects/schedule/nest"
)

const (
	SumBlock = nest.SumBlock

	maxRows       = 14       // of a register tile
	pagedRows     = 8        // of a register tile whose rows lie whole pages apart: more push each other out of the first cache
	halfPagedRows = 12       // of one whose rows lie half pages apart
	maxVectors    = 8        // of a register tile
	leastVectors  = 2        // of a register tile whose reduction is too long for a cache
	pieces        = 32       // that a large product is cut into at least, for threads to share
	fewPieces     = 8        // that do if more would have to share columns in panels
	productWork   = 1 << 16  // multiply-adds from which threads pay, and of the smallest piece
	foldBlock     = 512      // about how many run at once if there are more
	leastHeld     = 128      // rows of a right operand in place that run at once, at least
	streamRows    = 16       // rows of a right operand that are read side by side when it is read in order and comes from memory,
	streamCols    = 1024     // and columns,
	streamBytes   = 32 << 20 // of one that several rows read, above which no cache holds it
	nearBytes     = 20 << 20 // of a program's buffers, up to which caches have what was touched in the run before
	SteadyBytes   = 8 << 20  // of them, up to which a cache of several machines has it steadily: measured on Zen 3 (docs/performance.md, "Columns in place, in order")
	cacheWays     = 8        // lines of a set of the first cache, so that as many rows that are whole pages apart stay in it
	transposeRows = 32       // that columns are transposed for panel by panel
)

// Of a contraction whose rows are put in panels piece by piece.
const (
	pieceFold      = 1024 // values of the reduction that run at once
	pieceCols      = 2048 // columns of a piece at most,
	leastPieceCols = 512  // and at least, if there are as many: each piece puts its rows in panels
	leastPieces    = 16   // that it is cut into, for threads to share
)

// MaxSums is how many bytes of a piece's sums are on the stack; more of them are in the memory of a thread.
const MaxSums = 64 << 10

// RowPanel is how many rows of a left operand in panels stand side by side: the same for every processor, so that a program that is
// built for several holds a constant one once.
const RowPanel = 12

// Sums is how many values a kernel adds before a new partial sum starts, if it is a contraction of floats, else 0.
func Sums(forms nest.Forms) int64 {
	if c, ok := nest.Of[*nest.Contraction](forms); ok && c.Sum.Type.IsFloat() {
		return nest.PartialSum(c)
	}
	return 0
}

// RegisterTile is what a contraction keeps in registers: sums of Rows rows and Vectors vectors of columns.
type RegisterTile struct{ Rows, Vectors int64 }

// reuse grows with how often a tile uses what it loads.
func (t RegisterTile) reuse() int64 { return 1000 * t.Rows * t.Vectors / (t.Rows + t.Vectors) }

// pricedTile is a register tile, and about how long one step of the reduction takes with it over all tiles, in eighths of a cycle.
type pricedTile struct {
	RegisterTile
	cycles int64
}

// registerTile chooses the tile that takes the fewest cycles; of equals the one that uses more often what it loads, the first of them.
func registerTile(tiles []pricedTile) pricedTile {
	best := pricedTile{RegisterTile{1, 1}, noTile}
	for _, x := range tiles {
		if x.cycles < best.cycles || x.cycles == best.cycles && x.reuse() > best.reuse() {
			best = x
		}
	}
	return best
}

// noTile is the price where there is no register tile.
const noTile = 1 << 62

// registerTiles gives the register tiles that a product of rows by cols can have, priced for a core that does two
// multiply-adds and two loads in a cycle and has results after four; columns of a reduction that is so long that they come from the
// second cache take longer.
// Sizes that leave something over at the edges want functions of their own, which take time to compile, so they have to be better by
// a little.
// Packed columns are priced as unpacked ones: in tiles of few sums their steps take no longer, but the parts of a sum begin more often. Measured on Zen 3: a convolution of 7 × 7 × 3, whose sums have parts of 3
// values, takes 1.19 of the time in tiles of 4 × 2 beside 6 × 2, and images of 32 channels that two devices have halves of 1.08.
// A short sum has so many products, others 0 (cost.ShortSum). A tile has at most some number of rows. A left operand in panels of rows is shared out evenly by tiles.
func (t Target) registerTiles(rows, cols, lanes, length, short, most int64, paneled bool) []pricedTile {
	var out []pricedTile
	panel := schedule.PanelBytes / t.Vector // vectors of a panel
	for v := int64(1); v <= maxVectors; v++ {
		if v%panel != 0 && panel%v != 0 {
			continue
		}
		for r := int64(1); r <= most && r <= rows; r++ {
			if !cost.Fits(r, v, t.Registers) {
				break
			}
			if paneled && RowPanel%r != 0 {
				continue
			}
			core := cost.Core{Registers: t.Registers, Load: t.loadCycles(v, length), Unpacked: short == 0, Sum: short}
			c := int64(core.Steps(rows, (cols+lanes-1)/lanes, r, v))
			c += c / edgeShare * edges(rows, (cols+lanes-1)/lanes, r, v)
			out = append(out, pricedTile{RegisterTile{r, v}, c})
		}
		if v*lanes >= cols {
			break
		}
	}
	return out
}

// edgeShare is the part of a tile's time that each further size of tiles has to win.
const edgeShare = 50

// edges is how many sizes of tiles there are besides the usual one.
func edges(rows, vectors, r, v int64) int64 {
	sizes := int64(1)
	if rows%r != 0 && rows > r {
		sizes = 2
	}
	if vectors%v != 0 && vectors > v {
		sizes *= 2
	}
	return sizes - 1
}

// loadCycles is the time that a vector of columns takes to come, in half cycles, where v vectors of each step of a reduction are used
// again by the next rows.
func (t Target) loadCycles(v, length int64) float64 {
	if v*t.Vector*length <= firstCache {
		return cost.Near
	}
	return distantLoad
}

const (
	firstCache  = 32 << 10 // bytes of columns that the first cache keeps
	pageBytes   = 4 << 10  // apart, bytes share a set of the first cache
	rowParts    = 4        // macro-tiles of a product whose right operand is read in order, at least
	busySums    = 4        // vectors of sums at work, from which more gain little where columns are transposed
	distantLoad = 5        // half cycles of a vector from the second: it gives a vector in two to three cycles
)

// threads says whether it is worth it that a contraction runs on several threads.
func (p *productPlan) threads(c *nest.Contraction) bool {
	return nest.SaturatingProduct(p.length, c.Row.Extent, c.Col.Extent, p.batch) >= productWork
}

// productPlan is how a contraction is cut.
type productPlan struct {
	lanes         int64
	tile          pricedTile
	rows, cols    int64 // of a piece
	fold          int64 // values of the innermost reduction dimension that run at once
	streamed      int64 // rows of the right operand that are read side by side where it is read in order, else 0
	block         int64 // products in a partial sum
	length, batch int64 // extents of reduction and batch
	Packing
}

// plan chooses the sizes of a contraction whose factors are read as a packing says.
func (t Target) plan(c *nest.Contraction, from Packing) productPlan {
	return t.planTile(c, from, registerTile(t.tilesOf(c, from)))
}

// tilesOf gives the register tiles that a contraction can have whose factors are read as a packing says.
func (t Target) tilesOf(c *nest.Contraction, from Packing) []pricedTile {
	size, lanes, length := int64(c.Sum.Type.Size()), t.lanes(c.Sum.Type.Size()), nest.Points(c.Reduction)
	most := int64(maxRows)
	if step := c.Row.Step(c.Views[c.Left]) * size; !from.Paneled() && step != 0 {
		switch {
		case step%pageBytes == 0:
			most = pagedRows
		case step%(pageBytes/2) == 0:
			most = halfPagedRows
		}
	}
	if from.Left == PerMacroTile {
		most = min(maxRows, lanes)
	}
	tiles := t.registerTiles(c.Row.Extent, min(c.Col.Extent, t.keptColumns(c, size, from.Right), rowShare(c, lanes)), lanes, min(length, nest.LongReduction), cost.ShortSum(c, t.Registers), most, from.Paneled())
	if cost.ShortRun(c, t.Registers) > 0 { // tiles of one vector, of which each number of a row is used once, are faster than those of fewer rows
		tiles = slices.DeleteFunc(tiles, func(x pricedTile) bool { return x.Vectors > 1 || !cost.Resident(x.Rows, 1, t.Registers) })
	}
	return tiles
}

// rowShare is how many columns the register tiles of a product of one row have at most, so that there are a few macro-tiles for threads: of one row, columns are
// most of what is read, and each core has a part of them in its caches. They have two panels at least, as a core waits for one sum.
func rowShare(c *nest.Contraction, lanes int64) int64 {
	work := nest.SaturatingProduct(nest.Points(c.Reduction), c.Col.Extent)
	if c.Row.Extent > 1 || nest.Points(c.Batch) > 1 || work < 2*productWork || c.Col.Extent >= rowParts*maxVectors*lanes {
		return c.Col.Extent
	}
	panels := 2 * schedule.PanelBytes / int64(c.Sum.Type.Size())
	return roundUp(c.Col.Extent/min(rowParts, work/productWork), panels)
}

// wholeRows is up to how many bytes all rows are one piece, if the second cache has as many: columns are then packed by the tasks that multiply them, and not by way of
// memory. 128 × 768 × 3072 takes 0.9 of the time with 512 KB; with more it was not measured.
const wholeRows = 512 << 10

// planTile chooses the other sizes for a register tile.
func (t Target) planTile(c *nest.Contraction, from Packing, tile pricedTile) productPlan {
	size := int64(c.Sum.Type.Size())
	p := productPlan{tile: tile, lanes: t.lanes(c.Sum.Type.Size()), length: nest.Points(c.Reduction), batch: nest.Points(c.Batch), fold: 1, block: nest.PartialSum(c),
		Packing: from}
	kept := t.keptColumns(c, size, p.Right)
	width := p.tile.Vectors * p.lanes
	if panel := schedule.PanelBytes / size; p.Right == UpFront && c.Col.Extent > panel { // macro-tiles that pack their own have whole panels
		width = max(width, panel)
	}
	p.rows = roundUp(c.Row.Extent, p.tile.Rows)
	p.cols = min(roundUp(c.Col.Extent, width), roundDown(kept, width))
	if n := len(c.Reduction); n > 0 {
		p.fold = c.Reduction[n-1].Extent
	}
	if len(c.Reduction) == 1 && !c.Transposed {
		p.streamed = p.streams(t, c, size)
		p.cutFold(c, size, heldRows(t, c, size))
	}
	if p.Left == PerMacroTile {
		p.cols = min(roundUp(c.Col.Extent, width), roundUp(pieceCols, width))
	}
	near := p.Right == Prepacked && t.Near(nest.SaturatingProduct(p.length, c.Col.Extent, size)) && p.batch*p.rows/p.tile.Rows >= pieces
	if near { // rows are pieces enough
		p.cols = roundUp(c.Col.Extent, width)
	}
	row, whole := max(1, p.length/c.InnerReduction()*p.fold)*size, t.L2/2
	p.rows = even(c.Row.Extent, whole/row, p.tile.Rows)
	if p.Right == UpFront && p.Left != PerMacroTile {
		whole = max(whole, min(t.L2, wholeRows))
	}
	if c.Row.Extent <= whole/row { // what the last register tile has more takes no room
		p.rows = roundUp(c.Row.Extent, p.tile.Rows)
	}
	least := width
	switch {
	case p.streamed > 0:
		if rereads(t, c, size) {
			p.rows = p.tile.Rows
		}
		least = roundUp(max(1, p.streamedColumns(t, c, size)), width)
	case near:
		least = p.cols
	case p.Left == PerMacroTile:
		least = min(p.cols, roundUp(leastPieceCols, width))
	}
	p.shrink(c, least)
	if p.Left != PerMacroTile && p.fold < c.InnerReduction() {
		p.narrow(MaxSums/size, width)
	}
	if c.Transposed {
		p.turned(MaxSums / size)
	}
	p.cols = min(p.cols, roundUp(c.Col.Extent, p.tile.Vectors*p.lanes)) // whole panels may be more than there are columns
	return p
}

// turned makes a piece whose sums are turned so small that it has at most some of them.
func (p *productPlan) turned(most int64) {
	p.narrow(most, p.tile.Vectors*p.lanes)
	for p.rows*p.cols > most && p.rows > p.tile.Rows {
		p.rows = roundUp(p.rows/2, p.tile.Rows)
	}
}

// narrow makes a piece of fewer columns, a multiple of a width, as long as it has more than some sums.
func (p *productPlan) narrow(most, width int64) {
	for p.rows*p.cols > most && p.cols > width {
		p.cols = roundUp(p.cols/2, width)
	}
}

// keptColumns is how many columns, each with what runs of the reduction at once, stay in the second cache beside the rows that they are
// multiplied with, for the next rows to use. A few do in any case: with fewer, the sums in registers would not pay for what is
// loaded.
func (t Target) keptColumns(c *nest.Contraction, size int64, right Pack) int64 {
	if right == Unpacked || c.Window != nil {
		return c.Col.Extent
	}
	if right == UpFront && transposedOnce(c) {
		return schedule.PanelBytes / size * transposedPanels(c)
	}
	fold := nest.Points(c.Reduction)
	if len(c.Reduction) == 1 {
		fold = min(fold, nest.LongReduction)
	}
	lanes := t.lanes(int(size))
	unit := lanes
	if c.Row.Extent > 1 && t.Vector == schedule.PanelBytes/2 { // register tiles of two vectors, which a panel has, have no edges
		unit = 2 * lanes
	}
	return max(roundDown(t.L2*5/8/(fold*size), unit), leastVectors*lanes)
}

// transposedOnce says whether the columns of a right operand lie along the reduction, and are transposed into panels for a few rows alone: the panels are
// read back soon, while they are in the first cache, if a macro-tile is one of them, and few columns far apart are read side by side.
func transposedOnce(c *nest.Contraction) bool {
	return c.Row.Extent <= transposeRows && len(c.Reduction) == 1 && c.Reduction[0].Step(c.Views[c.Right]) == 1 && c.Col.Step(c.Views[c.Right]) > 1
}

// transposedPanels is how many panels a macro-tile has of columns that are transposed: as many as sums of its rows take to keep a core busy, which adds to each again
// after four cycles, if they stay in the first cache until they are read back.
func transposedPanels(c *nest.Contraction) int64 {
	return max(1, min(busySums/max(1, c.Row.Extent), firstCache/2/(schedule.PanelBytes*max(1, c.InnerReduction()))))
}

// streams gives how many rows of a right operand are read side by side where it is read in order, 0 where it is not: of few rows if no cache holds it, and of one row, which does nothing
// else with it. Where caches hold it, of one row a partial sum of them, and of few rows few columns, many rows of them: that takes less than taking up sums again every few rows
// (docs/performance.md).
func (p *productPlan) streams(t Target, c *nest.Contraction, size int64) int64 {
	bytes := rightBytes(c, size)
	switch {
	case p.Right != Unpacked || c.Col.Step(c.Views[c.Right]) != 1 || p.length <= 2*streamRows:
		return 0
	case c.Row.Extent == 1 && max(bytes, t.program) <= nearBytes:
		return min(SumBlock, p.length)
	case c.Row.Extent == 1 && InOrder(t) && c.Col.Extent/rowParts*size >= runBytes(cacheWays):
		return cacheWays
	case c.Row.Extent == 1, c.Row.Extent <= 2*p.tile.Rows && bytes > streamBytes && !InOrder(t):
		return streamRows
	case InOrder(t):
		return p.sideBySide(t, c, size, bytes)
	}
	return 0
}

// streamedColumns is how many columns a macro-tile has at least where a right operand is read in order. Of one that the second cache does not have, rows whole pages apart are read in longer runs.
func (p *productPlan) streamedColumns(t Target, c *nest.Contraction, size int64) int64 {
	switch {
	case !InOrder(t) || c.Row.Extent == 1:
		return min(streamCols, c.Col.Extent/rowParts)
	case !apartAndFar(t, c, size):
		return min(runBytes(p.streamed)/size, c.Col.Extent/fewPieces)
	}
	down := (c.Row.Extent + p.rows - 1) / p.rows
	return min(pageBytes/2/size, c.Col.Extent*down/max(rowParts, down))
}

// InOrder says whether several rows read a right operand in order also where caches have it, and one row 8 rows of it side by side where none has: processors with 16 registers do, as measured on
// Zen 3. With AVX-512 it was not measured.
func InOrder(t Target) bool { return t.Registers <= 16 }

// sideBySide is streams for several rows, on a processor that fetches ahead what follows in a row, and not what is in the next row. Rows that are whole pages apart are in the same sets of the
// first cache, which push each other out if they are more than it has ways: of them as many are read at once where the second cache has the operand, or none keeps it, unless sums and what they go on
// with are more than registers. Others are read in order where a program is more than the steady part of the third cache, for so few rows that reading is what takes the time.
func (p *productPlan) sideBySide(t Target, c *nest.Contraction, size, bytes int64) int64 {
	far := max(bytes, t.program) > SteadyBytes
	wide := func(rows int64) bool { return c.Col.Extent*size >= runBytes(rows) }
	switch {
	case PagesApart(c, size) && c.Row.Extent <= cacheWays && 2*p.tile.Rows*p.tile.Vectors <= t.Registers && wide(cacheWays):
		if rereads(t, c, size) {
			return streamRows
		}
		return cacheWays
	case far && c.Row.Extent <= 3*p.tile.Rows && wide(streamRows), c.Row.Extent <= 2*p.tile.Rows && bytes > streamBytes:
		return streamRows
	}
	return 0
}

// apartAndFar says whether the rows of a right operand are whole pages apart, and the second cache does not have it.
func apartAndFar(t Target, c *nest.Contraction, size int64) bool {
	return PagesApart(c, size) && rightBytes(c, size) > 2*t.L2
}

// rereads says whether several register tiles of rows read such a right operand one after the other, so that nothing of it has to stay in the first cache: where the third keeps it.
func rereads(t Target, c *nest.Contraction, size int64) bool {
	return InOrder(t) && c.Row.Extent > 1 && apartAndFar(t, c, size) && Kept(max(rightBytes(c, size), t.program))
}

// rightBytes is how many a right operand has.
func rightBytes(c *nest.Contraction, size int64) int64 {
	return nest.SaturatingProduct(nest.Points(c.Reduction), c.Col.Extent, size)
}

// Kept says whether the third cache keeps most of what a program of some bytes touches until it is touched again. Measured on Zen 3, which keeps it at 8.4 MB and not at 16.
func Kept(program int64) bool { return program <= SteadyBytes+SteadyBytes/4 }

// runBytes is how many bytes of each of some rows are read side by side, at least: half of the first cache has them all, and the other half those that are asked for ahead.
func runBytes(rows int64) int64 { return firstCache / 2 / rows }

// cutFold cuts a long reduction. Of a right operand that is read in order some rows are read at once, and of one that is read in place for several tiles of rows no more than a cache holds.
func (p *productPlan) cutFold(c *nest.Contraction, size, most int64) {
	switch {
	case p.streamed > 0:
		p.fold = p.streamed
	case p.Left == PerMacroTile:
		if p.length > pieceFold {
			p.fold = run(p.length, pieceFold)
		}
	case p.Right == Unpacked && c.Row.Extent > p.tile.Rows && p.length > most:
		p.fold = run(p.length, most)
	case p.length > nest.LongReduction:
		p.fold = run(p.length, foldBlock)
	}
}

// heldRows is how many rows of a right operand that is read in place the second cache holds, if they are whole pages apart: they are in the same sets the more the greater the power of two is that
// divides the distance. With few of them, taking up sums again costs more than it spares.
func heldRows(t Target, c *nest.Contraction, size int64) int64 {
	if !PagesApart(c, size) {
		return math.MaxInt64
	}
	apart := c.Reduction[0].Step(c.Views[c.Right]) * size
	return max(leastHeld, t.L2/(apart&-apart))
}

// PagesApart says whether the rows of a right operand are whole pages apart, so that they are in the same sets of the first cache.
func PagesApart(c *nest.Contraction, size int64) bool {
	if len(c.Reduction) == 0 {
		return false
	}
	apart := c.Reduction[0].Step(c.Views[c.Right]) * size
	return apart != 0 && apart%pageBytes == 0
}

// run gives the size of the runs, of about some values, of a long reduction: partial sums end with them, and those of partial sums.
func run(length, most int64) int64 {
	if length > SumBlock*SumBlock {
		return most
	}
	return even(length, most, SumBlock)
}

// even gives the size of about equal pieces, none greater than most, that an extent is cut into: a multiple of a number.
func even(extent, most, of int64) int64 {
	most = roundDown(most, of)
	pieces := (extent + most - 1) / most
	return min(roundUp((extent+pieces-1)/pieces, of), most)
}

// shrink makes pieces smaller until there are enough of them: first fewer columns, as neighbouring pieces share the rows. Pieces of
// all rows stay so if there are some: a thread then puts the columns of its pieces in order itself, block by block of the reduction.
func (p *productPlan) shrink(c *nest.Contraction, least int64) {
	count := func() int64 {
		return p.batch * ((c.Row.Extent + p.rows - 1) / p.rows) * ((c.Col.Extent + p.cols - 1) / p.cols)
	}
	enough := int64(pieces)
	if p.Left == PerMacroTile {
		enough = leastPieces
	}
	for count() < enough {
		rows, cols := p.rows, p.cols
		switch {
		case cols > least:
			cols = roundUp(cols/2, least)
		case rows > 4*p.tile.Rows && (rows < c.Row.Extent || p.Right == Prepacked || p.Right == Unpacked || count() < fewPieces):
			rows = even(c.Row.Extent, rows/2, p.tile.Rows)
		default:
			return
		}
		if nest.SaturatingProduct(p.length, rows, cols) < productWork {
			return
		}
		p.rows, p.cols = rows, cols
	}
}

func roundUp(n, to int64) int64   { return (n + to - 1) / to * to }
func roundDown(n, to int64) int64 { return max(to, n/to*to) }
