package nest

import (
	"slices"

	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/whole"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/zspace"
)

// Window says that the elements of the right operand that a column meets along the reduction do not stand evenly: a convolution's
// window over an image. Columns and reduction dimensions then merge as if that operand were not there, and it is copied in order before it is
// used, each loop of theirs followed by itself.
type Window struct {
	Guard  *scalar.Expr // of loops alone: where it is false, Fill stands for the element, which may not exist; nil is always true
	Fill   scalar.Value
	Buffer *schedule.Buffer
}

const (
	minWindowRows = 4    // fewer rows do not pay for the copy
	minJumpRows   = 32   // fewer rows do not pay for a copy lane by lane only so that columns join
	minTurnedRows = 4    // fewer rows do not pay for vectors of columns
	turnedColumns = 16   // of which no more than a fifth may be empty where windows can be copied vector by vector
	maxApart      = 2    // elements that lanes are apart which come in vectors
	maxWindow     = 1024 // values of the reduction's loops that a guard may use, together
)

// factor is one side of the products that a contraction sums: an operand, under a guard or not.
type factor struct {
	ref  int
	open *Window // nil without a guard
}

func factorOf(e *scalar.Expr) (factor, bool) {
	if e.Op == scalar.Load {
		return factor{ref: e.Ref}, true
	}
	if e.Op != scalar.Where || e.Args[1].Op != scalar.Load || e.Args[2].Op != scalar.Const || !ofLoops(e.Args[0]) {
		return factor{}, false
	}
	return factor{e.Args[1].Ref, &Window{Guard: e.Args[0], Fill: e.Args[2].Value}}, true
}

// FewFilters says whether an operation sums floats in a convolution with fewer than minWindowRows filters in a group. It is no contraction, whose
// columns would be its few filters or not, as the layouts around are: its lanes follow results, and its sum goes along the windows last.
func FewFilters(k *schedule.Kernel) bool {
	all, _ := whole.Of(k, nil)
	return slices.ContainsFunc(all.Statements, func(s schedule.Statement) bool {
		return s.Value.Any(func(e *scalar.Expr) bool {
			if e.Op != scalar.Reduce || e.Monoid != scalar.Add || !e.Type.IsFloat() || e.Args[0].Op != scalar.Mul {
				return false
			}
			a, okA := factorOf(e.Args[0].Args[0])
			b, okB := factorOf(e.Args[0].Args[1])
			return okA && okB && (fewOver(all, s.Over, e.Over, a.ref, b.ref) || fewOver(all, s.Over, e.Over, b.ref, a.ref))
		})
	})
}

// fewOver says whether windows of an image are summed along some loops, and few filters meet them.
func fewOver(all *schedule.Kernel, free []int64, over []int, image, filter int) bool {
	if !slices.ContainsFunc(over, func(l int) bool { return inWindow(all, l, free, image) && all.Operands[filter].Follows(l) }) {
		return false
	}
	filters := int64(1)
	for _, l := range free {
		if all.Operands[filter].Follows(int(l)) && !all.Operands[image].Follows(int(l)) {
			filters = SaturatingProduct(filters, all.Loops[l].Extent())
		}
	}
	return filters < minWindowRows
}

// ofLoops says whether a value comes from loops and constants alone.
func ofLoops(e *scalar.Expr) bool {
	return !e.Any(func(e *scalar.Expr) bool { return e.Op == scalar.Load || e.Op == scalar.Local || e.Op == scalar.Reduce })
}

// hasLoop says whether a value is computed from that of a loop.
func hasLoop(e *scalar.Expr, loop int) bool {
	return e.Any(func(e *scalar.Expr) bool { return e.Op == scalar.Loop && e.Ref == loop })
}

