package codegen

import (
	"fmt"
	"maps"
	"slices"

	"tensortapestry.org/tapc/backends/codegen/builder"
	"tensortapestry.org/tapc/backends/tree"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/nest"
	"tensortapestry.org/tapc/ir/scalar"
)

// points makes a kernel of any kind, statement by statement: at one point of its free loops, or for a tile of points, of which each step of a
// statement is made one after the other, so that a compiler makes vectors of them. Each loop of the kernel is a dimension.
type points struct {
	*builder.Builder
	free  []int
	lanes []lane
	one   bool // of the lanes is here: the loops over them are around
}

// lane is a free loop of which several values are computed together: so many from a first one on.
type lane struct {
	loop         int
	tile         int64
	first, index *tree.Index // index counts from the first
	count        int64
}

const (
	pointsBlock    = 32       // values that a float sum adds before it starts a new partial sum
	maxPointsArray = 16 << 10 // bytes of a local value that is kept for each point of the loops that are not free
)

// newPoints makes the points of a kernel of which some loops are free, and the operands of its tree.
func newPoints(f *tree.Func, a *nest.Analysis, free []int) *points {
	x := &points{Builder: builder.New(new(tree.Names), a.Kernel, nest.Views(a.Kernel, a.Buffers), make([]nest.Dim, len(a.Kernel.Loops))), free: free}
	for l, loop := range a.Kernel.Loops {
		x.Dims[l] = nest.Dim{Loops: []int{l}, Extent: loop.Extent()}
	}
	f.Operands = x.Operands()
	x.outside()
	return x
}

// outside leaves all loops. Those of one value have it everywhere.
func (x *points) outside() {
	for l, d := range x.Dims {
		if x.At[l] = nil; d.Extent == 1 {
			x.At[l] = tree.Const(0)
		}
	}
}

// statements makes the kernel's statements. What is not stored is kept in registers; what has a value for each point of other loops is computed
// again where it is used, or kept for all of them if it is costly and they are few.
func (x *points) statements() []tree.Stmt {
	var out []tree.Stmt
	for i, s := range x.K.Statements {
		var over []int
		for _, l := range s.Over {
			if !slices.Contains(x.free, int(l)) {
				over = append(over, int(l))
			}
		}
		to := func() tree.Access { return x.Load(int(s.Store)) }
		if s.Store < 0 {
			if len(over) > 0 && !x.keeps(s.Value, over) {
				x.Locals[i] = builder.Local{Value: s.Value}
				continue
			}
			to = x.register(&out, fmt.Sprintf("v%d_", i), s.Value.Type, false, over...)
			x.Locals[i] = builder.Local{Kept: to}
		}
		out = append(out, x.along(over, func() []tree.Stmt { return x.assign(to, s) })...)
	}
	return out
}

// assign makes the value of a statement in all lanes, behind what has to be computed before.
func (x *points) assign(to builder.Access, s schedule.Statement) []tree.Stmt {
	var out []tree.Stmt
	x.reduce(&out, s.Value)
	return append(out, x.each(func() []tree.Stmt { return []tree.Stmt{x.Statement(to(), s)} })...)
}

// keeps says whether a value is more than a few operations, and there is room for all its values.
func (x *points) keeps(e *scalar.Expr, over []int) bool {
	bytes := nest.SaturatingProduct(int64(e.Type.Wide().Size()), pointsOf(x, over))
	for _, n := range x.lanes {
		bytes *= n.tile
	}
	return bytes <= maxPointsArray && costly(e)
}

// pointsOf is how many points some loops have, saturating; loops of no values count as one.
func pointsOf(x *points, loops []int) int64 {
	n := int64(1)
	for _, l := range loops {
		n = nest.SaturatingProduct(n, x.Dims[l].Extent)
	}
	return n
}

// costly says whether a value is more than a few operations.
func costly(e *scalar.Expr) bool {
	return e.Any(func(e *scalar.Expr) bool { return e.Op == scalar.Reduce || e.Op.Class() >= scalar.Root })
}

// inside makes what is in a block of its own: what is computed there is not known behind it.
func inside(x *points, body func() []tree.Stmt) []tree.Stmt {
	sums := maps.Clone(x.Sums)
	defer func() { x.Sums = sums }()
	return body()
}

// along makes serial loops around something.
func (x *points) along(over []int, body func() []tree.Stmt) []tree.Stmt {
	if len(over) == 0 {
		return body()
	}
	return x.serial(over[0], tree.Const(0), tree.Const(x.Dims[over[0]].Extent), func() []tree.Stmt { return x.along(over[1:], body) })
}

