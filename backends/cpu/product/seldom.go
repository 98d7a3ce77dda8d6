package product

import (
	"cmp"
	"math"
	"slices"

	"tensortapestry.org/tapc/backends/codegen/builder"
	"tensortapestry.org/tapc/backends/cpu/blocking"
	"tensortapestry.org/tapc/backends/tree"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/nest"
	"tensortapestry.org/tapc/ir/scalar"
)

// seldomLanes are the elements of the reduction that are multiplied at once.
const seldomLanes = 8

// Seldom makes the epilogue of a product of which few results are computed from something besides the sum (nest.Seldom), and before it the function of these, which it calls
// if one of its lanes is such a result. Views are those of operands as they are.
func Seldom(b *blocking.Blocking, views []nest.View, s *nest.Seldom) []*tree.Func {
	dims, along := Results(b)
	f := Begin("finish", b.K, b.C.Views, dims, int64(b.N), "i", "j")
	f.Value("sum", b.C.Sum)
	n := f.Lanes(along, &f.f.Body)
	body := &f.Vector.Body
	f.Statements(body, 0, s.Statement)
	register := func(list *[]tree.Stmt, x tree.Computed) builder.Access { return f.Register(list, x, "", true, 4) }
	usual, sure := register(body, f.Computed(s.Choice.Args[1])), register(body, f.Computed(s.Choice.Args[0]))
	others := &tree.Branch{Computed: not(sure())}
	chosen, known := register(&others.Then, tree.Loaded(usual())), register(&others.Then, tree.Loaded(sure()))
	to, from := tree.BoxOf(chosen().Memory, tree.Between(tree.Const(0), n)), tree.BoxOf(known().Memory, tree.Between(tree.Const(0), n))
	args := []tree.Argument{{}}
	for _, x := range f.f.Params[:len(dims)] {
		args = append(args, tree.Number(tree.Use(x.Var)))
	}
	others.Then = append(others.Then, tree.Call("some", []tree.Box{to}, []tree.Box{from}, append(args, to.Address(), from.Address(), tree.Number(n))...), builder.Stored(usual(), chosen(), tree.NoMonoid))
	*body = append(*body, others)
	f.Locals[s.Statement] = builder.Local{Kept: usual}
	f.Statements(body, s.Statement+1, len(b.K.Statements))

	some := Begin("some", b.K, views, dims, int64(b.N), "i", "j")
	some.f.Seldom = true
	results, usually := some.Given(some.vector("results", scalar.Float32), false), some.Given(some.vector("usual", scalar.Bool), false)
	results.Written = true
	first := some.At[along]
	some.f.Body = append(some.f.Body, some.Loop(tree.Serial, "lane", tree.Const(0), some.Count(along), 1, func(lane *tree.Index) []tree.Stmt {
		some.At[along] = first.Add(lane)
		at := func(m *tree.Memory) tree.Access { return tree.Access{Memory: m, At: []*tree.Index{lane}} }
		return []tree.Stmt{&tree.Branch{Computed: not(at(usually)), Then: some.one(s, views[b.C.Left], at(results))}}
	}))
	return []*tree.Func{some.Made(), f.Made()}
}

// not is what is true where an element is not.
func not(a tree.Access) tree.Computed {
	c := tree.Loaded(a)
	c.Value = &scalar.Expr{Op: scalar.Not, Type: scalar.Bool, Args: []*scalar.Expr{c.Value}}
	return c
}

// one makes a result. Lanes follow the reduced loop along which the left operand has neighbours.
func (f *Function) one(s *nest.Seldom, left nest.View, to tree.Access) (body []tree.Stmt) {
	const lanes = seldomLanes
	sums, sum := builder.Vectors(f.Fresh("sums"), tree.Registers, scalar.Float64, 0, lanes), tree.NewMemory(f.Fresh("sum"), scalar.Float64, tree.Registers, 0)
	term := builder.Vectors(f.Fresh("term"), tree.Registers, scalar.Float64, 0, lanes)
	zero := scalar.Zero(scalar.Float64)
	vector := func(d int, from, to *tree.Index, list *[]tree.Stmt, statements func() []tree.Stmt) {
		f.Each(d, from, to, lanes, list)
		f.Vector.Body = append(f.Vector.Body, statements()...)
		f.Vector = nil
	}
	loops := reductionOrder(f.K, s.Sum.Over, left)
	first := len(f.Dims)
	for _, l := range loops {
		f.Dims, f.At = append(f.Dims, nest.Dim{Loops: []int{l}, Extent: f.K.Loops[l].Extent()}), append(f.At, nil)
	}
	body = append(body, &tree.Declare{Memory: sums}, &tree.Declare{Memory: term})
	vector(first, tree.Const(0), tree.Const(lanes), &body, func() []tree.Stmt { return []tree.Stmt{builder.Constant(f.VectorAt(sums), zero)} })
	add := func() []tree.Stmt { // products of float32 are exact in float64, and fusing them with the sum would be calls where processors have no instruction for it
		return []tree.Stmt{f.Map(f.VectorAt(term), s.Sum.Args[0], tree.NoMonoid), builder.Stored(f.VectorAt(sums), f.VectorAt(term), scalar.Add)}
	}
	var reduce func(d int) []tree.Stmt
	reduce = func(d int) (body []tree.Stmt) {
		extent := f.Dims[d].Extent
		if d < len(f.Dims)-1 {
			return []tree.Stmt{f.Loop(tree.Serial, "f", tree.Const(0), tree.Const(extent), 1, func(at *tree.Index) []tree.Stmt {
				f.At[d] = at
				return reduce(d + 1)
			})}
		}
		whole := extent / lanes * lanes
		if whole > 0 {
			body = append(body, f.Loop(tree.Serial, "f", tree.Const(0), tree.Const(whole), lanes, func(at *tree.Index) (body []tree.Stmt) {
				vector(d, at, at.Plus(lanes), &body, add)
				return body
			}))
		}
		if whole < extent {
			vector(d, tree.Const(whole), tree.Const(extent), &body, add)
		}
		return body
	}
	body = append(body, reduce(first)...)
	body = append(body, &tree.Declare{Memory: sum}, builder.Constant(tree.Access{Memory: sum}, zero),
		f.Loop(tree.Serial, "l", tree.Const(0), tree.Const(lanes), 1, func(l *tree.Index) []tree.Stmt {
			return []tree.Stmt{builder.Stored(tree.Access{Memory: sum}, tree.Access{Memory: sums, At: []*tree.Index{l}}, scalar.Add)}
		}))
	clear(f.At[first:]) // operands keep the dimensions that they have in the loops
	f.Sums[s.Sum] = func() tree.Access { return tree.Access{Memory: sum} }
	return append(body, f.Map(to, s.Choice.Args[2], tree.NoMonoid))
}

// reductionOrder sorts loops by how far a view steps along them, the least last.
func reductionOrder(k *schedule.Kernel, over []int, v nest.View) []int {
	loops := slices.Clone(over)
	slices.SortStableFunc(loops, func(a, b int) int {
		key := func(l int) int64 {
			if k.Loops[l].Extent() == 1 {
				return math.MaxInt64
			}
			return max(v.Steps[l], -v.Steps[l])
		}
		return cmp.Compare(key(b), key(a))
	})
	return loops
}