// factors finds what is multiplied, and the roles of the loops.
func (c *Contraction) factors(k *schedule.Kernel, buffers map[ir.NodeID]*schedule.Buffer, free []int64, left, right *scalar.Expr) bool {
	a, okA := factorOf(left)
	b, okB := factorOf(right)
	if c.like != nil {
		return okA && okB && c.factorsLike(k, buffers, free, a, b)
	}
	switch {
	case !okA || !okB || a.open != nil && b.open != nil:
		return false
	case a.open == nil && b.open == nil:
		if !c.roles(k, free, a.ref, b.ref) {
			return false
		}
		if c.copyImage(k, buffers, free) {
			return true
		}
		plain, slides := *c, slides(c, k)
		if slides && Inside(k, buffers, c.Right) && c.turn(k, buffers, free, c.Right, reached(k, buffers, c.Right), c.Left) {
			return true
		}
		c.Window = &Window{}
		if !c.roles(k, free, a.ref, b.ref) || !c.fits(k) || !slides && (c.Row.Extent < minJumpRows || c.Col.Extent <= plain.Col.Extent) {
			*c = plain
		}
		return true
	case a.open == nil:
		a, b = b, a
		left = right
	}
	if operand, live, ok := paddedOperand(k, buffers, left); ok && c.turn(k, buffers, free, operand, live, b.ref) {
		return true
	}
	c.Window = a.open
	if c.roles(k, free, a.ref, b.ref) && c.Right == a.ref {
		return c.fits(k)
	}
	c.Window = nil
	return c.pad(k, buffers, free, left, b.ref)
}

// factorsLike is factors for a shard of an operation.
func (c *Contraction) factorsLike(k *schedule.Kernel, buffers map[ir.NodeID]*schedule.Buffer, free []int64, a, b factor) bool {
	w := c.like
	switch {
	case w.Transposed:
		return c.turn(k, buffers, free, w.Left, w.Padded.Live, w.Right)
	case w.Window != nil:
		c.Window = w.Window
		return c.roles(k, free, a.ref, b.ref) && c.Right == w.Right && c.guardable(k)
	case w.Padded != nil && !copies(c, k, buffers, free, w.Left, w.Padded.Live, w.Right):
		return false
	}
	return c.roles(k, free, a.ref, b.ref) && c.Left == w.Left
}

// copies puts the view of a copy of an operand in the place of the operand's, if there can be one.
func copies(c *Contraction, k *schedule.Kernel, buffers map[ir.NodeID]*schedule.Buffer, free []int64, operand int, live zspace.Range, other int) bool {
	p, v, ok := copyOf(k, buffers, operand, live, free, c.Views[other])
	if ok {
		c.Padded, c.Views = p, slices.Clone(c.Views)
		c.Views[operand] = v
	}
	return ok
}

// copiable says whether an image may be copied: it is of floats, and only the sum reads it.
func copiable(c *Contraction, k *schedule.Kernel, image, filter int) bool {
	return image != filter && !c.Sum.Type.IsInt() && used(k, image, nil) == 1
}

// pad makes a copy with zeros around of the factor that is under a guard, if the rows follow it.
func (c *Contraction) pad(k *schedule.Kernel, buffers map[ir.NodeID]*schedule.Buffer, free []int64, factor *scalar.Expr, other int) bool {
	operand, live, ok := paddedOperand(k, buffers, factor)
	return ok && copiable(c, k, operand, other) && copies(c, k, buffers, free, operand, live, other) && c.roles(k, free, operand, other) && c.Left == operand
}

// copyImage makes a copy with channels innermost of the image that constant filters move over, where its own layout would make more dimensions of
// the reduction.
func (c *Contraction) copyImage(k *schedule.Kernel, buffers map[ir.NodeID]*schedule.Buffer, free []int64) bool {
	image, t := c.Left, *c
	if !Prepackable(buffers[k.Operands[c.Right].Buffer]) || !copiable(c, k, image, c.Right) || len(c.windows(k, free, image)) == 0 ||
		!copies(&t, k, buffers, free, image, reached(k, buffers, image), c.Right) {
		return false
	}
	loops := c.summed(k, free)
	if len(c.mergeBy(k, t.Views[image], loops)) >= len(c.mergeBy(k, c.Views[image], loops)) || !t.roles(k, free, image, c.Right) || t.Left != image {
		return false
	}
	*c = t
	return true
}

