package blocking

import (
	"fmt"
	"slices"

	"tensortapestry.org/tapc/backends/cpu/isa"
	"tensortapestry.org/tapc/backends/cpu/unit"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/nest"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/passes/tile"
)

// What a config says of a contraction beside its tiles and placements: tasks along the reduction, the order of loops, and what is prefetched. Complete
// chooses it for given tiles.

const (
	keepLeft         = 512 << 10 // about the bytes of a left operand that stay in the second cache beside the columns at work
	groupNanoseconds = 50000     // that a contraction takes on one thread, from which groups of partial sums are tasks
	fewTiles         = 16        // from so many macro-tiles on, there are enough
	groupsBytes      = 4 << 20   // of the sums of groups at most
	leastTiles       = 16        // that share the next columns
	apartAhead       = 2         // rows of an unpacked right operand that are asked for ahead, if they are whole pages apart
	shortFold        = 64        // values of a reduction that run at once, of which those that columns are asked for ahead are few
	fewStrips        = 4         // times that the rows of a macro-tile are used at most for their being prefetched to matter
)

// usualOrder is the order of loops of a stage that says none: columns within rows over tasks, rows within columns over register tiles.
var usualOrder = []schedule.Role{schedule.RoleM, schedule.RoleN, schedule.RoleN, schedule.RoleM}

// Other is a stage that differs from the one that Complete makes in one choice, and why it does not pay.
type Other struct {
	schedule.Stage
	Why error
}

// Complete makes the choices of a stage of a contraction whose tiles and placements are given. One that cannot be carried out stays as it is.
func Complete(t isa.Target, k *schedule.Kernel, buffers map[ir.NodeID]*schedule.Buffer, c *nest.Contraction, s *schedule.Stage) {
	d, err := Read(t, k, c, s)
	if err != nil {
		return
	}
	x := choosing{New(t, k, c, d), buffers}
	x.splitReduction(s)
	x.b.Cut.ColumnsLast, x.b.Cut.RowsFirst = columnsLast(x.b), rowsFirst(x.b)
	x.b.Cut.Prefetch = x.prefetch()
	s.Order, s.Prefetch, s.Ahead = orderOf(x.b.Cut), x.b.Cut.Prefetch, x.ahead()
	if n := rounds(x.b); n > 0 {
		Place(s, k.Operands[c.Right].Name, n)
	}
}

// CompleteStage is Complete for a stage of contractions back to back, where there is only the order of register tiles to choose.
func CompleteStage(t isa.Target, k *schedule.Kernel, c *nest.Contraction, s *schedule.Stage) {
	if d, err := ReadStage(t, k, c, s, false); err == nil {
		b := New(t, k, c, d)
		b.Cut.RowsFirst = rowsFirst(b)
		s.Order, s.Ahead = orderOf(b.Cut), aheadOf(b)
	}
}

// Others gives the stages that differ from what Complete made in one choice.
func Others(t isa.Target, k *schedule.Kernel, buffers map[ir.NodeID]*schedule.Buffer, c *nest.Contraction, s *schedule.Stage) []Other {
	d, err := Read(t, k, c, s)
	if err != nil {
		return nil
	}
	x := choosing{New(t, k, c, d), buffers}
	return slices.Concat(x.otherGroups(s), x.otherOrders(s), x.otherPrefetches(s), x.otherRounds(s), x.otherAhead(s))
}

// choosing chooses for a contraction of some buffers.
type choosing struct {
	b       *Blocking
	buffers map[ir.NodeID]*schedule.Buffer
}

// splitReduction makes tasks of the groups of partial sums of a contraction with few macro-tiles. Their sums are added in their order
// when all are there: that is the tree that a single thread follows (docs/numerics.md).
func (x *choosing) splitReduction(s *schedule.Stage) {
	if x.b.Indices() >= fewTiles || !x.b.Cut.Thread || unit.Nanoseconds(x.b.K, x.buffers, unit.TileRate*float64(x.b.N)) < groupNanoseconds {
		return
	}
	parts := x.b.Cut
	split(&parts, x.b.Length, parts.Span())
	if checkGroups(x.b, parts) != nil {
		return
	}
	x.b.Cut = parts
	for i := range s.Tiles {
		if s.Tiles[i].Role == schedule.RoleK {
			s.Tiles[i].Sizes = []int64{parts.Span(), parts.Fold}
		}
	}
}

// split makes tasks of parts of the reduction.
func split(c *Cut, length, part int64) {
	c.Groups = (length + part - 1) / part
	c.Fold = min(c.Fold, part)
}

