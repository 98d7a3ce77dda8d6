package product

import (
	"slices"

	"tensortapestry.org/tapc/backends/cpu/blocking"
	"tensortapestry.org/tapc/backends/cpu/macrotile"
	"tensortapestry.org/tapc/backends/tree"
	"tensortapestry.org/tapc/dialects/schedule/nest"
	"tensortapestry.org/tapc/dialects/schedule/nest/computed"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/passes/tile"
)

// driver makes the tree of a contraction: regions of tasks, the loops of a task over parts of the reduction and register tiles, and what is packed for them. What
// is done for a tile or a panel is a leaf.
type driver struct {
	*macrotile.Driver
	right  *tree.Memory // what register tiles read
	groups *tree.Memory // sums of the parts of the reduction that are tasks
	macrotile.Round
}

func newDriver(names *tree.Names, b *blocking.Blocking) *driver {
	d := &driver{Driver: macrotile.New(names, b), Round: macrotile.Round{Group: tree.Const(0), Row: tree.Const(0), Rows: b.C.Row.Extent, Column: tree.Const(0), Columns: b.C.Col.Extent}}
	d.right = d.Operands[b.C.Right]
	return d
}

// Tree makes the tree of a contraction.
func Tree(name string, b *blocking.Blocking) *tree.Func {
	d := newDriver(tree.PlainNames(), b)
	return &tree.Func{Name: name, Operands: d.Operands, Functions: Functions(b), Body: slices.Concat(d.memories(), d.before(), d.rounds())}
}

// Functions makes those that the leaves of a product call.
func Functions(b *blocking.Blocking) []*tree.Func {
	dims, along := Results(b)
	out := []*tree.Func{Epilogue("finish", b.K, b.C.Views, dims, along, b.N, b.C.Sum, "i", "j")}
	if b.C.Computed != nil && (b.Pack.Right == tile.UpFront || b.Pack.Right == tile.PerMacroTile) {
		out = append(out, computedPanel(b))
	}
	return out
}

// memories declares what all tasks have together.
func (d *driver) memories() (out []tree.Stmt) {
	declare := func(m *tree.Memory) *tree.Memory {
		out = append(out, &tree.Declare{Memory: m})
		return m
	}
	panels := func(name string, s tree.Scope, operand int, groups, n, width int64) *tree.Memory {
		m := tree.Stored(d.Fresh(name), d.D, s, groups, n, d.Length, width)
		m.Operand = operand
		return declare(m)
	}
	switch d.Pack.Right {
	case tile.Prepacked:
		d.right = panels("right", tree.Constant, d.right.Operand, nest.Points(d.Groups()), d.PanelsOf(d.C.Col.Extent), d.Panel)
	case tile.UpFront:
		groups, columns := d.Chunk()
		d.right = panels("right", tree.Workspace, -1, groups, d.PanelsOf(columns), d.Panel)
	}
	leftGroups := nest.Points(nest.Followed(d.Batch, d.C.Views[d.C.Left], true))
	switch {
	case d.Pack.Left == tile.Prepacked:
		d.Left = panels("left", tree.Constant, d.Left.Operand, leftGroups, d.RowPanels(), tile.RowPanel)
	case d.Pack.Left == tile.UpFront:
		d.Left = panels("left", tree.Workspace, -1, leftGroups, d.RowPanels(), tile.RowPanel)
	case d.C.Padded != nil:
		out = append(out, d.Padded(d.D)...)
	}
	if d.Cut.Groups > 0 {
		d.groups = declare(d.sums(d.Fresh("groups"), tree.Workspace, d.Indices(), d.Cut.Groups))
	}
	return out
}

// sums is a memory of the sums of the register tiles of macro-tiles.
func (d *driver) sums(name string, s tree.Scope, shape ...int64) *tree.Memory {
	r, c := d.Cut.TileRows, d.Cut.TileCols
	m := tree.NewMemory(name, d.VectorType(), s, 0, append(shape, (d.Cut.Cols+c-1)/c, d.Cut.Rows/r, r*c)...)
	m.Lanes = int64(d.N)
	return m
}

