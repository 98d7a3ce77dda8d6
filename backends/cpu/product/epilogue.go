package product

import (
	"slices"

	"tensortapestry.org/tapc/backends/codegen/builder"
	"tensortapestry.org/tapc/backends/cpu/blocking"
	"tensortapestry.org/tapc/backends/cpu/macrotile"
	"tensortapestry.org/tapc/backends/tree"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/nest"
	"tensortapestry.org/tapc/ir/scalar"
)

// Results gives the dimensions of the kernel's results, and that which lanes of the epilogue follow.
func Results(b *blocking.Blocking) (dims []nest.Dim, along int) {
	dims = append(slices.Clone(b.Batch), b.C.Row, b.C.Col)
	if along = len(dims) - 1; b.C.Transposed {
		along--
	}
	return dims, along
}

// Epilogue makes the function of a kernel's statements on a vector of sums, which an expression gives: of lanes along one of some dimensions.
func Epilogue(name string, k *schedule.Kernel, views []nest.View, dims []nest.Dim, along, lanes int, sum *scalar.Expr, names ...string) *tree.Func {
	f := Begin(name, k, views, dims, int64(lanes), names...)
	f.Value("sum", sum)
	f.Lanes(along, &f.f.Body)
	f.Statements(&f.Vector.Body, 0, len(k.Statements))
	return f.Made()
}

// Function is a function that is made: at a place of some dimensions, for some lanes of a vector.
type Function struct {
	*builder.Builder
	f     *tree.Func
	lanes int64
}

// Begin begins a function, which is given coordinates along dimensions, of which the last have names.
func Begin(name string, k *schedule.Kernel, views []nest.View, dims []nest.Dim, lanes int64, names ...string) *Function {
	f := &Function{builder.New(new(tree.Names), k, views, nil), &tree.Func{Name: name}, lanes}
	for i, a := range dims {
		v := &tree.Var{Name: macrotile.BatchName(i)}
		if last := i - len(dims) + len(names); last >= 0 {
			v.Name = names[last]
		}
		f.Dims, f.At = append(f.Dims, a), append(f.At, tree.Use(v))
		f.f.Params = append(f.f.Params, tree.Param{Var: v, From: tree.Const(0), To: tree.Const(a.Extent)})
		if a.Extent == 1 {
			f.At[len(f.At)-1] = tree.Const(0)
		}
	}
	return f
}

// Given has the function given where a memory is, or its value.
func (f *Function) Given(m *tree.Memory, value bool) *tree.Memory {
	f.f.Params = append(f.f.Params, tree.Param{Memory: m, Value: value})
	return m
}

// vector is memory for a vector.
func (f *Function) vector(name string, d scalar.DType) *tree.Memory {
	return builder.Vectors(name, tree.Registers, d, 4, f.lanes)
}

// Value has the function given the values of an expression.
func (f *Function) Value(name string, e *scalar.Expr) {
	m := f.Given(f.vector(name, e.Type), true)
	f.Sums[e] = func() tree.Access { return f.VectorAt(m) }
}

// Number has the function given a number that is less than another.
func (f *Function) Number(name string, end int64) *tree.Index {
	v := &tree.Var{Name: name}
	f.f.Params = append(f.f.Params, tree.Param{Var: v, From: tree.Const(0), To: tree.Const(end)})
	return tree.Use(v)
}

// Count has the function given how many lanes are there, along a dimension.
func (f *Function) Count(along int) *tree.Index {
	p, n := f.f.Params[along], &tree.Var{Name: "n"}
	f.f.Params = append(f.f.Params, tree.Param{Var: n, From: tree.Const(1), To: p.To.Minus(tree.Use(p.Var)).Min(tree.Const(f.lanes)).Plus(1)})
	return tree.Use(n)
}

// Lanes adds to a list the loop of the lanes that are there, which statements are for from here on.
func (f *Function) Lanes(along int, list *[]tree.Stmt) (count *tree.Index) {
	first := tree.Use(f.f.Params[along].Var)
	count = f.Count(along)
	f.Each(along, first, first.Add(count), f.lanes, list)
	return count
}

// Each adds to a list a loop of the lanes of a vector along a dimension.
func (f *Function) Each(along int, from, to *tree.Index, lanes int64, list *[]tree.Stmt) {
	f.Vector = &tree.For{Var: f.Variable("l"), From: from, To: to, Step: 1, Bind: tree.Vector, Lanes: lanes}
	f.At[along] = tree.Use(f.Vector.Var)
	*list = append(*list, f.Vector)
}

// Result gives the function whose result is the value of an expression for lanes along a dimension.
func (f *Function) Result(along int, e *scalar.Expr) *tree.Func {
	m := f.vector("r", e.Type)
	list := &f.f.Body
	*list = append(*list, &tree.Declare{Memory: m})
	f.Lanes(along, list)
	f.Vector.Body = []tree.Stmt{f.Map(f.VectorAt(m), e, tree.NoMonoid)}
	f.f.Result = &tree.Access{Memory: m, At: []*tree.Index{tree.Const(0)}}
	return f.Made()
}

// Made gives the function.
func (f *Function) Made() *tree.Func {
	f.f.Operands = f.Used
	return f.f
}
