package product

import (
	"fmt"
	"slices"

	"tensortapestry.org/tapc/backends/cpu/blocking"
	"tensortapestry.org/tapc/backends/tree"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/nest"
	"tensortapestry.org/tapc/passes/tile"
)

// task is what a task does with a macro-tile: where that is, and what it has for itself.
type task struct {
	*blocking.Blocking
	d            *driver
	number       *tree.Index   // of the task
	batch        []*tree.Index // the place in the batch
	group        *tree.Index   // of panels of columns, from the round's first on
	i, j         tree.Span
	rows, panels *tree.Memory // what it packs
	open         *tree.Memory // unfinished sums
	part         []*tree.Index
	run          // of the reduction
}

// run is what of the reduction is multiplied at once.
type run struct{ from, to, count *tree.Index }

// macroTile names the coordinates of a macro-tile with a number.
func (d *driver) macroTile(body *[]tree.Stmt, rest *tree.Index) *task {
	t := &task{Blocking: d.Blocking, d: d, batch: make([]*tree.Index, len(d.Batch)), group: tree.Const(0)}
	part := func(first, last *tree.Index, name string, number *tree.Index, size int64) tree.Span {
		from := d.Let(body, name+"0", first.Add(number.Times(size)))
		return tree.Between(from, d.Let(body, name+"1", from.Plus(size).Min(last)))
	}
	columns := func() {
		across := (d.columns + d.Cut.Cols - 1) / d.Cut.Cols
		number := rest.Mod(across)
		if d.Cut.ColumnsLast {
			number = rest
		}
		t.j = part(d.column, d.column.Plus(d.columns), "j", number, d.Cut.Cols)
		rest = rest.Div(across)
	}
	if !d.Cut.ColumnsLast {
		columns()
	}
	down := (d.C.Row.Extent + d.Cut.Rows - 1) / d.Cut.Rows
	t.i = part(tree.Const(0), tree.Const(d.C.Row.Extent), "i", rest.Mod(down), d.Cut.Rows)
	rest = rest.Div(down)
	for i := len(d.Batch) - 1; i >= 0; i-- {
		a := d.Batch[i]
		if d.IsLastOuter(i) {
			t.group = rest
			rest = rest.Add(d.round.group)
		}
		if i == 0 && !d.Cut.ColumnsLast {
			t.batch[i] = d.Let(body, a.Variable, rest)
			break
		}
		t.batch[i] = d.Let(body, a.Variable, rest.Mod(a.Extent))
		rest = rest.Div(a.Extent)
	}
	if d.Cut.ColumnsLast {
		columns()
	}
	return t
}

// task makes the body of a region's loop: a macro-tile, or a part of its reduction.
func (d *driver) task(index, tile, part *tree.Index) (body []tree.Stmt) {
	t := d.macroTile(&body, tile)
	t.number = index
	t.declare(&body)
	from, to := tree.Const(0), tree.Const(d.C.InnerReduction())
	if part != nil {
		t.part = []*tree.Index{tile, part}
		span := d.Cut.Span()
		from = d.Let(&body, "first", part.Times(span))
		to = d.Let(&body, "last", from.Plus(span).Min(tree.Const(d.Length)))
	}
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
	add := func(m *tree.Memory) *tree.Memory {
		*body = append(*body, &tree.Declare{Memory: m})
		return m
	}
	memory := t.Memory()
	if t.Pack.Left == tile.PerMacroTile {
		r := t.Cut.TileRows
		t.rows = add(tree.Stored("rows", t.D, tree.Private, t.Cut.Rows/r, t.Cut.Fold, r))
		t.rows.Slack = t.PieceLeft()/int64(t.D.Size()) - t.rows.Elements()
	}
	if t.Pack.Right == tile.PerMacroTile {
		t.panels = add(tree.Stored("panels", t.D, tree.Private, t.PanelsOf(t.Cut.Cols), t.Deep(), t.Panel))
	}
	scope := tree.Registers
	if memory.Sums > tile.MaxSums {
		scope = tree.Private
	}
	switch {
	case t.C.Transposed:
		columns := t.OpenCols()
		t.open = add(tree.NewMemory(t.d.Variable("open").Name, t.VectorType(), scope, 0, t.TransposedBytes()/columns/int64(t.D.Wide().Size()), columns))
	case t.Split():
		t.open = add(t.d.sums(t.d.Variable("open").Name, scope, t.OpenSums()/t.OpenArea()))
	}
}