// before are the regions that pack or copy the left operand.
func (d *driver) before() (out []tree.Stmt) {
	switch {
	case d.Pack.Left == tile.UpFront:
		panels, groups := together(d.Blocking), nest.Followed(d.Batch, d.C.Views[d.C.Left], true)
		count := (d.RowPanels() + panels - 1) / panels
		out = append(out, d.Loop(tree.Thread, "several", tree.Const(0), tree.Const(count*nest.Points(groups)), 1, func(several *tree.Index) (body []tree.Stmt) {
			first := several.Mod(count).Times(panels)
			i0 := d.Let(&body, "i0", first.Times(tile.RowPanel))
			place := d.BatchOf(&body, several.Div(count), groups)
			return append(body, macrotile.AtEdge(i0, panels*tile.RowPanel, d.C.Row.Extent, func(rows int64) []tree.Stmt { return d.spread(place, several.Div(count), first, i0, rows) })...)
		}))
	case d.C.Padded != nil:
		out = append(out, d.Pad(tree.Computed{Value: scalar.NewConst(scalar.IntValue(scalar.Int32, 0))}))
	}
	return out
}

// rounds makes the loops over what of the right operand is packed at once, and in them the regions. The columns left behind whole rounds have regions of their own.
func (d *driver) rounds() (out []tree.Stmt) {
	groups, columns := d.Chunk()
	return d.Rounds("group", d.Outer, groups, func(group *tree.Index, count int64) []tree.Stmt {
		d.Group = group
		return d.Rounds("column", d.C.Col.Extent, columns, func(first *tree.Index, n int64) []tree.Stmt {
			d.Column, d.Columns = first, n
			return d.regions(count)
		})
	})
}

// regions packs the columns of a round, if they are packed before, and computes its macro-tiles: of some groups of panels.
func (d *driver) regions(groups int64) (out []tree.Stmt) {
	if d.Pack.Right == tile.UpFront {
		out = append(out, d.packing(groups))
	}
	tasks := tree.Const(groups * d.Tiles(d.Cut) * d.Inner)
	if n := d.Cut.Groups; n > 0 {
		return append(out, d.Loop(tree.Thread, "part", tree.Const(0), tasks.Times(n), 1, func(index *tree.Index) []tree.Stmt { return d.task(index, index.Div(n), index.Mod(n)) }),
			d.Loop(tree.Thread, "join", tree.Const(0), tasks, 1, d.joining))
	}
	return append(out, d.Loop(tree.Thread, "task", tree.Const(0), tasks, 1, func(task *tree.Index) []tree.Stmt { return d.task(task, task, nil) }))
}

// packing is the region in which the columns of a round are packed.
func (d *driver) packing(groups int64) tree.Stmt {
	across := d.PanelsOf(d.Columns)
	loop := d.Loop(tree.Thread, d.Prefix+"panel", tree.Const(0), tree.Const(groups*across), 1, func(panel *tree.Index) []tree.Stmt {
		group, at := panel.Div(across), panel.Mod(across)
		if groups == 1 {
			group, at = tree.Const(0), panel
		}
		pack := func(from, to *tree.Index) (body []tree.Stmt) {
			j := d.Let(&body, "col", at.Times(d.Panel).Add(d.Column))
			place := d.BatchOf(&body, group.Add(d.Group), d.Groups())
			return append(body, d.panel(place, j, from, to, tree.BoxOf(d.right, tree.Only(group), tree.Only(at), tree.Between(from, to), tree.All(d.Panel)))...)
		}
		return d.someValues(tree.Const(0), tree.Const(d.Length), pack)
	})
	loop.Together = d.Partly()
	return loop
}

// someValues goes over the values of the reduction some at a time, if panels are packed so: panels next to each other are filled from the same lines of memory.
func (d *driver) someValues(from, to *tree.Index, pack func(from, to *tree.Index) []tree.Stmt) []tree.Stmt {
	if !d.Partly() {
		return pack(tree.Const(0), tree.Const(d.Length))
	}
	n := d.Target.Copies().Rows
	return []tree.Stmt{d.Loop(tree.Serial, "from", from, to, n, func(at *tree.Index) (body []tree.Stmt) {
		end := d.Let(&body, "to", at.Plus(n).Min(to))
		return append(body, pack(at, end)...)
	})}
}

