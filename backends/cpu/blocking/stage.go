package blocking

import (
	"cmp"
	"fmt"

	"tensortapestry.org/tapc/backends/cpu/isa"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/nest"
	"tensortapestry.org/tapc/passes/tile"
)

// Decided is what a config says of a contraction.
type Decided struct {
	Cut
	tile.Packing
	Rounds
}

// Limits of register tiles, beyond which functions would be too long to compile.
const (
	maxTileRows    = 64
	maxTileVectors = 32
)

// Read reads a stage of a config, for vectors of a target. The error says why a contraction cannot be carried out so.
func Read(t isa.Target, k *schedule.Kernel, c *nest.Contraction, s *schedule.Stage) (Decided, error) {
	d := Decided{Cut: Cut{Rows: 1, TileRows: 1, Fold: 1, Block: 1, Thread: s.Threads}}
	if s.Micro != "" {
		return d, fmt.Errorf("there is no micro-kernel %q: vectors and registers are those of the target", s.Micro)
	}
	if err := d.readTiles(t, c, s); err != nil {
		return d, err
	}
	if err := d.readReduction(k, c, s); err != nil {
		return d, err
	}
	if err := d.readPlacements(k, c, s); err != nil {
		return d, err
	}
	if err := d.checkPacking(int64(t.Lanes(c.Sum.Type.Size())), c); err != nil {
		return d, err
	}
	return d, d.readChoices(t, k, c, s)
}

// readChoices reads the order of loops and what is prefetched.
func (d *Decided) readChoices(t isa.Target, k *schedule.Kernel, c *nest.Contraction, s *schedule.Stage) error {
	d.Prefetch, d.Ahead = s.Prefetch, s.Ahead
	if err := readOrder(&d.Cut, s); err != nil {
		return err
	}
	b := New(t, k, c, *d)
	if err := checkRounds(b); err != nil {
		return err
	}
	switch {
	case d.ColumnsLast && d.Packing.Right == tile.UpFront && b.Outer > 1:
		return fmt.Errorf("rows are within columns over tasks: the panels of a batch are packed some at a time, so columns are within rows")
	case d.Groups > 0:
		if err := checkGroups(b, d.Cut); err != nil {
			return err
		}
	}
	if d.Prefetch != schedule.PrefetchNothing {
		return checkPrefetch(b, d.Prefetch)
	}
	return nil
}

// ReadStage reads a stage of contractions back to back, whose rows are those of a block.
func ReadStage(t isa.Target, k *schedule.Kernel, c *nest.Contraction, s *schedule.Stage, first bool) (Decided, error) {
	block := *c
	if m := s.Tile(schedule.RoleM); len(m) > 0 && m[0] <= MaxBlock {
		block.Row.Extent = max(c.Row.Extent, m[0])
	}
	d, err := Read(t, k, &block, s)
	switch {
	case err != nil:
	case d.Packing.Left != tile.Unpacked:
		err = fmt.Errorf("the left factor is packed: in contractions back to back it stays where it is")
	case d.Cols < c.Col.Extent && d.Packing.Right != tile.PerMacroTile:
		err = fmt.Errorf("a macro-tile has %d of %d columns: expected all, in contractions back to back whose tasks do not pack them", d.Cols, c.Col.Extent)
	case d.ColumnsLast || d.Prefetch != schedule.PrefetchNothing || d.Groups > 0:
		err = fmt.Errorf("tasks have no columns or parts of k of their own, and nothing is prefetched, in contractions back to back")
	case d.Rounds.Right > 0 && d.Rounds.Right < New(t, k, c, d).PanelsOf(c.Col.Extent):
		err = fmt.Errorf("%d panels are packed at once: expected those of whole groups, in contractions back to back", d.Rounds.Right)
	case first && d.Fold < c.InnerReduction():
		err = fmt.Errorf("%d of %d products run at once: expected all in the first contraction", d.Fold, c.InnerReduction())
	}
	return d, err
}

// MaxBlock is how many rows a block of contractions back to back has at most.
const MaxBlock = 1 << 10

// Of low-precision contractions.
const (
	lowRows  = tile.NarrowRows // a macro-tile's are a multiple of these
	lowCols  = tile.NarrowCols
	lowPanel = tile.NarrowPanel // rows or columns
)

