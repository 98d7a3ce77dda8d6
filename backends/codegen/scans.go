package codegen

import (
	"fmt"
	"maps"
	"slices"

	"tensortapestry.org/tapc/backends/codegen/builder"
	"tensortapestry.org/tapc/backends/tree"
	"tensortapestry.org/tapc/dialects/schedule/nest"
	"tensortapestry.org/tapc/dialects/schedule/nest/scan"
	"tensortapestry.org/tapc/ir/scalar"
)

// scans makes the tree of a kernel of which some reductions have a form in which all of their values are computed together. Its statements are made one
// after the other for all points of the loops that are not free, with workspaces for what is between them. Tasks have shares of the points
// of the free loops, each with workspaces of its own.
type scans struct {
	in     *points
	found  *scan.Scans
	task   *tree.Index
	memory []*tree.Memory
	kept   map[int]builder.Access // of statements
	orders map[*scan.Selection]*tree.Memory
	made   map[*scan.Selection]bool
	sums   map[*scan.Form]running
}

const (
	maxStage   = 1 << 31  // bytes of workspaces for one point
	maxStages  = 64 << 20 // bytes of workspaces for several at a time
	maxShares  = 64       // into which the points are divided
	scanTile   = 1024     // running values side by side, that stay in the first cache; kernels of many statements, which have variables too, have fewer
	usualTasks = 16       // that there are at least, of tiles that are large enough
	leastTask  = 512      // running values that a task has at least, if tiles are cut for tasks
)

// scanTasks makes a kernel that has scans.
func scanTasks(f *tree.Func, a *nest.Analysis, found *scan.Scans) error {
	if found.Indexed != nil {
		return indexedTasks(f, a, found.Indexed)
	}
	in := newPoints(f, a, found.Free)
	x := &scans{in: in, found: found, kept: map[int]builder.Access{}, orders: map[*scan.Selection]*tree.Memory{},
		made: map[*scan.Selection]bool{}, sums: map[*scan.Form]running{}}
	x.widen(f.Operands)
	x.allot()
	task, point := in.Variable("task"), in.Variable("point")
	x.task = tree.Use(task)
	along, tile := x.abreast()
	extents := make([]int64, len(in.free))
	for i, l := range in.free {
		if extents[i] = in.Dims[l].Extent; l == along {
			extents[i] = ceil(extents[i], tile)
		}
	}
	count := nest.SaturatingProduct(extents...)
	bytes, err := x.bytes()
	if err != nil {
		return err
	}
	tasks := min(maxShares, count, max(1, maxStages/max(1, bytes)))
	for _, m := range x.memory {
		m.Dims[0].End = tasks
		f.Body = append(f.Body, &tree.Declare{Memory: m})
	}
	var body []tree.Stmt
	for i, at := range builder.Delinearize(in.Names, &body, tree.Use(point), extents) {
		if in.At[in.free[i]] = at; in.free[i] == along {
			in.lanes = []lane{{loop: along, tile: tile, first: in.Let(&body, "first", at.Times(tile))}}
		}
	}
	body = append(body, loops{in}.whole(0, x.statements)...)
	from, to := x.task.Times(count).Div(tasks), x.task.Plus(1).Times(count).Div(tasks)
	parallel(f, task, tasks, tree.Thread, []tree.Stmt{&tree.For{Var: point, From: from, To: to, Step: 1, Body: body}})
	return nil
}

// abreast gives the loop along which running values go side by side, one whose results are neighbours, if nothing else has a form; -1 if there is none.
func (x *scans) abreast() (along int, tile int64) {
	neighbours := func(l int) bool {
		for _, s := range x.in.K.Statements {
			if s.Store >= 0 && x.in.Views[s.Store].Steps[l] != 1 {
				return false
			}
		}
		return x.in.Dims[l].Extent > 1
	}
	at := slices.IndexFunc(x.in.free, neighbours)
	if len(x.memory) > 0 || at < 0 || !x.found.Prefixes() {
		return -1, 0
	}
	along, tile = x.in.free[at], scanTile
	for tile > scanTile/16 && tile*int64(len(x.in.K.Statements)) > 4*scanTile {
		tile /= 2
	}
	extent := x.in.Dims[along].Extent
	others := pointsOf(x.in, x.in.free) / extent
	for n := ceil(extent, tile); others*n < usualTasks && extent/n >= leastTask; n = ceil(extent, tile) {
		tile /= 2
	}
	return along, min(tile, extent)
}

// widen lets a rank read what is at all places that it counts.
func (x *scans) widen(operands []*tree.Memory) {
	for _, forms := range x.found.Forms {
		for _, f := range forms {
			if f.Selection != nil {
				f = f.Selection.Rank
			}
			if f.Kind != scan.Rank {
				continue
			}
			i, j := x.in.K.Loops[f.Loop], x.in.K.Loops[f.Reduce.Over[0]]
			for _, m := range operands {
				m.Dims[f.Loop].Start, m.Dims[f.Loop].End = min(0, j.Start-i.Start), max(i.Extent(), j.End-i.Start)
			}
		}
	}
}