// packColumns packs the columns of a macro-tile, from one value of the reduction to another.
func (t *task) packColumns(from, to *tree.Index) []tree.Stmt {
	return t.d.someValues(from, to, func(at, end *tree.Index) []tree.Stmt {
		return []tree.Stmt{t.d.Loop(tree.Serial, "col", t.j.From, t.j.To, t.Panel, func(j *tree.Index) []tree.Stmt {
			values := tree.Between(at.Add(from.Times(-1)), end.Add(from.Times(-1)))
			return []tree.Stmt{t.d.panel(t.batch, j, at, end, tree.BoxOf(t.panels, tree.Only(t.across(j).Div(t.Panel)), values, tree.All(t.Panel)))}
		})}
	})
}

// down and across are how far a row and a column are from the first of the macro-tile.
func (t *task) down(i *tree.Index) *tree.Index   { return i.Add(t.i.From.Times(-1)) }
func (t *task) across(j *tree.Index) *tree.Index { return j.Add(t.j.From.Times(-1)) }

// runTiles makes the loops over the register tiles of a macro-tile, for what is multiplied at once.
func (t *task) runTiles() (body []tree.Stmt) {
	if t.rows != nil {
		to := tree.BoxOf(t.rows, tree.Between(tree.Const(0), t.down(t.i.To).Plus(t.Cut.TileRows-1).Div(t.Cut.TileRows)), tree.Between(tree.Const(0), t.count), tree.All(t.Cut.TileRows))
		from := t.d.of(t.C.Left, t.batch, t.i, tree.Span{}, t.d.run(t.from, t.to))
		body = append(body, tree.Call("left", []tree.Box{to}, []tree.Box{from}, from.Address(), tree.Number(t.down(t.i.To)), tree.Number(t.count), to.Address()))
	}
	body = append(body, t.tiles(t.Cut.RowsFirst, func(i, j *tree.Index) []tree.Stmt {
		var list []tree.Stmt
		next := t.ahead(&list, i, j)
		return append(list, t.edges(i, j, func(rows, cols int64) tree.Stmt { return t.tile(i, j, rows, cols, next) })...)
	})...)
	if t.C.Transposed {
		done := []tree.Span{tree.Between(tree.Const(0), t.down(t.i.To)), tree.Between(tree.Const(0), t.across(t.j.To))}
		from := tree.BoxOf(t.open, done...)
		args := slices.Concat([]tree.Argument{{}}, tree.Numbers(t.batch...), []tree.Argument{tree.Number(t.i.From), tree.Number(t.i.To), tree.Number(t.j.From), tree.Number(t.j.To), from.Address()})
		reads := append([]tree.Box{from}, t.beside(t.i, t.j, schedule.Read)...)
		body = append(body, tree.Call("transpose", t.beside(t.i, t.j, schedule.Write), reads, args...))
	}
	return body
}

// tiles makes the loops over register tiles.
func (t *task) tiles(rowsFirst bool, body func(i, j *tree.Index) []tree.Stmt) []tree.Stmt {
	rows := func(inside func(i *tree.Index) []tree.Stmt) []tree.Stmt {
		return []tree.Stmt{t.d.Loop(tree.Serial, "i", t.i.From, t.i.To, t.Cut.TileRows, inside)}
	}
	cols := func(inside func(j *tree.Index) []tree.Stmt) []tree.Stmt {
		return []tree.Stmt{t.d.Loop(tree.Serial, "j", t.j.From, t.j.To, t.Cut.TileCols, inside)}
	}
	if rowsFirst {
		return rows(func(i *tree.Index) []tree.Stmt {
			return cols(func(j *tree.Index) []tree.Stmt { return body(i, j) })
		})
	}
	return cols(func(j *tree.Index) []tree.Stmt {
		return rows(func(i *tree.Index) []tree.Stmt { return body(i, j) })
	})
}

