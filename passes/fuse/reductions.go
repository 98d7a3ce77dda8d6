package fuse

import (
	"slices"

	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/nest"
	"tensortapestry.org/tapc/dialects/tensorops/reduced"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/passes/fuse/access"
	"tensortapestry.org/tapc/passes/fuse/join"
)

const (
	fewestResults = 64        // of kernels that are united: fewer are split among threads along what they reduce, which one reduction alone is
	cachedBytes   = 128 << 10 // that one result reads at most, so that they are near when the next sweep reads them
)

// reducing gives the form of a kernel on a processor with threads that reduces rows of what it reads, from and to memory that no other has. Lanes follow
// the rows: a kernel that alone reduces columns goes through memory once, row by row, and one with several sweeps does not.
func (u *unions) reducing(k *schedule.Kernel) (*nest.Rows, bool) {
	if d, ok := body[*schedule.Device](u.f.g, k.Device); !ok || !d.Type.Has(schedule.Thread) || !access.Folds(k, access.AnyLoop) || !u.apart(k) {
		return nil, false
	}
	r, ok := nest.Of[*nest.Rows](u.first(k))
	return r, ok && !r.Free
}

// reductions makes one kernel of two that reduce the same elements along the same loops, each result of its own (horizontal fusion), if that takes
// fewer loads. Each sum keeps its order: lanes and loops are the same, and as many lanes are in a vector.
func (u *unions) reductions(k, c *schedule.Kernel) (*schedule.Kernel, bool) {
	a, okA := u.reducing(k)
	b, okB := u.reducing(c)
	if !okA || !okB || u.touch(k, c) || !sameWidth(k, c) {
		return nil, false
	}
	j := join.New(k, c)
	for i, o := range k.Operands {
		for _, in := range reading(c, o.Buffer) {
			if j.Loops() == nil && o.Mode == schedule.Read {
				j.Follow(i, in)
			}
		}
	}
	if !together(k, c, j.Loops()) {
		return nil, false
	}
	joined := j.Join()
	sumOnce(joined)
	both, ok := nest.Of[*nest.Rows](u.first(joined))
	if !ok || !both.SumsLike(b) || !both.SumsLike(mapped(a, j.Loops())) || !cached(both, joined) || !sameStreams(both, k, c, joined) {
		return nil, false
	}
	return joined, u.less([]*schedule.Kernel{joined}, []*schedule.Kernel{k, c}, 0)
}

// touch says whether one of two kernels stores what the other reads or stores.
func (u *unions) touch(k, c *schedule.Kernel) bool {
	return slices.ContainsFunc(k.Operands, func(o schedule.Operand) bool {
		return c.Writes(o.Buffer) || o.Mode == schedule.Write && len(reading(c, o.Buffer)) > 0
	})
}

// together says whether each loop of one kernel is one of the other, but for loops of one value.
func together(k, c *schedule.Kernel, loopOf []int) bool {
	used := map[int]bool{}
	for i, l := range loopOf {
		if l >= 0 {
			used[l] = true
		} else if k.Loops[i].Extent() != 1 {
			return false
		}
	}
	for i, l := range c.Loops {
		if !used[i] && l.Extent() != 1 {
			return false
		}
	}
	return loopOf != nil
}

// mapped is the form of a kernel in the loops of another.
func mapped(r *nest.Rows, loopOf []int) *nest.Rows {
	to := func(d nest.Dim) nest.Dim {
		out := nest.Dim{Extent: d.Extent}
		for _, l := range d.Loops {
			out.Loops = append(out.Loops, loopOf[l])
		}
		return out
	}
	out := *r
	out.Lane, out.Reduction = to(r.Lane), nil
	for _, d := range r.Reduction {
		out.Reduction = append(out.Reduction, to(d))
	}
	return &out
}

// sameWidth says whether vectors of two kernels have as many lanes, as far as a sum of floats is added in another order otherwise.
func sameWidth(k, c *schedule.Kernel) bool {
	a, orderedA := width(k)
	b, orderedB := width(c)
	return a == b || !orderedA && !orderedB
}

// width is the size of the widest type that a kernel computes with; ordered says that it has reductions whose order shows.
func width(k *schedule.Kernel) (size int, ordered bool) {
	for _, s := range k.Statements {
		s.Value.Walk(func(e *scalar.Expr) bool {
			if e.Type != scalar.Bool {
				size = max(size, e.Type.Size())
			}
			ordered = ordered || e.Op == scalar.Reduce && !e.IsAt() && reduced.Ordered(e.Monoid, e.Type)
			return true
		})
	}
	return size, ordered
}

// cached says whether there are results enough for threads, and what a result reads stays near from one sweep to the next.
func cached(r *nest.Rows, k *schedule.Kernel) bool {
	results, values := int64(1), int64(1)
	for _, d := range r.Outer {
		results *= d.Extent
	}
	for _, d := range r.Reduction {
		values *= d.Extent
	}
	size, _ := width(k)
	return results >= fewestResults && values*r.Lane.Extent*int64(size) <= cachedBytes
}

// sameStreams says whether two kernels read the same along what they reduce: what only one of them reads, such as a vector that all rows are multiplied
// with, may be what it has in common for neighbouring results.
func sameStreams(r *nest.Rows, k, c, joined *schedule.Kernel) bool {
	loops := slices.Clone(r.Lane.Loops)
	for _, d := range r.Reduction {
		loops = append(loops, d.Loops...)
	}
	for i, o := range joined.Operands {
		moves := slices.ContainsFunc(loops, func(l int) bool { return r.Views[i].Steps[l] != 0 })
		if o.Mode == schedule.Read && moves && (len(reading(k, o.Buffer)) == 0 || len(reading(c, o.Buffer)) == 0) {
			return false
		}
	}
	return true
}

// sumOnce lets statements use a reduction that another one is, as the mean that a variance needs is.
func sumOnce(k *schedule.Kernel) {
	var out []schedule.Statement
	number := make([]int, len(k.Statements))
	for i, s := range k.Statements {
		reduction := s.Value
		s.Value = s.Value.Map(func(e *scalar.Expr) *scalar.Expr {
			if e.Op == scalar.Local {
				return scalar.NewLocal(number[e.Ref], e.Type)
			}
			for j, earlier := range out {
				if e.Op == scalar.Reduce && earlier.Store < 0 && slices.Equal(earlier.Over, s.Over) && earlier.Value.Equal(e) {
					return scalar.NewLocal(j, e.Type)
				}
			}
			return e
		})
		if s.Store >= 0 && s.Value.Op == scalar.Reduce && needed(k.Statements[i+1:], reduction) {
			out = append(out, schedule.Statement{Name: access.FreshName(k, s.Name), Over: s.Over, Store: -1, Value: s.Value})
			s.Value = scalar.NewLocal(len(out)-1, s.Value.Type)
		}
		number[i] = len(out)
		out = append(out, s)
	}
	k.Statements = out
}

// needed says whether statements have a reduction.
func needed(list []schedule.Statement, reduction *scalar.Expr) bool {
	return slices.ContainsFunc(list, func(s schedule.Statement) bool {
		return s.Value.Any(func(e *scalar.Expr) bool { return e.Equal(reduction) })
	})
}