// panel packs the columns from one on, some values of the reduction.
func (d *driver) panel(batch []*tree.Index, j, from, to *tree.Index, panel tree.Box) []tree.Stmt {
	if d.C.Window != nil {
		return d.window(batch, j, panel)
	}
	if d.C.Computed != nil {
		return []tree.Stmt{d.leafPanel(batch, j, from, to, panel)}
	}
	view, length := d.C.Views[d.C.Right], d.C.InnerReduction()
	across, step, ahead := d.C.Col.Step(view), d.InnerStep(view), int64(0)
	if a := d.Target.Copies().Ahead; d.Partly() && across == 1 && step > a {
		ahead = a
	}
	if !d.Partly() {
		from, to = tree.Const(0), tree.Const(length)
	}
	return d.reduced(from, to, panel.From[len(panel.From)-2], func(run []tree.Span, at tree.Span) []tree.Stmt {
		return macrotile.AtEdge(j, d.Panel, d.C.Col.Extent, func(live int64) []tree.Stmt {
			read, write := d.Of(d.C.Right, batch, tree.Span{}, tree.Some(j, live), run), panel
			write.From, write.To = slices.Clone(panel.From), slices.Clone(panel.To)
			write.From[len(write.From)-2], write.To[len(write.To)-2] = at.From, at.To
			template := "tapc_pack"
			if step == 1 && across != 1 && live == d.Panel && length >= int64(d.N) {
				template = "tapc_pack_squares"
			}
			args := append(macrotile.Constants(step, across, live), tree.Number(to.Minus(from)))
			return []tree.Stmt{tree.Call(template, []tree.Box{write}, []tree.Box{read}, slices.Concat([]tree.Argument{read.Address()}, args, macrotile.Constants(ahead),
				[]tree.Argument{write.Address()}, macrotile.Constants(d.Panel))...)}
		})
	})
}

// reduced makes loops over the outer dimensions of the reduction around something that is done for a part of the innermost, of which panels have the values from one on.
func (d *driver) reduced(from, to, first *tree.Index, body func(run []tree.Span, at tree.Span) []tree.Stmt) []tree.Stmt {
	run := d.Run(from, to)
	var open func(x int, first *tree.Index) []tree.Stmt
	open = func(x int, first *tree.Index) []tree.Stmt {
		if x >= len(run)-1 {
			return body(slices.Clone(run), tree.Between(first, first.Add(to.Minus(from))))
		}
		return []tree.Stmt{d.Loop(tree.Serial, "f", tree.Const(0), run[x].To, 1, func(at *tree.Index) []tree.Stmt {
			run[x] = tree.Only(at)
			return open(x+1, first.Add(at.Times(nest.Points(d.C.Reduction[x+1:]))))
		})}
	}
	return open(0, first)
}

// spread packs some rows from one on in panels from one on, which lie in the same lines of memory.
func (d *driver) spread(batch []*tree.Index, group, first, i *tree.Index, rows int64) []tree.Stmt {
	length := d.C.InnerReduction()
	return d.reduced(tree.Const(0), tree.Const(length), tree.Const(0), func(run []tree.Span, at tree.Span) []tree.Stmt {
		read := d.Of(d.C.Left, batch, tree.Some(i, rows), tree.Span{}, run)
		write := tree.BoxOf(d.Left, tree.Only(group), tree.Between(first, first.Plus(together(d.Blocking)).Min(tree.Const(d.RowPanels()))), at, tree.All(tile.RowPanel))
		args := macrotile.Constants(d.C.Row.Step(d.C.Views[d.C.Left]), d.InnerStep(d.C.Views[d.C.Left]), rows, length, d.Target.Copies().Ahead)
		return []tree.Stmt{tree.Call("tapc_spread", []tree.Box{write}, []tree.Box{read}, slices.Concat([]tree.Argument{read.Address()}, args, []tree.Argument{write.Address()},
			macrotile.Constants(d.Length*tile.RowPanel, tile.RowPanel))...)}
	})
}

// together is how many panels of rows of four bytes each are filled at once, so that they share whole lines of memory.
func together(b *blocking.Blocking) int64 {
	n, line := int64(1), b.Target.Copies().Line
	for n*tile.RowPanel*4%line != 0 {
		n++
	}
	return n
}

// leafPanel is the leaf that packs columns whose elements do not stand evenly, or are computed.
func (d *driver) leafPanel(batch []*tree.Index, j, from, to *tree.Index, panel tree.Box) tree.Stmt {
	args := macrotile.Coordinates(batch, j)
	reduction := d.WholeRun()
	if d.Partly() {
		args, reduction = append(args, tree.Number(from), tree.Number(to)), d.Run(from, to)
	}
	cols := tree.Between(j, j.Plus(d.Panel).Min(tree.Const(d.C.Col.Extent)))
	reads := []tree.Box{d.Of(d.C.Right, batch, tree.Span{}, cols, reduction)}
	for i := range d.Operands {
		if i != d.C.Right && computed.Reads(d.C.Computed, i) {
			reads = append(reads, d.Of(i, batch, tree.Span{}, cols, reduction))
		}
	}
	return d.Call("panel", []tree.Box{panel}, reads, append(args, panel.Address())...)
}
