// Package builder makes parts of tile trees of a kernel's expressions: operands, values and loops become what they are at the present point, which has an
// index along each dimension that the kernel's loops are joined to. It must not import passes or back ends. Read next: builder.go, then backends/codegen and
// backends/cpu/rows, which make whole trees.
package builder

import (
	"fmt"
	"slices"

	"tensortapestry.org/tapc/backends/tree"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/nest"
	"tensortapestry.org/tapc/ir/scalar"
)

// Builder is where in a kernel the code is, and how what it computes with is reached from there.
type Builder struct {
	*tree.Names
	K        *schedule.Kernel
	Dims     []nest.Dim
	Views    []nest.View             // of operands
	At       []*tree.Index           // by dimension: from 0; nil where the code is not inside of it
	Elements []Access                // of operands
	Locals   map[int]Local           // of statements
	Sums     map[*scalar.Expr]Access // of reductions, and of what else is computed before the statement that it stands in
	Vector   *tree.For               // whose lanes statements are for; nil outside
	Used     []*tree.Memory          // operands that were made because they are loaded or stored
}

// Access gives the element at the present point.
type Access func() tree.Access

// Local is how the value of a statement is known: where it is kept, or the expression to compute it again.
type Local struct {
	Kept  Access
	Value *scalar.Expr
}

// New begins outside of all dimensions, with nothing computed.
func New(n *tree.Names, k *schedule.Kernel, views []nest.View, dims []nest.Dim) *Builder {
	return &Builder{Names: n, K: k, Dims: dims, Views: views, At: make([]*tree.Index, len(dims)), Elements: make([]Access, len(k.Operands)),
		Locals: map[int]Local{}, Sums: map[*scalar.Expr]Access{}}
}

// Operands makes the memories of the kernel's operands, and gives them.
func (b *Builder) Operands() []*tree.Memory {
	var out []*tree.Memory
	for i := range b.K.Operands {
		out = append(out, b.Operand(i))
	}
	return out
}

// Operand makes the memory of an operand that is a buffer.
func (b *Builder) Operand(i int) *tree.Memory {
	o, v := b.K.Operands[i], b.Views[i]
	m := &tree.Memory{Name: fmt.Sprintf("p%d", i), Type: o.Type(), Scope: tree.Global, Operand: i, Written: o.Mode == schedule.Write, Base: Base(b.K, v)}
	for _, d := range b.Dims {
		m.Dims = append(m.Dims, tree.Dim{End: d.Extent, Stride: d.Step(v)})
	}
	b.Elements[i] = func() tree.Access {
		a := tree.Access{Memory: m, At: make([]*tree.Index, len(b.Dims))}
		for i := range b.Dims {
			if m.Dims[i].Stride != 0 {
				a.At[i] = b.At[i]
			}
		}
		return a
	}
	return m
}

// Base is the number of the element that a view is at where all loops start.
func Base(k *schedule.Kernel, v nest.View) int64 {
	at := v.Base
	for l, s := range v.Steps {
		at += s * k.Loops[l].Start
	}
	return at
}

// UsesAny says whether an expression uses the value of one of some loops.
func UsesAny(loops []int, e *scalar.Expr) bool {
	return e.Any(func(e *scalar.Expr) bool { return e.Op == scalar.Loop && slices.Contains(loops, e.Ref) })
}

// Load gives the element of an operand at the present point.
func (b *Builder) Load(operand int) tree.Access {
	if b.Elements[operand] == nil {
		b.Used = append(b.Used, b.Operand(operand))
	}
	return b.Elements[operand]()
}

// LoadAt gives the element of an operand at other indices of two dimensions.
func (b *Builder) LoadAt(operand, d1 int, x1 *tree.Index, d2 int, x2 *tree.Index) tree.Access {
	saved := slices.Clone(b.At)
	b.At[d1], b.At[d2] = x1, x2
	a := b.Load(operand)
	copy(b.At, saved)
	return a
}

// Map makes a Map of an expression of the kernel.
func (b *Builder) Map(dst tree.Access, e *scalar.Expr, monoid scalar.Op) *tree.Map {
	return &tree.Map{Dst: dst, Monoid: monoid, Computed: b.Computed(e)}
}

// Statement makes the Map of a statement's value.
func (b *Builder) Statement(dst tree.Access, s schedule.Statement) *tree.Map {
	m := b.Map(dst, s.Value, tree.NoMonoid)
	m.About = s.Name
	return m
}

// Computed makes an expression of the kernel one of a tree.
func (b *Builder) Computed(e *scalar.Expr) tree.Computed {
	c := tree.Computed{Loops: make([]*tree.Index, len(b.K.Loops))}
	c.Value = b.expr(e, &c)
	return c
}

func (b *Builder) expr(e *scalar.Expr, c *tree.Computed) *scalar.Expr {
	if known, ok := b.Sums[e]; ok {
		return scalar.NewCast(e.Type, c.Argument(known()))
	}
	switch e.Op {
	case scalar.Load:
		return c.Argument(b.Load(e.Ref))
	case scalar.Local:
		x := b.Locals[e.Ref]
		if x.Kept == nil {
			return b.expr(x.Value, c)
		}
		return c.Argument(x.Kept())
	case scalar.Loop:
		c.Loops[e.Ref] = b.loop(e.Ref)
		return e
	}
	return e.WithArgs(func(a *scalar.Expr) *scalar.Expr { return b.expr(a, c) })
}

// loop gives the value of a loop, which is a dimension of its own, a part of one, or has one value.
func (b *Builder) loop(loop int) *tree.Index {
	loops := b.K.Loops
	start := loops[loop].Start
	for i, d := range b.Dims {
		if at := slices.Index(d.Loops, loop); at >= 0 && b.At[i] != nil {
			inner := int64(1)
			for _, x := range d.Loops[at+1:] {
				inner *= loops[x].Extent()
			}
			x := b.At[i].Div(inner)
			if at > 0 {
				x = x.Mod(loops[loop].Extent())
			}
			return x.Plus(start)
		}
	}
	return tree.Const(start)
}

// Constant makes a Map that stores a number.
func Constant(dst tree.Access, v scalar.Value) *tree.Map {
	return &tree.Map{Dst: dst, Computed: tree.Computed{Value: scalar.NewConst(v)}}
}

// Stored makes a Map that stores an element, or combines it with what is stored.
func Stored(dst, src tree.Access, monoid scalar.Op) *tree.Map {
	return &tree.Map{Dst: dst, Monoid: monoid, Computed: tree.Loaded(src)}
}

// Delinearize makes indices of some extents from a number: the last extent runs fastest.
func Delinearize(n *tree.Names, list *[]tree.Stmt, x *tree.Index, extents []int64) []*tree.Index {
	out := make([]*tree.Index, len(extents))
	for i, extent := range slices.Backward(extents) {
		part := x.Mod(extent)
		if i == 0 {
			part = x
		}
		if extent == 1 {
			part = tree.Const(0)
		}
		out[i] = n.Let(list, "b", part)
		x = x.Div(extent)
	}
	return out
}
