package scans

import (
	"fmt"
	"slices"

	"tensortapestry.org/tapc/backends/cexpr"
	"tensortapestry.org/tapc/backends/cnest"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/nest"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/scalar"
)

// Lane is a free loop of which a tile of values is computed together: its C variable holds the start of the tile, and the
// C variable n and its number says how many values are live.
type Lane struct {
	Loop int
	Tile int64
}

// Nest writes the code of one kernel.
type Nest struct {
	Kernel  *schedule.Kernel
	Buffers map[ir.NodeID]*schedule.Buffer // of every operand
	Free    []int                          // loops that the caller runs, see schedule.Kernel
	Lanes   []Lane                         // those of them of which a tile is computed together
	*cnest.Text
	w      *cexpr.Writer
	accs   map[*scalar.Expr]string
	folded int    // reductions written so far
	inLane bool   // the lanes' loops are open: what is declared now is for one lane
	kinds  []kind // of the statements
	stages *stages
}

// kind is how the value of a statement that is not stored is kept.
type kind uint8

const (
	perLane kind = iota // a variable for each lane
	inline              // written where it is used
	array               // a variable for each value of its loops that are not free, and each lane
)

// newNest makes the writer of a kernel, which appends to text.
func newNest(k *schedule.Kernel, buffers map[ir.NodeID]*schedule.Buffer, w *cexpr.Writer, text *cnest.Text) *Nest {
	n := &Nest{Kernel: k, Buffers: buffers, Free: k.Free(), Text: text, w: w, accs: map[*scalar.Expr]string{}}
	n.kinds = make([]kind, len(k.Statements))
	return n
}

// choose finds how the local values are kept: those over free loops in variables; others in arrays, if computing them again
// and again costs more.
func (n *Nest) choose() {
	for i, s := range n.Kernel.Statements {
		if s.Store < 0 && len(n.extra(s.Over)) > 0 {
			n.kinds[i] = inline
			if costly(s.Value) {
				n.kinds[i] = array
			}
		}
	}
}

// costly says whether a value is more than a few operations: it folds, takes a root or is transcendental.
func costly(e *scalar.Expr) bool {
	return e.Any(func(e *scalar.Expr) bool { return e.Op == scalar.Reduce || e.Op.Class() >= scalar.Root })
}

// extra gives those of some loops that are not free, ascending.
func (n *Nest) extra(over []int64) []int {
	var out []int
	for _, l := range over {
		if !slices.Contains(n.Free, int(l)) {
			out = append(out, int(l))
		}
	}
	return out
}

// Variable gives a loop's C variable.
func Variable(loop int) string { return fmt.Sprintf("i%d", loop) }

// Statements writes every statement at one point, or tile, of the free loops.
func (n *Nest) Statements() {
	n.choose()
	for i, s := range n.Kernel.Statements {
		if n.kinds[i] != inline && n.stages.Live[i] {
			n.statement(i, s)
		}
	}
}

// statement writes one statement: its folds first, then its value in every lane.
func (n *Nest) statement(i int, s schedule.Statement) {
	n.Line("// %s = %s", s.Name, cnest.Clip(s.Value.Format(n.Kernel)))
	if s.Store < 0 && n.kinds[i] != array {
		n.Line("%s v%d[%d];", n.w.Type(s.Value.Type), i, laneCount(n.Lanes)*points(n.Kernel, n.extra(s.Over)))
		if empty(n.Kernel) {
			n.Line("(void)v%d;", i)
		}
	}
	n.stages.staged(s, n.stages.Forms[i], func() { n.assign(i, s) })
}

// assign writes the value of a statement at the present point.
func (n *Nest) assign(i int, s schedule.Statement) {
	n.folds(s.Value)
	n.eachLane(func() {
		value := n.w.Expr(s.Value, n)
		if s.Store < 0 {
			n.Line("%s = %s;", n.Local(i), value)
			return
		}
		n.Line("p%d[%s] = %s;", s.Store, n.address(int(s.Store)), n.w.Store(n.Kernel.Operands[s.Store].Type(), value))
	})
}