// serial makes a loop from one index to another around something. What is computed in it is not known behind it.
func (x *points) serial(loop int, from, to *tree.Index, body func() []tree.Stmt) []tree.Stmt {
	switch x.Dims[loop].Extent {
	case 0:
		return nil
	case 1:
		return inside(x, body)
	}
	at := x.At[loop]
	defer func() { x.At[loop] = at }()
	v := x.Variable("k")
	x.At[loop] = tree.Use(v)
	return []tree.Stmt{&tree.For{Var: v, From: from, To: to, Step: 1, Body: inside(x, body)}}
}

// each makes the loops over the lanes around something, unless it is inside of them.
func (x *points) each(body func() []tree.Stmt) []tree.Stmt {
	if x.one {
		return body()
	}
	return x.eachFrom(0, body)
}

func (x *points) eachFrom(n int, body func() []tree.Stmt) []tree.Stmt {
	if n == len(x.lanes) {
		return body()
	}
	at := &x.lanes[n]
	if at.tile == 1 {
		at.index, x.At[at.loop] = tree.Const(0), at.first
		return x.eachFrom(n+1, body)
	}
	u := x.Variable("u")
	at.index, x.At[at.loop] = tree.Use(u), at.first.Add(tree.Use(u))
	return []tree.Stmt{&tree.For{Var: u, From: tree.Const(0), To: tree.Const(at.count), Step: 1, Body: x.eachFrom(n+1, body)}}
}

// apart is each for what declares registers: each lane has its own.
func (x *points) apart(body func() []tree.Stmt) []tree.Stmt {
	return x.each(func() []tree.Stmt {
		one := x.one
		defer func() { x.one = one }()
		x.one = true
		return inside(x, body)
	})
}

// register declares a number for each lane, or the one that is here, and each point of other loops.
func (x *points) register(list *[]tree.Stmt, prefix string, t scalar.DType, acc bool, over ...int) builder.Access {
	lanes := x.lanes
	if x.one {
		lanes = nil
	}
	var shape []int64
	for _, l := range over {
		shape = append(shape, x.Dims[l].Extent)
	}
	for _, n := range lanes {
		shape = append(shape, n.tile)
	}
	m := tree.NewMemory(x.Fresh(prefix), t, tree.Registers, 0, shape...)
	m.Acc = acc
	*list = append(*list, &tree.Declare{Memory: m})
	return func() tree.Access {
		a := tree.Access{Memory: m}
		for _, l := range over {
			a.At = append(a.At, x.At[l])
		}
		for i := range lanes {
			a.At = append(a.At, x.lanes[i].index)
		}
		return a
	}
}

// reduces says whether something has to be computed before the value of an expression is.
func (x *points) reduces(e *scalar.Expr) bool {
	return e.Any(func(e *scalar.Expr) bool {
		return e.Op == scalar.Reduce || e.Op == scalar.Local && x.Locals[e.Ref].Kept == nil && x.reduces(x.Locals[e.Ref].Value)
	})
}

// reduce makes what has to be computed before the value of an expression is: reductions, innermost first, and what stands at computed indices.
func (x *points) reduce(list *[]tree.Stmt, e *scalar.Expr) {
	_, known := x.Sums[e]
	switch {
	case known:
	case e.Op == scalar.Local && x.Locals[e.Ref].Kept == nil:
		x.reduce(list, x.Locals[e.Ref].Value)
	case e.IsAt():
		x.reduce(list, e.Args[1])
		x.computedAt(list, e)
	case e.Op == scalar.Reduce:
		to := x.partial(list, e)
		*list = append(*list, x.reduceAlong(e, to, e.Over)...)
		x.Sums[e] = x.rounded(list, e, to)
	case e.Op == scalar.Where && (x.reduces(e.Args[1]) || x.reduces(e.Args[2])):
		x.reduce(list, e.Args[0])
		x.branch(list, e)
	default:
		for _, a := range e.Args {
			x.reduce(list, a)
		}
	}
}

// value makes what has to be computed for a value, and stores that.
func (x *points) value(to builder.Access, e *scalar.Expr) []tree.Stmt {
	var out []tree.Stmt
	x.reduce(&out, e)
	return append(out, x.Map(to(), e, tree.NoMonoid))
}

// computedAt makes the value at a computed index: zero if it is none of the loop's.
func (x *points) computedAt(list *[]tree.Stmt, e *scalar.Expr) {
	to, l := x.register(list, "at", e.Type, false), e.Over[0]
	*list = append(*list, x.apart(func() []tree.Stmt {
		out := []tree.Stmt{builder.Constant(to(), scalar.Zero(e.Type))}
		if x.Dims[l].Extent > 0 {
			out = append(out, x.place(l, x.Builder.Computed(e.Args[1]), func() []tree.Stmt { return x.value(to, e.Args[0]) }))
		}
		return out
	})...)
	x.Sums[e] = to
}

