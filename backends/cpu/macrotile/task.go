package macrotile

import (
	"slices"

	"tensortapestry.org/tapc/backends/cpu/blocking"
	"tensortapestry.org/tapc/backends/tree"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/nest"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/passes/tile"
)

// Task is what a task does with a macro-tile: where that is, and what it has for itself.
type Task struct {
	*blocking.Blocking // of which the register tiles may be others than the driver's
	Driver             *Driver
	Batch              []*tree.Index // the place in the batch
	Group              *tree.Index   // of panels of columns, from the round's first on
	I, J               tree.Span
	Open               *tree.Memory // unfinished sums
}

// Round is what one region of tasks computes: from a group of panels, a row and a column on, some rows and columns.
type Round struct {
	Group, Row, Column *tree.Index
	Rows, Columns      int64
}

func (r *Round) across(c blocking.Cut) int64 { return (r.Columns + c.Cols - 1) / c.Cols }
func (r *Round) down(c blocking.Cut) int64   { return (r.Rows + c.Rows - 1) / c.Rows }

// Tiles is how many macro-tiles a place of the batch has.
func (r *Round) Tiles(c blocking.Cut) int64 { return r.across(c) * r.down(c) }

// MacroTile names the coordinates of a macro-tile with a number.
func (d *Driver) MacroTile(body *[]tree.Stmt, rest *tree.Index, r *Round) *Task {
	t := &Task{Blocking: d.Blocking, Driver: d, Batch: make([]*tree.Index, len(d.Batch)), Group: tree.Const(0)}
	part := func(name string, first *tree.Index, count int64, number *tree.Index, size int64) tree.Span {
		from := d.Let(body, name+"0", first.Add(number.Times(size)))
		return tree.Between(from, d.Let(body, name+"1", from.Plus(size).Min(first.Plus(count))))
	}
	columns := func() {
		number := rest.Mod(r.across(d.Cut))
		if d.Cut.ColumnsLast {
			number = rest
		}
		t.J = part("j", r.Column, r.Columns, number, d.Cut.Cols)
		rest = rest.Div(r.across(d.Cut))
	}
	if !d.Cut.ColumnsLast {
		columns()
	}
	t.I = part("i", r.Row, r.Rows, rest.Mod(r.down(d.Cut)), d.Cut.Rows)
	rest = rest.Div(r.down(d.Cut))
	for i := len(d.Batch) - 1; i >= 0; i-- {
		a := d.Batch[i]
		if d.IsLastOuter(i) {
			t.Group = rest
			rest = rest.Add(r.Group)
		}
		if i == 0 && !d.Cut.ColumnsLast {
			t.Batch[i] = d.Let(body, BatchName(i), rest)
			break
		}
		t.Batch[i] = d.Let(body, BatchName(i), rest.Mod(a.Extent))
		rest = rest.Div(a.Extent)
	}
	if d.Cut.ColumnsLast {
		columns()
	}
	return t
}

// Declare declares a memory of the task.
func (t *Task) Declare(body *[]tree.Stmt, m *tree.Memory) *tree.Memory {
	*body = append(*body, &tree.Declare{Memory: m})
	return m
}

// Keep declares a memory of unfinished sums: if they are too many for the stack, behind what else a thread has.
func (t *Task) Keep(body *[]tree.Stmt, m *tree.Memory) {
	if m.Name, m.Scope = t.Driver.Fresh("open"), tree.Registers; m.Bytes() > tile.MaxSums {
		m.Scope = tree.Private
	}
	t.Open = t.Declare(body, m)
}

// Down and Across are how far a row and a column are from the first of the macro-tile.
func (t *Task) Down(i *tree.Index) *tree.Index   { return i.Add(t.I.From.Times(-1)) }
func (t *Task) Across(j *tree.Index) *tree.Index { return j.Add(t.J.From.Times(-1)) }

