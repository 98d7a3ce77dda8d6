package product

import (
	"slices"

	"tensortapestry.org/tapc/backends/codegen/builder"
	"tensortapestry.org/tapc/backends/cpu/blocking"
	"tensortapestry.org/tapc/backends/cpu/macrotile"
	"tensortapestry.org/tapc/backends/cpu/unit"
	"tensortapestry.org/tapc/backends/cpu/vector"
	"tensortapestry.org/tapc/backends/tree"
	"tensortapestry.org/tapc/dialects/schedule/nest"
	"tensortapestry.org/tapc/ir/affine"
	"tensortapestry.org/tapc/ir/scalar"
)

// window makes what packs a panel of a right operand that a window slides over. Where its columns are is found out once for the panel, and which of them are there, for every state of
// the guard: every place of the reduction that it depends on. Then each value of the reduction is packed (c/window.c).
type window struct {
	*driver
	at             *builder.Builder // of the guard, where a column is
	panel          tree.Box
	guards         []int        // loops of the reduction that the guard depends on
	states         int64        // how many values they have together
	starts, fill   *tree.Memory // where columns begin, and what is in the place of what is not there
	live           *tree.Memory // masks of the columns that are there
	step, ahead    int64        // from column to column; to the element that is copied a few steps of the outermost loop later, 0 if a processor sees it coming
	column, reduce int          // the first dimensions of the operand that columns and the reduction move along
}

// window makes the statements that pack the columns from one on.
func (d *driver) window(batch []*tree.Index, j *tree.Index, panel tree.Box) []tree.Stmt {
	w := &window{driver: d, at: builder.New(d.Names, d.K, d.C.Views, d.Dims(d.C.Right)), panel: panel, guards: d.C.GuardLoops(), ahead: blocking.WindowAhead(d.Blocking), step: 1, column: len(batch) + 1}
	w.reduce = w.column + len(d.C.Col.Loops)
	extents, fill := d.C.GuardExtents(d.K), scalar.Zero(d.D)
	w.states = nest.SaturatingProduct(extents...)
	if d.C.Window.Guard != nil {
		fill = d.C.Window.Fill
	}
	if d.operand().Dims[w.reduce-1].Stride == 2 {
		w.step = 2
	}
	copy(w.at.At, batch)
	var body []tree.Stmt
	w.starts, w.fill = w.registers(&body, "starts", scalar.Int64, d.Panel), w.registers(&body, "fill", d.D, 1)
	w.live = w.registers(&body, "live", vector.IntegerOf(d.D.Size(), true), append(extents, d.Panel)...)
	body = append(body, builder.Constant(element(w.fill, tree.Const(0)), fill),
		d.Loop(tree.Serial, "l", tree.Const(0), tree.Const(d.Panel), 1, func(l *tree.Index) []tree.Stmt { return w.find(j, l) }))
	if vector.HasMasks(d.D, d.N) && d.Panel == int64(d.N) && w.step != 2 {
		return append(body, w.runs()...)
	}
	return append(body, w.several()...)
}

// operand is the operand that the window slides over.
func (d *driver) operand() *tree.Memory { return d.Operands[d.C.Right] }

func element(m *tree.Memory, at ...*tree.Index) tree.Access { return tree.Access{Memory: m, At: at} }

// registers declares a memory.
func (w *window) registers(body *[]tree.Stmt, name string, d scalar.DType, shape ...int64) *tree.Memory {
	m := tree.NewMemory(w.Fresh(name), d, tree.Registers, 0, shape...)
	*body = append(*body, &tree.Declare{Memory: m})
	return m
}

// manyStates is from how many values of a guard on conditions of one loop are asked apart.
const manyStates = 16

