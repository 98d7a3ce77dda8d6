package schedule

import (
	"math"
	"slices"

	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/zspace"
	"tensortapestry.org/tapc/ir/zspace/bounds"
	"tensortapestry.org/tapc/ir/zspace/images"
)

// use is one place in a kernel that reads or writes an operand. The kernel's statements have been checked.
type use struct {
	operand   int
	statement int
	write     bool
	loops     zspace.Range // the points at which it happens; loops that do not run stand at one value
	never     bool         // it does not happen at any point
	hull      zspace.Range // the least box around the cells that it touches, if it happens
	err       error        // the hull has no 64-bit coordinates
}

// same says whether two reads of a statement touch the same cells at the same points.
func (u use) same(v use) bool {
	return u.operand == v.operand && u.never == v.never && (u.err == nil) == (v.err == nil) && u.loops.Equal(v.loops) && u.hull.Equal(v.hull)
}

// usesOf lists the uses of a kernel: statement by statement, reads in the order of the value, each once, then the
// write.
func usesOf(k *Kernel) []use {
	var all []use
	for i := range k.Statements {
		st := &k.Statements[i]
		w := &useWalk{k: k, at: i, over: st.Over}
		w.walk(st.Value)
		all = append(all, w.found...)
		if st.Store >= 0 {
			all = append(all, newUse(k, int(st.Store), i, true, running(k, st.Over, nil), nil))
		}
	}
	return all
}

// running is the box of the kernel's loops in which the given loops run; every other loop stands at one value.
func running(k *Kernel, over []int64, folded []int) zspace.Range {
	space := k.Space()
	box := zspace.Range{Start: space.Start.Clone(), End: space.Start}
	for i := range box.End {
		if box.End[i] == math.MaxInt64 { // a loop without values, of no effect
			box.Start[i]--
		} else {
			box.End[i]++
		}
	}
	set := func(l int) { box.Start[l], box.End[l] = k.Loops[l].Start, k.Loops[l].End }
	for _, l := range over {
		set(int(l))
	}
	for _, l := range folded {
		set(l)
	}
	return box
}

// newUse finds the cells that an operand touches over some loops, under conditions on them. The hull is exact for conditions
// on one loop, and for those on sums of loops of which the coordinates of the access are made: so through a reshape that
// splits what a window slides over, each part inside borders of its own. It is never too small.
func newUse(k *Kernel, operand, statement int, write bool, loops zspace.Range, when []bounds.Condition) use {
	u := use{operand: operand, statement: statement, write: write}
	for _, c := range when {
		loops = c.Narrow(loops)
	}
	u.loops = loops
	if u.never = loops.Empty(); u.never {
		return u
	}
	access := k.Operands[operand].Access
	lo, hi, err := access.Hull(loops)
	if err != nil {
		u.err = err
		return u
	}
	spans := bounds.SpansOf(when, loops)
	u.never = spans.Contradict()
	for i := range lo {
		lo[i], hi[i] = spans.Clip(access.Projection[i], access.Offset[i], lo[i], hi[i])
		u.never = u.never || lo[i] > hi[i]
		if hi[i] == math.MaxInt64 {
			u.err = zspace.ErrOverflow
			return u
		}
		hi[i]++
	}
	u.hull = zspace.Range{Start: lo, End: hi}
	if !u.never {
		u.err = u.hull.Validate()
	}
	return u
}

// useWalk finds the reads of a value, with the loops that run and the conditions that hold at each.
type useWalk struct {
	k      *Kernel
	at     int
	over   []int64
	folded []int
	when   []bounds.Condition
	found  []use
}

func (w *useWalk) walk(e *scalar.Expr) {
	switch e.Op {
	case scalar.Load:
		u := newUse(w.k, e.Ref, w.at, false, running(w.k, w.over, w.folded), w.when)
		if !slices.ContainsFunc(w.found, u.same) {
			w.found = append(w.found, u)
		}
	case scalar.Reduce:
		if e.IsAt() {
			w.walk(e.Args[1])
		}
		before := len(w.folded)
		w.folded = append(w.folded, e.Over...)
		w.walk(e.Args[0])
		w.folded = w.folded[:before]
	case scalar.Where: // only the side that is chosen is computed
		w.walk(e.Args[0])
		for side, holds := range [...]bool{true, false} {
			before := len(w.when)
			w.when = assume(w.when, w.k, e.Args[0], holds)
			w.walk(e.Args[1+side])
			w.when = w.when[:before]
		}
	default:
		for _, a := range e.Args {
			w.walk(a)
		}
	}
}