// turn makes such a copy of an image whose pixels are neighbours among the results, if many filters share it, constants or fewer than pixels: turning the image and the sums
// costs less than a copy of its windows, which goes lane by lane where pixels of the image are apart.
func (c *Contraction) turn(k *schedule.Kernel, buffers map[ir.NodeID]*schedule.Buffer, free []int64, image int, live zspace.Range, filter int) bool {
	t := *c
	store, ok := t.stored(k)
	if !ok || !copiable(c, k, image, filter) || !copies(&t, k, buffers, free, image, live, filter) {
		return false
	}
	t.Left, t.Right, t.Transposed = image, filter, true
	t.sortLoops(k, free, store)
	if t.Row.Step(store) != 1 || t.Col.Step(store) == 1 {
		return false
	}
	apart := abs(t.Row.Step(c.Views[image])) > maxApart
	windows := &Contraction{Views: c.Views, Sum: c.Sum, Left: filter, Right: image}
	if c.like == nil && !Prepackable(buffers[k.Operands[filter].Buffer]) &&
		(!apart || t.Uses() < t.Col.Extent || !slices.Equal(t.summed(k, free), windows.summed(k, free))) {
		return false // in each run more elements of filters would be packed than of windows, or sums would have another order than without this copy
	}
	if c.like == nil && (t.Row.Extent < minTurnedRows || !apart && (t.Col.Extent+turnedColumns-1)/turnedColumns*turnedColumns*4 > t.Col.Extent*5) {
		return false
	}
	*c = t
	return true
}

// used is how often the statements read an operand, aside from what one expression reads.
func used(k *schedule.Kernel, operand int, aside *scalar.Expr) int {
	n := 0
	for _, s := range k.Statements {
		s.Value.Walk(func(e *scalar.Expr) bool {
			if e.Op == scalar.Load && e.Ref == operand {
				n++
			}
			return e != aside
		})
	}
	return n
}

// ReadsBeside says whether a kernel reads an operand outside some of its expressions.
func ReadsBeside(k *schedule.Kernel, operand int, aside ...*scalar.Expr) bool {
	return slices.ContainsFunc(k.Statements, func(s schedule.Statement) bool {
		return s.Value.Any(func(e *scalar.Expr) bool { return e.Op == scalar.Load && e.Ref == operand }, aside...)
	})
}

// slides says whether some coordinate of the right operand follows two dimensions, as a window that slides over it does.
func slides(c *Contraction, k *schedule.Kernel) bool {
	dims := slices.Concat([]Dim{c.Col}, c.Batch, c.Reduction)
	return slices.ContainsFunc(k.Operands[c.Right].Access.Projection, func(row []int64) bool {
		n := 0
		for _, d := range dims {
			if slices.ContainsFunc(d.Loops, func(l int) bool { return row[l] != 0 }) {
				n++
			}
		}
		return n > 1
	})
}

// fits says whether the copy of a window's elements pays and can be made: only the sum reads the operand, and the guard's values
// along the reduction are few.
func (c *Contraction) fits(k *schedule.Kernel) bool {
	return c.Row.Extent >= minWindowRows && c.guardable(k) && !ReadsBeside(k, c.Right, c.Sum) && SaturatingProduct(c.GuardExtents(k)...) <= maxWindow
}

// guardable says whether the guard is the same for all rows, and for all places of the batch that share a copy.
func (c *Contraction) guardable(k *schedule.Kernel) bool {
	if c.Window.Guard == nil {
		return true
	}
	fixed := loopsOf(append(Followed(c.Batch, c.Views[c.Right], false), c.Row))
	return !slices.ContainsFunc(fixed, func(l int) bool { return hasLoop(c.Window.Guard, l) })
}

// GuardLoops gives the loops of the reduction that the guard uses, in the order of the reduction.
func (c *Contraction) GuardLoops() []int {
	if c.Window == nil || c.Window.Guard == nil {
		return nil
	}
	return slices.DeleteFunc(loopsOf(c.Reduction), func(l int) bool { return !hasLoop(c.Window.Guard, l) })
}

// GuardExtents gives the numbers of values of the loops of GuardLoops.
func (c *Contraction) GuardExtents(k *schedule.Kernel) []int64 {
	var out []int64
	for _, l := range c.GuardLoops() {
		out = append(out, k.Loops[l].Extent())
	}
	return out
}