// checkGroups says why groups of partial sums cannot be tasks.
func checkGroups(b *Blocking, c Cut) error {
	return firstFault(
		fault{!b.Several() || b.C.Transposed || !b.Partly() || b.C.Padded != nil || !b.D.IsFloat(),
			"tasks share a reduction of floats along one dimension, of more than %d products, whose results are written in rows", []any{b.Cut.Span()}},
		fault{GroupBytes(b, c) > groupsBytes, "the sums of %d tasks along k take %d bytes: expected %d at most", []any{c.Groups, GroupBytes(b, c), groupsBytes}})
}

// GroupBytes is the size of the sums of all groups of all macro-tiles, if a contraction is cut in some way.
func GroupBytes(b *Blocking, c Cut) int64 {
	return nest.SaturatingProduct(b.Indices(), c.Groups, b.OpenArea(), int64(b.N)*int64(b.D.Wide().Size()))
}

// order gives the order of loops, nil for the usual one.
func orderOf(c Cut) []schedule.Role {
	out := slices.Clone(usualOrder)
	if c.ColumnsLast {
		slices.Reverse(out[:2])
	}
	if c.RowsFirst {
		slices.Reverse(out[2:])
	}
	if slices.Equal(out, usualOrder) {
		return nil
	}
	return out
}

// ColumnsOutermost is the order of loops by which tasks go over all rows for some columns before the next.
func ColumnsOutermost() []schedule.Role { return orderOf(Cut{ColumnsLast: true}) }

// readOrder reads the order of loops.
func readOrder(c *Cut, s *schedule.Stage) error {
	if len(s.Order) == 0 {
		return nil
	}
	sorted := func(part []schedule.Role) bool {
		return slices.Equal(slices.Sorted(slices.Values(part)), usualOrder[:2])
	}
	if len(s.Order) != len(usualOrder) || !sorted(s.Order[:2]) || !sorted(s.Order[2:]) {
		return fmt.Errorf("its loops have the order %v: expected m and n over tasks, and m and n over register tiles", s.Order)
	}
	c.ColumnsLast, c.RowsFirst = s.Order[0] == schedule.RoleN, s.Order[2] == schedule.RoleM
	return nil
}

// columnsLast says whether the right operand is the larger: each part of it is then read once.
func columnsLast(b *Blocking) bool {
	left := b.C.Row.Extent * b.Inner * b.Length
	several := b.Inner > 1 || b.Cut.Rows < b.C.Row.Extent
	packed := b.Pack.Right == tile.Prepacked || b.Pack.Right == tile.UpFront && b.C.Window != nil && b.Pack.Left != tile.Prepacked // columns of products are prefetched, which hides what is read again
	return packed && b.Pack.Left != tile.PerMacroTile && b.Outer == 1 && several && b.C.Col.Extent*b.Length > min(left, keepLeft/int64(b.D.Size()))
}

// rowsFirst says whether all columns of a macro-tile stay in the second cache: the results of a row are then written one behind the other.
func rowsFirst(b *Blocking) bool {
	return b.Pack.Right == tile.Prepacked && b.Pack.Left != tile.PerMacroTile && !b.Split() && b.Cut.Cols > b.Cut.TileCols && b.Target.Near(b.Cut.Cols*b.Length*int64(b.D.Size()))
}

// checkPrefetch says why something cannot be prefetched.
func checkPrefetch(b *Blocking, p schedule.Prefetch) error {
	panels := (b.Pack.Right == tile.Prepacked || b.Pack.Right == tile.UpFront) && b.Cut.TileCols%b.Panel == 0
	possible := map[schedule.Prefetch]bool{schedule.PrefetchRows: b.LeftWidth() == 0, schedule.PrefetchColumns: panels, schedule.PrefetchStrip: panels,
		schedule.PrefetchMacroTile: b.Pack.Right == tile.PerMacroTile && !b.Blockwise() && b.C.Computed == nil}[p]
	return firstFault(
		fault{len(b.C.Reduction) != 1 || b.C.Window != nil || b.C.Padded != nil || b.Cut.Groups > 0, "%s cannot be prefetched where a task has windows, a part of k, or several reduced dimensions", []any{p}},
		fault{!possible, "%s cannot be prefetched: rows are, that are not packed; columns and strips of packed panels; and macro-tiles whose tasks pack all of their columns", []any{p}})
}

