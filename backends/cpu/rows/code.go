package rows

import (
	"maps"
	"slices"

	"tensortapestry.org/tapc/backends/codegen/builder"
	"tensortapestry.org/tapc/backends/tree"
	"tensortapestry.org/tapc/dialects/schedule/nest"
	"tensortapestry.org/tapc/ir/affine"
	"tensortapestry.org/tapc/ir/scalar"
)

// code makes the statements of a tree, one after the other, at a point of the kernel's dimensions.
type code struct {
	*builder.Builder
	r     *Kernel
	list  *[]tree.Stmt // that statements are added to
	jam   *jam         // cells that are carried out in the same loops, or nil
	group *tree.Index  // the first lane of vectors that are
	known known
	keeps map[int]builder.Access // of the values of a row
	sweep int                    // so many along a row are made
}

// known is what is known of the point: which guards hold in every case.
type known struct {
	lanes         bool      // those that lanes follow
	along, across bool      // of spans, those that follow their axis, and those that do not
	part          *[2]int64 // of the lanes that the code is for, or nil
}

// newCode begins statements of a kernel, with names that these have.
func newCode(r *Kernel, n *tree.Names, list *[]tree.Stmt) *code {
	dims := append(append(slices.Clone(r.Outer), r.Reduction...), r.Lane)
	for l := range r.k.Loops {
		if r.gathered[l] {
			dims = append(dims, loopOf(r, l))
		}
	}
	c := &code{Builder: builder.New(n, r.k, r.Views, dims), r: r, list: list, keeps: map[int]builder.Access{}}
	if j := r.decided.jam; j != nil && !j.tiled {
		c.jam = j
	}
	return c
}

// loopOf is the dimension of one loop.
func loopOf(r *Kernel, l int) nest.Dim {
	return nest.Dim{Loops: []int{l}, Extent: r.k.Loops[l].Extent()}
}

// at is the index along a dimension.
func (c *code) at(d nest.Dim) *tree.Index { return c.At[c.number(d)] }

// move goes to an index along a dimension.
func (c *code) move(d nest.Dim, at *tree.Index) { c.At[c.number(d)] = at }

func (c *code) number(d nest.Dim) int {
	return slices.IndexFunc(c.Dims, func(x nest.Dim) bool { return x.Inner() == d.Inner() })
}

func (c *code) add(list ...tree.Stmt) { *c.list = append(*c.list, list...) }

// inside collects statements, of which nothing is known behind them.
func (c *code) inside(body func()) (out []tree.Stmt) {
	list, at, sums, locals := c.list, c.At, c.Sums, c.Locals
	c.list, c.At, c.Sums, c.Locals = &out, slices.Clone(at), maps.Clone(sums), maps.Clone(locals)
	body()
	c.list, c.At, c.Sums, c.Locals = list, at, sums, locals
	return out
}

// knowing makes something of which more is known.
func (c *code) knowing(more known, body func()) {
	before := c.known
	c.known = more
	body()
	c.known = before
}

// loop makes a loop.
func (c *code) loop(prefix string, from, to *tree.Index, step int64, bind tree.Bind, body func(at *tree.Index)) {
	v := c.Variable(prefix)
	c.add(&tree.For{Var: v, From: from, To: to, Step: step, Bind: bind, Body: c.inside(func() { body(tree.Use(v)) })})
}

// along makes loops along some dimensions.
func (c *code) along(dims []nest.Dim, body func()) {
	if len(dims) == 0 {
		body()
		return
	}
	c.loop("f", tree.Const(0), tree.Const(dims[0].Extent), 1, tree.Serial, func(at *tree.Index) {
		c.move(dims[0], at)
		c.along(dims[1:], body)
	})
}

// lanesOf makes what the lanes of a vector do, from one on before another.
func (c *code) lanesOf(from, to *tree.Index, body func()) {
	v, before := c.Variable("j"), c.Vector
	c.Vector = &tree.For{Var: v, From: from, To: to, Step: 1, Bind: tree.Vector, Lanes: c.r.n}
	c.Vector.Body = c.inside(func() {
		c.move(c.r.Lane, tree.Use(v))
		body()
	})
	c.add(c.Vector)
	c.Vector = before
}

// vectors makes something for some vectors: for those that the code is in, or for whole ones.
func (c *code) vectors(count int64, body func(u *tree.Index)) {
	one := body
	if c.Vector == nil {
		one = func(u *tree.Index) { c.lanesOf(tree.Const(0), tree.Const(c.r.n), func() { body(u) }) }
	}
	if count == 1 {
		one(tree.Const(0))
		return
	}
	c.loop("u", tree.Const(0), tree.Const(count), 1, tree.Unrolled, one)
}

// choose makes a choice; a choice without conditions is none.
func (c *code) choose(conds []tree.Cond, then, otherwise func()) {
	if len(conds) == 0 {
		then()
		return
	}
	s := &tree.If{Conds: conds, Then: c.inside(then)}
	if otherwise != nil {
		s.Else = c.inside(otherwise)
	}
	c.add(s)
}

// between is the condition that an index is at least one number, and less than another; what it always is needs none.
func between(x *tree.Index, least, from, to, most int64) []tree.Cond {
	cond := tree.Cond{Var: x.Var()}
	if from > least {
		cond.From = tree.Const(from)
	}
	if to < most {
		cond.Limit = tree.Const(to)
	}
	if cond.From == nil && cond.Limit == nil {
		return nil
	}
	return []tree.Cond{cond}
}