// edges chooses between the leaves of whole tiles and of those at the edges.
func (t *task) edges(i, j *tree.Index, leaf func(rows, cols int64) tree.Stmt) []tree.Stmt {
	return tree.AtEdge(j, t.Cut.TileCols, t.C.Col.Extent, func(cols int64) []tree.Stmt {
		return tree.AtEdge(i, t.Cut.TileRows, t.C.Row.Extent, func(rows int64) []tree.Stmt { return []tree.Stmt{leaf(rows, cols)} })
	})
}

// tile is the leaf of a register tile of some rows and columns.
func (t *task) tile(i, j *tree.Index, rows, cols int64, next []tree.Argument) tree.Stmt {
	left, right := t.leftOf(i, rows), t.rightOf(j, cols)
	var writes []tree.Box
	reads := []tree.Box{left, right}
	args := slices.Concat([]tree.Argument{left.Address(), right.Address(), {}}, tree.Numbers(t.batch...), []tree.Argument{tree.Number(i), tree.Number(j)})
	if !t.C.Transposed && t.part == nil {
		writes, reads = t.beside(tree.Some(i, rows), tree.Some(j, cols), schedule.Write), append(reads, t.beside(tree.Some(i, rows), tree.Some(j, cols), schedule.Read)...)
	}
	switch {
	case t.C.Transposed:
		vectors := (cols + int64(t.N) - 1) / int64(t.N)
		open := tree.BoxOf(t.open, tree.Some(t.down(i), rows), tree.Some(t.across(j), vectors*int64(t.N)))
		writes, args = append(writes, open), append(args, open.Address())
	case t.Split():
		open := t.kept(t.open, i, j, tree.All(t.open.Dims[0].End))
		writes, args = append(writes, open), append(args, tree.Number(t.from), tree.Number(t.count), open.Address())
	}
	if t.part != nil {
		group := t.kept(t.d.groups, i, j, tree.Only(t.part[0]), tree.Only(t.part[1]))
		writes, args = append(writes, group), append(args, group.Address())
	}
	return tree.Call(fmt.Sprintf("%dx%d", rows, cols), writes, reads, append(args, next...)...)
}

// kept is where the sums of a tile are in those of a macro-tile.
func (t *task) kept(m *tree.Memory, i, j *tree.Index, outer ...tree.Span) tree.Box {
	r, c := t.Cut.TileRows, t.Cut.TileCols
	return tree.BoxOf(m, append(outer, tree.Only(t.across(j).Div(c)), tree.Only(t.down(i).Div(r)), tree.All(r*c))...)
}

// leftOf is what a tile reads of the left operand.
func (t *task) leftOf(i *tree.Index, rows int64) tree.Box {
	switch {
	case t.rows != nil:
		return tree.BoxOf(t.rows, tree.Only(t.down(i).Div(t.Cut.TileRows)), tree.Between(tree.Const(0), t.count), tree.All(rows))
	case t.Pack.Paneled():
		return tree.BoxOf(t.d.left, tree.Only(t.groupOf(t.C.Left)), tree.Only(i.Div(tile.RowPanel)), t.values(), tree.Some(i.Mod(tile.RowPanel), rows))
	}
	return t.d.of(t.C.Left, t.batch, tree.Some(i, rows), tree.Span{}, t.d.run(t.from, t.to))
}

// values are those of the whole reduction that are multiplied at once.
func (t *task) values() tree.Span {
	return tree.Between(t.from, t.to.Plus(t.Length-t.C.InnerReduction()))
}

