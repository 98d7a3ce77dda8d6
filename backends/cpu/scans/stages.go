package scans

import (
	"fmt"
	"slices"

	"tensortapestry.org/tapc/backends/cexpr"
	"tensortapestry.org/tapc/backends/cnest"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/nest/scan"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/scalar"
)

// stages is what a nest knows whose statements are computed one after the other for all points of the loops that are not free,
// because some of its folds have a form.
type stages struct {
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
	n.stages = &stages{Scans: found, memory: map[*scalar.Expr]memory{}, given: map[*scalar.Expr]bool{}, orders: map[*scan.Selection]*order{}}
	n.allot()
	n.abreast()
	return n
}

// abreast makes running values go side by side along a dimension of which results are neighbours, the last of the free ones then,
// if nothing else has a form.
func (n *Nest) abreast() {
	for i, forms := range n.stages.Forms {
		if n.stages.Live[i] && slices.ContainsFunc(forms, func(f *scan.Form) bool { return f.Kind != scan.Prefix }) {
			return
		}
	}
	if len(n.stages.arrays) > 0 {
		return
	}
	at := slices.IndexFunc(n.Free, func(l int) bool { return n.Kernel.Loops[l].Extent() > 1 && n.neighbours(l) })
	if at >= 0 {
		l := n.Free[at]
		n.Free = append(slices.Delete(n.Free, at, at+1), l)
		tile := int64(scanTile)
		for tile > scanTile/16 && tile*int64(len(n.Kernel.Statements)) > 4*scanTile {
			tile /= 2
		}
		n.Lanes = []Lane{{Loop: l, Tile: tile}}
	}
}

