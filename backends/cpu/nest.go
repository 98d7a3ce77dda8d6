package cpu

import (
	"fmt"
	"slices"
	"strings"

	"tensortapestry.org/tapc/backends/cexpr"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/scalar"
)

// lane is a free loop of which a tile is computed together: its variable holds the start of the tile, n values are live.
type lane struct {
	loop int
	tile int64
}

// nest writes the C code of one kernel.
type nest struct {
	k       *schedule.Kernel
	number  int
	buffers map[ir.NodeID]*schedule.Buffer
	slots   map[ir.NodeID]int // of each buffer in the table b
	w       *cexpr.Writer
	b       strings.Builder
	depth   int
	free    []int
	lanes   []lane
	thread  int // the loop shared between threads, or -1
	accs    map[*scalar.Expr]string
	inline  map[int]bool // statements that are written where they are used
	folded  int          // reductions written so far
}

const foldBlock = 32 // values that a float sum adds before it starts a new partial sum

func (n *nest) line(format string, args ...any) {
	n.b.WriteString(strings.Repeat("  ", n.depth))
	fmt.Fprintf(&n.b, format, args...)
	n.b.WriteByte('\n')
}

func (n *nest) open(format string, args ...any) {
	n.line(format, args...)
	n.depth++
}

func (n *nest) close() {
	n.depth--
	n.line("}")
}

// prepare reads the loops' levels.
func (n *nest) prepare() {
	n.thread = -1
	n.accs, n.inline = map[*scalar.Expr]string{}, map[int]bool{}
	n.free = freeLoops(n.k)
	for _, l := range n.free {
		levels := n.k.Loops[l].Levels
		if len(levels) > 1 {
			n.lanes = append(n.lanes, lane{l, levels[0].Tile})
		}
		if levels[0].Bind == schedule.Thread {
			n.thread = l
		}
	}
	for i, s := range n.k.Statements {
		if s.Store < 0 && !n.allFree(s.Over) {
			n.inline[i] = true
		}
	}
}

func (n *nest) allFree(over []int64) bool {
	for _, l := range over {
		if !slices.Contains(n.free, int(l)) {
			return false
		}
	}
	return true
}

// freeLoops gives the loops that every stored result runs along and nothing is folded along.
func freeLoops(k *schedule.Kernel) []int {
	folded := make([]bool, len(k.Loops))
	for _, s := range k.Statements {
		s.Value.Walk(func(e *scalar.Expr) bool {
			if e.Op == scalar.Reduce {
				for _, l := range e.Over {
					folded[l] = true
				}
			}
			return true
		})
	}
	var out []int
	for l := range k.Loops {
		all := !folded[l]
		for _, s := range k.Statements {
			all = all && (s.Store < 0 || slices.Contains(s.Over, int64(l)))
		}
		if all {
			out = append(out, l)
		}
	}
	return out
}

// variable gives a loop's C variable.
func (n *nest) variable(loop int) string { return fmt.Sprintf("i%d", loop) }

// tileFunction writes the function that computes one tile: what stands inside all free loops.
func (n *nest) tileFunction() {
	n.open("TAPC_FN void k%d_tile(void *const *b%s) {", n.number, n.tileParams())
	n.pointers()
	for i, s := range n.k.Statements {
		if !n.inline[i] {
			n.statement(i, s)
		}
	}
	n.close()
}

func (n *nest) tileParams() string {
	text := ""
	for _, l := range n.free {
		text += ", int64_t " + n.variable(l)
	}
	for _, x := range n.lanes {
		text += fmt.Sprintf(", int n%d", x.loop)
	}
	return text
}

// pointers declares a typed pointer for every operand.
func (n *nest) pointers() {
	for i, o := range n.k.Operands {
		t := n.w.Type(o.Type())
		if o.Mode == schedule.Read {
			n.line("const %s *restrict p%d = b[%d]; // %s", t, i, n.slots[o.Buffer], o.Name)
		} else {
			n.line("%s *restrict p%d = b[%d]; // %s", t, i, n.slots[o.Buffer], o.Name)
		}
	}
	for i := range n.k.Operands {
		n.line("(void)p%d;", i)
	}
}

// statement writes one statement: its folds first, then its value in every lane.
func (n *nest) statement(i int, s schedule.Statement) {
	n.line("// %s = %s", s.Name, clip(s.Value.Format(n.k)))
	extra := slices.DeleteFunc(slices.Clone(s.Over), func(l int64) bool { return slices.Contains(n.free, int(l)) })
	if s.Store < 0 {
		n.line("%s v%d[%d];", n.w.Type(s.Value.Type), i, n.laneCount())
	}
	for _, l := range extra {
		n.forLoop(int(l))
	}
	n.folds(s.Value)
	n.openLanes()
	value := n.w.Expr(s.Value, n)
	if s.Store < 0 {
		n.line("v%d[%s] = %s;", i, n.laneIndex(), value)
	} else {
		n.line("p%d[%s] = %s;", s.Store, n.address(int(s.Store)), value)
	}
	n.closeLanes()
	for range extra {
		n.close()
	}
}

