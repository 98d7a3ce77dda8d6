// Package few recognises rows of few elements, of which several are computed side by side: a row in each lane. Code and prices follow what it says. Read next: dialects/schedule/nest.
package few

import (
	"slices"

	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/nest"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/scalar"
)

// Most is how many elements rows have that are not few.
const Most = int64(8)

// least is how many rows there are at least.
const least = 4

// Rows gives rows of few elements, which are reduced, with lanes that are rows: each element of a row is in a vector of its own, and these are joined in the
// order of lanes, so that all values are what they are with lanes that are elements. ok is false for other rows, for those that are gone over once, whose vectors of elements
// follow each other without waiting, for those with more elements than a vector has lanes, and for those that need a function of a number of the row, which is not computed as one of vectors is.
func Rows(k *schedule.Kernel, buffers map[ir.NodeID]*schedule.Buffer, found *nest.Rows, sweeps int, lanes int64) (out *nest.Rows, ok bool) {
	n := found.Lane.Extent
	if sweeps < 2 || found.Free || len(found.Reduction)+len(found.Splits) > 0 || len(found.Outer) == 0 || n >= Most || n > lanes || len(nest.PlaceLoops(k)) > 0 ||
		outside(k, buffers) || functionsOfRows(k, found) {
		return nil, false
	}
	longest := 0
	for i, d := range found.Outer {
		if d.Extent >= found.Outer[longest].Extent {
			longest = i
		}
	}
	rows := *found
	rows.Lane, rows.Free, rows.Reduction = found.Outer[longest], true, []nest.Dim{found.Lane}
	rows.Outer = slices.Delete(slices.Clone(found.Outer), longest, longest+1)
	return &rows, rows.Lane.Extent >= least
}

// outside says whether an operand may be read where it has nothing.
func outside(k *schedule.Kernel, buffers map[ir.NodeID]*schedule.Buffer) bool {
	for i := range k.Operands {
		if !nest.Inside(k, buffers, i) {
			return true
		}
	}
	return false
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