// place makes something where a loop is at a computed index, if that is one of its values.
func (x *points) place(loop int, index tree.Computed, body func() []tree.Stmt) tree.Stmt {
	l, v, before := x.K.Loops[loop], x.Variable("index"), x.At[loop]
	defer func() { x.At[loop] = before }()
	x.At[loop] = tree.Use(v).Plus(-l.Start)
	return &tree.At{Var: v, Computed: index, From: l.Start, To: l.End, Body: inside(x, body)}
}

// branch makes a choice of which a side reduces: only the side that is chosen is computed.
func (x *points) branch(list *[]tree.Stmt, e *scalar.Expr) {
	to := x.register(list, "chosen", e.Type, false)
	*list = append(*list, x.apart(func() []tree.Stmt {
		return []tree.Stmt{&tree.Branch{Computed: x.Builder.Computed(e.Args[0]), Then: inside(x, func() []tree.Stmt { return x.value(to, e.Args[1]) }),
			Else: inside(x, func() []tree.Stmt { return x.value(to, e.Args[2]) })}}
	})...)
	x.Sums[e] = to
}

// partial declares an accumulator of nothing so far.
func (x *points) partial(list *[]tree.Stmt, e *scalar.Expr) builder.Access {
	to := x.register(list, "sum", e.Type, true)
	*list = append(*list, x.each(func() []tree.Stmt { return []tree.Stmt{builder.Constant(to(), scalar.Identity(e.Monoid, e.Type))} })...)
	return to
}

// rounded is an accumulator's value in the type of its reduction, where that is another.
func (x *points) rounded(list *[]tree.Stmt, e *scalar.Expr, sum builder.Access) builder.Access {
	if e.Type.Wide() == e.Type {
		return sum
	}
	to := x.register(list, "rounded", e.Type, false)
	*list = append(*list, x.each(func() []tree.Stmt { return []tree.Stmt{builder.Stored(to(), sum(), tree.NoMonoid)} })...)
	return to
}

// reduceAlong reduces along some loops. Float sums are taken in blocks, and blocks of blocks, so that their error grows with the logarithm of the
// number of values (N. Higham, "The Accuracy of Floating Point Summation", 1993).
func (x *points) reduceAlong(e *scalar.Expr, to builder.Access, over []int) []tree.Stmt {
	if len(over) == 0 {
		var out []tree.Stmt
		x.reduce(&out, e.Args[0])
		return append(out, x.each(func() []tree.Stmt { return []tree.Stmt{x.Map(to(), e.Args[0], e.Monoid)} })...)
	}
	extent, size := x.Dims[over[0]].Extent, int64(1)
	if blocked(e) && extent > pointsBlock {
		for size = pointsBlock; size*pointsBlock < extent; {
			size *= pointsBlock
		}
	}
	return x.reduceBlocks(e, to, over, size, tree.Const(0), tree.Const(extent))
}

func blocked(e *scalar.Expr) bool { return e.Monoid == scalar.Add && e.Type.IsFloat() }

// reduceBlocks reduces along a loop from one index to another in blocks of a size, each with a partial sum of its own, down to single values, and along
// the other loops at each of these.
func (x *points) reduceBlocks(e *scalar.Expr, to builder.Access, over []int, size int64, from, end *tree.Index) []tree.Stmt {
	if size == 1 {
		return x.serial(over[0], from, end, func() []tree.Stmt {
			if !blocked(e) || pointsOf(x, over[1:]) <= pointsBlock {
				return x.reduceAlong(e, to, over[1:])
			}
			return x.inPart(e, to, func(part builder.Access) []tree.Stmt { return x.reduceAlong(e, part, over[1:]) })
		})
	}
	first := x.Variable("block")
	return []tree.Stmt{&tree.For{Var: first, From: from, To: end, Step: size, Body: x.inPart(e, to, func(part builder.Access) []tree.Stmt {
		return x.reduceBlocks(e, part, over, size/pointsBlock, tree.Use(first), tree.Use(first).Plus(size).Min(end))
	})}}
}

// inPart reduces to a partial sum, and adds that.
func (x *points) inPart(e *scalar.Expr, to builder.Access, reduce func(part builder.Access) []tree.Stmt) []tree.Stmt {
	var out []tree.Stmt
	part := x.partial(&out, e)
	out = append(out, reduce(part)...)
	return append(out, x.each(func() []tree.Stmt { return []tree.Stmt{builder.Stored(to(), part(), scalar.Add)} })...)
}
