package nest

import (
	"cmp"
	"slices"

	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/nest/computed"
	"tensortapestry.org/tapc/dialects/schedule/whole"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/scalar"
)

// Contraction is a kernel that sums products of two operands, and an epilogue that goes on with each sum by itself: a matrix product in its
// many shapes. Every statement runs along the same loops, the free ones.
//
// A free loop that only the left operand follows is a row (m); one that only the right operand follows is a column (n); the others
// are the batch. The results of consecutive columns of the last column dimension are neighbours in memory,
// or those of rows if accumulators are transposed.
type Contraction struct {
	Statement  int          // that holds the sum
	Sum        *scalar.Expr // the reduction itself
	Left       int          // operand that follows the rows
	Right      int          // operand that follows the columns
	Batch      []Dim        // outermost first
	Row, Col   Dim          // of extent 1 and without loops if there is none
	Reduction  []Dim        // what is summed over, outermost first
	Views      []View       // of all operands; of a left one with a padded copy, the view of the copy
	like       *Contraction // that of the whole operation, if this is a shard
	Transposed bool         // neighbours among the results are of neighbouring rows: accumulators are transposed before the epilogue
	Factors
}

// Factors is what is known of the factors of a contraction, besides their views.
type Factors struct {
	Padded   *Padded      // the left operand's copy with zeros around, or nil
	Computed *scalar.Expr // the right factor, if it is computed of the right operand and others; nil if it is that operand
	Window   *Window      // how the right operand is read if its elements do not stand evenly, as under a convolution; else nil
	Constant Constants
}

// Constants says which factors are constants: the left one, if it is read as it is, with nothing around it, and the right one, if no window moves over it and it is not computed, so that its
// elements may be put in the order of the reduction.
type Constants struct{ Left, Right bool }

// Dim is one or more loops that run as one, because every operand steps through them evenly: the outermost first.
type Dim struct {
	Loops  []int
	Extent int64
}

// Inner is the loop whose steps are the dimension's, and which holds its levels; -1 without loops.
func (d Dim) Inner() int {
	if len(d.Loops) == 0 {
		return -1
	}
	return d.Loops[len(d.Loops)-1]
}

// Step is how far a view moves from one value of the dimension to the next, in elements.
func (d Dim) Step(v View) int64 {
	if len(d.Loops) == 0 {
		return 0
	}
	return v.Steps[d.Inner()]
}

// FindContraction recognises a contraction. A shard is one of the form that the whole operation has.
func FindContraction(k *schedule.Kernel, buffers map[ir.NodeID]*schedule.Buffer) (*Contraction, bool) {
	return asWhole(k, buffers, findContraction)
}

// asWhole finds the form of a kernel: of a shard, like what is found of the whole operation.
func asWhole[F any](k *schedule.Kernel, buffers map[ir.NodeID]*schedule.Buffer, find func(k *schedule.Kernel, buffers map[ir.NodeID]*schedule.Buffer, like *F) (*F, bool)) (*F, bool) {
	all, cut := whole.Of(k, buffers)
	if !cut {
		return find(k, buffers, nil)
	}
	if like, ok := find(all, buffers, nil); ok {
		return find(k, buffers, like)
	}
	return nil, false
}

// sumLike makes the dimensions of the reduction those of the whole operation: how others merge can depend on what is cut.
func (c *Contraction) sumLike() {
	for _, d := range c.like.Reduction {
		if !slices.ContainsFunc(c.Reduction, func(x Dim) bool {
			return !slices.ContainsFunc(d.Loops, func(l int) bool { return !slices.Contains(x.Loops, l) })
		}) {
			return
		}
	}
	if slices.Equal(loopsOf(c.Reduction), loopsOf(c.like.Reduction)) {
		c.Reduction = c.like.Reduction
	}
}

// stepLike makes the steps of loops that have one value here, and more in the whole operation, those that they have there. No address follows from them, and what
// is a row and what a column must not either: in a buffer of one cell, all steps are the same.
func (c *Contraction) stepLike(k *schedule.Kernel) {
	for i, v := range c.Views {
		for l, loop := range k.Loops {
			if step := cmp.Or(c.like, c).Views[i].Steps[l]; loop.Extent() == 1 && len(loop.Of) == 2 {
				c.Views[i].Base += (v.Steps[l] - step) * loop.Start
				v.Steps[l] = step
			}
		}
	}
}

