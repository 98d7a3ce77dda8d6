package product

import (
	"slices"

	"tensortapestry.org/tapc/backends/codegen/builder"
	"tensortapestry.org/tapc/backends/cpu/blocking"
	"tensortapestry.org/tapc/backends/cpu/macrotile"
	"tensortapestry.org/tapc/backends/tree"
	"tensortapestry.org/tapc/dialects/schedule/nest"
	"tensortapestry.org/tapc/ir/scalar"
)

// mostUnrolled is how many values of the innermost loop of a reduction are computed side by side at most, which share what they read.
const mostUnrolled = 8

// computedPanel makes the function that packs one panel of a right factor that is computed: the columns from j on, for some values of the reduction.
func computedPanel(b *blocking.Blocking) *tree.Func {
	col := len(b.Batch)
	f := Begin("panel", b.K, b.C.Views, append(slices.Clone(b.Batch), b.C.Col), int64(b.N), "j")
	f.f.Params[col].Step = b.Panel
	j, step, extents := tree.Use(f.f.Params[col].Var), int64(1), []int64(nil)
	for _, l := range b.C.Reduction[0].Loops {
		extents = append(extents, b.K.Loops[l].Extent())
		f.Dims = append(f.Dims, nest.Dim{Loops: []int{l}, Extent: b.K.Loops[l].Extent()})
	}
	inner := len(extents) - 1
	if n := extents[inner]; n <= mostUnrolled && b.Target.Copies().Rows%n == 0 && b.Cut.Fold%n == 0 {
		step = n
	}
	first, last := f.Number("first", b.Length), f.Number("last", b.Length+1)
	to := tree.Stored("to", b.D, tree.Private, b.Length, b.Panel)
	to.Lanes, to.Written = f.lanes, true
	f.Given(to, false)
	value := func(body []tree.Stmt, k *tree.Index, at []*tree.Index) []tree.Stmt {
		f.At = append(f.At[:col+1], at...)
		return append(body, macrotile.AtEdge(j, b.Panel, b.C.Col.Extent, func(live int64) (body []tree.Stmt) {
			for x := int64(0); x < b.Panel; x += f.lanes { // columns that are not there are 0
				f.Each(col, j.Plus(x), j.Plus(x+max(1, min(f.lanes, live-x))), f.lanes, &body)
				vector := tree.Access{Memory: to, At: []*tree.Index{k.Minus(first), f.Lane().Plus(x)}}
				if f.Vector.Body = []tree.Stmt{builder.Constant(vector, scalar.Zero(b.D))}; live > x {
					f.Vector.Body = []tree.Stmt{f.Map(vector, b.C.Computed, tree.NoMonoid)}
				}
			}
			return body
		})...)
	}
	f.f.Body = []tree.Stmt{f.Loop(tree.Serial, "k", first, last, step, func(k *tree.Index) (body []tree.Stmt) {
		if step == 1 {
			at := builder.Delinearize(f.Names, &body, k, extents)
			return value(body, k, at)
		}
		at := builder.Delinearize(f.Names, &body, k.Div(step), extents[:inner])
		return append(body, f.Loop(tree.Unrolled, "u", tree.Const(0), tree.Const(step), 1, func(u *tree.Index) []tree.Stmt {
			return value(nil, k.Add(u), append(at, u))
		}))
	})}
	return f.Made()
}