// far says whether no cache near by has all of an operand.
func (x *choosing) far(operand int) bool {
	return x.buffers[x.b.K.Operands[operand].Buffer].Bytes >= x.b.Target.L2/2
}

// ahead chooses by how many values of the reduction columns are asked for before their use: those that are read in place too, if they are far, but not by parts of a reduction so short that
// much of it would be read by others. Of rows that are whole pages apart few, measured on Zen 3: in the sets of the first cache that all of them are in, there would be no room for those that are used now. Where rows are read in order, those of the next part are asked for, if no cache has the program steadily, and few, if their rows are whole pages apart and it keeps most.
func (x *choosing) ahead() int64 {
	inPlace, fold := x.b.Pack.Right == tile.Unpacked, x.b.Cut.Fold
	apart := tile.InOrder(x.b.Target.Target) && inPlace && tile.PagesApart(x.b.C, int64(x.b.D.Size()))
	switch {
	case inPlace && x.b.C.Row.Extent > 1 && fold >= shortFold && x.far(x.b.C.Right):
		if apart {
			return apartAhead
		}
		return schedule.UsualAhead
	case inPlace && fold < shortFold && fold < x.b.C.InnerReduction() && tile.InOrder(x.b.Target.Target) && tile.Bytes(x.buffers) > tile.SteadyBytes:
		if apart && x.b.C.Row.Extent > 1 && tile.Kept(tile.Bytes(x.buffers)) {
			return apartAhead
		}
		return fold
	}
	return aheadOf(x.b)
}

// prefetch chooses what is prefetched: what tiles after a tile need and no cache near by has. It is asked for little by little, as what the tile loads
// itself would have to wait behind many lines at once.
func (x *choosing) prefetch() schedule.Prefetch {
	can := func(p schedule.Prefetch) bool { return checkPrefetch(x.b, p) == nil }
	columns := can(schedule.PrefetchColumns) && x.far(x.b.C.Right) && strips(x.b) > 1
	switch {
	case columns && x.b.TilesAcross() < leastTiles:
		if x.b.Pack.Right == tile.Prepacked && x.b.TilesAcross() >= max(2, x.b.Cut.TileCols/x.b.Panel) && (!x.b.Cut.ColumnsLast || x.b.Cut.Cols == x.b.Cut.TileCols) {
			return schedule.PrefetchStrip
		}
	case x.b.TilesDown() < 2:
	case columns && !x.b.Cut.ColumnsLast && x.b.Cut.Block < x.b.Cut.Fold:
		return schedule.PrefetchColumns
	case can(schedule.PrefetchMacroTile) && x.b.C.Col.Step(x.b.C.Views[x.b.C.Right]) == 1 && x.far(x.b.C.Right) && x.b.C.Col.Extent > x.b.Cut.Cols && roomForNext(x.b):
		return schedule.PrefetchMacroTile
	case can(schedule.PrefetchRows) && x.b.Pack.Right != tile.Unpacked && x.far(x.b.C.Left) && x.b.C.Row.Extent > x.b.Cut.TileRows && strips(x.b) <= fewStrips && !x.b.Split() && neighbours(x.b):
		return schedule.PrefetchRows
	}
	return schedule.PrefetchNothing
}

// strips is how many columns of register tiles there are.
func strips(b *Blocking) int64 { return (b.C.Col.Extent + b.Cut.TileCols - 1) / b.Cut.TileCols }

// neighbours says whether the rows of the left operand are one behind the other.
func neighbours(b *Blocking) bool {
	left, inner := b.C.Views[b.C.Left], b.C.Reduction[len(b.C.Reduction)-1]
	return inner.Step(left) == 1 && b.C.Row.Step(left) == inner.Extent
}

// TilesAcross is how many register tiles use some columns, or a part of them if the reduction is split, one behind the other.
func (b *Blocking) TilesAcross() int64 {
	if !b.Cut.ColumnsLast || b.Split() {
		return b.TilesDown()
	}
	down := (b.C.Row.Extent + b.Cut.Rows - 1) / b.Cut.Rows
	rest := b.C.Row.Extent - (down-1)*b.Cut.Rows
	return (down*b.Inner-1)*b.TilesDown() + (rest+b.Cut.TileRows-1)/b.Cut.TileRows
}

// roomForNext says whether the second cache has room for the next macro-tile's columns beside what the present one takes.
func roomForNext(b *Blocking) bool {
	return 2*b.Share()+b.Cut.Rows*b.Length*int64(b.D.Size()) <= b.Target.L2*3/4
}