// allot makes the workspaces.
func (x *scans) allot() {
	for i, s := range x.in.K.Statements {
		if !x.found.Live[i] {
			continue
		}
		over := x.found.Inner(s.Over)
		if s.Store < 0 && len(over) > 0 && costly(s.Value) {
			x.kept[i] = x.workspace(fmt.Sprintf("v%d_", i), s.Value.Type, over...)
		}
		for _, f := range x.found.Forms[i] {
			if f.Selection != nil && x.orders[f.Selection] == nil {
				x.orders[f.Selection] = x.room("order", scalar.Int64, 2*f.Selection.Room())
			}
			if f.Kind == scan.Prefix {
				continue
			}
			r := running{Running: f.Running()}
			if f.Kind == scan.Rank {
				r.order = x.room("order", scalar.Int64, 2*x.in.Dims[f.Reduce.Over[0]].Extent)
			} else if r.Lossy {
				r.lost = x.workspace("lost", r.Type, over...)
			}
			r.to = x.workspace("results", r.Type, over...)
			x.sums[f] = r
		}
	}
}

// room makes a workspace of so many elements for each task, whose number of tasks is open.
func (x *scans) room(prefix string, t scalar.DType, shape ...int64) *tree.Memory {
	m := tree.NewMemory(x.in.Fresh(prefix), t, tree.Workspace, 0, append([]int64{1}, shape...)...)
	each := int64(64 / t.Wide().Size())
	m.Dims[0].Stride = ceil(nest.SaturatingProduct(shape...), each) * each
	x.memory = append(x.memory, m)
	return m
}

// workspace makes a workspace for the points of some loops.
func (x *scans) workspace(prefix string, t scalar.DType, over ...int) builder.Access {
	var shape []int64
	for _, l := range over {
		shape = append(shape, x.in.Dims[l].Extent)
	}
	m := x.room(prefix, t, shape...)
	return func() tree.Access {
		a := tree.Access{Memory: m, At: []*tree.Index{x.task}}
		for _, l := range over {
			a.At = append(a.At, x.in.At[l])
		}
		return a
	}
}

// bytes is what a task has of workspaces.
func (x *scans) bytes() (bytes int64, err error) {
	for _, m := range x.memory {
		bytes += m.Dims[0].Stride * int64(m.Type.Wide().Size())
	}
	if bytes > maxStage {
		return 0, fmt.Errorf("%d bytes for one point: expected %d at most", bytes, maxStage)
	}
	return bytes, nil
}

// statements makes the kernel's statements at one point, or tile, of the free loops.
func (x *scans) statements() []tree.Stmt {
	var out []tree.Stmt
	clear(x.made)
	for i, s := range x.in.K.Statements {
		over, to := x.found.Inner(s.Over), x.kept[i]
		switch {
		case !x.found.Live[i]:
			continue
		case s.Store >= 0:
			to = func() tree.Access { return x.in.Load(int(s.Store)) }
		case to == nil && len(over) > 0:
			x.in.Locals[i] = builder.Local{Value: s.Value}
			continue
		case to == nil:
			to = x.in.register(&out, fmt.Sprintf("v%d_", i), s.Value.Type, false)
		}
		x.in.Locals[i] = builder.Local{Kept: to}
		out = append(out, x.staged(x.found.Forms[i], over, func() []tree.Stmt { return x.in.assign(to, s) })...)
	}
	return out
}

// staged makes a statement some of whose reductions have a form.
func (x *scans) staged(forms []*scan.Form, over []int, write func() []tree.Stmt) []tree.Stmt {
	sums := maps.Clone(x.in.Sums)
	defer func() { x.in.Sums = sums }()
	var out []tree.Stmt
	var prefix *scan.Form
	var given []*scan.Form
	for _, f := range forms {
		switch f.Kind {
		case scan.Prefix:
			prefix = f
		case scan.Scatter:
			out, given = append(out, x.buckets(f, over)...), append(given, f)
		case scan.Rank:
			out, given = append(out, x.ranks(f, over)...), append(given, f)
		}
	}
	inner := func() []tree.Stmt {
		var body []tree.Stmt
		for _, f := range given {
			x.give(&body, f, x.sums[f])
		}
		return append(body, write()...)
	}
	if prefix != nil {
		around := slices.DeleteFunc(slices.Clone(over), func(l int) bool { return l == prefix.Loop })
		return append(out, x.in.along(around, func() []tree.Stmt { return x.prefix(prefix, inner) })...)
	}
	return append(out, x.in.along(over, inner)...)
}