func findContraction(k *schedule.Kernel, buffers map[ir.NodeID]*schedule.Buffer, like *Contraction) (*Contraction, bool) {
	c := &Contraction{like: like}
	left, right, ok := c.operands(k)
	if !ok || FewFilters(k) {
		return nil, false
	}
	c.Views = Views(k, buffers)
	c.stepLike(k)
	free, plain := k.Statements[c.Statement].Over, *c
	if !c.factors(k, buffers, free, left, right) {
		if *c = plain; !findComputed(c, k, free) {
			return nil, false
		}
	}
	c.findConstants(k, buffers)
	c.foldWindows(k, buffers)
	if like != nil {
		c.sumLike()
	}
	return c, true
}

// findComputed finds a contraction whose right factor is computed.
func findComputed(c *Contraction, k *schedule.Kernel, free []int64) bool {
	steps := func(operand, loop int) int64 {
		if whole.Single(k.Loops[loop]) {
			return 0
		}
		return c.Views[operand].Steps[loop]
	}
	factor, left, right := computed.Of(k, c.Sum, steps)
	if factor == nil || !c.roles(k, free, left, right) || c.Right != right {
		return false
	}
	c.Computed = factor
	c.mergeReduction(k)
	all := cmp.Or(c.like, c)
	return len(c.Reduction) == 1 && all.Row.Extent >= computed.LeastRows && all.Computed != nil && all.Right == right && computed.Follows(k, factor, c.Sum, right, steps)
}

// operands finds the products that are summed, and gives what is multiplied.
func (c *Contraction) operands(k *schedule.Kernel) (left, right *scalar.Expr, ok bool) {
	if !findProducts(c, k, nil) || !summable(c.Sum.Type) {
		return nil, nil, false
	}
	return c.Sum.Args[0].Args[0], c.Sum.Args[0].Args[1], true
}

// findProducts looks for the one reduction of a kernel, a sum of products, aside from what one expression holds, and says whether every loop is one of
// results or of the sum.
func findProducts(c *Contraction, k *schedule.Kernel, aside *scalar.Expr) bool {
	wide := len(k.Loops)
	for _, l := range k.Loops {
		if l.Extent() == 1 {
			wide--
		}
	}
	return !k.Space().Empty() && c.findSum(k, aside) && c.sameLoops(k) && c.Sum.Args[0].Op == scalar.Mul &&
		len(k.Statements[c.Statement].Over)+len(c.Sum.Over) >= wide
}

// findConstants finds which factors are constants. Where the right one is, the reduction has the dimensions that the left one has.
func (c *Contraction) findConstants(k *schedule.Kernel, buffers map[ir.NodeID]*schedule.Buffer) {
	c.Constant.Left = Prepackable(buffers[k.Operands[c.Left].Buffer]) && c.Padded == nil
	c.Constant.Right = Prepackable(buffers[k.Operands[c.Right].Buffer]) && c.Window == nil && c.Computed == nil
	if w := c.Window; w != nil {
		c.Window = &Window{w.Guard, w.Fill, buffers[k.Operands[c.Right].Buffer]}
	}
	if c.Constant.Right {
		c.mergeReduction(k)
	}
}

// ManyUses is how often each element of an operand must be used for work on each of them, as rounding it or holding lines in blocks for it, to pay.
const ManyUses = 24

// LongReduction is how many values of a reduction run at once at most: some hundred rows of the left operand must stay in the second cache.
const LongReduction = 768

// Uses is how often each element of the right operand is used.
func (c *Contraction) Uses() int64 {
	return c.Row.Extent * Points(Followed(c.Batch, c.Views[c.Right], false))
}

// findSum looks for the one reduction of a kernel, a sum, aside from what one expression holds.
func (c *Contraction) findSum(k *schedule.Kernel, aside *scalar.Expr) bool {
	for i, s := range k.Statements {
		for _, e := range outerReductions(s.Value, aside) {
			if e.Monoid != scalar.Add || c.Sum != nil && c.Sum != e {
				return false
			}
			c.Statement, c.Sum = i, e
		}
	}
	return c.Sum != nil
}

// sameLoops says whether all statements that hold the sum or are stored run along the same loops, loops of one value aside,
// and the others along some of these: they can be computed wherever they are needed.
func (c *Contraction) sameLoops(k *schedule.Kernel) bool {
	wide := func(over []int64) []int64 {
		return slices.DeleteFunc(slices.Clone(over), func(l int64) bool { return k.Loops[l].Extent() == 1 })
	}
	all := wide(k.Statements[c.Statement].Over)
	for _, s := range k.Statements {
		some := wide(s.Over)
		if s.Store >= 0 && !slices.Equal(some, all) || slices.ContainsFunc(some, func(l int64) bool { return !slices.Contains(all, l) }) {
			return false
		}
	}
	return true
}

// summable are the types that contractions are written for.
func summable(d scalar.DType) bool {
	return slices.Contains([]scalar.DType{scalar.Float32, scalar.Float64, scalar.Int32, scalar.Int64, scalar.UInt32, scalar.UInt64}, d)
}

