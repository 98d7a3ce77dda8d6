// Package cnest writes the loops and statements of a scheduled kernel as C-like code, shared by the back ends whose targets
// are programmed in C: backends/cpu (C11) and backends/cuda (CUDA C++).
//
// What differs between them, how a point of the free loops is reached and how operands are declared, stays in the back ends.
// Read next: backends/cpu/kernel.go.
package cnest

import (
	"fmt"
	"slices"
	"strings"

	"tensortapestry.org/tapc/backends/cexpr"
	"tensortapestry.org/tapc/dialects/schedule"
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
	*Text
	w      *cexpr.Writer
	accs   map[*scalar.Expr]string
	folded int          // reductions written so far
	inline map[int]bool // statements that are written where they are used
}

// New makes the writer of a kernel, which appends to text.
func New(k *schedule.Kernel, buffers map[ir.NodeID]*schedule.Buffer, w *cexpr.Writer, text *Text) *Nest {
	n := &Nest{Kernel: k, Buffers: buffers, Free: k.Free(), Text: text, w: w, accs: map[*scalar.Expr]string{}, inline: map[int]bool{}}
	for i, s := range k.Statements {
		if s.Store < 0 && !n.allFree(s.Over) {
			n.inline[i] = true
		}
	}
	return n
}

const foldBlock = 32 // values that a float sum adds before it starts a new partial sum

func (n *Nest) allFree(over []int64) bool {
	for _, l := range over {
		if !slices.Contains(n.Free, int(l)) {
			return false
		}
	}
	return true
}

// Variable gives a loop's C variable.
func Variable(loop int) string { return fmt.Sprintf("i%d", loop) }

// Statements writes every statement at one point, or tile, of the free loops.
func (n *Nest) Statements() {
	for i, s := range n.Kernel.Statements {
		if !n.inline[i] {
			n.statement(i, s)
		}
	}
}

// statement writes one statement: its folds first, then its value in every lane.
func (n *Nest) statement(i int, s schedule.Statement) {
	n.Line("// %s = %s", s.Name, Clip(s.Value.Format(n.Kernel)))
	extra := slices.DeleteFunc(slices.Clone(s.Over), func(l int64) bool { return slices.Contains(n.Free, int(l)) })
	if s.Store < 0 {
		n.Line("%s v%d[%d];", n.w.Type(s.Value.Type), i, n.laneCount())
	}
	for _, l := range extra {
		n.forLoop(int(l))
	}
	n.folds(s.Value)
	n.openLanes()
	value := n.w.Expr(s.Value, n)
	if s.Store < 0 {
		n.Line("v%d[%s] = %s;", i, n.laneIndex(), value)
	} else {
		n.Line("p%d[%s] = %s;", s.Store, n.address(int(s.Store)), value)
	}
	n.closeLanes()
	for range extra {
		n.Close()
	}
}

// Clip makes a text fit for a comment of one line.
func Clip(s string) string {
	s = strings.ReplaceAll(s, "*/", "* /")
	if len(s) > 100 {
		return s[:100] + " ..."
	}
	return s
}

func (n *Nest) forLoop(l int) {
	v := Variable(l)
	n.Open("for (int64_t %s = %d; %s < %d; %s++) {", v, n.Kernel.Loops[l].Start, v, n.Kernel.Loops[l].End, v)
}

func (n *Nest) laneCount() int64 {
	count := int64(1)
	for _, x := range n.Lanes {
		count *= x.Tile
	}
	return count
}

func (n *Nest) laneIndex() string {
	if len(n.Lanes) == 0 {
		return "0"
	}
	text := ""
	for i, x := range n.Lanes {
		if i == 0 {
			text = fmt.Sprintf("u%d", x.Loop)
		} else {
			text = fmt.Sprintf("(%s) * %d + u%d", text, x.Tile, x.Loop)
		}
	}
	return text
}

func (n *Nest) openLanes() {
	for _, x := range n.Lanes {
		n.Open("for (int u%d = 0; u%d < n%d; u%d++) {", x.Loop, x.Loop, x.Loop, x.Loop)
	}
}

func (n *Nest) closeLanes() {
	for range n.Lanes {
		n.Close()
	}
}

