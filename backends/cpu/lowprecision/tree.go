package lowprecision

import (
	"fmt"
	"slices"

	"tensortapestry.org/tapc/backends/codegen/builder"
	"tensortapestry.org/tapc/backends/cpu/macrotile"
	"tensortapestry.org/tapc/backends/cpu/micro"
	"tensortapestry.org/tapc/backends/cpu/panels"
	"tensortapestry.org/tapc/backends/tree"
	"tensortapestry.org/tapc/dialects/schedule/nest"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/passes/tile"
)

// driver makes the tree of a low-precision product: regions that pack or copy operands, in rounds of columns and of rows, and those of tasks, which choose the
// register tiles that the processor can run.
type driver struct {
	*macrotile.Driver
	n *Kernel
	macrotile.Round
	panels map[*operand]*tree.Memory
}

// Tree makes the tree.
func (n *Kernel) Tree() *tree.Func {
	d := &driver{Driver: macrotile.New(tree.PlainNames(), n.p.Blocking), n: n, panels: map[*operand]*tree.Memory{}}
	d.Group = tree.Const(0)
	f := &tree.Func{Name: n.p.K.Name, Operands: d.Operands, Functions: n.called}
	if d.C.Padded != nil {
		f.Body = d.Padded(kept(n.left.layout.Blocked))
	}
	for _, o := range n.packed() {
		m := tree.Stored(d.Fresh(o.side.name), scalar.UInt8, tree.Workspace, panels.Extents(o.layout.Groups), panelsOf(o.chunk), o.panel())
		if o.fixed {
			m.Scope, m.Operand = tree.Constant, o.operand
		}
		d.panels[o] = m
		f.Body = append(f.Body, &tree.Declare{Memory: m})
	}
	if d.C.Padded != nil {
		f.Body = append(f.Body, d.Pad(d.around()))
	}
	f.Body = append(f.Body, d.Rounds("column", d.C.Col.Extent, n.right.chunk, func(column *tree.Index, columns int64) []tree.Stmt {
		d.Column, d.Columns = column, columns
		return append(d.pack(&n.right, column, columns), d.Rounds("row", d.C.Row.Extent, n.left.chunk, func(row *tree.Index, rows int64) []tree.Stmt {
			d.Row, d.Round.Rows = row, rows
			tasks := tree.Const(nest.Points(d.Batch) * d.Tiles(d.Cut))
			return append(d.pack(&n.left, row, rows), d.Loop(tree.Thread, "task", tree.Const(0), tasks, 1, d.task))
		})...)
	})...)
	return f
}

// around is the byte around the copy of the left operand: its zero point, in the sign that the copy has. Numbers of bfloat16 that are 0 have such bytes too.
func (d *driver) around() tree.Computed {
	z, b := d.n.left.zero(), builder.New(d.Names, d.K, d.C.Views, nil)
	if z.e == nil {
		return b.Computed(scalar.NewConst(scalar.IntValue(scalar.Int32, int64(z.plus))))
	}
	for i, m := range d.Operands { // it is one number
		b.Elements[i] = func() tree.Access {
			return tree.Access{Memory: m, At: slices.Repeat([]*tree.Index{tree.Const(0)}, len(m.Dims))}
		}
	}
	x := b.Computed(scalar.NewCast(scalar.Int32, z.e))
	x.Value = &scalar.Expr{Op: scalar.Add, Type: scalar.Int32, Args: []*scalar.Expr{x.Value, scalar.NewConst(scalar.IntValue(scalar.Int32, int64(z.plus)))}}
	return x
}

// zeros are the boxes of the operands that zero points are read from.
func (d *driver) zeros(box func(*tree.Memory) tree.Box, zeros ...zeroPoint) (out []tree.Box) {
	for i, m := range d.Operands {
		for _, z := range zeros {
			if z.e != nil && z.e.Any(func(e *scalar.Expr) bool { return e.Op == scalar.Load && e.Ref == i }) {
				out = append(out, box(m))
			}
		}
	}
	return out
}

// pack is the region that packs some rows or columns of an operand, if it is packed when the kernel runs.
func (d *driver) pack(o *operand, first *tree.Index, count int64) []tree.Stmt {
	memory := d.panels[o]
	if memory == nil || o.fixed {
		return nil
	}
	wide, per, v := o.wide(), int64(tile.NarrowBlock)/o.layout.Blocked.Size(), d.C.Views[o.operand]
	across, end := (count+wide-1)/wide, first.Plus(count)
	groups := panels.Extents(o.layout.Groups)
	loop := d.Loop(tree.Thread, "panel", tree.Const(0), tree.Const(groups*across), 1, func(panel *tree.Index) []tree.Stmt {
		group, number := panel.Div(across), panel.Mod(across)
		if groups == 1 {
			group, number = tree.Const(0), panel
		}
		return []tree.Stmt{d.Loop(tree.Serial, "k", tree.Const(0), tree.Const(d.Length), per, func(k *tree.Index) (body []tree.Stmt) {
			at := d.Let(&body, o.side.variable, first.Add(number.Times(wide)))
			batch := d.BatchOf(&body, group, nest.Followed(d.Batch, v, true))
			lanes := tree.Between(at, at.Plus(wide).Min(end))
			here := d.Let(&body, "lanes", lanes.To.Add(at.Times(-1)))
			first := number.Times(wide / tile.NarrowPanel)
			some := tree.Between(first, first.Plus(wide/tile.NarrowPanel).Min(tree.Const(panelsOf(count))))
			box := func(from, to *tree.Index) tree.Box {
				return tree.BoxOf(memory, tree.Only(group), some, tree.Between(from, to))
			}
			block := k.Div(per).Times(panels.BlockBytes)
			blocks := box(block, block.Plus(panels.BlockBytes))
			values := d.Run(k, k.Plus(per).Min(tree.Const(d.Length)))
			from, to := d.Of(o.operand, batch, lanes, lanes, values), macrotile.Constants(o.panel())
			args := append(macrotile.Constants(o.layout.Step, d.C.Reduction[0].Step(v)), tree.Numbers(here, values[0].To.Minus(k))...)
			body = append(body, tree.Call(o.template(), []tree.Box{blocks}, []tree.Box{from}, slices.Concat([]tree.Argument{from.Address()}, args, []tree.Argument{blocks.Address()}, to)...))
			if o.summed() { // behind the last
				all := box(tree.Const(0), tree.Const(o.panel()))
				leaf := tree.Call(o.side.sums, []tree.Box{all}, nil, slices.Concat([]tree.Argument{all.Address()}, macrotile.Constants(o.blocks()), []tree.Argument{tree.Number(here)}, to)...)
				body = append(body, &tree.If{Conds: []tree.Cond{{Var: k.Var(), From: tree.Const(d.Length - per)}}, Then: []tree.Stmt{leaf}})
			}
			return body
		})}
	})
	loop.Together = o.neighbours()
	return []tree.Stmt{loop}
}

