package codegen

import (
	"fmt"
	"slices"

	"tensortapestry.org/tapc/backends/tree"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/nest"
	"tensortapestry.org/tapc/ir/scalar"
)

// WarpLanes is how many lanes of a GPU block run together.
const WarpLanes = 32

// names makes variables, and binds them.
type names struct{ tree.Names }

// let binds a variable to an index, unless that is one already or a number.
func (n *names) let(list *[]tree.Stmt, prefix string, x *tree.Index) *tree.Index {
	if _, ok := x.Number(); ok || x.Var() != nil {
		return x
	}
	return n.bound(list, prefix, x)
}

// bound binds a variable to an index.
func (n *names) bound(list *[]tree.Stmt, prefix string, x *tree.Index) *tree.Index {
	v := n.Variable(prefix)
	*list = append(*list, &tree.Let{Var: v, Value: x})
	return tree.Use(v)
}

// delinearize makes indices of some extents from a number: the last extent runs fastest. Statements that bind variables are added to a list.
func (n *names) delinearize(list *[]tree.Stmt, x *tree.Index, extents []int64) []*tree.Index {
	out := make([]*tree.Index, len(extents))
	for i, extent := range slices.Backward(extents) {
		part := x.Mod(extent)
		if i == 0 {
			part = x
		}
		if extent == 1 {
			part = tree.Const(0)
		}
		out[i] = n.let(list, "b", part)
		x = x.Div(extent)
	}
	return out
}

// builder makes the statements of one stage: a kernel whose loops are joined to dimensions, along each of which the code stands at an index.
type builder struct {
	*names
	k        *schedule.Kernel
	dims     []nest.Dim
	views    []nest.View
	at       []*tree.Index           // by dimension: from 0
	elements []access                // by operand
	locals   map[int]local           // by statement
	sums     map[*scalar.Expr]access // of reductions, and of what else is computed before the statement that it stands in
}

// access gives the element at the present place.
type access func() tree.Access

// local is how the value of a statement is known: where it is kept, or the expression to compute it again.
type local struct {
	kept  access
	value *scalar.Expr
}

func newBuilder(n *names, k *schedule.Kernel, views []nest.View, dims []nest.Dim) *builder {
	return &builder{names: n, k: k, dims: dims, views: views, at: make([]*tree.Index, len(dims)), elements: make([]access, len(k.Operands)),
		locals: map[int]local{}, sums: map[*scalar.Expr]access{}}
}

// operandsOf makes the memories of a kernel's operands, and gives them.
func operandsOf(b *builder) []*tree.Memory {
	var out []*tree.Memory
	for i := range b.k.Operands {
		out = append(out, b.operand(i))
	}
	return out
}

// operand makes the memory of an operand that is a buffer.
func (b *builder) operand(i int) *tree.Memory {
	o, v := b.k.Operands[i], b.views[i]
	m := &tree.Memory{Name: fmt.Sprintf("p%d", i), Type: o.Type(), Scope: tree.Global, Operand: i, Written: o.Mode == schedule.Write, Base: v.Base}
	for l, s := range v.Steps {
		m.Base += s * b.k.Loops[l].Start
	}
	for _, d := range b.dims {
		m.Dims = append(m.Dims, tree.Dim{End: d.Extent, Stride: d.Step(v)})
	}
	b.elements[i] = func() tree.Access {
		a := tree.Access{Memory: m, At: make([]*tree.Index, len(b.dims))}
		for i := range b.dims {
			if m.Dims[i].Stride != 0 {
				a.At[i] = b.at[i]
			}
		}
		return a
	}
	return m
}

// load gives the element of an operand at the present place.
func (b *builder) load(operand int) tree.Access { return b.elements[operand]() }

// loadAt gives the element of an operand at other indices of two dimensions.
func (b *builder) loadAt(operand, d1 int, x1 *tree.Index, d2 int, x2 *tree.Index) tree.Access {
	saved := slices.Clone(b.at)
	b.at[d1], b.at[d2] = x1, x2
	a := b.load(operand)
	copy(b.at, saved)
	return a
}

// compute makes a Map of an expression of the kernel.
func (b *builder) compute(dst tree.Access, e *scalar.Expr, monoid scalar.Op) *tree.Map {
	return &tree.Map{Dst: dst, Monoid: monoid, Computed: computed(b, e)}
}

// computed makes an expression of the kernel one of a tree.
func computed(b *builder, e *scalar.Expr) tree.Computed {
	c := tree.Computed{Loops: make([]*tree.Index, len(b.k.Loops))}
	c.Value = leaves{b, &c}.expr(e)
	return c
}

