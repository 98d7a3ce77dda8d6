package scan

import (
	"slices"

	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/scalar"
)

// Indexed is a kernel whose results are values that data give coordinates, and elsewhere what there is without them: where(last >= 0, at(i, last,
// value), otherwise) with last = max(i) where(index == p, i, -1). Storing the values one after the other, in the order of i, gives the same, and looks at
// no other cell.
type Indexed struct {
	Statement int          // the one that is stored
	Scatter   *Form        // where values go: a scatter
	Value     *scalar.Expr // where the loops of the fold are
	Otherwise *scalar.Expr
	Outer     []int // of the loops that data do not index: those before the first that they do,
	Inner     []int // and the others
	Late      bool  // indices follow inner loops
}

// Keeps says whether cells that no value is for stay as they are, in an output over an input.
func (p *Indexed) Keeps(k *schedule.Kernel, buffers map[ir.NodeID]*schedule.Buffer) bool {
	output := k.Operands[k.Statements[p.Statement].Store].Buffer
	if !buffers[output].Updates() {
		return false
	}
	u, ok := schedule.UpdateOf(k, output, buffers[output].Over)
	return ok && u.Kept(k, p.Otherwise)
}

// indexed finds out whether a kernel is one.
func (x *Scans) indexed(r reader) *Indexed {
	stored := slices.IndexFunc(x.k.Statements, func(s schedule.Statement) bool { return s.Store >= 0 })
	if stored < 0 || slices.ContainsFunc(x.k.Statements[stored+1:], func(s schedule.Statement) bool { return s.Store >= 0 }) {
		return nil
	}
	choice := x.k.Statements[stored].Value
	if choice.Op != scalar.Where {
		return nil
	}
	last, ok := notNegative(choice.Args[0])
	if !ok || len(x.Forms) != 1 || len(x.Forms[last]) != 1 {
		return nil
	}
	p := &Indexed{Statement: stored, Scatter: x.Forms[last][0], Otherwise: choice.Args[2]}
	p.Value = r.valueAt(choice.Args[1], last, p.Scatter.Reduce.Over)
	if !r.lastOf(last, p.Scatter) || r.needs(p.Value, last) || r.needs(p.Otherwise, last) || !p.order(r) {
		return nil
	}
	return p
}

// notNegative reads a condition that an earlier statement's value is not negative.
func notNegative(e *scalar.Expr) (statement int, ok bool) {
	if e.Op != scalar.Ge || e.Args[0].Op != scalar.Local || e.Args[1].Op != scalar.Const || e.Args[1].Value.I != 0 {
		return 0, false
	}
	return e.Args[0].Ref, e.Args[0].Type == scalar.Int64
}

// lastOf says whether a statement is the number of the last value that names a coordinate, or is negative.
func (r reader) lastOf(statement int, f *Form) bool {
	return f.Kind == Scatter && f.Reduce == r.k.Statements[statement].Value && f.Reduce.Monoid == scalar.Max && f.Initial.I < 0 && r.numbers(f.Value, f.Reduce.Over)
}

// numbers says whether a value is the row-major number of the present point of some loops.
func (r reader) numbers(e *scalar.Expr, over []int) bool {
	if slices.ContainsFunc(over, func(l int) bool { return r.k.Loops[l].Start != 0 }) {
		return false
	}
	step := int64(1)
	for i := len(over) - 1; i > 0; i-- {
		if e.Op != scalar.Add || !r.isScaled(e.Args[1], over[i], step) {
			return false
		}
		e, step = e.Args[0], step*r.k.Loops[over[i]].Extent()
	}
	return r.isScaled(e, over[0], step)
}

// isScaled says whether a value is a loop's, times a number.
func (r reader) isScaled(e *scalar.Expr, loop int, by int64) bool {
	if by == 1 {
		return isLoop(e, loop)
	}
	return e.Op == scalar.Mul && isLoop(e.Args[0], loop) && isNumber(e.Args[1], by)
}

func isNumber(e *scalar.Expr, n int64) bool {
	return e.Op == scalar.Const && e.Type == scalar.Int64 && e.Value.I == n
}

// valueAt takes the coordinates along the loops of a fold off a value, where they are those of the point with the number that a statement gives.
func (r reader) valueAt(e *scalar.Expr, number int, over []int) *scalar.Expr {
	for e.IsAt() {
		i := slices.Index(over, e.Over[0])
		if i < 0 || !r.isIndexOf(e.Args[1], number, over, i) {
			break
		}
		e = e.Args[0]
	}
	return e
}

// isIndexOf says whether a value is where a loop, the one at i of some, is at the point with the number that a statement gives.
func (r reader) isIndexOf(e *scalar.Expr, number int, loops []int, i int) bool {
	step := int64(1)
	for _, l := range loops[i+1:] {
		step *= r.k.Loops[l].Extent()
	}
	if e.Op == scalar.Mod && isNumber(e.Args[1], r.k.Loops[loops[i]].Extent()) {
		e, i = e.Args[0], 0
	}
	if e.Op == scalar.Div && isNumber(e.Args[1], step) {
		e, step = e.Args[0], 1
	}
	return i == 0 && step == 1 && e.Op == scalar.Local && e.Ref == number
}

// needs says whether a value is computed with that of a statement.
func (r reader) needs(e *scalar.Expr, statement int) bool {
	return e.Any(func(e *scalar.Expr) bool {
		return e.Op == scalar.Local && (e.Ref == statement || r.needs(r.k.Statements[e.Ref].Value, statement))
	})
}

// order finds the order of the loops. Values for one cell must come in the order of their numbers; so the fold's loops may stand before any of
// the others that no index depends on.
func (p *Indexed) order(r reader) bool {
	ends, folded := p.Scatter.Ends(), p.Scatter.Reduce.Over
	first := slices.Min(ends)
	for _, over := range r.k.Statements[p.Statement].Over {
		l := int(over)
		switch {
		case slices.Contains(folded, l):
			return false
		case slices.Contains(ends, l):
			ends = slices.DeleteFunc(slices.Clone(ends), func(e int) bool { return e == l })
		case l < first:
			p.Outer = append(p.Outer, l)
		default:
			p.Inner = append(p.Inner, l)
		}
	}
	chosen := slices.Clone(p.Scatter.Conditions)
	for _, t := range p.Scatter.Targets {
		chosen = append(chosen, t.Place)
	}
	for _, l := range p.Inner {
		p.Late = p.Late || slices.ContainsFunc(chosen, func(e *scalar.Expr) bool { return r.follows(e, l) })
	}
	return len(ends) == 0
}
