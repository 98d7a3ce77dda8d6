package scans

import (
	"fmt"
	"slices"

	"tensortapestry.org/tapc/backends/cexpr"
	"tensortapestry.org/tapc/backends/cnest"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/nest"
	"tensortapestry.org/tapc/dialects/schedule/nest/scan"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/scalar"
)

// stages is what a nest knows whose statements are computed one after the other for all points of the loops that are not free,
// because some of its folds have a form.
type stages struct {
	n *Nest
	*scan.Scans
	arrays []Array
	memory map[*scalar.Expr]memory
	given  map[*scalar.Expr]bool // reductions whose values are there
	orders map[*scan.Selection]*order
}

// order is where a selection is written.
type order struct {
	array string // of its places, and as many to sort them
	made  bool
}

// memory is the arrays of a form: of its results, and of what a sum has lost to rounding or, for a rank, of places twice.
type memory struct{ results, more string }

// Array is memory that a nest needs while it computes one point of its free loops.
type Array struct {
	Name, Type string
	Count      int64
	Bytes      int64 // of one
}

// newStages makes the writer of a kernel of which some reductions have a form in which all of their values are computed together. Fewer
// loops than usual are free: Free.
func newStages(k *schedule.Kernel, buffers map[ir.NodeID]*schedule.Buffer, w *cexpr.Writer, text *cnest.Text, found *scan.Scans) *Nest {
	n := newNest(k, buffers, w, text)
	n.Free = slices.Clone(found.Free)
	n.stages = &stages{n: n, Scans: found, memory: map[*scalar.Expr]memory{}, given: map[*scalar.Expr]bool{}, orders: map[*scan.Selection]*order{}}
	n.stages.allot()
	n.stages.abreast()
	return n
}

// abreast makes running values go side by side along a dimension of which results are neighbours, the last of the free ones then,
// if nothing else has a form.
func (g *stages) abreast() {
	for i, forms := range g.Forms {
		if g.Live[i] && slices.ContainsFunc(forms, func(f *scan.Form) bool { return f.Kind != scan.Prefix }) {
			return
		}
	}
	if len(g.arrays) > 0 {
		return
	}
	at := slices.IndexFunc(g.n.Free, func(l int) bool { return g.n.Kernel.Loops[l].Extent() > 1 && g.neighbours(l) })
	if at >= 0 {
		l := g.n.Free[at]
		g.n.Free = append(slices.Delete(g.n.Free, at, at+1), l)
		tile := int64(scanTile)
		for tile > scanTile/16 && tile*int64(len(g.n.Kernel.Statements)) > 4*scanTile {
			tile /= 2
		}
		g.n.Lanes = []Lane{{Loop: l, Tile: tile}}
	}
}

// neighbours says whether every result's next element is the one at the next point of a loop.
func (g *stages) neighbours(loop int) bool {
	for _, s := range g.n.Kernel.Statements {
		if s.Store < 0 {
			continue
		}
		if nest.ViewOf(g.n.Kernel, int(s.Store), g.n.Buffers).Steps[loop] != 1 {
			return false
		}
	}
	return true
}

// scanTile running values side by side stay in the first cache. Kernels of many statements, which have variables too, have fewer.
const scanTile = 1024

// Arrays are what the function of the free loops' points has to declare, by pointers, before Statements.
func (n *Nest) Arrays() []Array { return n.stages.arrays }

// allot says which arrays there are.
func (g *stages) allot() {
	add := func(name string, d scalar.DType, count int64) string {
		g.arrays = append(g.arrays, Array{name, g.n.w.Type(d), count, int64(d.Wide().Size())})
		return name
	}
	for i, s := range g.n.Kernel.Statements {
		if !g.Live[i] {
			continue
		}
		extra := g.n.extra(s.Over)
		if s.Store < 0 && len(extra) > 0 && costly(s.Value) {
			add(fmt.Sprintf("v%d", i), s.Value.Type, points(g.n.Kernel, extra))
		}
		for x, f := range g.Forms[i] {
			sum, name := g.running(f.Reduce), fmt.Sprintf("m%d_%d", i, x)
			m := memory{name, name + "_more"}
			if f.Selection != nil && g.orders[f.Selection] == nil {
				g.orders[f.Selection] = &order{array: add(name+"_order", scalar.Int64, 2*room(f.Selection))}
			}
			switch {
			case f.Kind == scan.Prefix:
				continue
			case f.Kind == scan.Rank:
				add(m.more, scalar.Int64, 2*points(g.n.Kernel, f.Reduce.Over))
			case sum.lossy:
				add(m.more, sum.typ, points(g.n.Kernel, extra))
			}
			add(m.results, sum.typ, points(g.n.Kernel, extra))
			g.memory[f.Reduce] = m
		}
	}
}

