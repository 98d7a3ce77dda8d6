package codegen

import (
	"slices"

	"tensortapestry.org/tapc/backends/codegen/builder"
	"tensortapestry.org/tapc/backends/tree"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/nest"
)

// loops makes the loops around the points of a kernel of any kind.
type loops struct{ in *points }

// Loops makes the tree of a kernel whose loops are cut as their levels say. Threads run one of them, or one thread all; blocks and
// their lanes run all.
func Loops(name string, a *nest.Analysis, by tree.Bind) *tree.Func {
	f := &tree.Func{Name: name}
	x := loops{newPoints(f, a, a.Kernel.Free())}
	if by == tree.Thread {
		f.Body = x.tasks()
	} else {
		f.Body = x.blocks()
	}
	return f
}

// innerTile is the tile of a loop that code is written for: the innermost of more than one value.
func innerTile(l schedule.Loop) int64 {
	return max(1, min(l.Extent(), l.Levels[max(0, len(l.Levels)-2)].Tile))
}

// tasks makes the loop of threads, and inside of it those over the tiles of the other free loops.
func (x loops) tasks() []tree.Stmt {
	shared := slices.IndexFunc(x.in.free, func(l int) bool { return x.in.K.Loops[l].Levels[0].Bind == schedule.Thread })
	task, order, count := x.in.Variable("task"), x.in.free, int64(1)
	var body []tree.Stmt
	if shared >= 0 && !x.empty() {
		l := x.in.free[shared]
		tile := innerTile(x.in.K.Loops[l])
		if n := ceil(x.in.Dims[l].Extent, tile); n > 1 {
			order, count = slices.Delete(slices.Clone(order), shared, shared+1), n
			x.start(l, x.in.Let(&body, "first", tree.Use(task).Times(tile)))
		}
	}
	if !x.empty() {
		body = append(body, x.tiles(order)...)
	}
	return []tree.Stmt{&tree.For{Var: task, From: tree.Const(0), To: tree.Const(count), Step: 1, Bind: tree.Thread, Body: body}}
}

// empty says whether there are no points.
func (x loops) empty() bool {
	return slices.ContainsFunc(x.in.free, func(l int) bool { return x.in.Dims[l].Extent == 0 })
}

// start begins a free loop at an index: a tile of it, or one value.
func (x loops) start(loop int, first *tree.Index) {
	if len(x.in.K.Loops[loop].Levels) < 2 {
		x.in.At[loop] = first
		return
	}
	x.in.lanes = append(x.in.lanes, lane{loop: loop, tile: innerTile(x.in.K.Loops[loop]), first: first})
}

// tiles makes the loops over tiles, and what is done for each.
func (x loops) tiles(order []int) []tree.Stmt {
	if len(order) == 0 {
		slices.SortFunc(x.in.lanes, func(a, b lane) int { return a.loop - b.loop })
		return x.whole(0, x.in.statements)
	}
	l := order[0]
	extent, tile := x.in.Dims[l].Extent, innerTile(x.in.K.Loops[l])
	if extent <= tile {
		x.start(l, tree.Const(0))
		return x.tiles(order[1:])
	}
	v := x.in.Variable("i")
	x.start(l, tree.Use(v))
	return []tree.Stmt{&tree.For{Var: v, From: tree.Const(0), To: tree.Const(extent), Step: tile, Body: x.tiles(order[1:])}}
}

// whole makes the statements for whole tiles, and for what is left of them at the end of a loop: sizes are constants in both.
func (x loops) whole(from int, statements func() []tree.Stmt) []tree.Stmt {
	if from == len(x.in.lanes) {
		return inside(x.in, statements)
	}
	part := func(count int64) []tree.Stmt {
		x.in.lanes[from].count = count
		return x.whole(from+1, statements)
	}
	n := x.in.lanes[from]
	extent := x.in.Dims[n.loop].Extent
	rest := extent % n.tile
	if rest == 0 {
		return part(n.tile)
	}
	return []tree.Stmt{&tree.If{Conds: []tree.Cond{{Var: n.first.Var(), Limit: tree.Const(extent - n.tile + 1)}}, Then: part(n.tile), Else: part(rest)}}
}

// blocks makes a loop of blocks with one of lanes, of which each has a point of the free loops.
func (x loops) blocks() []tree.Stmt {
	block, own := x.in.Variable("block"), x.in.Variable("lane")
	width, count, extents := int64(1), int64(1), make([]int64, len(x.in.free))
	var conds []tree.Cond
	var body []tree.Stmt
	cut := func(l int) bool {
		levels := x.in.K.Loops[l].Levels
		return len(levels) == 2 && levels[1].Bind == schedule.Lane
	}
	for i, l := range x.in.free {
		extents[i] = x.in.Dims[l].Extent
		if cut(l) {
			width = x.in.K.Loops[l].Levels[0].Tile
			extents[i] = ceil(extents[i], width)
		}
		count = nest.SaturatingProduct(count, extents[i])
	}
	if x.empty() {
		return []tree.Stmt{blockLoop(block, own, 0, width, nil)}
	}
	for i, at := range builder.Delinearize(x.in.Names, &body, tree.Use(block), extents) {
		l := x.in.free[i]
		if cut(l) {
			at = x.in.Bound(&body, "i", at.Times(width).Add(tree.Use(own)))
			conds = append(conds, behind(at.Var(), x.in.Dims[l].Extent, width)...)
		}
		x.in.At[l] = at
	}
	return []tree.Stmt{blockLoop(block, own, count, width, append(body, guarded(conds, x.in.statements()...)...))}
}

// blockLoop makes the loop of so many blocks, with that of their lanes.
func blockLoop(block, own *tree.Var, count, width int64, body []tree.Stmt) tree.Stmt {
	lanes := &tree.For{Var: own, From: tree.Const(0), To: tree.Const(width), Step: 1, Bind: tree.Lane, Body: body}
	return &tree.For{Var: block, From: tree.Const(0), To: tree.Const(count), Step: 1, Bind: tree.Block, Body: []tree.Stmt{lanes}}
}
