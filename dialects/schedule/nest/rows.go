package nest

import (
	"slices"

	"tensortapestry.org/tapc/dialects/schedule/whole"
	"tensortapestry.org/tapc/ir/affine"

	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/scalar"
)

// Rows is a kernel whose lanes of vectors follow one dimension: elementwise work, reductions and what goes on with them row by row.
type Rows struct {
	Outer     []Dim   // free dimensions, outermost first
	Lane      Dim     // that the lanes of vectors follow
	Free      bool    // Lane is free: each lane has results of its own; else lanes are reduced together
	Reduction []Dim   // the others that are reduced or stored along, outermost first
	Splits    []int64 // lanes at which parts of a row begin that read other operands, but the first
	Views     []View  // of all operands
}

// The time that lanes take which are read with steps of more than one element, in loads of a vector, and that of lanes which are written so.
const (
	gatherCost  = 6
	scatterCost = 8
)

// usualLanes is how many lanes the choice of a dimension counts on.
const usualLanes = 16

// FindRows recognises such a kernel, and chooses the dimension for the lanes with which it takes the fewest loads and stores.
// Every operand's elements exist wherever the loops stand, or loads stand in a choice that is the same for all lanes or between
// borders, or that changes at few lanes. Lanes of a shard follow what those of the whole operation do.
func FindRows(k *schedule.Kernel, buffers map[ir.NodeID]*schedule.Buffer) (*Rows, bool) {
	return asWhole(k, buffers, findRows)
}

// findRows is FindRows; like is what the whole operation is, if the kernel is a shard: then the lanes follow the same.
func findRows(k *schedule.Kernel, buffers map[ir.NodeID]*schedule.Buffer, like *Rows) (*Rows, bool) {
	if !flat(k) || k.Space().Empty() {
		return nil, false
	}
	r := &Rows{Views: Views(k, buffers)}
	few := FewFilters(k)
	free, fold := r.dims(k, few)
	if like != nil {
		free, fold = r.dimsLike(k, like, free, fold)
	}
	best, at, least := Dim{}, -1, 0.0
	loads := branches(k, len(fold) == 0)
	for i, d := range append(slices.Clone(free), fold...) {
		if like != nil && d.Inner() != like.Lane.Inner() {
			continue
		}
		if like == nil && d.Extent < 2 || i >= len(free) && (few || !foldsAll(k, d)) || !r.readable(k, buffers, d) {
			continue
		}
		if cost := r.cost(k, d, loads, fold, few); at < 0 || cost < least {
			best, at, least = d, i, cost
		}
	}
	if at < 0 {
		return nil, false
	}
	r.Lane, r.Free = best, at < len(free)
	if len(PlaceLoops(k)) > 0 && !r.inOrder(k) {
		return nil, false
	}
	if r.Free {
		free = slices.Delete(free, at, at+1)
	} else {
		fold = slices.Delete(fold, at-len(free), at-len(free)+1)
	}
	r.Outer, r.Reduction, r.Splits = free, fold, splits(k, best)
	return r, true
}

// Across gives the outer dimension along which elements of an operand are neighbours of which each lane has one in a line of a cache of its own, and how many of them a line has; -1 if there
// is none.
func (r *Rows) Across(k *schedule.Kernel, operand int) (axis int, line int64) {
	v := r.Views[operand]
	line = schedule.LineBytes / int64(k.Operands[operand].Type().Size())
	if s := r.Lane.Step(v); !r.Free || max(s, -s) < line {
		return -1, 0
	}
	return slices.IndexFunc(r.Outer, func(d Dim) bool { return d.Step(v) == 1 }), line
}

// Transposed gives the outer dimension along which most such operands of elementwise work have neighbours, and how many rows along it use all of a line while it is near; -1 if there are none.
func (r *Rows) Transposed(k *schedule.Kernel) (axis int, rows int64) {
	axis = -1
	if len(r.Reduction) > 0 || len(r.Splits) > 0 {
		return axis, 0
	}
	found, most := make([]int, len(r.Outer)), make([]int64, len(r.Outer))
	for i := range k.Operands {
		if a, line := r.Across(k, i); a >= 0 {
			found[a], most[a] = found[a]+1, max(most[a], line)
			if axis < 0 || found[a] > found[axis] {
				axis = a
			}
		}
	}
	if axis < 0 || r.Outer[axis].Extent < 2 {
		return -1, 0
	}
	return axis, min(most[axis], r.Outer[axis].Extent)
}

