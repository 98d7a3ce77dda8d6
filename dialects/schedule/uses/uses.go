// Package uses says which cells of its operands a kernel reads and writes, and at which points of its loops: statement by statement, under the
// conditions that a where puts on what it reads. The constraints of schedules are checked by it, and passes ask it what a kernel touches.
//
// It knows one kernel at a time, whose statements are well-formed, and must not import constraints. Read next: dialects/schedule/races, which
// compares the uses of all kernels.
package uses

import (
	"math"
	"slices"

	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/affine"
	"tensortapestry.org/tapc/ir/check"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/zspace"
	"tensortapestry.org/tapc/ir/zspace/bounds"
	"tensortapestry.org/tapc/ir/zspace/images"
)

// Use is one place in a kernel that reads or writes an operand.
type Use struct {
	Operand   int
	Statement int
	Write     bool
	Loops     zspace.Range // the points at which it happens; loops that do not run stand at one value
	Never     bool         // it does not happen at any point
	Hull      zspace.Range // the least box around the cells that it touches, if it happens
	Err       error        // the hull has no 64-bit coordinates
}

// same says whether two reads of a statement touch the same cells at the same points.
func (u Use) same(v Use) bool {
	return u.Operand == v.Operand && u.Never == v.Never && (u.Err == nil) == (v.Err == nil) && u.Loops.Equal(v.Loops) && u.Hull.Equal(v.Hull)
}

// Of lists the uses of a kernel: statement by statement, reads in the order of the value, each once, then the
// write.
func Of(k *schedule.Kernel) []Use {
	var all []Use
	box := boxOf(k)
	for i := range k.Statements {
		st := &k.Statements[i]
		w := &useWalk{k: k, box: box, at: i, over: st.Over}
		w.walk(st.Value)
		all = append(all, w.found...)
		if st.Store >= 0 {
			all = append(all, newUse(k, int(st.Store), i, true, Running(k, st.Over), nil))
		}
	}
	return all
}

// Running is the box of the kernel's loops in which the given loops run; every other loop stands at one value.
func Running(k *schedule.Kernel, over []int64, reduced ...int) zspace.Range {
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
	for _, l := range reduced {
		set(l)
	}
	return box
}

// newUse finds the cells that an operand touches over some loops, under conditions on them. The hull is exact for conditions
// on one loop, and for those on sums of loops of which the coordinates of the access are made: so through a reshape that
// splits what a window slides over, each part inside borders of its own. It is never too small.
func newUse(k *schedule.Kernel, operand, statement int, write bool, loops zspace.Range, when []bounds.Condition) Use {
	u := Use{Operand: operand, Statement: statement, Write: write}
	for _, c := range when {
		loops = c.Narrow(loops)
	}
	u.Loops = loops
	if u.Never = loops.Empty(); u.Never {
		return u
	}
	access := k.Operands[operand].Access
	lo, hi, err := access.Hull(loops)
	if err != nil {
		u.Err = err
		return u
	}
	spans := bounds.SpansOf(when, loops)
	u.Never = spans.Contradict()
	for i := range lo {
		lo[i], hi[i] = spans.Clip(access.Projection[i], access.Offset[i], lo[i], hi[i])
		u.Never = u.Never || lo[i] > hi[i]
		if hi[i] == math.MaxInt64 {
			u.Err = zspace.ErrOverflow
			return u
		}
		hi[i]++
	}
	u.Hull = zspace.Range{Start: lo, End: hi}
	if !u.Never {
		u.Err = u.Hull.Validate()
	}
	return u
}

// useWalk finds the reads of a value, with the loops that run and the conditions that hold at each.
type useWalk struct {
	k       *schedule.Kernel
	box     *affine.Box
	at      int
	over    []int64
	reduced []int
	when    []bounds.Condition
	found   []Use
}

func (w *useWalk) walk(e *scalar.Expr) {
	switch e.Op {
	case scalar.Load:
		u := newUse(w.k, e.Ref, w.at, false, Running(w.k, w.over, w.reduced...), w.when)
		if !slices.ContainsFunc(w.found, u.same) {
			w.found = append(w.found, u)
		}
	case scalar.Reduce:
		if e.IsAt() {
			w.walk(e.Args[1])
		}
		before := len(w.reduced)
		w.reduced = append(w.reduced, e.Over...)
		w.walk(e.Args[0])
		w.reduced = w.reduced[:before]
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
func boxOf(k *schedule.Kernel) *affine.Box {
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

// Image is the cells of a use of a kernel that happens.
func (u Use) Image(k *schedule.Kernel) images.Image {
	access := k.Operands[u.Operand].Access
	if u.Write {
		return images.Written(access, u.Loops, u.Hull)
	}
	return images.Read(access, u.Loops, u.Hull)
}

// Changes gives the uses in which an update of a kernel stores something else than what is there.
func Changes(k *schedule.Kernel, u schedule.Update) (out []Use) {
	st, box := &k.Statements[u.Statement], boxOf(k)
	var walk func(e *scalar.Expr, when []bounds.Condition)
	walk = func(e *scalar.Expr, when []bounds.Condition) {
		switch {
		case e.Op == scalar.Local:
			walk(k.Statements[e.Ref].Value, when)
		case e.Op == scalar.Where:
			walk(e.Args[1], assume(slices.Clone(when), box, e.Args[0], true))
			walk(e.Args[2], assume(slices.Clone(when), box, e.Args[0], false))
		case e.Op == scalar.Load && slices.Contains(u.Keep, e.Ref):
		default:
			if w := newUse(k, int(st.Store), u.Statement, true, Running(k, st.Over), when); !w.Never {
				out = append(out, w)
			}
		}
	}
	walk(st.Value, nil)
	return out
}

// In gives the uses of every kernel of a graph that is checked, by node id.
func In(c *check.Context) map[ir.NodeID][]Use {
	return check.Cached(c, "schedule.uses", func() map[ir.NodeID][]Use {
		all := map[ir.NodeID][]Use{}
		for n := range c.Graph().Nodes() {
			if k, ok := n.Body.(*schedule.Kernel); ok {
				all[n.ID] = Of(k)
			}
		}
		return all
	})
}

// Reads gives for each operand the least boxes around the cells that statements read, one for each load; the error is of one without 64-bit coordinates.
func Reads(k *schedule.Kernel) ([][]zspace.Range, error) { return touched(k, false) }

// Writes gives the same of what statements write, one box for each that stores.
func Writes(k *schedule.Kernel) ([][]zspace.Range, error) { return touched(k, true) }

func touched(k *schedule.Kernel, write bool) ([][]zspace.Range, error) {
	out := make([][]zspace.Range, len(k.Operands))
	for _, u := range Of(k) {
		if u.Err != nil {
			return nil, u.Err
		}
		if u.Write == write && !u.Never {
			out[u.Operand] = append(out[u.Operand], u.Hull)
		}
	}
	return out, nil
}
