package product

import (
	"fmt"
	"slices"

	"tensortapestry.org/tapc/backends/cpu/macrotile"
	"tensortapestry.org/tapc/backends/tree"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/passes/tile"
)

// task is what a task does with a macro-tile: where that is, and what it has for itself.
type task struct {
	*macrotile.Task
	d            *driver
	number       *tree.Index  // of the task
	rows, panels *tree.Memory // what it packs
	part         []*tree.Index
	run          // of the reduction
}

func ahead(x *tree.Ahead) []tree.Argument { return []tree.Argument{{Ahead: x}} }

// run is what of the reduction is multiplied at once.
type run struct{ from, to, count *tree.Index }

// task makes the body of a region's loop: a macro-tile, or a part of its reduction.
func (d *driver) task(index, tile, part *tree.Index) (body []tree.Stmt) {
	t := &task{Task: d.MacroTile(&body, tile, &d.Round), d: d, number: index}
	from, to := tree.Const(0), tree.Const(d.C.InnerReduction())
	if part != nil {
		t.part = []*tree.Index{tile, part}
		span := d.Cut.Span()
		from = d.Let(&body, "first", part.Times(span))
		to = d.Let(&body, "last", from.Plus(span).Min(tree.Const(d.Length)))
	}
	return append(body, t.multiply(from, to)...)
}

// multiply makes what a task does for some values of the reduction.
func (t *task) multiply(from, to *tree.Index) (body []tree.Stmt) {
	d := t.d
	t.declare(&body)
	if t.panels != nil && !d.Blockwise() {
		body = append(body, t.packColumns(tree.Const(0), tree.Const(d.C.InnerReduction()))...)
	}
	if !d.Split() {
		t.run = run{tree.Const(0), tree.Const(d.C.InnerReduction()), tree.Const(d.C.InnerReduction())}
		return append(body, t.runTiles()...)
	}
	n := d.Cut.Fold
	return append(body, d.Loop(tree.Serial, "f", from, to, n, func(f *tree.Index) (body []tree.Stmt) {
		t.run = run{f, f.Plus(n), tree.Const(n)}
		if d.C.InnerReduction()%n != 0 {
			t.to = d.Let(&body, "end", t.to.Min(tree.Const(d.C.InnerReduction())))
			t.run.count = t.to.Add(f.Times(-1))
		}
		if d.Blockwise() {
			body = append(body, t.packColumns(t.from, t.to)...)
		}
		return append(body, t.runTiles()...)
	}))
}

// declare declares what a task has for itself.
func (t *task) declare(body *[]tree.Stmt) {
	if t.Pack.Left == tile.PerMacroTile {
		r := t.Cut.TileRows
		t.rows = t.Declare(body, tree.Stored(t.d.Fresh("rows"), t.D, tree.Private, t.Cut.Rows/r, t.Cut.Fold, r))
		t.rows.Slack = t.PieceLeft()/int64(t.D.Size()) - t.rows.Elements()
	}
	if t.Pack.Right == tile.PerMacroTile {
		t.panels = t.Declare(body, tree.Stored(t.d.Fresh("panels"), t.D, tree.Private, t.PanelsOf(t.Cut.Cols), t.Deep(), t.Panel))
	}
	switch {
	case t.C.Transposed:
		t.KeepTransposed(body, t.VectorType())
	case t.Split():
		t.Keep(body, t.d.sums("", tree.Private, t.OpenSums()/t.OpenArea()))
	}
}

// packColumns packs the columns of a macro-tile, from one value of the reduction to another.
func (t *task) packColumns(from, to *tree.Index) []tree.Stmt {
	return t.d.someValues(from, to, func(at, end *tree.Index) []tree.Stmt {
		return []tree.Stmt{t.d.Loop(tree.Serial, "col", t.J.From, t.J.To, t.Panel, func(j *tree.Index) []tree.Stmt {
			values := tree.Between(at.Add(from.Times(-1)), end.Add(from.Times(-1)))
			return t.d.panel(t.Batch, j, at, end, tree.BoxOf(t.panels, tree.Only(t.Across(j).Div(t.Panel)), values, tree.All(t.Panel)))
		})}
	})
}

