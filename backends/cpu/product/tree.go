package product

import (
	"fmt"
	"slices"

	"tensortapestry.org/tapc/backends/cpu/blocking"
	"tensortapestry.org/tapc/backends/cpu/point"
	"tensortapestry.org/tapc/backends/tree"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/nest"
	"tensortapestry.org/tapc/passes/tile"
)

// driver makes the tree of a contraction: regions of tasks, the loops of a task over parts of the reduction and register tiles, and what is packed for them. What
// is done for a tile or a panel is a leaf.
type driver struct {
	*blocking.Blocking
	*tree.Names
	operands []*tree.Memory
	left     *tree.Memory // what register tiles read: an operand, its panels, a copy of it
	right    *tree.Memory
	copied   *tree.Memory // the copy of the left operand with zeros around
	groups   *tree.Memory // sums of the parts of the reduction that are tasks
	round
}

// round is what is packed at once.
type round struct {
	group, column *tree.Index // its first
	columns       int64
}

// Tree makes the tree of a contraction.
func Tree(name string, b *blocking.Blocking) *tree.Func {
	d := &driver{Blocking: b, Names: tree.PlainNames()}
	for i := range b.K.Operands {
		d.operands = append(d.operands, d.operand(i))
	}
	f := &tree.Func{Name: name, Operands: d.operands}
	d.left, d.right = d.operands[b.C.Left], d.operands[b.C.Right]
	f.Body = append(d.memories(), d.before()...)
	if b.Pack.Right != tile.UpFront {
		d.round = round{tree.Const(0), tree.Const(0), b.C.Col.Extent}
		f.Body = append(f.Body, d.regions(tree.Const(b.Outer))...)
		return f
	}
	f.Body = append(f.Body, d.rounds()...)
	return f
}

func ahead(x *tree.Ahead) []tree.Argument { return []tree.Argument{{Ahead: x}} }

// dims are the dimensions of an operand: of the batch, of rows, of columns and of the reduction. A window moves along each loop by itself.
func (d *driver) dims(i int) (out []nest.Dim) {
	for _, a := range d.Batch {
		out = append(out, a.Dim)
	}
	col, reduction := []nest.Dim{d.C.Col}, d.C.Reduction
	if d.C.Window != nil && i == d.C.Right {
		col, reduction = d.loops(col), d.loops(reduction)
	}
	return slices.Concat(out, []nest.Dim{d.C.Row}, col, reduction)
}

// loops gives the loops of dimensions, each a dimension.
func (d *driver) loops(dims []nest.Dim) (out []nest.Dim) {
	for _, x := range dims {
		for _, l := range x.Loops {
			out = append(out, nest.Dim{Loops: []int{l}, Extent: d.K.Loops[l].Extent()})
		}
	}
	return out
}

func (d *driver) operand(i int) *tree.Memory {
	o, v := d.K.Operands[i], d.C.Views[i]
	m := &tree.Memory{Name: fmt.Sprintf("p%d", i), Type: o.Type(), Operand: i, Written: o.Mode == schedule.Write, Base: point.Start(d.K, v)}
	if d.C.Padded != nil && i == d.C.Left { // what is copied of it
		m.Base = 0
		for _, x := range d.C.Padded.Dims {
			m.Dims = append(m.Dims, tree.Dim{Start: d.C.Padded.Live.Start[x.Dim], End: d.C.Padded.Live.End[x.Dim], Stride: 1})
		}
		return m
	}
	for _, x := range d.dims(i) {
		m.Dims = append(m.Dims, tree.Dim{End: x.Extent, Stride: x.Step(v)})
	}
	return m
}

