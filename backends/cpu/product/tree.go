package product

import (
	"slices"

	"tensortapestry.org/tapc/backends/cpu/blocking"
	"tensortapestry.org/tapc/backends/cpu/macrotile"
	"tensortapestry.org/tapc/backends/cpu/point"
	"tensortapestry.org/tapc/backends/tree"
	"tensortapestry.org/tapc/dialects/schedule/nest/computed"
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
	return &tree.Func{Name: name, Operands: d.Operands, Body: slices.Concat(d.memories(), d.before(), d.rounds())}
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
		d.right = panels("right", tree.Constant, d.right.Operand, point.Count(d.Groups()), d.PanelsOf(d.C.Col.Extent), d.Panel)
	case tile.UpFront:
		groups, columns := d.Chunk()
		d.right = panels("right", tree.Workspace, -1, groups, d.PanelsOf(columns), d.Panel)
	}
	leftGroups := point.Count(point.Follows(d.Batch, d.C.Views[d.C.Left]))
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
		panels, groups := together(d.Blocking), point.Follows(d.Batch, d.C.Views[d.C.Left])
		count := (d.RowPanels() + panels - 1) / panels
		out = append(out, d.Loop(tree.Thread, "several", tree.Const(0), tree.Const(count*point.Count(groups)), 1, func(several *tree.Index) (body []tree.Stmt) {
			first := several.Mod(count).Times(panels)
			place := d.BatchOf(&body, several.Div(count), groups)
			i0 := first.Times(tile.RowPanel)
			to := tree.BoxOf(d.Left, tree.Only(several.Div(count)), tree.Between(first, first.Plus(panels).Min(tree.Const(d.RowPanels()))), tree.All(d.Length), tree.All(tile.RowPanel))
			from := d.Of(d.C.Left, place, tree.Between(i0, i0.Plus(panels*tile.RowPanel).Min(tree.Const(d.C.Row.Extent))), tree.Span{}, d.WholeRun())
			args := append(macrotile.Coordinates(place, i0), to.Address())
			return append(body, d.Call("rows", []tree.Box{to}, []tree.Box{from}, args...))
		}))
	case d.C.Padded != nil:
		out = append(out, d.Pad())
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
			d.Loop(tree.Thread, "task", tree.Const(0), tasks, 1, d.joining))
	}
	return append(out, d.Loop(tree.Thread, "task", tree.Const(0), tasks, 1, func(task *tree.Index) []tree.Stmt { return d.task(task, task, nil) }))
}

// packing is the region in which the columns of a round are packed.
func (d *driver) packing(groups int64) tree.Stmt {
	across := d.PanelsOf(d.Columns)
	loop := d.Loop(tree.Thread, "panel", tree.Const(0), tree.Const(groups*across), 1, func(panel *tree.Index) []tree.Stmt {
		group, at := panel.Div(across), panel.Mod(across)
		if groups == 1 {
			group, at = tree.Const(0), panel
		}
		pack := func(from, to *tree.Index) (body []tree.Stmt) {
			j := d.Let(&body, "col", at.Times(d.Panel).Add(d.Column))
			place := d.BatchOf(&body, group.Add(d.Group), d.Groups())
			return append(body, d.panel(place, j, from, to, tree.BoxOf(d.right, tree.Only(group), tree.Only(at), tree.Between(from, to), tree.All(d.Panel))))
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

// panel packs the columns from one on.
func (d *driver) panel(batch []*tree.Index, j, from, to *tree.Index, panel tree.Box) tree.Stmt {
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