// runTiles makes the loops over the register tiles of a macro-tile, for what is multiplied at once.
func (t *task) runTiles() (body []tree.Stmt) {
	if t.rows != nil {
		to := tree.BoxOf(t.rows, tree.Between(tree.Const(0), t.Down(t.I.To).Plus(t.Cut.TileRows-1).Div(t.Cut.TileRows)), tree.Between(tree.Const(0), t.count), tree.All(t.Cut.TileRows))
		from := t.d.Of(t.C.Left, t.Batch, t.I, tree.Span{}, t.d.Run(t.from, t.to))
		body = append(body, tree.Call(fmt.Sprintf("tapc_rows_%d", t.Cut.TileRows), []tree.Box{to}, []tree.Box{from}, slices.Concat([]tree.Argument{from.Address()}, macrotile.Constants(t.C.Row.Step(t.C.Views[t.C.Left])),
			tree.Numbers(t.Down(t.I.To), t.count), []tree.Argument{to.Address()}, macrotile.Constants(t.Cut.TileRows*t.Cut.Fold))...))
	}
	body = append(body, t.Each(t.Cut.RowsFirst, func(i, j *tree.Index) []tree.Stmt {
		var list []tree.Stmt
		next := t.ahead(&list, i, j)
		return append(list, t.Edges(i, j, func(rows, cols int64) tree.Stmt { return t.tile(i, j, rows, cols, next) })...)
	})...)
	if t.C.Transposed {
		body = append(body, t.Transpose())
	}
	return body
}

// tile is the leaf of a register tile of some rows and columns.
func (t *task) tile(i, j *tree.Index, rows, cols int64, next []tree.Argument) tree.Stmt {
	leaf := t.Tile(fmt.Sprintf("%dx%d", rows, cols), i, j, t.leftOf(i, rows), t.rightOf(j, cols))
	if t.part == nil {
		t.Results(leaf, tree.Some(i, rows), tree.Some(j, cols))
	}
	if t.Split() && !t.C.Transposed {
		t.AddOpen(leaf, t.kept(t.Open, i, j, tree.All(t.Open.Dims[0].End)), t.from, t.count)
	}
	if t.part != nil {
		t.AddOpen(leaf, t.kept(t.d.groups, i, j, tree.Only(t.part[0]), tree.Only(t.part[1])))
	}
	leaf.Args = append(leaf.Args, next...)
	return leaf
}

// kept is where the sums of a tile are in those of a macro-tile.
func (t *task) kept(m *tree.Memory, i, j *tree.Index, outer ...tree.Span) tree.Box {
	r, c := t.Cut.TileRows, t.Cut.TileCols
	return tree.BoxOf(m, append(outer, tree.Only(t.Across(j).Div(c)), tree.Only(t.Down(i).Div(r)), tree.All(r*c))...)
}

// leftOf is what a tile reads of the left operand.
func (t *task) leftOf(i *tree.Index, rows int64) tree.Box {
	switch {
	case t.rows != nil:
		return tree.BoxOf(t.rows, tree.Only(t.Down(i).Div(t.Cut.TileRows)), tree.Between(tree.Const(0), t.count), tree.All(rows))
	case t.Pack.Paneled():
		return tree.BoxOf(t.d.Left, tree.Only(t.d.GroupOf(t.C.Left, t.Batch)), tree.Only(i.Div(tile.RowPanel)), t.values(), tree.Some(i.Mod(tile.RowPanel), rows))
	}
	return t.d.Of(t.C.Left, t.Batch, tree.Some(i, rows), tree.Span{}, t.d.Run(t.from, t.to))
}

// values are those of the whole reduction that are multiplied at once.
func (t *task) values() tree.Span {
	return tree.Between(t.from, t.to.Plus(t.Length-t.C.InnerReduction()))
}

// rightOf is what a tile reads of the right operand.
func (t *task) rightOf(j *tree.Index, cols int64) tree.Box {
	if t.Pack.Right == tile.Unpacked {
		return t.d.Of(t.C.Right, t.Batch, tree.Span{}, tree.Some(j, cols), t.d.Run(t.from, t.to))
	}
	from := j.Add(t.d.Column.Times(-1))
	if t.panels != nil {
		from = t.Across(j)
	}
	lanes := tree.All(t.Panel)
	if t.Cut.TileCols < t.Panel {
		lanes = tree.Some(from.Mod(t.Panel), (cols+int64(t.N)-1)/int64(t.N)*int64(t.N))
	}
	panels, values := tree.Some(from.Div(t.Panel), t.PanelsOf(cols)), t.values()
	if t.Blockwise() {
		values = tree.Between(tree.Const(0), t.count)
	}
	if t.panels != nil {
		return tree.BoxOf(t.panels, panels, values, lanes)
	}
	return tree.BoxOf(t.d.right, tree.Only(t.Group), panels, values, lanes)
}