// inOrder says whether the lanes of every result are neighbours: what goes through memory in no order at all should not in two.
func (r *Rows) inOrder(k *schedule.Kernel) bool {
	for i, o := range k.Operands {
		if o.Mode == schedule.Write && r.Free && r.Lane.Step(r.Views[i]) != 1 {
			return false
		}
	}
	return true
}

// dims makes dimensions of the free loops and of the others. Loops of one value are in none. Where there are few filters, each of the others is
// one, and windows come last.
func (r *Rows) dims(k *schedule.Kernel, few bool) (free, fold []Dim) {
	isFree, places := k.Free(), PlaceLoops(k)
	var outer, rest []int64
	for l := range k.Loops {
		switch {
		case whole.Single(k.Loops[l]) || places[l]:
		case slices.Contains(isFree, l):
			outer = append(outer, int64(l))
		default:
			rest = append(rest, int64(l))
		}
	}
	c := &Contraction{Views: r.Views}
	free = c.merge(k, byStep(k, outer, r.leading(k, outer, schedule.Write)), true)
	loops := byStep(k, rest, r.leading(k, rest, schedule.Read))
	if few {
		rank := func(l int) int {
			if inWindow(k, l, outer) {
				l += len(k.Loops)
			}
			return l
		}
		slices.SortFunc(loops, func(a, b int) int { return rank(a) - rank(b) })
	}
	fold = c.merge(k, loops, true)
	if few || slices.ContainsFunc(fold, func(d Dim) bool { return !together(k, d) }) {
		fold = dimsOf(k, loops)
	}
	return free, fold
}

// dimsLike makes the dimensions of a shard those of the whole operation, as far as its buffers let it: less of a tensor may merge where all of it does not.
func (r *Rows) dimsLike(k *schedule.Kernel, like *Rows, free, rest []Dim) ([]Dim, []Dim) {
	c := &Contraction{Views: r.Views}
	all := slices.Clone(like.Reduction)
	if !like.Free {
		all = append(all, like.Lane)
	} else if !slices.ContainsFunc(free, func(d Dim) bool { return d.Inner() == like.Lane.Inner() }) {
		free = dimsOf(k, loopsOf(free))
	}
	for i, d := range all {
		dims := c.merge(k, d.Loops, true)
		if len(dims) != 1 {
			return free, rest
		}
		all[i] = dims[0]
	}
	return free, all
}

// leading gives the view of the operand of a mode that moves along most of some loops, to sort them by.
func (r *Rows) leading(k *schedule.Kernel, loops []int64, mode schedule.Mode) View {
	best, most := 0, -1
	for i, o := range k.Operands {
		n := 0
		for _, l := range loops {
			if r.Views[i].Steps[l] != 0 {
				n++
			}
		}
		if o.Mode == mode {
			n += len(loops) + 1
		}
		if n > most {
			best, most = i, n
		}
	}
	return r.Views[best]
}

// together says whether every reduction and every statement runs along all loops of a dimension or along none.
func together(k *schedule.Kernel, d Dim) bool {
	some := func(has func(l int) bool) bool {
		n := len(slices.DeleteFunc(slices.Clone(d.Loops), has))
		return n > 0 && n < len(d.Loops)
	}
	return !slices.ContainsFunc(k.Statements, func(s schedule.Statement) bool {
		return some(func(l int) bool { return slices.Contains(s.Over, int64(l)) }) || s.Value.Any(func(e *scalar.Expr) bool {
			return e.Op == scalar.Reduce && !e.IsAt() && some(func(l int) bool { return slices.Contains(e.Over, l) })
		})
	})
}