// running is how a fold's values are folded one after the other, wider than its type where rounding would add up.
type running struct {
	fold  *scalar.Expr // with its body in typ
	of    *scalar.Expr
	typ   scalar.DType
	lossy bool // a sum of float64: what rounding takes is kept beside it (A. Neumaier, 1974)
}

func (g *stages) running(e *scalar.Expr) running {
	out := running{e, e, e.Type.Wide(), false}
	if e.Monoid != scalar.Add && e.Monoid != scalar.Mul {
		return out
	}
	switch {
	case e.Type == scalar.Float64:
		out.lossy = e.Monoid == scalar.Add
		return out
	case e.Type.IsFloat():
		out.typ = scalar.Float64
	case e.Type == scalar.Complex64:
		out.typ = scalar.Complex128
	default:
		return out
	}
	body := e.Args[0]
	if body.Op == scalar.Mul { // a product is not rounded before it is added
		body = &scalar.Expr{Op: scalar.Mul, Type: out.typ, Args: []*scalar.Expr{scalar.NewCast(out.typ, body.Args[0]), scalar.NewCast(out.typ, body.Args[1])}}
	} else {
		body = scalar.NewCast(out.typ, body)
	}
	out.fold = scalar.NewReduce(e.Monoid, e.Over, body)
	return out
}

// runningOf is the running fold of what a form folds.
func (g *stages) runningOf(f *scan.Form) running {
	return g.running(&scalar.Expr{Op: scalar.Reduce, Type: f.Reduce.Type, Monoid: f.Reduce.Monoid, Over: f.Reduce.Over, Args: []*scalar.Expr{f.Value}})
}

// start is what an accumulator is before anything is folded.
func (g *stages) start(r running, f *scan.Form) string {
	switch {
	case r.typ == f.Reduce.Type:
		return g.n.w.Const(f.Initial)
	case r.typ == f.Reduce.Type.Wide():
		return g.n.w.Const(scalar.Identity(f.Reduce.Monoid, f.Reduce.Type))
	}
	return g.n.w.Const(scalar.Identity(f.Reduce.Monoid, r.typ))
}

// step folds the body's value at the present point.
func (g *stages) step(r running, acc, lost string) {
	body := r.fold.Args[0]
	g.n.folds(body)
	g.n.eachLane(func() {
		if r.lossy {
			g.n.Line("const double x = %s, sum = %s + x;", g.n.w.Expr(body, g.n), acc)
			g.n.Line("%s += __builtin_fabs(%s) >= __builtin_fabs(x) ? (%s - sum) + x : (x - sum) + %s;", lost, acc, acc, acc)
			g.n.Line("%s = sum;", acc)
		} else {
			g.n.Line("%s = %s;", acc, g.n.w.Fold(r.fold, acc, g.n))
		}
	})
}

// result is the value that an accumulator stands for, in the wide type of the fold.
func (g *stages) result(r running, acc, lost string) string {
	if r.lossy {
		return fmt.Sprintf("(__builtin_isfinite(%s) ? %s + %s : %s)", acc, acc, lost, acc)
	}
	if wide := r.of.Type.Wide(); wide != r.typ {
		return g.n.w.Apply(scalar.Cast, wide, r.typ, acc)
	}
	return acc
}

// staged writes a statement some of whose folds have a form.
func (g *stages) staged(s schedule.Statement, forms []*scan.Form, write func()) {
	extra := g.n.extra(s.Over)
	var running *scan.Form
	for _, f := range forms {
		switch f.Kind {
		case scan.Scatter:
			g.buckets(f, extra)
		case scan.Rank:
			g.ranks(f, extra)
		default:
			running = f
		}
	}
	depth := 0
	for _, l := range extra {
		if running == nil || l != running.Loop {
			g.n.forLoop(l)
			depth++
		}
	}
	if running == nil {
		write()
	} else {
		g.scan(running, write)
	}
	g.n.Close(depth)
	for _, f := range forms {
		delete(g.given, f.Reduce)
	}
}