// joining makes the body of the loop that adds the sums of the parts of macro-tiles.
func (d *driver) joining(tile *tree.Index) (body []tree.Stmt) {
	t := &task{Task: d.MacroTile(&body, tile, &d.Round), d: d}
	return append(body, t.Each(false, func(i, j *tree.Index) []tree.Stmt {
		return t.Edges(i, j, func(rows, cols int64) tree.Stmt {
			group := t.kept(d.groups, i, j, tree.Only(tile), tree.All(d.Cut.Groups))
			reads := append([]tree.Box{group}, t.Beside(tree.Some(i, rows), tree.Some(j, cols), schedule.Read)...)
			args := append(macrotile.Coordinates(t.Batch, i, j), group.Address())
			return d.Call(fmt.Sprintf("join_%dx%d", rows, cols), t.Beside(tree.Some(i, rows), tree.Some(j, cols), schedule.Write), reads, args...)
		})
	})...)
}

// ahead is what a register tile asks for that those after it read. Each asks for a part of the
// columns.
func (t *task) ahead(body *[]tree.Stmt, i, j *tree.Index) []tree.Argument {
	right := t.rightOf(j, t.Cut.TileCols)
	here, number := right.First().Address(), t.Down(i).Div(t.Cut.TileRows)
	switch t.Cut.Prefetch {
	case schedule.PrefetchRows:
		left := t.leftOf(i, t.Cut.TileRows)
		return ahead(&tree.Ahead{Memory: left.Memory, From: left.First().Address(), More: tree.Const(t.Cut.TileRows * t.C.Row.Step(t.C.Views[t.C.Left])),
			Step: schedule.PanelBytes / int64(t.D.Size()), About: "rows"})
	case schedule.PrefetchColumns:
		return ahead(&tree.Ahead{Memory: right.Memory, From: here, More: number.Times(blocks(t.Blocking) * pace(t.Blocking) * t.Panel).Plus(t.Cut.TileCols * t.Deep()), Alone: true, About: "columns"})
	case schedule.PrefetchStrip:
		first := t.TilesAcross() - t.Cut.TileCols/t.Panel
		if t.Cut.ColumnsLast && !t.Split() {
			down := (t.C.Row.Extent + t.Cut.Rows - 1) / t.Cut.Rows * t.Inner
			number = t.number.Mod(down).Times(t.TilesDown()).Add(number)
		}
		far := tree.Const(t.Cut.TileCols * t.Deep())
		if t.Split() { // the next run of the same columns, or behind the last, the first of the next
			far = t.count.Times(t.Panel).Add(t.to.Div(t.C.InnerReduction()).Times(t.Cut.TileCols*t.Deep() - t.C.InnerReduction()*t.Panel))
		}
		number = t.d.Bound(body, "tile", number)
		return ahead(&tree.Ahead{Memory: right.Memory, From: here, More: number.Plus(-first).Times(t.Panel * t.Deep()).Add(far),
			When: &tree.Cond{Var: number.Var(), From: tree.Const(first)}, Step: t.Panel, About: "columns"})
	case schedule.PrefetchMacroTile:
		if t.Cut.Cols > t.Cut.TileCols {
			number = number.Add(t.Across(j).Div(t.Cut.TileCols).Times(t.TilesDown()))
		}
		number = t.d.Bound(body, "tile", number)
		line := int64(schedule.PanelBytes / t.D.Size())
		next := t.d.Of(t.C.Right, t.Batch, tree.Span{}, tree.Only(t.J.To), t.d.Run(tree.Const(0), tree.Const(1)))
		return ahead(&tree.Ahead{Memory: next.Memory, From: next.First().Address(), More: number.Times(line),
			When: &tree.Cond{Var: number.Var(), Limit: tree.Const((t.Cut.Cols + line - 1) / line)}, Step: t.C.Reduction[0].Step(t.C.Views[t.C.Right]), About: "piece"})
	}
	return nil
}