// vectorsOf makes memory for vectors.
func (c *code) vectorsOf(prefix string, s tree.Scope, t scalar.DType, mask int, shape ...int64) *tree.Memory {
	return builder.Vectors(c.Fresh(prefix), s, t, mask, c.r.n, shape...)
}

// computed makes an expression of the kernel one of the tree, behind what is read at computed indices for it.
func (c *code) computed(e *scalar.Expr) tree.Computed {
	e = c.chosen(e)
	c.before(e)
	return c.Computed(e)
}

// chosen leaves out of an expression what is known here: choices, and what is false of any value.
func (c *code) chosen(e *scalar.Expr) *scalar.Expr {
	switch {
	case c.Sums[e] != nil, len(e.Args) == 0, e.Op == scalar.Reduce && !e.IsAt():
		return e
	case never(e):
		return scalar.NewConst(scalar.Zero(scalar.Bool))
	case e.Op == scalar.Where && e.Type != scalar.Bool && (c.Vector != nil):
		if c.known.part != nil {
			from, to, ok := nest.Interval(c.r.k, c.r.Lane.Inner(), e.Args[0])
			switch {
			case !ok:
			case from <= c.known.part[0] && c.known.part[1] <= to:
				return c.chosen(e.Args[1])
			case to <= c.known.part[0] || c.known.part[1] <= from:
				return c.chosen(e.Args[2])
			}
		}
		if e = c.unguarded(e); e.Op != scalar.Where {
			return c.chosen(e)
		}
	}
	return e.WithArgs(c.chosen)
}

// unguarded is a choice without the conditions that are known to hold.
func (c *code) unguarded(e *scalar.Expr) *scalar.Expr {
	sums, ok := affine.Borders(e.Args[0])
	if !ok || builder.UsesAny(c.r.Lane.Loops, e.Args[0]) && !affine.Guarded(e) {
		return e
	}
	var left *scalar.Expr
	conjuncts := affine.Conjuncts(e.Args[0])
	for i, x := range conjuncts {
		holds := c.known.across
		if c.r.span != nil && sums[i].Factor(c.r.span.last.Inner()) != 0 {
			holds = c.known.along
		}
		if sums[i].Factor(c.r.Lane.Inner()) != 0 { // what is the same for all lanes stays a vector, so that functions of it have the same bits
			holds = c.known.lanes && c.r.Lane.Step(c.r.Views[e.Args[1].Ref]) != 0
		}
		switch {
		case holds:
		case left == nil:
			left = x
		default:
			left = scalar.Must(scalar.And, left, x)
		}
	}
	if left == nil {
		return e.Args[1]
	}
	out := *e
	out.Args = []*scalar.Expr{left, e.Args[1], e.Args[2]}
	return &out
}

// before makes what an expression reads at computed indices: only of the side of a choice that is chosen.
func (c *code) before(e *scalar.Expr) {
	gathered := func(e *scalar.Expr) bool { return e.Any(func(e *scalar.Expr) bool { return e.IsAt() }) }
	switch {
	case c.Sums[e] != nil || !gathered(e):
	case e.IsAt():
		c.before(e.Args[1])
		to := c.zero(e)
		l, v := e.Over[0], c.Variable("gather")
		loop := c.r.k.Loops[l]
		c.add(&tree.At{Var: v, Computed: c.computed(e.Args[1]), From: loop.Start, To: loop.End, Body: c.inside(func() {
			c.move(loopOf(c.r, l), tree.Use(v).Plus(-loop.Start))
			c.add(&tree.Map{Dst: to(), Computed: c.computed(e.Args[0])})
		})})
		c.Sums[e] = to
	case e.Op == scalar.Where && (gathered(e.Args[1]) || gathered(e.Args[2])) && e.Type != scalar.Bool:
		c.before(e.Args[0])
		condition := c.computed(e.Args[0])
		if c.Follows(condition) {
			c.before(e.Args[1])
			c.before(e.Args[2])
			return
		}
		to := c.zero(e)
		side := func(i int) []tree.Stmt {
			return c.inside(func() { c.add(&tree.Map{Dst: to(), Computed: c.computed(e.Args[i])}) })
		}
		c.add(&tree.Branch{Computed: condition, Then: side(1), Else: side(2)})
		c.Sums[e] = to
	default:
		for _, a := range e.Args {
			c.before(a)
		}
	}
}

// zero makes a value that is 0 as long as nothing else is stored: of each lane, if an operand in it differs from lane to lane.
func (c *code) zero(e *scalar.Expr) builder.Access {
	differs := c.Vector != nil && e.Any(func(e *scalar.Expr) bool {
		if known := c.Sums[e]; known != nil {
			return known().Memory.Lanes > 0
		}
		switch e.Op {
		case scalar.Load:
			return c.r.Lane.Step(c.r.Views[e.Ref]) != 0
		case scalar.Local:
			kept := c.Locals[e.Ref].Kept
			return kept != nil && kept().Memory.Lanes > 0
		}
		return e.Op == scalar.Loop && e.Ref == c.r.Lane.Inner()
	})
	return c.Register(c.list, tree.Computed{Value: scalar.NewConst(scalar.Zero(e.Type))}, "", differs, 0)
}

// joined makes one value of two, in the first.
func joined(monoid scalar.Op, to, other tree.Access) *tree.Map {
	value := &scalar.Expr{Op: monoid, Type: to.Memory.Type, Args: []*scalar.Expr{scalar.NewLoad(0, to.Memory.Type), scalar.NewLoad(1, to.Memory.Type)}}
	return &tree.Map{Dst: to, Computed: tree.Computed{Value: value, Args: []tree.Access{to, other}}}
}