// Each makes the loops over register tiles.
func (t *Task) Each(rowsFirst bool, body func(i, j *tree.Index) []tree.Stmt) []tree.Stmt {
	rows := func(inside func(i *tree.Index) []tree.Stmt) []tree.Stmt {
		return []tree.Stmt{t.Driver.Loop(tree.Serial, "i", t.I.From, t.I.To, t.Cut.TileRows, inside)}
	}
	cols := func(inside func(j *tree.Index) []tree.Stmt) []tree.Stmt {
		return []tree.Stmt{t.Driver.Loop(tree.Serial, "j", t.J.From, t.J.To, t.Cut.TileCols, inside)}
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

// AtEdge chooses between what is done for a whole tile of a dimension, from x on, and for what is left at its end.
func AtEdge(x *tree.Index, size, extent int64, inside func(size int64) []tree.Stmt) []tree.Stmt {
	rest := extent % size
	switch {
	case rest == 0:
		return inside(size)
	case extent < size:
		return inside(rest)
	}
	return []tree.Stmt{&tree.If{Conds: []tree.Cond{{Var: x.Var(), Limit: tree.Const(extent - size + 1)}}, Then: inside(size), Else: inside(rest)}}
}

// Edges chooses between the leaves of whole tiles and of those at the edges.
func (t *Task) Edges(i, j *tree.Index, leaf func(rows, cols int64) tree.Stmt) []tree.Stmt {
	return AtEdge(j, t.Cut.TileCols, t.C.Col.Extent, func(cols int64) []tree.Stmt {
		return AtEdge(i, t.Cut.TileRows, t.C.Row.Extent, func(rows int64) []tree.Stmt { return []tree.Stmt{leaf(rows, cols)} })
	})
}

// Beside are the boxes of operands that the epilogue of some results writes, or reads.
func (t *Task) Beside(rows, cols tree.Span, mode schedule.Mode) (out []tree.Box) {
	for i, o := range t.K.Operands {
		if o.Mode == mode && (mode == schedule.Write || nest.ReadsBeside(t.K, i, t.C.Sum)) {
			out = append(out, t.Driver.Of(i, t.Batch, rows, cols, t.Driver.WholeRun()))
		}
	}
	return out
}

// Tile makes the leaf of a register tile, but for what becomes of its sums.
func (t *Task) Tile(name string, i, j *tree.Index, left, right tree.Box) *tree.Leaf {
	return tree.Call(t.Driver.Prefix+name, nil, []tree.Box{left, right}, slices.Concat([]tree.Argument{left.Address(), right.Address()}, Coordinates(t.Batch, i, j))...)
}

// Results adds to the leaf of a register tile that it carries out the epilogue, or that its sums are open, to be transposed before.
func (t *Task) Results(leaf *tree.Leaf, rows, cols tree.Span) {
	if !t.C.Transposed {
		leaf.Writes, leaf.Reads = append(leaf.Writes, t.Beside(rows, cols, schedule.Write)...), append(leaf.Reads, t.Beside(rows, cols, schedule.Read)...)
		return
	}
	lanes := int64(t.N)
	whole := less(cols, cols.From).To.Plus(lanes - 1).Div(lanes).Times(lanes)
	t.AddOpen(leaf, tree.BoxOf(t.Open, less(rows, t.I.From), tree.Between(t.Across(cols.From), t.Across(cols.From).Add(whole))))
}

// AddOpen adds a box of unfinished sums that a leaf goes on with, behind other arguments.
func (t *Task) AddOpen(leaf *tree.Leaf, open tree.Box, before ...*tree.Index) {
	leaf.Writes, leaf.Args = append(leaf.Writes, open), append(append(leaf.Args, tree.Numbers(before...)...), open.Address())
}

// KeepTransposed declares the sums of a macro-tile that are transposed before the epilogue, of a type.
func (t *Task) KeepTransposed(body *[]tree.Stmt, d scalar.DType) {
	columns := t.OpenCols()
	t.Keep(body, tree.NewMemory("", d, tree.Private, 0, t.TransposedBytes()/columns/int64(t.D.Wide().Size()), columns))
}

// Transpose makes the leaf that transposes the sums of a macro-tile, and carries out the epilogue.
func (t *Task) Transpose() tree.Stmt {
	from := tree.BoxOf(t.Open, tree.Between(tree.Const(0), t.Down(t.I.To)), tree.Between(tree.Const(0), t.Across(t.J.To)))
	args := append(Coordinates(t.Batch, t.I.From, t.I.To, t.J.From, t.J.To), from.Address())
	return t.Driver.Call("transpose", t.Beside(t.I, t.J, schedule.Write), append([]tree.Box{from}, t.Beside(t.I, t.J, schedule.Read)...), args...)
}
