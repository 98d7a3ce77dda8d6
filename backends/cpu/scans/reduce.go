package scans

import (
	"fmt"
	"maps"

	"tensortapestry.org/tapc/backends/cnest"
	"tensortapestry.org/tapc/ir/scalar"
)

const foldBlock = 32 // values that a float sum adds before it starts a new partial sum

// folds writes what an expression needs before its value can be written at the present point: the loops of every reduction,
// innermost first. It notes the variables that hold the results.
func (n *Nest) folds(e *scalar.Expr) {
	switch {
	case n.stages != nil && n.stages.given[e]:
	case e.Op == scalar.Local && n.kinds[e.Ref] == inline:
		n.folds(n.Kernel.Statements[e.Ref].Value)
	case e.IsAt():
		n.folds(e.Args[1])
		n.at(e)
	case e.Op == scalar.Reduce:
		n.reduce(e)
	case e.Op == scalar.Where && (n.folding(e.Args[1]) || n.folding(e.Args[2])):
		n.folds(e.Args[0])
		n.branch(e)
	default:
		for _, a := range e.Args {
			n.folds(a)
		}
	}
}

// folding says whether folds writes anything for an expression.
func (n *Nest) folding(e *scalar.Expr) bool {
	return e.Any(func(e *scalar.Expr) bool {
		return e.Op == scalar.Reduce || e.Op == scalar.Local && n.kinds[e.Ref] == inline && n.folding(n.Kernel.Statements[e.Ref].Value)
	})
}

// accumulator declares a variable of a type for every lane, or for the one whose loop is open, and gives the text of the
// present one and of its start.
func (n *Nest) accumulator(t string) string {
	name := fmt.Sprintf("a%d", n.folded)
	n.folded++
	if n.inLane {
		n.Line("%s %s;", t, name)
		return name
	}
	n.Line("%s %s[%d];", t, name, laneCount(n.Lanes))
	n.Line("(void)%s;", name) // nothing uses what is folded for places that there are none of
	return name + "[" + laneIndex(n.Lanes) + "]"
}

// set gives a variable of every lane a value.
func (n *Nest) set(variable, value string) {
	n.eachLane(func() { n.Line("%s = %s;", variable, value) })
}

// inEachLane writes something once for each lane, with what it declares in a block of its own.
func (n *Nest) inEachLane(write func()) {
	before := maps.Clone(n.accs)
	n.eachLane(func() {
		n.Open("{")
		write()
		n.Close()
	})
	n.accs = before
}

// at writes the value at a computed place: the loop's variable is the index while the value is computed.
func (n *Nest) at(e *scalar.Expr) {
	acc := n.accumulator(n.w.Type(e.Type))
	loop := n.Kernel.Loops[e.Over[0]]
	n.inEachLane(func() {
		n.Line("%s = %s;", acc, n.w.Const(scalar.Zero(e.Type)))
		if loop.Extent() == 0 {
			return
		}
		v := Variable(e.Over[0])
		n.Line("const int64_t %s = %s;", v, n.w.Expr(e.Args[1], n))
		n.Open("if (%s >= %d && %s < %d) {", v, loop.Start, v, loop.End)
		n.folds(e.Args[0])
		n.Line("%s = %s;", acc, n.w.Expr(e.Args[0], n))
		n.Close()
	})
	n.accs[e] = acc
}

// branch writes a choice of which a side folds: only the side that is chosen is computed.
func (n *Nest) branch(e *scalar.Expr) {
	acc := n.accumulator(n.w.Type(e.Type))
	n.inEachLane(func() {
		n.Open("if (%s) {", cnest.Bare(n.w.Expr(e.Args[0], n)))
		n.folds(e.Args[1])
		n.Line("%s = %s;", acc, n.w.Expr(e.Args[1], n))
		n.Else()
		n.folds(e.Args[2])
		n.Line("%s = %s;", acc, n.w.Expr(e.Args[2], n))
		n.Close()
	})
	n.accs[e] = acc
}

// reduce writes the loops of a reduction.
func (n *Nest) reduce(e *scalar.Expr) {
	acc := n.accumulator(n.w.Type(e.Type.Wide()))
	n.set(acc, n.w.Const(scalar.Identity(e.Monoid, e.Type)))
	before := maps.Clone(n.accs)
	sum{n, e}.loops(acc, e.Over)
	n.accs = before
	n.accs[e] = acc
}

// sum writes the loops of a reduction. Float sums are taken in blocks, and blocks of blocks, so that their
// error grows with the logarithm of the number of values (N. Higham, "The Accuracy of Floating Point Summation", 1993).
type sum struct {
	n *Nest
	e *scalar.Expr
}

// loops reduces along some loops into an accumulator.
func (s sum) loops(acc string, over []int) {
	n, e := s.n, s.e
	if len(over) == 0 {
		n.folds(e.Args[0])
		n.eachLane(func() { n.Line("%s = %s;", acc, n.w.Fold(e, acc, n)) })
		return
	}
	loop := n.Kernel.Loops[over[0]]
	if !s.blocked() || loop.Extent() <= foldBlock {
		n.forLoop(over[0])
		s.rest(acc, over[1:])
		n.Close()
		return
	}
	size := int64(foldBlock)
	for size*foldBlock < loop.Extent() {
		size *= foldBlock
	}
	s.blocks(acc, over, size, fmt.Sprint(loop.Start), fmt.Sprint(loop.End))
}

func (s sum) blocked() bool { return s.e.Monoid == scalar.Add && s.e.Type.IsFloat() }

// rest reduces along the inner loops, by a partial sum if they are long.
func (s sum) rest(acc string, rest []int) {
	if !s.blocked() || points(s.n.Kernel, rest) <= foldBlock {
		s.loops(acc, rest)
		return
	}
	s.partial(acc, func(part string) { s.loops(part, rest) })
}

// partial writes something that reduces into a variable of its own, and adds that to the accumulator.
func (s sum) partial(acc string, write func(part string)) {
	part := s.n.accumulator(s.n.w.Type(s.e.Type.Wide()))
	s.n.set(part, s.n.w.Const(scalar.Identity(s.e.Monoid, s.e.Type)))
	write(part)
	s.n.set(acc, acc+" + "+part)
}

// blocks writes a loop from start to end in blocks of a size, each with a partial sum of its own, down to blocks that are
// summed value by value.
func (s sum) blocks(acc string, over []int, size int64, start, end string) {
	n, v := s.n, Variable(over[0])
	if size == 1 {
		n.Open("for (int64_t %s = %s; %s < %s; %s++) {", v, start, v, end, v)
		s.rest(acc, over[1:])
		n.Close()
		return
	}
	block := fmt.Sprintf("%s_%d", v, size)
	n.Open("for (int64_t %s = %s; %s < %s; %s += %d) {", block, start, block, end, block, size)
	n.Line("const int64_t %se = %s + %d < %s ? %s + %d : %s;", block, block, size, end, block, size, end)
	s.partial(acc, func(part string) { s.blocks(part, over, size/foldBlock, block, block+"e") })
	n.Close()
}