// task makes what a task does with a macro-tile, for each part of the reduction that runs at once.
func (d *driver) task(number *tree.Index) (body []tree.Stmt) {
	t := d.MacroTile(&body, number, &d.Round)
	switch {
	case d.C.Transposed:
		t.KeepTransposed(&body, scalar.UInt32)
		return append(body, d.choose(t), t.Transpose())
	case !d.n.parted():
		return append(body, d.choose(t))
	}
	t.Keep(&body, tree.NewMemory("", scalar.UInt32, tree.Private, 0, d.Cut.Rows*d.Cut.Cols))
	blocks, step := tree.Const(d.n.left.blocks()), d.n.left.layout.Blocked.Blocks(d.Cut.Fold)
	return append(body, d.Loop(tree.Serial, "f", tree.Const(0), blocks, step, func(f *tree.Index) (body []tree.Stmt) {
		count := d.Let(&body, "fn", f.Plus(step).Min(blocks).Add(f.Times(-1)))
		return append(body, d.choose(t, f, count))
	}))
}

// choose makes the loops over the register tiles that a processor may have.
func (d *driver) choose(t *macrotile.Task, part ...*tree.Index) tree.Stmt {
	s := &tree.Choose{}
	for _, x := range d.n.tiles {
		c := tree.Case{Name: x.Name, Known: x.Known(), Feature: x.Feature}
		u, b := *t, *t.Blocking
		b.Cut.TileRows, b.Cut.TileCols = x.rows, x.cols
		u.Blocking = &b
		if x.Form != micro.MatrixUnit {
			c.Body = u.Each(false, func(i, j *tree.Index) []tree.Stmt {
				return u.Edges(i, j, func(rows, cols int64) tree.Stmt {
					return d.tile(&u, fmt.Sprintf("%s_%dx%d", x.Name, rows, cols), tree.Some(i, rows), tree.Some(j, cols), part)
				})
			})
		} else {
			c.Begin, c.End = "tapc_tile_config()", "tapc_tile_release()"
			c.Body = u.Each(false, func(i, j *tree.Index) []tree.Stmt {
				rows, cols := tree.Between(i, i.Plus(x.rows).Min(t.I.To)), tree.Between(j, j.Plus(x.cols).Min(t.J.To))
				leaf := d.tile(&u, x.Name, rows, cols, part)
				leaf.Args = append(leaf.Args, tree.Number(rows.To.Add(i.Times(-1))), tree.Number(cols.To.Add(j.Times(-1))))
				return []tree.Stmt{leaf}
			})
		}
		s.Cases = append(s.Cases, c)
	}
	return s
}

// tile is the leaf of a register tile.
func (d *driver) tile(t *macrotile.Task, name string, rows, cols tree.Span, part []*tree.Index) *tree.Leaf {
	left := d.Of(d.C.Left, t.Batch, rows, tree.Span{}, d.WholeRun())
	if !d.n.n.Unpacked {
		left = d.panelsAt(&d.n.left, t, rows, d.Row)
	}
	leaf := t.Tile(name, rows.From, cols.From, left, d.panelsAt(&d.n.right, t, cols, d.Column))
	if d.n.corrected() {
		leaf.Reads = append(leaf.Reads, d.zeros(func(m *tree.Memory) tree.Box { return d.Of(m.Operand, t.Batch, rows, cols, d.WholeRun()) }, d.n.left.zero(), d.n.right.zero())...)
	}
	t.Results(leaf, rows, cols)
	if part != nil {
		r, c := t.Cut.TileRows, t.Cut.TileCols
		at := t.Down(rows.From).Div(r).Times(t.Cut.Cols / c).Add(t.Across(cols.From).Div(c)).Times(r * c)
		t.AddOpen(leaf, tree.BoxOf(t.Open, tree.Some(at, r*c)), part...)
	}
	return leaf
}

// panelsAt is the box of the panels of some rows or columns.
func (d *driver) panelsAt(o *operand, t *macrotile.Task, lanes tree.Span, first *tree.Index) tree.Box {
	back := first.Times(-1)
	bytes := o.blocks() * panels.BlockBytes
	if o.summed() {
		bytes = o.panel()
	}
	return tree.BoxOf(d.panels[o], tree.Only(d.GroupOf(o.operand, t.Batch)),
		tree.Between(lanes.From.Add(back).Div(tile.NarrowPanel), lanes.To.Add(back).Plus(tile.NarrowPanel-1).Div(tile.NarrowPanel)), tree.All(bytes))
}