// folds writes the loops of every reduction in an expression, innermost first, and notes the variables of their results.
func (n *Nest) folds(e *scalar.Expr) {
	if e.Op == scalar.Local && n.inline[e.Ref] {
		n.folds(n.Kernel.Statements[e.Ref].Value)
		return
	}
	if e.Op != scalar.Reduce {
		for _, a := range e.Args {
			n.folds(a)
		}
		return
	}
	name := fmt.Sprintf("a%d", n.folded)
	n.folded++
	n.accs[e] = name
	t := n.w.Type(e.Type)
	n.Line("%s %s[%d];", t, name, n.laneCount())
	n.setLanes(name, n.w.Const(scalar.Identity(e.Monoid, e.Type)))
	for _, l := range e.Over[:max(0, len(e.Over)-1)] {
		n.forLoop(l)
	}
	if len(e.Over) > 0 {
		n.foldInner(e, name, t)
	} else {
		n.accumulate(e, name)
	}
	for range e.Over[:max(0, len(e.Over)-1)] {
		n.Close()
	}
}

func (n *Nest) setLanes(name, value string) {
	n.openLanes()
	n.Line("%s[%s] = %s;", name, n.laneIndex(), value)
	n.closeLanes()
}

// accumulate folds the value at the present point into an accumulator.
func (n *Nest) accumulate(e *scalar.Expr, acc string) {
	n.folds(e.Args[0])
	n.openLanes()
	at := acc + "[" + n.laneIndex() + "]"
	n.Line("%s = %s;", at, n.w.Apply(e.Monoid, e.Type, e.Type, at, n.w.Expr(e.Args[0], n)))
	n.closeLanes()
}

// foldInner writes the innermost loop of a reduction. Float sums are taken in blocks, and blocks of blocks, so that their
// error grows with the logarithm of the number of values (N. Higham, "The Accuracy of Floating Point Summation", 1993).
func (n *Nest) foldInner(e *scalar.Expr, acc, t string) {
	l := e.Over[len(e.Over)-1]
	loop := n.Kernel.Loops[l]
	if e.Monoid != scalar.Add || !e.Type.IsFloat() || loop.Extent() <= foldBlock {
		n.forLoop(l)
		n.accumulate(e, acc)
		n.Close()
		return
	}
	size := int64(foldBlock)
	for size*foldBlock < loop.Extent() {
		size *= foldBlock
	}
	n.foldBlocks(e, acc, t, size, fmt.Sprint(loop.Start), fmt.Sprint(loop.End))
}

// foldBlocks writes the loop from start to end in blocks of a size, each with a partial sum of its own, down to blocks that
// are summed value by value.
func (n *Nest) foldBlocks(e *scalar.Expr, acc, t string, size int64, start, end string) {
	v := Variable(e.Over[len(e.Over)-1])
	if size == 1 {
		n.Open("for (int64_t %s = %s; %s < %s; %s++) {", v, start, v, end, v)
		n.accumulate(e, acc)
		n.Close()
		return
	}
	block, part := fmt.Sprintf("%s_%d", v, size), acc+"p"
	n.Open("for (int64_t %s = %s; %s < %s; %s += %d) {", block, start, block, end, block, size)
	n.Line("const int64_t %se = %s + %d < %s ? %s + %d : %s;", block, block, size, end, block, size, end)
	n.Line("%s %s[%d];", t, part, n.laneCount())
	n.setLanes(part, n.w.Const(scalar.Identity(e.Monoid, e.Type)))
	n.foldBlocks(e, part, t, size/foldBlock, block, block+"e")
	n.openLanes()
	n.Line("%s[%s] += %s[%s];", acc, n.laneIndex(), part, n.laneIndex())
	n.closeLanes()
	n.Close()
}

// address writes the number of the element that an operand is at, at the present point.
func (n *Nest) address(operand int) string {
	o := n.Kernel.Operands[operand]
	buf := n.Buffers[o.Buffer]
	base := int64(0)
	steps := make([]int64, len(n.Kernel.Loops))
	for d, stride := range buf.Strides {
		base += (o.Access.Offset[d] - buf.Range.Start[d]) * stride
		for l, f := range o.Access.Projection[d] {
			steps[l] += f * stride
		}
	}
	text := ""
	for l, s := range steps {
		if s != 0 {
			text += fmt.Sprintf(" + %s * INT64_C(%d)", n.Loop(l), s)
		}
	}
	if base != 0 || text == "" {
		return fmt.Sprintf("INT64_C(%d)", base) + text
	}
	return text[3:]
}

// Load writes a read of an operand.
func (n *Nest) Load(ref int) string { return fmt.Sprintf("p%d[%s]", ref, n.address(ref)) }

// Local writes the value of an earlier statement.
func (n *Nest) Local(ref int) string {
	if n.inline[ref] {
		return n.w.Expr(n.Kernel.Statements[ref].Value, n)
	}
	return fmt.Sprintf("v%d[%s]", ref, n.laneIndex())
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

// Reduce gives the variable that holds a reduction's result.
func (n *Nest) Reduce(e *scalar.Expr) string { return n.accs[e] + "[" + n.laneIndex() + "]" }
