// Package effort counts what the lanes of a tile tree do. Read next: backends/tree.
package effort

import (
	"math"

	"tensortapestry.org/tapc/backends/tree"
	"tensortapestry.org/tapc/ir/scalar"
)

// Effort is how often one lane does what, and the bytes of global memory that a block moves.
type Effort struct {
	Dots       float64 // multiply-adds
	Operations float64 // other operators, and steps of loops that are not unrolled
	Calls      float64 // of functions such as exp
	Global     float64 // accesses of global memory
	Shared     float64 // and of shared memory
	Barriers   float64
	Shuffles   float64
	Bytes      float64
}

// Work is the blocks of a tree, and what each takes.
type Work struct {
	Blocks, Lanes int64
	SharedBytes   int64
	Effort
}

// Of counts what a tree does: every loop as often as it can run, and both sides of a choice as the first.
func Of(f *tree.Func) Work {
	var w Work
	for _, s := range f.Body {
		if blocks, ok := s.(*tree.For); ok {
			w.Blocks, _ = blocks.To.Number()
			w.list(blocks.Body, 1)
		}
	}
	return w
}

func (w *Work) list(body []tree.Stmt, times float64) {
	for _, s := range body {
		w.stmt(s, times)
	}
}

func (w *Work) stmt(s tree.Stmt, times float64) {
	switch s := s.(type) {
	case *tree.For:
		if s.Bind == tree.Lane {
			w.Lanes, _ = s.To.Number()
			w.list(s.Body, times)
			return
		}
		n := float64(s.Trips())
		if s.Bind == tree.Vector { // its lanes are one instruction's
			n = 1
		}
		if s.Bind != tree.Unrolled {
			w.Operations += times * n
		}
		w.list(s.Body, times*n)
	case *tree.If:
		w.Operations += times
		w.list(s.Then, times)
	case *tree.Once:
		w.list(s.Body, times)
	case *tree.At:
		w.computed(s.Computed, times)
		w.list(s.Body, times)
	case *tree.Branch:
		w.computed(s.Computed, times)
		w.list(s.Then, times)
	case *tree.Declare:
		if s.Memory.Scope == tree.Shared {
			w.SharedBytes += s.Memory.Bytes()
		}
	case *tree.Map:
		w.access(s.Dst, times, 1)
		w.computed(s.Computed, times)
	case *tree.Sort:
		n := float64(s.To - s.From)
		w.computed(s.Before, times*n*math.Log2(max(2, float64(s.Room()))))
	case *tree.Dot:
		k := times * float64(s.Trips())
		w.Dots += k * float64(s.Rows()*s.Cols())
		w.access(s.A, k*float64(s.Rows()), 1)
		w.access(s.B, k*float64(s.Cols()), 1)
	case *tree.Combine:
		for n := int64(1); n < s.Lanes; n *= 2 {
			w.Shuffles += times
		}
		if s.Scratch != nil {
			w.Barriers += 2 * times
		}
	case *tree.Copy:
		w.access(s.Src, times, s.Count)
		w.access(s.Dst, times, s.Count)
	case tree.Barrier:
		w.Barriers += times
	}
}

// computed counts what an expression reads and does.
func (w *Work) computed(c tree.Computed, times float64) {
	for _, a := range c.Args {
		w.access(a, times, 1)
	}
	c.Value.Walk(func(e *scalar.Expr) bool {
		switch {
		case e.Op.Class() == scalar.Transcendental:
			w.Calls += times
		case len(e.Args) > 0:
			w.Operations += times
		}
		return true
	})
}

// access counts an instruction that reads or writes some neighbouring elements.
func (w *Work) access(a tree.Access, times float64, elements int64) {
	switch a.Memory.Scope {
	case tree.Global:
		w.Global += times
		w.Bytes += times * float64(elements*int64(a.Memory.Type.Size())) * float64(max(w.Lanes, 1))
	case tree.Shared:
		w.Shared += times
	}
}