// neighbours says whether every result's next element is the one at the next point of a loop.
func (n *Nest) neighbours(loop int) bool {
	for _, s := range n.Kernel.Statements {
		if s.Store < 0 {
			continue
		}
		if _, steps := n.steps(int(s.Store)); steps[loop] != 1 {
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
func (n *Nest) allot() {
	add := func(name string, d scalar.DType, count int64) string {
		n.stages.arrays = append(n.stages.arrays, Array{name, n.w.Type(d), count, int64(d.Wide().Size())})
		return name
	}
	for i, s := range n.Kernel.Statements {
		if !n.stages.Live[i] {
			continue
		}
		extra := n.extra(s.Over)
		if s.Store < 0 && len(extra) > 0 && n.costly(s.Value) {
			add(fmt.Sprintf("v%d", i), s.Value.Type, n.points(extra))
		}
		for x, f := range n.stages.Forms[i] {
			sum, name := n.running(f.Reduce), fmt.Sprintf("m%d_%d", i, x)
			m := memory{name, name + "_more"}
			if f.Selection != nil && n.stages.orders[f.Selection] == nil {
				n.stages.orders[f.Selection] = &order{array: add(name+"_order", scalar.Int64, 2*room(f.Selection))}
			}
			switch {
			case f.Kind == scan.Prefix:
				continue
			case f.Kind == scan.Rank:
				add(m.more, scalar.Int64, 2*n.points(f.Reduce.Over))
			case sum.lossy:
				add(m.more, sum.typ, n.points(extra))
			}
			add(m.results, sum.typ, n.points(extra))
			n.stages.memory[f.Reduce] = m
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

func (n *Nest) running(e *scalar.Expr) running {
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
func (n *Nest) runningOf(f *scan.Form) running {
	return n.running(&scalar.Expr{Op: scalar.Reduce, Type: f.Reduce.Type, Monoid: f.Reduce.Monoid, Over: f.Reduce.Over, Args: []*scalar.Expr{f.Value}})
}

// start is what an accumulator is before anything is folded.
func (n *Nest) start(r running, f *scan.Form) string {
	switch {
	case r.typ == f.Reduce.Type:
		return n.w.Const(f.Initial)
	case r.typ == f.Reduce.Type.Wide():
		return n.w.Const(scalar.Identity(f.Reduce.Monoid, f.Reduce.Type))
	}
	return n.w.Const(scalar.Identity(f.Reduce.Monoid, r.typ))
}

// step folds the body's value at the present point.
func (n *Nest) step(r running, acc, lost string) {
	body := r.fold.Args[0]
	n.folds(body)
	n.openLanes()
	if r.lossy {
		n.Line("const double x = %s, sum = %s + x;", n.w.Expr(body, n), acc)
		n.Line("%s += __builtin_fabs(%s) >= __builtin_fabs(x) ? (%s - sum) + x : (x - sum) + %s;", lost, acc, acc, acc)
		n.Line("%s = sum;", acc)
	} else {
		n.Line("%s = %s;", acc, n.w.Fold(r.fold, acc, n))
	}
	n.closeLanes()
}

// result is the value that an accumulator stands for, in the wide type of the fold.
func (n *Nest) result(r running, acc, lost string) string {
	if r.lossy {
		return fmt.Sprintf("(__builtin_isfinite(%s) ? %s + %s : %s)", acc, acc, lost, acc)
	}
	if wide := r.of.Type.Wide(); wide != r.typ {
		return n.w.Apply(scalar.Cast, wide, r.typ, acc)
	}
	return acc
}

// staged writes a statement some of whose folds have a form.
func (n *Nest) staged(s schedule.Statement, forms []*scan.Form, write func()) {
	extra := n.extra(s.Over)
	var running *scan.Form
	for _, f := range forms {
		switch f.Kind {
		case scan.Scatter:
			n.buckets(f, extra)
		case scan.Rank:
			n.ranks(f, extra)
		default:
			running = f
		}
	}
	depth := 0
	for _, l := range extra {
		if running == nil || l != running.Loop {
			n.forLoop(l)
			depth++
		}
	}
	if running == nil {
		write()
	} else {
		n.scan(running, write)
	}
	n.Close(depth)
	for _, f := range forms {
		delete(n.stages.given, f.Reduce)
	}
}

// scan writes the loop along which a value runs, and in it what uses the value.
func (n *Nest) scan(f *scan.Form, write func()) {
	r, j, k := n.runningOf(f), n.Kernel.Loops[f.Reduce.Over[0]], n.Kernel.Loops[f.Loop]
	vj, vk, next := Variable(f.Reduce.Over[0]), Variable(f.Loop), fmt.Sprintf("next%d", n.folded)
	acc, lost := n.accumulator(n.w.Type(r.typ)), ""
	n.set(acc, n.start(r, f))
	if r.lossy {
		lost = n.accumulator("double")
		n.set(lost, "0")
	}
	equal := map[bool]string{true: "="}[f.Closed]
	if f.Backward {
		n.Line("int64_t %s = %d;", next, j.End-1)
		n.Open("for (int64_t %s = %d; %s >= %d; %s--) {", vk, k.End-1, vk, k.Start, vk)
		n.Open("for (; %s >= %d && %s >%s %s; %s--) {", next, j.Start, next, equal, vk, next)
	} else {
		n.Line("int64_t %s = %d;", next, j.Start)
		n.forLoop(f.Loop)
		n.Open("for (; %s < %d && %s <%s %s; %s++) {", next, j.End, next, equal, vk, next)
	}
	n.Line("const int64_t %s = %s;", vj, next)
	n.Line("(void)%s;", vj)
	n.step(r, acc, lost)
	n.Close()
	n.give(f, n.result(r, acc, lost))
	write()
	n.Close()
}

// give notes where the value of a fold is.
func (n *Nest) give(f *scan.Form, text string) {
	n.accs[f.Reduce] = text
	n.stages.given[f.Reduce] = true
}

// buckets writes the loops that fold values into the points that they name.
func (n *Nest) buckets(f *scan.Form, extra []int) {
	r, m := n.runningOf(f), n.stages.memory[f.Reduce]
	n.Open("for (int64_t z = 0; z < %d; z++) {", n.points(extra))
	n.Line("%s[z] = %s;", m.results, n.start(r, f))
	if r.lossy {
		n.Line("%s[z] = 0;", m.more)
	}
	n.Close()
	depth := n.values(f, extra)
	at := n.position(extra)
	acc, lost := fmt.Sprintf("%s[%s]", m.results, at), fmt.Sprintf("%s[%s]", m.more, at)
	n.step(r, acc, lost)
	n.Close(depth)
	n.give(f, n.result(r, acc, lost))
}

// values opens the loops over the values of buckets that are for any point, and gives their number: the variables say for which.
func (n *Nest) values(f *scan.Form, extra []int) (depth int) {
	if f.Selection != nil {
		n.chosen(f)
		depth++
	} else {
		for _, l := range append(slices.DeleteFunc(slices.Clone(extra), func(l int) bool { return slices.Contains(f.Ends(), l) }), f.Reduce.Over...) {
			n.forLoop(l)
			depth++
		}
	}
	return depth + openTargets(n, f)
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
func (n *Nest) ranks(f *scan.Form, extra []int) {
	m, j, i := n.stages.memory[f.Reduce], n.Kernel.Loops[f.Reduce.Over[0]], n.Kernel.Loops[f.Loop]
	vi, count := Variable(f.Loop), j.Extent()
	others := slices.DeleteFunc(slices.Clone(extra), func(l int) bool { return l == f.Loop })
	for _, l := range others {
		n.forLoop(l)
	}
	n.Open("{")
	n.Line("int64_t *order = %s, *merged = %s + %d;", m.more, m.more, count)
	n.Line("for (int64_t z = 0; z < %d; z++) order[z] = %d + z;", count, j.Start)
	n.mergeSort(f, fmt.Sprint(count))
	n.Open("for (int64_t z = 0; z < %d; z++) {", count)
	n.Line("const int64_t %s = order[z];", vi)
	n.Line("if (%s >= %d && %s < %d) %s[%s] = z;", vi, i.Start, vi, i.End, m.results, n.position(extra))
	n.Close(2)
	n.Close(len(others))
	n.give(f, fmt.Sprintf("%s[%s]", m.results, n.position(extra)))
}