// foldsAll says whether every reduction, and every statement that does not only run along free loops, runs along a dimension.
func foldsAll(k *schedule.Kernel, d Dim) bool {
	free := k.Free()
	return !slices.ContainsFunc(k.Statements, func(s schedule.Statement) bool {
		return !alongOnly(k, s.Over, free) && !slices.Contains(s.Over, int64(d.Inner())) || s.Value.Any(func(e *scalar.Expr) bool {
			return e.Op == scalar.Reduce && !e.IsAt() && !slices.Contains(e.Over, d.Inner())
		})
	})
}

// cost is the time of a point in loads of a vector, for all lanes, live or not; branches is how often each operand is loaded. Where there are few filters, what moves along no dimension of the sum is
// read or written once for all of it.
func (r *Rows) cost(k *schedule.Kernel, d Dim, branches []int, fold []Dim, few bool) float64 {
	loads := 0.0
	for i, v := range r.Views {
		n := float64(branches[i] * r.Loads(k, i, d))
		if few && len(Followed(fold, v, true)) == 0 {
			n /= float64(Points(fold))
		}
		loads += n
	}
	return loads * float64((d.Extent+usualLanes-1)/usualLanes*usualLanes) / float64(d.Extent)
}

// Loads is the time in loads of a vector that an operand's elements take along a dimension.
func (r *Rows) Loads(k *schedule.Kernel, operand int, d Dim) int {
	switch s := d.Step(r.Views[operand]); {
	case s == 0 || s == 1:
		return 1
	case k.Operands[operand].Mode == schedule.Write:
		return scatterCost
	}
	return gatherCost
}

// branches counts for each operand the branches of choices by the index that read it, 1 at least. A sum's order must not depend on them.
func branches(k *schedule.Kernel, counted bool) []int {
	out := slices.Repeat([]int{1}, len(k.Operands))
	for _, s := range k.Statements {
		for i := range out {
			out[i] = max(out[i], branchesOf(s.Value, i, counted))
		}
	}
	return out
}

func branchesOf(e *scalar.Expr, operand int, counted bool) int {
	if e.Op == scalar.Load && e.Ref == operand {
		return 1
	}
	n := 0
	for _, a := range e.Args {
		if in := branchesOf(a, operand, counted); counted && e.Op == scalar.Where && ofLoops(e.Args[0]) {
			n += in
		} else {
			n = max(n, in)
		}
	}
	return n
}

// SumsLike says whether there are no sums, or lanes follow and sums run along the same loops as another's, so that both give the same bits.
func (r *Rows) SumsLike(o *Rows) bool {
	return r.Free && o.Free && len(r.Reduction)+len(o.Reduction) == 0 || r.Free == o.Free && slices.Equal(r.Lane.Loops, o.Lane.Loops) &&
		slices.EqualFunc(r.Reduction, o.Reduction, func(a, b Dim) bool { return slices.Equal(a.Loops, b.Loops) })
}

// PlaceLoops gives the loops of which only computed places are taken.
func PlaceLoops(k *schedule.Kernel) map[int]bool {
	out := map[int]bool{}
	for _, s := range k.Statements {
		s.Value.Walk(func(e *scalar.Expr) bool {
			if e.IsAt() {
				out[e.Over[0]] = true
			}
			return true
		})
	}
	return out
}

// placed says whether all that is taken at computed places are elements of operands, and the loops of these places do nothing else.
func placed(k *schedule.Kernel) bool {
	places := PlaceLoops(k)
	return len(places) == 0 || !slices.ContainsFunc(k.Statements, func(s schedule.Statement) bool {
		return slices.ContainsFunc(s.Over, func(l int64) bool { return places[int(l)] }) || s.Value.Any(func(e *scalar.Expr) bool {
			switch {
			case e.IsAt():
				return e.Type == scalar.Bool || !e.Args[0].IsAt() && e.Args[0].Op != scalar.Load
			case e.Op == scalar.Reduce:
				return slices.ContainsFunc(e.Over, func(l int) bool { return places[l] })
			}
			return e.Op == scalar.Loop && places[e.Ref]
		})
	})
}