// ReadLowPrecision reads a stage of a low-precision contraction.
func ReadLowPrecision(t isa.Target, k *schedule.Kernel, n *nest.LowPrecision, s *schedule.Stage) (Decided, error) {
	c := n.C
	d := Decided{Cut: Cut{Rows: 1, TileRows: 1, Thread: s.Threads}}
	if s.Micro != "" {
		return d, fmt.Errorf("the program chooses its instructions: expected no micro-kernel")
	}
	if err := d.readRounds(k, n, s); err != nil {
		return d, err
	}
	row, col := c.Row, c.Col
	if !n.Unpacked { // macro-tiles are whole panels
		row.Extent, col.Extent = isa.Align(row.Extent, lowRows), isa.Align(col.Extent, lowCols)
	}
	switch m, err := sizes(s, schedule.RoleM, row, 2); {
	case err != nil:
		return d, err
	case m != nil:
		d.Rows, d.TileRows = m[0], m[1]
	case !n.Unpacked:
		d.Rows = lowRows
	}
	if err := d.readColumns(int64(t.Lanes(4)), col, s); err != nil {
		return d, err
	}
	inner := c.Reduction[len(c.Reduction)-1]
	run, err := sizes(s, schedule.RoleK, inner, 1)
	if err != nil {
		return d, err
	}
	d.Fold, d.Block = run[0], min(run[0], tile.SumBlock)
	if d.Fold < inner.Extent && len(c.Reduction) > 1 || !d.ends(inner.Extent) {
		return d, fmt.Errorf("%d of %d products run at once, which end within partial sums", d.Fold, inner.Extent)
	}
	if err := readOrder(&d.Cut, s); err != nil {
		return d, err
	}
	if len(s.Order) > 0 && (d.RowsFirst || !n.Unpacked) {
		return d, fmt.Errorf("its loops have the order %v: expected n, m, n, m, where rows are read in place, or nothing about it", s.Order)
	}
	return d, d.checkLowPrecision(n)
}

// readRounds reads in how many rounds operands of a low-precision contraction are packed. Where they are packed is no choice: as all instructions take
// them, in memory of all threads or in the program.
func (d *Decided) readRounds(k *schedule.Kernel, n *nest.LowPrecision, s *schedule.Stage) error {
	for _, p := range s.Placements {
		switch {
		case p.Scope != schedule.DeviceScope || p.Depth != 1 || p.Panels == 0 || p.Panels*lowPanel%lowCols != 0:
			return fmt.Errorf("%s is packed into %s memory with room for %d, %d panels at once: expected nothing about operands but that they are packed into device memory in rounds of a multiple of %d panels",
				p.Operand, p.Scope, p.Depth, p.Panels, lowCols/lowPanel)
		case p.Operand == k.Operands[n.C.Left].Name && !n.Unpacked && !n.C.Constant.Left:
			d.Rounds.Left = p.Panels
		case p.Operand == k.Operands[n.C.Right].Name && !n.C.Constant.Right:
			d.Rounds.Right = p.Panels
		default:
			return fmt.Errorf("%s is packed in rounds, which is no factor of the product that is packed when it runs", p.Operand)
		}
	}
	return nil
}

// checkLowPrecision says why macro-tiles and register tiles are not such as the instructions take.
func (d *Decided) checkLowPrecision(n *nest.LowPrecision) error {
	if n.Unpacked {
		return firstFault(fault{d.TileCols%lowPanel != 0 || d.Fold != n.Run(), "a register tile of %d columns and runs of %d: expected panels of %d columns, and %d at once",
			[]any{d.TileCols, d.Fold, lowPanel, n.Run()}})
	}
	return firstFault(
		fault{d.Fold < n.Length() && d.Fold*4/n.Group%tile.NarrowBlock != 0, "%d products run at once: expected blocks of %d bytes", []any{d.Fold, tile.NarrowBlock}},
		fault{d.Rows%lowRows != 0 || d.Cols%lowCols != 0, "a task has %d rows and %d columns: expected multiples of %d and %d", []any{d.Rows, d.Cols, lowRows, lowCols}},
		fault{lowRows%d.TileRows != 0 || lowCols%d.TileCols != 0 || d.TileRows > lowPanel, "a register tile of %d rows and %d columns: expected parts of %d, at most %d, and of %d",
			[]any{d.TileRows, d.TileCols, lowRows, lowPanel, lowCols}})
}