// rightOf is what a tile reads of the right operand.
func (t *task) rightOf(j *tree.Index, cols int64) tree.Box {
	if t.Pack.Right == tile.Unpacked {
		return t.d.of(t.C.Right, t.batch, tree.Span{}, tree.Some(j, cols), t.d.run(t.from, t.to))
	}
	from := j.Add(t.d.column.Times(-1))
	if t.panels != nil {
		from = t.across(j)
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
	return tree.BoxOf(t.d.right, tree.Only(t.group), panels, values, lanes)
}

// groupOf is the number of the place in the batch among those that an operand has.
func (t *task) groupOf(operand int) *tree.Index {
	at := tree.Const(0)
	for i, a := range t.Batch {
		if a.Step(t.C.Views[operand]) != 0 {
			at = at.Times(a.Extent).Add(t.batch[i])
		}
	}
	return at
}

// beside are the boxes of operands that the epilogue of a tile writes, or reads.
func (t *task) beside(rows, cols tree.Span, mode schedule.Mode) (out []tree.Box) {
	for i, o := range t.K.Operands {
		if o.Mode == mode && (mode == schedule.Write || nest.ReadsBeside(t.K, i, t.C.Sum)) {
			out = append(out, t.d.of(i, t.batch, rows, cols, t.d.whole()))
		}
	}
	return out
}

// joining makes the body of the loop that adds the sums of the parts of macro-tiles.
func (d *driver) joining(tile *tree.Index) (body []tree.Stmt) {
	t := d.macroTile(&body, tile)
	return append(body, t.tiles(false, func(i, j *tree.Index) []tree.Stmt {
		return t.edges(i, j, func(rows, cols int64) tree.Stmt {
			group := t.kept(d.groups, i, j, tree.Only(tile), tree.All(d.Cut.Groups))
			reads := append([]tree.Box{group}, t.beside(tree.Some(i, rows), tree.Some(j, cols), schedule.Read)...)
			args := slices.Concat([]tree.Argument{{}}, tree.Numbers(t.batch...), []tree.Argument{tree.Number(i), tree.Number(j), group.Address()})
			return tree.Call(fmt.Sprintf("join_%dx%d", rows, cols), t.beside(tree.Some(i, rows), tree.Some(j, cols), schedule.Write), reads, args...)
		})
	})...)
}

// ahead is what a register tile asks for that those after it read. Each asks for a part of the
// columns.
func (t *task) ahead(body *[]tree.Stmt, i, j *tree.Index) []tree.Argument {
	f := fetch{&Product{Blocking: t.Blocking}}
	right := t.rightOf(j, t.Cut.TileCols)
	here, number := right.First().Address(), t.down(i).Div(t.Cut.TileRows)
	switch t.Cut.Prefetch {
	case schedule.PrefetchRows:
		left := t.leftOf(i, t.Cut.TileRows)
		return ahead(&tree.Ahead{Memory: left.Memory, From: left.First().Address(), More: tree.Const(t.Cut.TileRows * t.C.Row.Step(t.C.Views[t.C.Left])),
			Step: tile.PanelBytes / int64(t.D.Size()), About: "rows"})
	case schedule.PrefetchColumns:
		return ahead(&tree.Ahead{Memory: right.Memory, From: here, More: number.Times(f.blocks() * f.pace() * t.Panel).Plus(t.Cut.TileCols * t.Deep()), Alone: true, About: "columns"})
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
			number = number.Add(t.across(j).Div(t.Cut.TileCols).Times(t.TilesDown()))
		}
		number = t.d.Bound(body, "tile", number)
		line := int64(tile.PanelBytes / t.D.Size())
		next := t.d.of(t.C.Right, t.batch, tree.Span{}, tree.Only(t.j.To), t.d.run(tree.Const(0), tree.Const(1)))
		return ahead(&tree.Ahead{Memory: next.Memory, From: next.First().Address(), More: number.Times(line),
			When: &tree.Cond{Var: number.Var(), Limit: tree.Const((t.Cut.Cols + line - 1) / line)}, Step: t.C.Reduction[0].Step(t.C.Views[t.C.Right]), About: "piece"})
	}
	return nil
}