// memories declares what all tasks have together.
func (d *driver) memories() (out []tree.Stmt) {
	declare := func(m *tree.Memory) *tree.Memory {
		out = append(out, &tree.Declare{Memory: m})
		return m
	}
	panels := func(name string, s tree.Scope, operand int, groups, n, width int64) *tree.Memory {
		m := tree.Stored(name, d.D, s, groups, n, d.Length, width)
		m.Operand = operand
		return declare(m)
	}
	switch d.Pack.Right {
	case tile.Prepacked:
		d.right = panels("right", tree.Constant, d.C.Right, point.Count(d.Groups()), d.PanelsOf(d.C.Col.Extent), d.Panel)
	case tile.UpFront:
		groups, columns := d.Chunk()
		d.right = panels("right", tree.Workspace, -1, groups, d.PanelsOf(columns), d.Panel)
	}
	leftGroups := point.Count(point.Follows(d.Batch, d.C.Views[d.C.Left]))
	switch {
	case d.Pack.Left == tile.Prepacked:
		d.left = panels("left", tree.Constant, d.C.Left, leftGroups, d.RowPanels(), tile.RowPanel)
	case d.Pack.Left == tile.UpFront:
		d.left = panels("left", tree.Workspace, -1, leftGroups, d.RowPanels(), tile.RowPanel)
	case d.C.Padded != nil:
		d.copied = declare(tree.Stored("copied", d.D, tree.Workspace, PadRows(d.C.Padded), d.C.Padded.Elements()/PadRows(d.C.Padded)))
		v := d.C.Views[d.C.Left]
		d.left = &tree.Memory{Name: "left", Type: d.D, Scope: tree.Workspace, Operand: -1, Base: point.Start(d.K, v), Of: d.copied, Packed: true}
		for _, x := range d.dims(d.C.Left) {
			d.left.Dims = append(d.left.Dims, tree.Dim{End: x.Extent, Stride: x.Step(v)})
		}
		declare(d.left)
	}
	if d.Cut.Groups > 0 {
		d.groups = declare(d.sums("groups", tree.Workspace, d.Indices(), d.Cut.Groups))
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
			place := d.batchOf(&body, several.Div(count), groups)
			i0 := first.Times(tile.RowPanel)
			to := tree.BoxOf(d.left, tree.Only(several.Div(count)), tree.Between(first, first.Plus(panels).Min(tree.Const(d.RowPanels()))), tree.All(d.Length), tree.All(tile.RowPanel))
			from := d.of(d.C.Left, place, tree.Between(i0, i0.Plus(panels*tile.RowPanel).Min(tree.Const(d.C.Row.Extent))), tree.Span{}, d.whole())
			args := slices.Concat([]tree.Argument{{}}, tree.Numbers(place...), []tree.Argument{tree.Number(i0), to.Address()})
			return append(body, tree.Call("rows", []tree.Box{to}, []tree.Box{from}, args...))
		}))
	case d.copied != nil:
		out = append(out, d.Loop(tree.Thread, "row", tree.Const(0), tree.Const(PadRows(d.C.Padded)), 1, func(row *tree.Index) []tree.Stmt {
			to, from := tree.BoxOf(d.copied, tree.Only(row), tree.All(d.copied.Dims[1].End)), d.operands[d.C.Left]
			whole := make([]tree.Span, len(from.Dims))
			for i, x := range from.Dims {
				whole[i] = tree.Between(tree.Const(x.Start), tree.Const(x.End))
			}
			return []tree.Stmt{tree.Call("pad_row", []tree.Box{to}, []tree.Box{tree.BoxOf(from, whole...)}, tree.Argument{}, tree.Number(row), to.Address())}
		}))
	}
	return out
}

// batchOf names the coordinates of the batch for the number of a place among those of some of its axes; of the others, they are 0.
func (d *driver) batchOf(body *[]tree.Stmt, rest *tree.Index, axes []point.Axis) []*tree.Index {
	out := make([]*tree.Index, len(d.Batch))
	for i, a := range slices.Backward(d.Batch) {
		at := slices.IndexFunc(axes, func(x point.Axis) bool { return x.Variable == a.Variable })
		switch {
		case at < 0:
			out[i] = tree.Const(0)
		case at == 0:
			out[i] = d.Let(body, a.Variable, rest)
		default:
			out[i] = d.Let(body, a.Variable, rest.Mod(a.Extent))
			rest = rest.Div(a.Extent)
		}
	}
	return out
}

// of is a box of an operand, or of what has its dimensions.
func (d *driver) of(i int, batch []*tree.Index, rows, cols tree.Span, reduction []tree.Span) tree.Box {
	m := d.operands[i]
	if i == d.C.Left && d.copied != nil {
		m = d.left
	}
	var spans []tree.Span
	for _, x := range batch {
		spans = append(spans, tree.Only(x))
	}
	spans = append(spans, rows)
	if d.C.Window != nil && i == d.C.Right {
		for _, x := range m.Dims[len(spans):] {
			spans = append(spans, tree.All(x.End))
		}
		return tree.BoxOf(m, spans...)
	}
	return tree.BoxOf(m, slices.Concat(spans, []tree.Span{cols}, reduction)...)
}