// roles sorts the loops into rows, columns, batch and reduction.
func (c *Contraction) roles(k *schedule.Kernel, free []int64, a, b int) bool {
	store, ok := c.stored(k)
	if !ok {
		return false
	}
	col := c.column(k, free, store, a, b)
	if col < 0 {
		return false
	}
	c.Left, c.Right = a, b
	if c.Views[b].Steps[col] == 0 {
		c.Left, c.Right = b, a
	}
	c.sortLoops(k, free, store)
	return c.Col.Inner() == col
}

// stored is how results lie, by which rows and columns are told apart: as those of the whole operation do.
func (c *Contraction) stored(k *schedule.Kernel) (v View, ok bool) {
	out := slices.IndexFunc(k.Statements, func(s schedule.Statement) bool { return s.Store >= 0 })
	if out < 0 {
		return v, false
	}
	return cmp.Or(c.like, c).Views[k.Statements[out].Store], true
}

// sortLoops sorts the free loops into rows, columns and batch, by which operand follows them, and those that are summed over into the reduction.
func (c *Contraction) sortLoops(k *schedule.Kernel, free []int64, store View) {
	var rows, cols, batch, fold []int
	for _, l := range byStep(k, free, store) {
		left, right := c.Views[c.Left].Steps[l] != 0, c.Views[c.Right].Steps[l] != 0
		switch {
		case whole.Single(k.Loops[l]):
		case left && !right:
			rows = append(rows, l)
		case right && !left:
			cols = append(cols, l)
		default:
			batch = append(batch, l)
		}
	}
	fold = slices.DeleteFunc(c.summed(k, free), func(l int) bool { return k.Loops[l].Extent() == 1 })
	c.Batch = c.merge(k, batch, true)
	c.Reduction = c.merge(k, fold, c.Window == nil)
	c.Row, c.Batch = last(c.merge(k, rows, true), c.Batch)
	dims := c.merge(k, cols, c.Window == nil)
	if c.Window != nil && len(dims) > 1 { // those that join the batch must be even after all
		dims = append(c.merge(k, cols[:len(cols)-len(dims[len(dims)-1].Loops)], true), dims[len(dims)-1])
	}
	c.Col, c.Batch = last(dims, c.Batch)
}

// summed gives the loops of the reduction in the order of the sum: windows first, then as the left operand's memory has them. So the sum of a
// convolution is the same whether its image has channels outermost or innermost.
func (c *Contraction) summed(k *schedule.Kernel, free []int64) []int {
	var windows, others []int64
	own := followedByOne(free, c.Views[c.Left], c.Views[c.Right])
	for _, l := range c.Sum.Over {
		if inWindow(k, l, own, c.Left, c.Right) {
			windows = append(windows, int64(l))
		} else {
			others = append(others, int64(l))
		}
	}
	left := c.Views[c.Left]
	return append(byStep(k, windows, left), byStep(k, others, left)...)
}

// windows gives the loops of the reduction that are a window of an operand, outermost first.
func (c *Contraction) windows(k *schedule.Kernel, free []int64, operand int) []int {
	own := followedByOne(free, c.Views[c.Left], c.Views[c.Right])
	return slices.DeleteFunc(slices.Clone(c.Sum.Over), func(l int) bool { return !inWindow(k, l, own, operand) })
}

// followedByOne gives the free loops that one of two factors follows: along those that both do, as along groups, no window moves, even where they walk along a dimension that is summed, as the
// channels of a group are.
func followedByOne(free []int64, x, y View) []int64 {
	return slices.DeleteFunc(slices.Clone(free), func(l int64) bool { return x.Steps[l] != 0 && y.Steps[l] != 0 })
}

// foldWindows makes the reduction of a convolution the same for any layouts of its operands. Where its filters are constants, and so are put
// in any order, its dimensions are those of an image with channels innermost; else each loop is one.
func (c *Contraction) foldWindows(k *schedule.Kernel, buffers map[ir.NodeID]*schedule.Buffer) {
	free := k.Statements[c.Statement].Over
	image, filter := c.Left, c.Right
	if len(c.windows(k, free, image)) == 0 {
		image, filter = filter, image
	}
	if c.Constant.Right || c.Sum.Type.IsInt() || len(c.windows(k, free, image)) == 0 {
		return
	}
	loops := loopsOf(c.Reduction)
	if _, v, ok := copyOf(k, buffers, image, reached(k, buffers, image), free, c.Views[filter]); ok && c.Constant.Left && c.Window != nil {
		c.Reduction = c.mergeBy(k, v, loops)
		return
	}
	c.Reduction = dimsOf(k, loops)
}