// otherGroups gives the stage whose tasks have all of k, if they have parts.
func (x *choosing) otherGroups(s *schedule.Stage) []Other {
	if x.b.Cut.Groups == 0 {
		return nil
	}
	y := *s
	y.Tiles = slices.Clone(s.Tiles)
	k := slices.IndexFunc(y.Tiles, func(t schedule.Tiling) bool { return t.Role == schedule.RoleK })
	y.Tiles[k].Sizes = y.Tiles[k].Sizes[1:]
	return []Other{{y, fmt.Errorf("tasks of macro-tiles alone are too few for threads: %d, and %d are enough", x.b.Indices(), fewTiles)}}
}

// otherOrders gives those with another order over tasks, or over register tiles.
func (x *choosing) otherOrders(s *schedule.Stage) []Other {
	var out []Other
	add := func(choice *bool, whyNot, why string) {
		y, reason := *s, fmt.Errorf("%s", whyNot)
		if *choice {
			reason = fmt.Errorf("%s", why)
		}
		*choice = !*choice
		y.Order = orderOf(x.b.Cut)
		*choice = !*choice
		out = append(out, Other{y, reason})
	}
	if x.b.Cut.Rows < x.b.C.Row.Extent && x.b.Cut.Cols < x.b.C.Col.Extent {
		add(&x.b.Cut.ColumnsLast, "the right factor is not the larger, not packed as a whole, or prefetched", "the right factor is the larger, and would be read again for all rows of a task")
	}
	if x.b.Cut.TileRows < min(x.b.Cut.Rows, x.b.C.Row.Extent) && x.b.Cut.TileCols < min(x.b.Cut.Cols, x.b.C.Col.Extent) {
		add(&x.b.Cut.RowsFirst, "the columns of a task do not stay in the second cache, or are not packed from the start", "the columns of a task stay in the second cache")
	}
	return out
}

// otherPrefetches gives those that prefetch something else, or nothing.
func (x *choosing) otherPrefetches(s *schedule.Stage) []Other {
	var out []Other
	why := fmt.Errorf("it is near by, or too few tiles share it")
	if x.b.Cut.Prefetch != schedule.PrefetchNothing {
		why = fmt.Errorf("%s are what no cache near by has", x.b.Cut.Prefetch)
	}
	for p := schedule.PrefetchNothing; p <= schedule.PrefetchMacroTile; p++ {
		if p != x.b.Cut.Prefetch && (p == schedule.PrefetchNothing || checkPrefetch(x.b, p) == nil) {
			y := *s
			y.Prefetch = p
			out = append(out, Other{y, why})
		}
	}
	return out
}

// Place writes into a stage that an operand is packed in rounds of some panels.
func Place(s *schedule.Stage, operand string, panels int64) {
	s.Placements = slices.Clone(s.Placements)
	for i := range s.Placements {
		if s.Placements[i].Operand == operand {
			s.Placements[i].Panels = panels
		}
	}
}

// otherRounds gives the stage that packs the right operand in another number of rounds: two where it is packed at once, or one.
func (x *choosing) otherRounds(s *schedule.Stage) []Other {
	y, right := *s, x.b.K.Operands[x.b.C.Right].Name
	half := x.b.PanelsOf(x.b.C.Col.Extent) / 2 / panelStep(x.b) * panelStep(x.b)
	switch {
	case x.b.Rounds.Right > 0:
		Place(&y, right, 0)
		return []Other{{y, fmt.Errorf("all panels of %s take more than %d bytes", right, MaxPacked)}}
	case x.b.Pack.Right != tile.UpFront || half == 0 || x.b.Cut.ColumnsLast && x.b.Outer > 1:
		return nil
	}
	Place(&y, right, half)
	return []Other{{y, fmt.Errorf("all panels of %s take %d bytes at most, which stay in memory while they are used", right, MaxPacked)}}
}

// otherAhead gives the stage that asks for columns more or fewer values ahead.
func (x *choosing) otherAhead(s *schedule.Stage) []Other {
	y, why := *s, "columns are in a cache"
	switch inPlace := x.b.Pack.Right == tile.Unpacked; {
	case inPlace && s.Ahead > 0:
		y.Ahead, why = 0, "columns are in no cache near by"
	case inPlace:
		y.Ahead = schedule.UsualAhead
	case s.Ahead > 0:
		y.Ahead, why = 0, "columns come from memory, as few rows use them"
	default:
		y.Ahead = farAhead
	}
	return []Other{{y, fmt.Errorf("%s", why)}}
}