// whole is all of the reduction.
func (d *driver) whole() []tree.Span { return d.run(tree.Const(0), tree.Const(d.C.InnerReduction())) }

// run is a part of the innermost dimension of the reduction, and all of the others.
func (d *driver) run(from, to *tree.Index) (out []tree.Span) {
	for _, x := range d.C.Reduction {
		out = append(out, tree.All(x.Extent))
	}
	if n := len(out); n > 0 {
		out[n-1] = tree.Between(from, to)
	}
	return out
}

// rounds makes the loops over what of the right operand is packed at once, and in them the regions. The columns left behind whole rounds have regions of their own.
func (d *driver) rounds() (out []tree.Stmt) {
	groups, columns := d.Chunk()
	extent := d.C.Col.Extent
	inGroup := func(group, count *tree.Index) []tree.Stmt {
		d.group = group
		if columns == extent {
			d.column, d.columns = tree.Const(0), extent
			return d.regions(count)
		}
		full := extent / columns * columns
		list := []tree.Stmt{d.Loop(tree.Serial, "column", tree.Const(0), tree.Const(full), columns, func(column *tree.Index) []tree.Stmt {
			d.column, d.columns = column, columns
			return d.regions(count)
		})}
		if full < extent {
			d.column, d.columns = tree.Const(full), extent-full
			list = append(list, d.regions(count)...)
		}
		return list
	}
	if groups >= d.Outer {
		return inGroup(tree.Const(0), tree.Const(d.Outer))
	}
	return []tree.Stmt{d.Loop(tree.Serial, "group", tree.Const(0), tree.Const(d.Outer), groups, func(group *tree.Index) []tree.Stmt {
		if d.Outer%groups == 0 {
			return inGroup(group, tree.Const(groups))
		}
		return inGroup(group, group.Times(-1).Plus(d.Outer).Min(tree.Const(groups)))
	})}
}

// regions packs the columns of a round, if they are packed before, and computes its macro-tiles: of some groups of panels.
func (d *driver) regions(groups *tree.Index) (out []tree.Stmt) {
	if d.Pack.Right == tile.UpFront {
		out = append(out, d.packing(groups))
	}
	across, down := (d.columns+d.Cut.Cols-1)/d.Cut.Cols, (d.C.Row.Extent+d.Cut.Rows-1)/d.Cut.Rows
	tasks := groups.Times(across * down * d.Inner)
	if n := d.Cut.Groups; n > 0 {
		return append(out, d.Loop(tree.Thread, "part", tree.Const(0), tasks.Times(n), 1, func(index *tree.Index) []tree.Stmt { return d.task(index, index.Div(n), index.Mod(n)) }),
			d.Loop(tree.Thread, "task", tree.Const(0), tasks, 1, d.joining))
	}
	return append(out, d.Loop(tree.Thread, "task", tree.Const(0), tasks, 1, func(task *tree.Index) []tree.Stmt { return d.task(task, task, nil) }))
}

// packing is the region in which the columns of a round are packed.
func (d *driver) packing(groups *tree.Index) tree.Stmt {
	across := d.PanelsOf(d.columns)
	one, _ := groups.Number()
	loop := d.Loop(tree.Thread, "panel", tree.Const(0), groups.Times(across), 1, func(panel *tree.Index) []tree.Stmt {
		group, at := panel.Div(across), panel.Mod(across)
		if one == 1 {
			group, at = tree.Const(0), panel
		}
		pack := func(from, to *tree.Index) (body []tree.Stmt) {
			j := d.Let(&body, "col", at.Times(d.Panel).Add(d.column))
			place := d.batchOf(&body, group.Add(d.group), d.Groups())
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
	args := slices.Concat([]tree.Argument{{}}, tree.Numbers(batch...), []tree.Argument{tree.Number(j)})
	reduction := d.whole()
	if d.Partly() {
		args, reduction = append(args, tree.Number(from), tree.Number(to)), d.run(from, to)
	}
	cols := tree.Between(j, j.Plus(d.Panel).Min(tree.Const(d.C.Col.Extent)))
	return tree.Call("panel", []tree.Box{panel}, []tree.Box{d.of(d.C.Right, batch, tree.Span{}, cols, reduction)}, append(args, panel.Address())...)
}