func clip(s string) string {
	s = strings.ReplaceAll(s, "*/", "* /")
	if len(s) > 100 {
		return s[:100] + " ..."
	}
	return s
}

func (n *nest) forLoop(l int) {
	v := n.variable(l)
	n.open("for (int64_t %s = %d; %s < %d; %s++) {", v, n.k.Loops[l].Start, v, n.k.Loops[l].End, v)
}

func (n *nest) laneCount() int64 {
	count := int64(1)
	for _, x := range n.lanes {
		count *= x.tile
	}
	return count
}

func (n *nest) laneIndex() string {
	if len(n.lanes) == 0 {
		return "0"
	}
	text := ""
	for i, x := range n.lanes {
		if i == 0 {
			text = fmt.Sprintf("u%d", x.loop)
		} else {
			text = fmt.Sprintf("(%s) * %d + u%d", text, x.tile, x.loop)
		}
	}
	return text
}

func (n *nest) openLanes() {
	for _, x := range n.lanes {
		n.open("for (int u%d = 0; u%d < n%d; u%d++) {", x.loop, x.loop, x.loop, x.loop)
	}
}

func (n *nest) closeLanes() {
	for range n.lanes {
		n.close()
	}
}

// folds writes the loops of every reduction in an expression, innermost first, and notes the variables of their results.
func (n *nest) folds(e *scalar.Expr) {
	if e.Op == scalar.Local && n.inline[e.Ref] {
		n.folds(n.k.Statements[e.Ref].Value)
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
	n.line("%s %s[%d];", t, name, n.laneCount())
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
		n.close()
	}
}

func (n *nest) setLanes(name, value string) {
	n.openLanes()
	n.line("%s[%s] = %s;", name, n.laneIndex(), value)
	n.closeLanes()
}

// accumulate folds the value at the present point into an accumulator.
func (n *nest) accumulate(e *scalar.Expr, acc string) {
	n.folds(e.Args[0])
	n.openLanes()
	at := acc + "[" + n.laneIndex() + "]"
	n.line("%s = %s;", at, n.w.Apply(e.Monoid, e.Type, e.Type, at, n.w.Expr(e.Args[0], n)))
	n.closeLanes()
}

// foldInner writes the innermost loop of a reduction. Float sums are taken in blocks, and blocks of blocks, so that their
// error grows with the logarithm of the number of values (N. Higham, "The Accuracy of Floating Point Summation", 1993).
func (n *nest) foldInner(e *scalar.Expr, acc, t string) {
	l := e.Over[len(e.Over)-1]
	loop := n.k.Loops[l]
	if e.Monoid != scalar.Add || !e.Type.IsFloat() || loop.Extent() <= foldBlock {
		n.forLoop(l)
		n.accumulate(e, acc)
		n.close()
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
func (n *nest) foldBlocks(e *scalar.Expr, acc, t string, size int64, start, end string) {
	v := n.variable(e.Over[len(e.Over)-1])
	if size == 1 {
		n.open("for (int64_t %s = %s; %s < %s; %s++) {", v, start, v, end, v)
		n.accumulate(e, acc)
		n.close()
		return
	}
	block, part := fmt.Sprintf("%s_%d", v, size), acc+"p"
	n.open("for (int64_t %s = %s; %s < %s; %s += %d) {", block, start, block, end, block, size)
	n.line("const int64_t %se = %s + %d < %s ? %s + %d : %s;", block, block, size, end, block, size, end)
	n.line("%s %s[%d];", t, part, n.laneCount())
	n.setLanes(part, n.w.Const(scalar.Identity(e.Monoid, e.Type)))
	n.foldBlocks(e, part, t, size/foldBlock, block, block+"e")
	n.openLanes()
	n.line("%s[%s] += %s[%s];", acc, n.laneIndex(), part, n.laneIndex())
	n.closeLanes()
	n.close()
}

// address writes the number of the element that an operand is at, at the present point.
func (n *nest) address(operand int) string {
	o := n.k.Operands[operand]
	buf := n.buffers[o.Buffer]
	base := int64(0)
	steps := make([]int64, len(n.k.Loops))
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
func (n *nest) Load(ref int) string { return fmt.Sprintf("p%d[%s]", ref, n.address(ref)) }

// Local writes the value of an earlier statement.
func (n *nest) Local(ref int) string {
	if n.inline[ref] {
		return n.w.Expr(n.k.Statements[ref].Value, n)
	}
	return fmt.Sprintf("v%d[%s]", ref, n.laneIndex())
}

// Loop writes the present value of a loop variable.
func (n *nest) Loop(ref int) string {
	for _, x := range n.lanes {
		if x.loop == ref {
			return fmt.Sprintf("(%s + u%d)", n.variable(ref), ref)
		}
	}
	return n.variable(ref)
}

// Reduce gives the variable that holds a reduction's result.
func (n *nest) Reduce(e *scalar.Expr) string { return n.accs[e] + "[" + n.laneIndex() + "]" }