// statement makes the Map of a statement's value.
func (b *builder) statement(dst tree.Access, s schedule.Statement) *tree.Map {
	m := b.compute(dst, s.Value, tree.NoMonoid)
	m.About = s.Name
	return m
}

// leaves makes arguments and indices of an expression's leaves.
type leaves struct {
	b *builder
	m *tree.Computed
}

func (l leaves) expr(e *scalar.Expr) *scalar.Expr {
	if known, ok := l.b.sums[e]; ok {
		return scalar.NewCast(e.Type, l.m.Argument(known()))
	}
	switch e.Op {
	case scalar.Load:
		return l.m.Argument(l.b.load(e.Ref))
	case scalar.Local:
		x := l.b.locals[e.Ref]
		if x.kept == nil {
			return l.expr(x.value)
		}
		return l.m.Argument(x.kept())
	case scalar.Loop:
		l.m.Loops[e.Ref] = l.loop(e.Ref)
		return e
	}
	return e.WithArgs(l.expr)
}

// loop gives the value of a loop, which is a dimension of its own or has one value.
func (l leaves) loop(loop int) *tree.Index {
	loops := l.b.k.Loops
	start := loops[loop].Start
	for i, d := range l.b.dims {
		if at := slices.Index(d.Loops, loop); at >= 0 && l.b.at[i] != nil {
			inner := int64(1)
			for _, x := range d.Loops[at+1:] {
				inner *= loops[x].Extent()
			}
			x := l.b.at[i].Div(inner)
			if at > 0 {
				x = x.Mod(loops[loop].Extent())
			}
			return x.Plus(start)
		}
	}
	return tree.Const(start)
}

// even is an error if lanes of a vector along a dimension ask for values of loops that do not grow by one from lane to lane.
func even(k *schedule.Kernel, d nest.Dim) error {
	if len(d.Loops) < 2 {
		return nil
	}
	for _, s := range k.Statements {
		if s.Value.Any(func(e *scalar.Expr) bool { return e.Op == scalar.Loop && slices.Contains(d.Loops, e.Ref) }) {
			return fmt.Errorf("%s asks where it is in a loop that lanes of vectors run along together with others", s.Name)
		}
	}
	return nil
}

// constant makes a Map that stores a number.
func constant(dst tree.Access, v scalar.Value) *tree.Map {
	return &tree.Map{Dst: dst, Computed: tree.Computed{Value: scalar.NewConst(v)}}
}

// stored makes a Map that stores an element, or combines it with what is stored.
func stored(dst, src tree.Access, monoid scalar.Op) *tree.Map {
	return &tree.Map{Dst: dst, Monoid: monoid, Computed: tree.Loaded(src)}
}

// guarded makes statements run where indices are below limits; variables that cannot reach them need no guard.
func guarded(conds []tree.Cond, body ...tree.Stmt) []tree.Stmt {
	if len(conds) == 0 {
		return body
	}
	return []tree.Stmt{&tree.If{Conds: conds, Then: body}}
}

// unrolled makes a loop from 0 that compilers write out.
func unrolled(v *tree.Var, n int64, body ...tree.Stmt) *tree.For {
	return &tree.For{Var: v, From: tree.Const(0), To: tree.Const(n), Step: 1, Bind: tree.Unrolled, Body: body}
}

// behind gives the condition that a variable is before a limit, unless steps end there.
func behind(v *tree.Var, limit, step int64) []tree.Cond {
	if limit%step == 0 {
		return nil
	}
	return []tree.Cond{{Var: v, Limit: tree.Const(limit)}}
}

// parallel adds an outermost loop to a tree, which blocks or threads carry out.
func parallel(f *tree.Func, v *tree.Var, count int64, by tree.Bind, body []tree.Stmt) {
	f.Body = append(f.Body, &tree.For{Var: v, From: tree.Const(0), To: tree.Const(count), Step: 1, Bind: by, Body: body})
}

// extentsOf gives the extents of dimensions, and of what else is counted.
func extentsOf(dims []nest.Dim, more ...int64) []int64 {
	out := make([]int64, len(dims), len(dims)+len(more))
	for i, d := range dims {
		out[i] = d.Extent
	}
	return append(out, more...)
}

func productOf(extents []int64) int64 {
	n := int64(1)
	for _, x := range extents {
		n *= x
	}
	return n
}

func ceil(a, b int64) int64 { return (a + b - 1) / b }
