// Package codegen makes tile trees: of a kernel and its config, the tree that carries the kernel out on a GPU.
//
// It decides nothing. What a config does not say follows from the kernel (the order of its dimensions, which operands are reduced along) or
// is a fact of the target (how many lanes a warp has). What it cannot make a tree of it refuses, with the reason. The trees of other
// targets are made here too as their algorithms come to have configs. It must not import passes or back ends that print text. Read next:
// contraction.go, then backends/tree.
package codegen

import (
	"fmt"
	"slices"

	"tensortapestry.org/tapc/backends/tree"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/nest"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/scalar"
)

// WarpLanes is how many lanes of a GPU block run together.
const WarpLanes = 32

// BuildTasks makes the tree of a kernel on a CPU. The error says what in the config does not fit the kernel.
func BuildTasks(name string, a *nest.Analysis, c *schedule.Config) (*tree.Func, error) {
	f := &tree.Func{Name: name}
	found, ok := nest.Of[*nest.Contraction](a.Forms)
	switch {
	case len(c.Stages) != 1 || c.Stages[0].Algorithm != schedule.Contraction:
		return nil, fmt.Errorf("configs of a CPU are contractions of one stage")
	case !ok:
		return nil, fmt.Errorf("the kernel is no contraction")
	}
	return f, tasks(f, a, found, &c.Stages[0])
}

// Build makes the tree of a kernel on a GPU. The error says what in the config does not fit the kernel.
func Build(name string, a *nest.Analysis, c *schedule.Config) (*tree.Func, error) {
	k, buffers := a.Kernel, a.Buffers
	f := &tree.Func{Name: name}
	algorithms := make([]schedule.Algorithm, len(c.Stages))
	for i, s := range c.Stages {
		algorithms[i] = s.Algorithm
	}
	switch {
	case slices.Equal(algorithms, []schedule.Algorithm{schedule.Contraction}):
		found, ok := nest.Of[*nest.Contraction](a.Forms)
		if !ok {
			return nil, fmt.Errorf("the kernel is no contraction")
		}
		return f, contractionBlocks(f, k, buffers, found, &c.Stages[0])
	case slices.Equal(algorithms, []schedule.Algorithm{schedule.Reduction}):
		found, ok := nest.Of[*nest.Rows](a.Forms)
		if !ok {
			return nil, fmt.Errorf("the kernel has no lines that are reduced")
		}
		return f, reductionBlocks(f, k, buffers, found, &c.Stages[0])
	case slices.Equal(algorithms, []schedule.Algorithm{schedule.Contraction, schedule.Reduction, schedule.Contraction}):
		found, ok := nest.Of[*nest.BackToBack](a.Forms)
		if !ok {
			return nil, fmt.Errorf("the kernel is no product of a product")
		}
		return f, chainBlocks(f, k, buffers, found, c.Stages)
	}
	return nil, fmt.Errorf("no algorithm has the stages %v", algorithms)
}

// builder makes the statements of one stage: a kernel whose loops are joined to dimensions, along each of which the code stands at an index.
type builder struct {
	k      *schedule.Kernel
	dims   []nest.Dim
	views  []nest.View
	memory []*tree.Memory          // by operand
	at     []*tree.Index           // by dimension: from 0
	held   map[int][]int           // by operand: the dimensions of what stages hand over, in the order of its memory's; the first is the row of the block
	row    func() *tree.Index      // of the block
	locals map[int]local           // by statement
	sums   map[*scalar.Expr]access // of reductions
	fill   func(operand int) (access, bool)
	vars   *int
}

// access gives the element at the present place.
type access func() tree.Access

// local is how the value of a statement is known: where it is kept, or the expression to compute it again.
type local struct {
	kept  access
	value *scalar.Expr
}

func newBuilder(k *schedule.Kernel, views []nest.View, dims []nest.Dim, vars *int) *builder {
	return &builder{k: k, dims: dims, views: views, at: make([]*tree.Index, len(dims)), held: map[int][]int{}, locals: map[int]local{},
		sums: map[*scalar.Expr]access{}, vars: vars, memory: make([]*tree.Memory, len(k.Operands))}
}

// operands makes the memories of the operands that are buffers, and gives them.
func (b *builder) operands(buffers map[ir.NodeID]*schedule.Buffer, mine func(operand int) bool) []*tree.Memory {
	var out []*tree.Memory
	for i, o := range b.k.Operands {
		if !mine(i) {
			continue
		}
		m := &tree.Memory{Name: fmt.Sprintf("p%d", i), Type: o.Type(), Scope: tree.Global, Operand: i, Written: o.Mode == schedule.Write, Base: b.views[i].Base}
		for l, s := range b.views[i].Steps {
			m.Base += s * b.k.Loops[l].Start
		}
		for _, d := range b.dims {
			m.Dims = append(m.Dims, tree.Dim{End: d.Extent, Stride: d.Step(b.views[i])})
		}
		b.memory[i] = m
		out = append(out, m)
	}
	return out
}