// sizes gives the sizes of a role's tiles: n of them, the first not greater than an extent takes, or none if the contraction has no such loop.
func sizes(s *schedule.Stage, r schedule.Role, d nest.Dim, n int) ([]int64, error) {
	tiles := s.Tile(r)
	switch {
	case len(d.Loops) == 0 && tiles == nil:
		return nil, nil
	case len(d.Loops) == 0:
		return nil, fmt.Errorf("it has no %s to cut", r)
	case len(tiles) != n:
		return nil, fmt.Errorf("%s is cut into %v: expected %d sizes", r, tiles, n)
	}
	for i := range tiles {
		if tiles[i] < 1 || i > 0 && tiles[i-1]%tiles[i] != 0 {
			return nil, fmt.Errorf("%s is cut into %v, which do not fit into each other", r, tiles)
		}
	}
	if most := isa.Align(d.Extent, tiles[min(1, n-1)]); tiles[0] > most {
		return nil, fmt.Errorf("a task has %d of the %d values of %s: expected %d at most", tiles[0], d.Extent, r, most)
	}
	return tiles, nil
}

// TwoSizes gives the sizes of a role's tiles of a dimension: a task's and a register tile's.
func TwoSizes(s *schedule.Stage, r schedule.Role, d nest.Dim) ([]int64, error) {
	tiles, err := sizes(s, r, d, 2)
	if err == nil && tiles == nil {
		err = fmt.Errorf("it has no %s", r)
	}
	return tiles, err
}

// Columns reads how columns are cut, for vectors of some lanes.
func Columns(lanes int64, col nest.Dim, s *schedule.Stage) (Cut, error) {
	var d Decided
	err := d.readColumns(lanes, col, s)
	return d.Cut, err
}

// readTiles reads how rows and columns are cut.
func (d *Decided) readTiles(t isa.Target, c *nest.Contraction, s *schedule.Stage) error {
	if m, err := sizes(s, schedule.RoleM, c.Row, 2); err != nil {
		return err
	} else if m != nil {
		d.Rows, d.TileRows = m[0], m[1]
	}
	lanes, panel := int64(t.Lanes(c.Sum.Type.Size())), schedule.PanelBytes/int64(c.Sum.Type.Size())
	if err := d.readColumns(lanes, c.Col, s); err != nil {
		return err
	}
	return firstFault(
		fault{d.TileRows > maxTileRows, "a register tile of %d rows: expected %d at most", []any{d.TileRows, maxTileRows}},
		fault{d.TileCols%panel != 0 && panel%d.TileCols != 0, "a register tile of %d columns: expected whole panels of %d, or a part of one", []any{d.TileCols, panel}})
}

// readColumns reads how columns are cut, for vectors of some lanes.
func (d *Decided) readColumns(lanes int64, col nest.Dim, s *schedule.Stage) error {
	n, err := sizes(s, schedule.RoleN, col, 3)
	if err != nil || n == nil {
		return cmp.Or(err, fmt.Errorf("it has no columns"))
	}
	d.Cols, d.TileCols = n[0], n[1]
	return firstFault(
		fault{n[2] != lanes, "vectors of %d lanes: those of the target have %d", []any{n[2], lanes}},
		fault{d.TileCols > maxTileVectors*lanes, "a register tile of %d columns: expected %d at most", []any{d.TileCols, maxTileVectors * lanes}})
}