// flat says whether no reduction is inside another, neither itself nor through the local value of a statement that runs along
// loops that are not free, and computed places are those of elements.
func flat(k *schedule.Kernel) bool {
	if !placed(k) {
		return false
	}
	free := k.Free()
	folds := make([]bool, len(k.Statements)) // the statement's value, written where it is used, reduces
	for i, s := range k.Statements {
		good := true
		inside := 0
		var visit func(e *scalar.Expr)
		visit = func(e *scalar.Expr) {
			if e.Op == scalar.Reduce && !e.IsAt() {
				good = good && inside == 0
				folds[i] = true
				inside++
				defer func() { inside-- }()
			}
			if e.Op == scalar.Local && inside > 0 && folds[e.Ref] && !alongOnly(k, k.Statements[e.Ref].Over, free) {
				good = false
			}
			for _, a := range e.Args {
				visit(a)
			}
		}
		visit(s.Value)
		if !good || folds[i] && !alongOnly(k, s.Over, free) {
			return false
		}
	}
	return true
}

// alongOnly says whether loops, those of one value aside, are all among others.
func alongOnly(k *schedule.Kernel, over []int64, among []int) bool {
	return !slices.ContainsFunc(over, func(l int64) bool { return k.Loops[l].Extent() != 1 && !slices.Contains(among, int(l)) })
}

// readable says whether vectors along a dimension read only elements that exist: every access of an operand that can leave its
// buffer stands in a choice that does not depend on the dimension, or is guarded.
func (r *Rows) readable(k *schedule.Kernel, buffers map[ir.NodeID]*schedule.Buffer, d Dim) bool {
	outside := make([]bool, len(k.Operands))
	for i, o := range k.Operands {
		h, ok := HullOf(k, buffers, i)
		if outside[i] = !ok || !h.Inside(); !ok || outside[i] && o.Mode == schedule.Write {
			return false
		}
	}
	split := len(splits(k, d)) > 0
	var good func(e *scalar.Expr, chosen, differ bool) bool // in a choice that is the same for all lanes, and in one in which they differ
	good = func(e *scalar.Expr, chosen, differ bool) bool {
		switch {
		case e.Op == scalar.Load:
			return chosen || !outside[e.Ref]
		case e.IsAt():
			return r.place(e.Args[1], d) && good(e.Args[0], chosen, differ)
		case e.Op == scalar.Where && e.Type != scalar.Bool && steady(e.Args[0], d):
			return good(e.Args[0], chosen, differ) && good(e.Args[1], !differ, differ) && good(e.Args[2], !differ, differ)
		case e.Type != scalar.Bool && affine.Guarded(e):
			return true
		case e.Op == scalar.Where && e.Type != scalar.Bool && split:
			if _, _, ok := Interval(k, d.Inner(), e.Args[0]); ok {
				return good(e.Args[1], !differ, differ) && good(e.Args[2], !differ, differ)
			}
		}
		if e.Op == scalar.Where { // lanes differ: both sides are computed for all, and it may be this choice that keeps loads inside
			chosen, differ = false, true
		}
		for _, a := range e.Args {
			if !good(a, chosen, differ) {
				return false
			}
		}
		return true
	}
	for _, s := range k.Statements {
		if !good(s.Value, false, false) {
			return false
		}
	}
	return true
}

// place says whether a computed place is the same all along a dimension.
func (r *Rows) place(e *scalar.Expr, d Dim) bool {
	return !e.Any(func(e *scalar.Expr) bool {
		switch e.Op {
		case scalar.Load:
			return slices.ContainsFunc(d.Loops, func(l int) bool { return r.Views[e.Ref].Steps[l] != 0 })
		case scalar.Loop:
			return slices.Contains(d.Loops, e.Ref)
		}
		return e.Op == scalar.Local || e.Op == scalar.Reduce
	})
}

// steady says whether a value is made of constants and of loops that are not a dimension's.
func steady(e *scalar.Expr, d Dim) bool {
	return ofLoops(e) && !slices.ContainsFunc(d.Loops, func(l int) bool { return hasLoop(e, l) })
}