// points is the number of points of some loops, at least 1 so that it can be the length of an array.
func points(k *schedule.Kernel, loops []int) int64 {
	count := int64(1)
	for _, l := range loops {
		count *= k.Loops[l].Extent()
	}
	return max(1, count)
}

func (n *Nest) forLoop(l int) {
	v := Variable(l)
	n.Open("for (int64_t %s = %d; %s < %d; %s++) {", v, n.Kernel.Loops[l].Start, v, n.Kernel.Loops[l].End, v)
}

// laneCount is how many points a tile of lanes has, and laneIndex writes which of them the present one is.
func laneCount(lanes []Lane) int64 {
	count := int64(1)
	for _, x := range lanes {
		count *= x.Tile
	}
	return count
}

func laneIndex(lanes []Lane) string {
	text := "0"
	for i, x := range lanes {
		if i == 0 {
			text = fmt.Sprintf("u%d", x.Loop)
		} else {
			text = fmt.Sprintf("(%s) * %d + u%d", text, x.Tile, x.Loop)
		}
	}
	return text
}

// eachLane writes something inside the loops over lanes: they are opened unless they are open.
func (n *Nest) eachLane(write func()) {
	was := n.inLane
	if !was {
		for _, x := range n.Lanes {
			n.Open("for (int u%d = 0; u%d < n%d; u%d++) {", x.Loop, x.Loop, x.Loop, x.Loop)
		}
	}
	n.inLane = true
	write()
	if n.inLane = was; !was {
		n.Close(len(n.Lanes))
	}
}

// empty says whether a loop of a kernel has no values.
func empty(k *schedule.Kernel) bool {
	return slices.ContainsFunc(k.Loops, func(l schedule.Loop) bool { return l.Extent() == 0 })
}

// address writes the number of the element that an operand is at, at the present point.
func (n *Nest) address(operand int) string {
	view, text := nest.ViewOf(n.Kernel, operand, n.Buffers), ""
	for l, s := range view.Steps {
		if s != 0 {
			text += fmt.Sprintf(" + %s * INT64_C(%d)", n.Loop(l), s)
		}
	}
	if view.Base != 0 || text == "" {
		return fmt.Sprintf("INT64_C(%d)", view.Base) + text
	}
	return text[3:]
}

// Load writes a read of an operand.
func (n *Nest) Load(ref int) string {
	return n.w.Load(n.Kernel.Operands[ref].Type(), fmt.Sprintf("p%d[%s]", ref, n.address(ref)))
}

// Local writes the value of an earlier statement.
func (n *Nest) Local(ref int) string {
	s := n.Kernel.Statements[ref]
	if n.kinds[ref] == inline {
		return n.w.Expr(s.Value, n)
	}
	extra := n.extra(s.Over)
	if len(extra) == 0 {
		return fmt.Sprintf("v%d[%s]", ref, laneIndex(n.Lanes))
	}
	return fmt.Sprintf("v%d[(%s) * %d + %s]", ref, position(n.Kernel, extra), laneCount(n.Lanes), laneIndex(n.Lanes))
}

// position writes the number that the present point has among those of some loops.
func position(k *schedule.Kernel, loops []int) string {
	at := ""
	for _, l := range loops {
		loop := k.Loops[l]
		if at != "" {
			at = fmt.Sprintf("(%s) * %d + ", at, loop.Extent())
		}
		at += fmt.Sprintf("%s - %d", Variable(l), loop.Start)
	}
	if at == "" {
		return "0"
	}
	return at
}

// Loop writes the present value of a loop variable.
func (n *Nest) Loop(ref int) string {
	for _, x := range n.Lanes {
		if x.Loop == ref {
			return fmt.Sprintf("(%s + u%d)", Variable(ref), ref)
		}
	}
	return Variable(ref)
}

// Chosen gives the variable of a choice that folds has written.
func (n *Nest) Chosen(e *scalar.Expr) string { return n.accs[e] }

// Reduce gives the value of a reduction that folds has written.
func (n *Nest) Reduce(e *scalar.Expr) string { return n.w.Folded(e, n.accs[e]) }