// readReduction reads what runs of the reduction at once.
func (d *Decided) readReduction(k *schedule.Kernel, c *nest.Contraction, s *schedule.Stage) error {
	n := len(c.Reduction)
	if n == 0 {
		_, err := sizes(s, schedule.RoleK, nest.Dim{}, 1)
		return err
	}
	inner := c.Reduction[n-1]
	run, err := sizes(s, schedule.RoleK, inner, max(1, min(2, len(s.Tile(schedule.RoleK)))))
	if err != nil {
		return err
	}
	d.Fold, d.Block = run[len(run)-1], min(inner.Extent, nest.PartialSum(c))
	if c.Sum.Type.IsFloat() && k.Sums > 0 {
		d.Block = min(inner.Extent, k.Sums)
	}
	switch {
	case d.Fold > inner.Extent:
		return fmt.Errorf("%d products run at once: expected at most the %d that there are", d.Fold, inner.Extent)
	case d.Fold < inner.Extent && (n > 1 || c.Transposed):
		return fmt.Errorf("%d of %d products run at once: expected all, as there are several reduced dimensions or accumulators are transposed", d.Fold, inner.Extent)
	case !d.ends(inner.Extent):
		return fmt.Errorf("runs of %d products end within partial sums of %d", d.Fold, d.Block)
	case len(run) > 1 && run[0] != d.Span():
		return fmt.Errorf("a task has %d of %d products: expected %d, of which the results are added up", run[0], inner.Extent, d.Span())
	case len(run) > 1:
		split(&d.Cut, inner.Extent, run[0])
	}
	return nil
}

// readPlacements reads which operands are packed.
func (d *Decided) readPlacements(k *schedule.Kernel, c *nest.Contraction, s *schedule.Stage) error {
	for _, p := range s.Placements {
		pack, ok := packOf(p.Scope)
		switch {
		case !ok || p.Depth != 1:
			return fmt.Errorf("%s is packed into %s memory with room for %d: expected device, private or constant memory, with room for 1", p.Operand, p.Scope, p.Depth)
		case p.Operand == k.Operands[c.Left].Name:
			d.Packing.Left, d.Rounds.Left = pack, p.Panels
		case p.Operand == k.Operands[c.Right].Name:
			d.Packing.Right, d.Rounds.Right = pack, p.Panels
		default:
			return fmt.Errorf("%s is packed, which is no factor of the product", p.Operand)
		}
	}
	return nil
}

// packOf gives how an operand is packed into memory of a scope.
func packOf(scope schedule.Scope) (tile.Pack, bool) {
	for pack, s := range tile.PackScopes {
		if s == scope {
			return pack, true
		}
	}
	return tile.Unpacked, false
}

// checkPacking says why the operands of a contraction cannot be packed so.
func (d *Decided) checkPacking(lanes int64, c *nest.Contraction) error {
	if (d.Packing.Left == tile.Prepacked) != c.Constant.Left || (d.Packing.Right == tile.Prepacked) != c.Constant.Right {
		return fmt.Errorf("constant factors, and no others, are packed into constant memory")
	}
	return firstFault(
		fault{d.Paneled() && tile.RowPanel%d.TileRows != 0, "register tiles of %d rows do not make a panel of %d", []any{d.TileRows, tile.RowPanel}},
		fault{d.Packing.Left != tile.Unpacked && d.Packing.Left != tile.Prepacked && (c.Padded != nil || len(c.Reduction) == 0), "the left factor has zeros around or nothing is reduced: it is not packed", nil},
		fault{d.Packing.Left == tile.PerMacroTile && (d.TileRows > lanes || len(c.Reduction) != 1 || c.Window != nil || d.Packing.Right == tile.Unpacked || c.Reduction[0].Step(c.Views[c.Left]) != 1),
			"tasks pack the left factor for themselves where it is read in order along one dimension, in register tiles of up to %d rows, beside a packed right one", []any{lanes}},
		fault{d.Packing.Right == tile.Unpacked && (c.Window != nil || c.Computed != nil || c.Col.Step(c.Views[c.Right]) != 1), "the right factor has windows, is computed, or its columns are no neighbours: it has to be packed", nil},
		fault{d.Packing.Right == tile.PerMacroTile && !d.ownPanels(c), "several tasks read the same columns of the right factor, or a part of a panel: expected device memory", nil})
}

// ownPanels says whether no two tasks read the same panels of the right operand.
func (d *Decided) ownPanels(c *nest.Contraction) bool {
	return nest.Points(nest.Followed(c.Batch, c.Views[c.Right], false)) == 1 && d.Packing.Left != tile.PerMacroTile && d.Rows >= c.Row.Extent && d.Cols%(schedule.PanelBytes/int64(c.Sum.Type.Size())) == 0
}