// find finds out where the column of a lane begins, and for which states of the guard it is there. Of a guard with many of them, conditions of one loop of the reduction are asked once
// for each value of that.
func (w *window) find(j, lane *tree.Index) (body []tree.Stmt) {
	begin, rest := tree.Const(0), w.Let(&body, "c", j.Add(lane).Min(tree.Const(w.C.Col.Extent-1)))
	for i, l := range slices.Backward(w.C.Col.Loops) {
		digit, extent := rest, w.K.Loops[l].Extent()
		if i > 0 {
			digit = rest.Mod(extent)
		}
		w.at.At[w.column+i] = w.Let(&body, "c", digit)
		begin = begin.Add(w.at.At[w.column+i].Times(w.operand().Dims[w.column+i].Stride))
		rest = rest.Div(extent)
	}
	body = append(body, &tree.Map{Dst: element(w.starts, lane), Computed: tree.Computed{Value: scalar.NewLoop(0), Loops: []*tree.Index{begin}}})
	var open []*scalar.Expr
	if w.C.Window.Guard != nil {
		open = affine.Conjuncts(w.C.Window.Guard)
	}
	sides := make([]*tree.Memory, len(w.guards)) // nil for none
	for x, l := range w.guards {
		others := slices.Delete(slices.Clone(w.guards), x, x+1)
		own := func(e *scalar.Expr) bool { return builder.UsesAny([]int{l}, e) && !builder.UsesAny(others, e) }
		if w.states < manyStates || !slices.ContainsFunc(open, own) {
			continue
		}
		sides[x] = w.registers(&body, "side", w.live.Type, w.K.Loops[l].Extent())
		asked := slices.DeleteFunc(slices.Clone(open), func(e *scalar.Expr) bool { return !own(e) })
		body = append(body, w.eachState(w.guards[x:x+1], func() tree.Stmt { return w.holds(element(sides[x], w.state()[x]), asked) })...)
		open = slices.DeleteFunc(open, own)
	}
	return append(body, w.eachState(w.guards, func() tree.Stmt {
		at := w.state()
		here := w.holds(element(w.live, append(at, lane)...), open)
		for x, side := range sides {
			if side != nil {
				here.Value = &scalar.Expr{Op: scalar.And, Type: w.live.Type, Args: []*scalar.Expr{here.Argument(element(side, at[x])), here.Value}}
			}
		}
		return here
	})...)
}

// loops are those of the reduction, each a dimension of the operand.
func (w *window) loops() (out []int) {
	for _, d := range w.C.Reduction {
		out = append(out, d.Loops...)
	}
	return out
}

// state is where the loops are that the guard depends on.
func (w *window) state() (out []*tree.Index) {
	for _, l := range w.guards {
		out = append(out, w.at.At[w.reduce+slices.Index(w.loops(), l)])
	}
	return out
}

// eachState makes loops over the values of some loops of the reduction around a statement.
func (w *window) eachState(loops []int, body func() tree.Stmt) []tree.Stmt {
	if len(loops) == 0 {
		return []tree.Stmt{body()}
	}
	return []tree.Stmt{w.Loop(tree.Serial, "g", tree.Const(0), tree.Const(w.K.Loops[loops[0]].Extent()), 1, func(g *tree.Index) []tree.Stmt {
		w.at.At[w.reduce+slices.Index(w.loops(), loops[0])] = g
		return w.eachState(loops[1:], body)
	})}
}

// holds makes the mask of conditions that all hold.
func (w *window) holds(to tree.Access, conditions []*scalar.Expr) *tree.Map {
	all := scalar.NewConst(scalar.BoolValue(true))
	for i, e := range conditions {
		if i == 0 {
			all = e
			continue
		}
		all = &scalar.Expr{Op: scalar.And, Type: scalar.Bool, Args: []*scalar.Expr{all, e}}
	}
	return w.at.Map(to, &scalar.Expr{Op: scalar.Neg, Type: to.Memory.Type, Args: []*scalar.Expr{scalar.NewCast(to.Memory.Type, all)}}, tree.NoMonoid)
}

// runs makes the packing for processors that load only some lanes of a vector, where the columns are one run of neighbours or two, and that of others.
func (w *window) runs() (body []tree.Stmt) {
	runs, lanes := w.registers(&body, "runs", scalar.Int64, 3), w.registers(&body, "lanes", scalar.UInt32, append([]int64{2}, w.C.GuardExtents(w.K)...)...)
	b, l, r, n := macrotile.Whole(w.starts), macrotile.Whole(w.live), macrotile.Whole(runs), macrotile.Whole(lanes)
	body = append(body, tree.Call("tapc_window_runs", []tree.Box{r, n}, []tree.Box{b, l}, b.Address(), l.Address(), macrotile.Constants(w.states)[0], r.Address(), n.Address()))
	is := func(count int64, then, other []tree.Stmt) []tree.Stmt {
		x := tree.Loaded(element(runs, tree.Const(0)))
		x.Value = &scalar.Expr{Op: scalar.Eq, Type: scalar.Bool, Args: []*scalar.Expr{x.Value, scalar.NewConst(scalar.IntValue(scalar.Int64, count))}}
		return []tree.Stmt{&tree.Branch{Computed: x, Then: then, Else: other}}
	}
	pack := func(template string, more ...tree.Argument) []tree.Stmt {
		return w.eachValue(true, func(from, to tree.Box) tree.Stmt {
			here, f := element(lanes, append([]*tree.Index{tree.Const(0)}, w.state()...)...), macrotile.Whole(w.fill)
			return tree.Call(template, []tree.Box{to}, []tree.Box{from, r, n, f}, slices.Concat([]tree.Argument{from.Address(), r.Address(), {At: &here}}, more, []tree.Argument{f.Address(), to.Address()})...)
		})
	}
	return append(body, is(1, pack("tapc_window_one"), is(2, pack("tapc_window_two", macrotile.Constants(w.states)...), w.several()))...)
}