// assume adds what is known when a boolean value holds, or does not: comparisons of affine sums of loops, and their
// conjunctions. Anything else adds nothing.
func assume(when []bounds.Condition, k *Kernel, e *scalar.Expr, holds bool) []bounds.Condition {
	switch e.Op {
	case scalar.Local:
		return assume(when, k, k.Statements[e.Ref].Value, holds)
	case scalar.Not:
		return assume(when, k, e.Args[0], !holds)
	case scalar.And, scalar.Or:
		if (e.Op == scalar.And) == holds {
			when = assume(when, k, e.Args[0], holds)
			when = assume(when, k, e.Args[1], holds)
		}
		return when
	case scalar.Lt, scalar.Le, scalar.Gt, scalar.Ge, scalar.Eq, scalar.Ne:
		return compare(when, k, e, holds)
	}
	return when
}

// compare adds a comparison of two affine sums, turned into bounds on their difference.
func compare(when []bounds.Condition, k *Kernel, e *scalar.Expr, holds bool) []bounds.Condition {
	a, okA := affine(k, e.Args[0])
	b, okB := affine(k, e.Args[1])
	if !okA || !okB {
		return when
	}
	d, ok := combine(k, a, b, -1)
	if !ok || d.off == math.MinInt64 {
		return when
	}
	op := e.Op
	if !holds {
		op = map[scalar.Op]scalar.Op{scalar.Lt: scalar.Ge, scalar.Le: scalar.Gt, scalar.Gt: scalar.Le, scalar.Ge: scalar.Lt,
			scalar.Eq: scalar.Ne, scalar.Ne: scalar.Eq}[op]
	}
	c := bounds.Condition{Row: d.row, Lo: math.MinInt64, Hi: math.MaxInt64}
	switch zero := -d.off; op { // row·loops op zero
	case scalar.Eq:
		c.Lo, c.Hi = zero, zero
	case scalar.Le:
		c.Hi = zero
	case scalar.Ge:
		c.Lo = zero
	case scalar.Lt:
		c.Hi = zero - 1
	case scalar.Gt:
		c.Lo = zero + 1
	default:
		return when
	}
	return append(when, c)
}

// sum is an affine sum of loops: row·loops + off.
type sum struct {
	row []int64
	off int64
}

// affine reads a value as an affine sum of loops, if it is one whose every part stays within 64 bits over all loops.
func affine(k *Kernel, e *scalar.Expr) (sum, bool) {
	if e.Type != scalar.Int64 {
		return sum{}, false
	}
	switch e.Op {
	case scalar.Const:
		return sum{make([]int64, len(k.Loops)), e.Value.I}, true
	case scalar.Loop:
		s := sum{row: make([]int64, len(k.Loops))}
		s.row[e.Ref] = 1
		return s, true
	case scalar.Local:
		return affine(k, k.Statements[e.Ref].Value)
	case scalar.Add, scalar.Sub, scalar.Mul:
		a, okA := affine(k, e.Args[0])
		b, okB := affine(k, e.Args[1])
		switch {
		case !okA || !okB:
			return sum{}, false
		case e.Op == scalar.Add:
			return combine(k, a, b, 1)
		case e.Op == scalar.Sub:
			return combine(k, a, b, -1)
		case !slices.ContainsFunc(a.row, notZero):
			return combine(k, sum{make([]int64, len(k.Loops)), 0}, b, a.off)
		case !slices.ContainsFunc(b.row, notZero):
			return combine(k, sum{make([]int64, len(k.Loops)), 0}, a, b.off)
		}
	}
	return sum{}, false
}

func notZero(x int64) bool { return x != 0 }

// combine gives a + factor·b, if that stays within a quarter of 64 bits over all loops.
func combine(k *Kernel, a, b sum, factor int64) (sum, bool) {
	out := sum{row: make([]int64, len(a.row))}
	const limit = 1 << 60
	bound := math.Abs(float64(a.off)) + math.Abs(float64(factor))*math.Abs(float64(b.off))
	for i := range out.row {
		most := math.Max(math.Abs(float64(k.Loops[i].Start)), math.Abs(float64(k.Loops[i].End)))
		bound += (math.Abs(float64(a.row[i])) + math.Abs(float64(factor))*math.Abs(float64(b.row[i]))) * math.Max(1, most)
	}
	if bound > limit {
		return sum{}, false
	}
	out.off = a.off + factor*b.off
	for i := range out.row {
		out.row[i] = a.row[i] + factor*b.row[i]
	}
	return out, true
}

// imageOf is the image of a use that happens.
func imageOf(k *Kernel, u use) images.Image {
	access := k.Operands[u.operand].Access
	if u.write {
		return images.Written(access, u.loops, u.hull)
	}
	return images.Read(access, u.loops, u.hull)
}
