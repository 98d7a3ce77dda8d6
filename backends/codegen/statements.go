package codegen

import (
	"tensortapestry.org/tapc/backends/tree"
	"tensortapestry.org/tapc/dialects/schedule/nest"
)

// WarpLanes is how many lanes of a GPU block run together.
const WarpLanes = 32

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