// mergeBy makes one dimension of reduction loops that follow each other evenly in a view.
func (c *Contraction) mergeBy(k *schedule.Kernel, v View, loops []int) []Dim {
	one := &Contraction{Views: []View{v}, Sum: c.Sum, Right: -1}
	return one.merge(k, loops, false)
}

// inWindow says whether a loop and a free one walk along the same dimension of one of some operands, of any if none are given, as those of a
// convolution's window do.
func inWindow(k *schedule.Kernel, loop int, free []int64, operands ...int) bool {
	for i, o := range k.Operands {
		if (len(operands) == 0 || slices.Contains(operands, i)) && slices.ContainsFunc(o.Access.Projection, func(dim []int64) bool {
			return dim[loop] != 0 && slices.ContainsFunc(free, func(f int64) bool { return dim[f] != 0 && !whole.Single(k.Loops[f]) })
		}) {
			return true
		}
	}
	return false
}

// mergeReduction makes one dimension of reduction loops that follow each other evenly in the left operand, where the right one's
// elements are put in the reduction's order when the program is built.
func (c *Contraction) mergeReduction(k *schedule.Kernel) {
	c.Reduction = c.mergeBy(k, c.Views[c.Left], loopsOf(c.Reduction))
}

// loopsOf gives the loops of some dimensions.
func loopsOf(dims []Dim) (loops []int) {
	for _, d := range dims {
		loops = append(loops, d.Loops...)
	}
	return loops
}

// dimsOf makes a dimension of each of some loops.
func dimsOf(k *schedule.Kernel, loops []int) (dims []Dim) {
	for _, l := range loops {
		dims = append(dims, Dim{[]int{l}, k.Loops[l].Extent()})
	}
	return dims
}

// last splits the innermost dimension off; the others join the batch.
func last(dims, batch []Dim) (Dim, []Dim) {
	if len(dims) == 0 {
		return Dim{Extent: 1}, batch
	}
	return dims[len(dims)-1], append(batch, dims[:len(dims)-1]...)
}

// column gives the free loop along which results are neighbours and one operand stands still, or -1.
func (c *Contraction) column(k *schedule.Kernel, free []int64, store View, a, b int) int {
	for _, l := range free {
		if !whole.Single(k.Loops[l]) && store.Steps[l] == 1 {
			if (c.Views[a].Steps[l] == 0) == (c.Views[b].Steps[l] == 0) {
				return -1
			}
			return int(l)
		}
	}
	return -1
}

// byStep sorts loops so that those along which a view takes long steps come first.
func byStep(k *schedule.Kernel, loops []int64, v View) []int {
	out := make([]int, len(loops))
	for i, l := range loops {
		out[i] = int(l)
	}
	slices.SortStableFunc(out, func(a, b int) int { return cmp.Compare(abs(v.Steps[b]), abs(v.Steps[a])) })
	return out
}

func abs(x int64) int64 { return max(x, -x) }

// merge makes one dimension of loops that follow each other evenly in every view and whose values nothing computes with; if not
// whole, the right operand aside, whose place in its window is found loop by loop.
func (c *Contraction) merge(k *schedule.Kernel, loops []int, whole bool) []Dim {
	var out []Dim
	for _, d := range dimsOf(k, loops) {
		if n := len(out); n > 0 && c.even(k, out[n-1].Inner(), d.Inner(), whole) {
			out[n-1] = Dim{append(out[n-1].Loops, d.Loops...), out[n-1].Extent * d.Extent}
			continue
		}
		out = append(out, d)
	}
	return out
}

func (c *Contraction) even(k *schedule.Kernel, outer, inner int, whole bool) bool {
	aside := []*scalar.Expr{c.Sum, SeldomOf(k).side()}
	if whole && c.Padded == nil {
		aside = nil
	}
	if usesLoop(k, outer, aside...) || usesLoop(k, inner, aside...) {
		return false
	}
	for i, v := range c.Views {
		if (whole || i != c.Right) && v.Steps[outer] != v.Steps[inner]*k.Loops[inner].Extent() {
			return false
		}
	}
	return true
}

// usesLoop says whether some value is computed from the value of a loop, some expressions aside.
func usesLoop(k *schedule.Kernel, loop int, aside ...*scalar.Expr) bool {
	return slices.ContainsFunc(k.Statements, func(s schedule.Statement) bool {
		return s.Value.Any(func(e *scalar.Expr) bool { return e.Op == scalar.Loop && e.Ref == loop }, aside...)
	})
}

// InnerReduction is the extent of the innermost dimension of the reduction.
func (c *Contraction) InnerReduction() int64 {
	if n := len(c.Reduction); n > 0 {
		return c.Reduction[n-1].Extent
	}
	return 1
}