// scan writes the loop along which a value runs, and in it what uses the value.
func (g *stages) scan(f *scan.Form, write func()) {
	r, j, k := g.runningOf(f), g.n.Kernel.Loops[f.Reduce.Over[0]], g.n.Kernel.Loops[f.Loop]
	vj, vk, next := Variable(f.Reduce.Over[0]), Variable(f.Loop), fmt.Sprintf("next%d", g.n.folded)
	acc, lost := g.n.accumulator(g.n.w.Type(r.typ)), ""
	g.n.set(acc, g.start(r, f))
	if r.lossy {
		lost = g.n.accumulator("double")
		g.n.set(lost, "0")
	}
	equal := map[bool]string{true: "="}[f.Closed]
	if f.Backward {
		g.n.Line("int64_t %s = %d;", next, j.End-1)
		g.n.Open("for (int64_t %s = %d; %s >= %d; %s--) {", vk, k.End-1, vk, k.Start, vk)
		g.n.Open("for (; %s >= %d && %s >%s %s; %s--) {", next, j.Start, next, equal, vk, next)
	} else {
		g.n.Line("int64_t %s = %d;", next, j.Start)
		g.n.forLoop(f.Loop)
		g.n.Open("for (; %s < %d && %s <%s %s; %s++) {", next, j.End, next, equal, vk, next)
	}
	g.n.Line("const int64_t %s = %s;", vj, next)
	g.n.Line("(void)%s;", vj)
	g.step(r, acc, lost)
	g.n.Close()
	g.give(f, g.result(r, acc, lost))
	write()
	g.n.Close()
}

// give notes where the value of a fold is.
func (g *stages) give(f *scan.Form, text string) {
	g.n.accs[f.Reduce] = text
	g.given[f.Reduce] = true
}

// buckets writes the loops that fold values into the points that they name.
func (g *stages) buckets(f *scan.Form, extra []int) {
	r, m := g.runningOf(f), g.memory[f.Reduce]
	g.n.Open("for (int64_t z = 0; z < %d; z++) {", points(g.n.Kernel, extra))
	g.n.Line("%s[z] = %s;", m.results, g.start(r, f))
	if r.lossy {
		g.n.Line("%s[z] = 0;", m.more)
	}
	g.n.Close()
	depth := g.values(f, extra)
	at := position(g.n.Kernel, extra)
	acc, lost := fmt.Sprintf("%s[%s]", m.results, at), fmt.Sprintf("%s[%s]", m.more, at)
	g.step(r, acc, lost)
	g.n.Close(depth)
	g.give(f, g.result(r, acc, lost))
}

// values opens the loops over the values of buckets that are for any point, and gives their number: the variables say for which.
func (g *stages) values(f *scan.Form, extra []int) (depth int) {
	if f.Selection != nil {
		g.chosen(f)
		depth++
	} else {
		for _, l := range append(slices.DeleteFunc(slices.Clone(extra), func(l int) bool { return slices.Contains(f.Ends(), l) }), f.Reduce.Over...) {
			g.n.forLoop(l)
			depth++
		}
	}
	return depth + openTargets(g.n, f)
}

// openTargets opens the blocks in which the present value is for some point, and gives their number: the variables say for which.
func openTargets(n *Nest, f *scan.Form) (depth int) {
	for _, c := range f.Conditions {
		n.folds(c)
		n.Open("if (%s) {", cnest.Bare(n.w.Expr(c, n)))
		depth++
	}
	if f.Selection != nil {
		return depth
	}
	for _, t := range f.Targets {
		v, l := Variable(t.Loop), n.Kernel.Loops[t.Loop]
		n.folds(t.Place)
		n.Line("const int64_t %s = %s;", v, n.w.Expr(t.Place, n))
		n.Open("if (%s >= %d && %s < %d) {", v, l.Start, v, l.End)
		depth++
	}
	return depth
}

// ranks writes a merge sort of places, and where each of them comes to stand.
func (g *stages) ranks(f *scan.Form, extra []int) {
	m, j, i := g.memory[f.Reduce], g.n.Kernel.Loops[f.Reduce.Over[0]], g.n.Kernel.Loops[f.Loop]
	vi, count := Variable(f.Loop), j.Extent()
	others := slices.DeleteFunc(slices.Clone(extra), func(l int) bool { return l == f.Loop })
	for _, l := range others {
		g.n.forLoop(l)
	}
	g.n.Open("{")
	g.n.Line("int64_t *order = %s, *merged = %s + %d;", m.more, m.more, count)
	g.n.Line("for (int64_t z = 0; z < %d; z++) order[z] = %d + z;", count, j.Start)
	g.mergeSort(f, fmt.Sprint(count))
	g.n.Open("for (int64_t z = 0; z < %d; z++) {", count)
	g.n.Line("const int64_t %s = order[z];", vi)
	g.n.Line("if (%s >= %d && %s < %d) %s[%s] = z;", vi, i.Start, vi, i.End, m.results, position(g.n.Kernel, extra))
	g.n.Close(2)
	g.n.Close(len(others))
	g.give(f, fmt.Sprintf("%s[%s]", m.results, position(g.n.Kernel, extra)))
}