// several makes the packing of any columns.
func (w *window) several() (body []tree.Stmt) {
	reach := w.registers(&body, "reach", scalar.Int64, 3)
	b, r, f := macrotile.Whole(w.starts), macrotile.Whole(reach), macrotile.Whole(w.fill)
	body = append(body, tree.Call("tapc_window_reach", []tree.Box{r}, []tree.Box{b}, slices.Concat([]tree.Argument{b.Address()}, macrotile.Constants(w.step, w.Panel), []tree.Argument{r.Address()})...))
	guarded := int64(0)
	if w.C.Window.Guard != nil {
		guarded = 1
	}
	elements := w.C.Window.Buffer.Bytes / int64(w.D.Size())
	return append(body, w.eachValue(false, func(from, to tree.Box) tree.Stmt {
		var at []tree.Span
		for _, x := range w.state() {
			at = append(at, tree.Only(x))
		}
		l := tree.BoxOf(w.live, append(at, tree.All(w.Panel))...)
		return tree.Call("tapc_window", []tree.Box{to}, []tree.Box{from, b, r, l, f}, slices.Concat([]tree.Argument{from.Address(), tree.Number(from.First().Address())}, macrotile.Constants(elements),
			[]tree.Argument{b.Address(), r.Address()}, macrotile.Constants(w.step, guarded), []tree.Argument{l.Address(), f.Address()}, macrotile.Constants(w.ahead),
			[]tree.Argument{to.Address()}, macrotile.Constants(w.Panel))...)
	})...)
}

// eachValue makes the loops over the reduction around the packing of one value: those that the guard depends on are written out, and memory is asked for ahead, if runs of lanes are packed.
func (w *window) eachValue(runs bool, pack func(from, to tree.Box) tree.Stmt) []tree.Stmt {
	loops, m, to := w.loops(), w.operand(), w.panel
	value, spans := to.From[len(to.From)-2], make([]tree.Span, len(m.Dims))
	for i, d := range m.Dims {
		switch {
		case i < len(w.Batch):
			spans[i] = tree.Only(w.at.At[i])
		default:
			spans[i] = tree.All(d.End)
		}
	}
	var open func(x int) []tree.Stmt
	open = func(x int) []tree.Stmt {
		from := tree.BoxOf(m, spans...)
		if x == len(loops) {
			to.From, to.To = slices.Clone(to.From), slices.Clone(to.To)
			to.From[len(to.From)-2], to.To[len(to.To)-2] = value, value.Plus(1)
			return []tree.Stmt{pack(from, to)}
		}
		extent, bind := w.K.Loops[loops[x]].Extent(), tree.Serial
		if runs && extent <= unit.MaxUnrolled && slices.Contains(w.guards, loops[x]) {
			bind = tree.Unrolled
		}
		before, inside := value, int64(1)
		for _, l := range loops[x+1:] {
			inside *= w.K.Loops[l].Extent()
		}
		return []tree.Stmt{w.Loop(bind, "f", tree.Const(0), tree.Const(extent), 1, func(f *tree.Index) (body []tree.Stmt) {
			w.at.At[w.reduce+x], spans[w.reduce+x], value = f, tree.Only(f), before.Add(f.Times(inside))
			if x == 0 && runs && w.ahead != 0 {
				body = append(body, w.fetch(tree.BoxOf(m, spans...)))
			}
			return append(body, open(x+1)...)
		})}
	}
	return open(0)
}

// fetch asks for the memory that the packing comes to a few steps of the outermost loop later: the rows of a window.
func (w *window) fetch(from tree.Box) tree.Stmt {
	loops, step, rows, b := w.loops(), int64(0), int64(1), macrotile.Whole(w.starts)
	if len(loops) > 1 && w.K.Loops[loops[1]].Extent() <= unit.MaxUnrolled {
		step, rows = w.operand().Dims[w.reduce+1].Stride, w.K.Loops[loops[1]].Extent()
	}
	return tree.Call("tapc_window_ahead", nil, []tree.Box{from, b}, append([]tree.Argument{from.Address(), b.Address()}, macrotile.Constants(w.ahead, rows, step)...)...)
}