// variable makes a new variable.
func (b *builder) variable(prefix string) *tree.Var {
	*b.vars++
	return &tree.Var{Name: fmt.Sprintf("%s%d", prefix, *b.vars-1)}
}

// load gives the element of an operand at the present place.
func (b *builder) load(operand int) tree.Access {
	if b.fill != nil {
		if a, ok := b.fill(operand); ok {
			return a()
		}
	}
	m := b.memory[operand]
	if dims, ok := b.held[operand]; ok {
		a := tree.Access{Memory: m, At: []*tree.Index{b.row()}}
		for _, d := range dims[1:] {
			a.At = append(a.At, b.at[d])
		}
		return a
	}
	a := tree.Access{Memory: m, At: make([]*tree.Index, len(b.dims))}
	for i := range b.dims {
		if m.Dims[i].Stride != 0 {
			a.At[i] = b.at[i]
		}
	}
	return a
}

// compute makes a Map of an expression of the kernel.
func (b *builder) compute(dst tree.Access, e *scalar.Expr, monoid scalar.Op) *tree.Map {
	m := &tree.Map{Dst: dst, Monoid: monoid, Loops: make([]*tree.Index, len(b.k.Loops))}
	m.Value = b.expr(m, e)
	return m
}

// expr puts arguments and indices in the place of an expression's leaves.
func (b *builder) expr(m *tree.Map, e *scalar.Expr) *scalar.Expr {
	switch e.Op {
	case scalar.Load:
		return b.argument(m, b.load(e.Ref), e.Type)
	case scalar.Local:
		x := b.locals[e.Ref]
		if x.kept == nil {
			return b.expr(m, x.value)
		}
		return b.argument(m, x.kept(), e.Type)
	case scalar.Reduce:
		return b.argument(m, b.sums[e](), e.Type)
	case scalar.Loop:
		m.Loops[e.Ref] = b.loop(e.Ref)
		return e
	}
	out := *e
	out.Args = make([]*scalar.Expr, len(e.Args))
	for i, a := range e.Args {
		out.Args[i] = b.expr(m, a)
	}
	return &out
}

func (b *builder) argument(m *tree.Map, a tree.Access, t scalar.DType) *scalar.Expr {
	at := slices.IndexFunc(m.Args, func(x tree.Access) bool { return x.Memory == a.Memory && slices.Equal(x.At, a.At) })
	if at < 0 {
		at = len(m.Args)
		m.Args = append(m.Args, a)
	}
	return scalar.NewLoad(at, t)
}

// loop gives the value of a loop, which is a dimension of its own or has one value.
func (b *builder) loop(l int) *tree.Index {
	start := b.k.Loops[l].Start
	for i, d := range b.dims {
		if at := slices.Index(d.Loops, l); at >= 0 && b.at[i] != nil {
			inner := int64(1)
			for _, x := range d.Loops[at+1:] {
				inner *= b.k.Loops[x].Extent()
			}
			x := b.at[i].Div(inner)
			if at > 0 {
				x = x.Mod(b.k.Loops[l].Extent())
			}
			return x.Plus(start)
		}
	}
	return tree.Const(start)
}

// constant makes a Map that stores a number.
func constant(dst tree.Access, v scalar.Value) *tree.Map {
	return &tree.Map{Dst: dst, Value: scalar.NewConst(v)}
}

// guarded makes statements run where indices are below limits; variables that cannot reach them need no guard.
func guarded(conds []tree.Cond, body ...tree.Stmt) []tree.Stmt {
	if len(conds) == 0 {
		return body
	}
	return []tree.Stmt{&tree.If{Conds: conds, Then: body}}
}

// delinearize makes indices of some extents from a number: the last extent runs fastest. Statements that bind variables are added to a list.
func (b *builder) delinearize(list *[]tree.Stmt, x *tree.Index, extents []int64) []*tree.Index {
	out := make([]*tree.Index, len(extents))
	for i, n := range slices.Backward(extents) {
		part := x.Mod(n)
		if i == 0 {
			part = x
		}
		if n == 1 {
			part = tree.Const(0)
		}
		out[i] = b.let(list, "b", part)
		x = x.Div(n)
	}
	return out
}

// let binds a variable to an index, unless that is one already or a number.
func (b *builder) let(list *[]tree.Stmt, prefix string, x *tree.Index) *tree.Index {
	if _, ok := x.Number(); ok || x.Var() != nil {
		return x
	}
	return b.bound(list, prefix, x)
}

// bound binds a variable to an index.
func (b *builder) bound(list *[]tree.Stmt, prefix string, x *tree.Index) *tree.Index {
	v := b.variable(prefix)
	*list = append(*list, &tree.Let{Var: v, Value: x})
	return tree.Use(v)
}
