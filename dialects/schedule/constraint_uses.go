package schedule

import (
	"math"
	"slices"

	"tensortapestry.org/tapc/ir/affine"
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
	box := boxOf(k)
	for i := range k.Statements {
		st := &k.Statements[i]
		w := &useWalk{k: k, box: box, at: i, over: st.Over}
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
	box    *affine.Box
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
			w.when = assume(w.when, w.box, e.Args[0], holds)
			w.walk(e.Args[1+side])
			w.when = w.when[:before]
		}
	default:
		for _, a := range e.Args {
			w.walk(a)
		}
	}
}

// boxOf is the values of the loops of a kernel, for sums that its conditions compare.
func boxOf(k *Kernel) *affine.Box {
	return &affine.Box{Range: k.Space(), Local: func(i int) *scalar.Expr { return k.Statements[i].Value }}
}

// assume adds what is known when a boolean value holds, or does not: comparisons of affine sums of loops, and their
// conjunctions. Anything else adds nothing.
func assume(when []bounds.Condition, box *affine.Box, e *scalar.Expr, holds bool) []bounds.Condition {
	switch e.Op {
	case scalar.Local:
		return assume(when, box, box.Local(e.Ref), holds)
	case scalar.Not:
		return assume(when, box, e.Args[0], !holds)
	case scalar.And, scalar.Or:
		if (e.Op == scalar.And) == holds {
			return assume(assume(when, box, e.Args[0], holds), box, e.Args[1], holds)
		}
		return when
	}
	d, ok := box.Difference(e)
	op, most := e.Op, int64(math.MaxInt64)
	if !holds {
		op = affine.Opposite(op)
	}
	if op == scalar.Eq {
		most = -d.Constant
	} else if ok {
		d, ok = d.Border(op)
	}
	if !ok {
		return when
	}
	return append(when, bounds.Condition{Row: d.Row(box.Rank()), Lo: -d.Constant, Hi: most})
}

// imageOf is the image of a use that happens.
func imageOf(k *Kernel, u use) images.Image {
	access := k.Operands[u.operand].Access
	if u.write {
		return images.Written(access, u.loops, u.hull)
	}
	return images.Read(access, u.loops, u.hull)
}
