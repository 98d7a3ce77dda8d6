package rows

import (
	"slices"

	"tensortapestry.org/tapc/backends/cpu/isa"
	"tensortapestry.org/tapc/backends/cpu/point"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/nest"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/scalar"
)

const (
	fewMost  = int64(8) // elements of rows, below which several rows are in a vector
	fewRows  = 4        // that there are at least
	fewTiles = 64       // parts of the rows that threads share, at most
)

// fewElements gives rows of few elements, which are reduced, with lanes that are rows: each element of a row is in a vector of its own, and these are joined in the
// order of lanes, so that all values are what they are with lanes that are elements. ok is false for other rows, for those that are gone over once, whose vectors of elements
// follow each other without waiting, and for those that need a function of a number of the row, which is not computed as one of vectors is.
func fewElements(t isa.Target, k *schedule.Kernel, buffers map[ir.NodeID]*schedule.Buffer, found *nest.Rows) (out *nest.Rows, ok bool) {
	n := found.Lane.Extent
	if Of(t, k, buffers, found, 0).sweeps < 2 || found.Free || len(found.Reduction)+len(found.Splits) > 0 || len(found.Outer) == 0 || n >= fewMost || n > int64(t.Lanes(widest(k, found))) ||
		len(nest.PlaceLoops(k)) > 0 || !point.VectorBounds(k, buffers, -1) || functionsOfRows(k, found) {
		return nil, false
	}
	most := 0
	for i, d := range found.Outer {
		if d.Extent >= found.Outer[most].Extent {
			most = i
		}
	}
	rows := *found
	rows.Lane, rows.Free, rows.Reduction = found.Outer[most], true, []nest.Dim{found.Lane}
	rows.Outer = slices.Delete(slices.Clone(found.Outer), most, most+1)
	return &rows, rows.Lane.Extent >= fewRows
}

// functionsOfRows says whether a function is computed of numbers that are the same for all elements of a row.
func functionsOfRows(k *schedule.Kernel, found *nest.Rows) (is bool) {
	differs := make([]bool, len(k.Statements)) // from element to element
	var visit func(e *scalar.Expr) bool
	visit = func(e *scalar.Expr) bool {
		differ := e.Op == scalar.Load && found.Lane.Step(found.Views[e.Ref]) != 0 || e.Op == scalar.Loop && slices.Contains(found.Lane.Loops, e.Ref) ||
			e.Op == scalar.Local && differs[e.Ref]
		for _, a := range e.Args {
			differ = visit(a) || differ
		}
		is = is || !differ && e.Op.Class() > scalar.Root
		return differ && e.Op != scalar.Reduce
	}
	for i, s := range k.Statements {
		differs[i] = visit(s.Value)
	}
	return is
}
