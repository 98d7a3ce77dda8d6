package codegen

import (
	"slices"

	"tensortapestry.org/tapc/backends/codegen/builder"
	"tensortapestry.org/tapc/backends/tree"
	"tensortapestry.org/tapc/dialects/schedule/nest"
	"tensortapestry.org/tapc/dialects/schedule/nest/scan"
	"tensortapestry.org/tapc/ir/scalar"
)

// indexedTasks makes a kernel that stores values at indices that are data: a loop that stores what the other cells have, and one over the values. In an output
// over an input whose cells stay as they are, the first is left out, so that nothing is looked at but the indices themselves.
func indexedTasks(f *tree.Func, a *nest.Analysis, p *scan.Indexed) error {
	k := a.Kernel
	x, s := newPoints(f, a, k.Free()), k.Statements[p.Statement]
	for i, s := range k.Statements {
		x.Locals[i] = builder.Local{Value: s.Value} // computed where it is used
	}
	store := func(e *scalar.Expr) func() []tree.Stmt {
		return func() []tree.Stmt { return x.value(func() tree.Access { return x.Load(int(s.Store)) }, e) }
	}
	region := func(loops []int, what func() []tree.Stmt) {
		number, extents := x.Variable("point"), make([]int64, len(loops))
		for i, l := range loops {
			extents[i] = x.Dims[l].Extent
		}
		var body []tree.Stmt
		x.outside()
		for i, at := range builder.Delinearize(x.Names, &body, tree.Use(number), extents) {
			x.At[loops[i]] = at
		}
		parallel(f, number, productOf(extents), tree.Thread, append(body, what()...))
	}
	if !p.Keeps(k, a.Buffers) {
		var over []int
		for _, l := range s.Over {
			over = append(over, int(l))
		}
		n := 1 + slices.IndexFunc(over, func(l int) bool { return x.Dims[l].Extent > 1 }) // that is split between threads
		region(over[:n], func() []tree.Stmt { return x.along(over[n:], store(p.Otherwise)) })
	}
	region(p.Outer, func() []tree.Stmt {
		return x.along(p.Scatter.Reduce.Over, func() []tree.Stmt {
			if p.Late {
				return x.along(p.Inner, func() []tree.Stmt { return targets(x, p.Scatter, store(p.Value)) })
			}
			return targets(x, p.Scatter, func() []tree.Stmt { return x.along(p.Inner, store(p.Value)) })
		})
	})
	return nil
}
