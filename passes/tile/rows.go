package tile

import (
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/nest"
)

// Sizes of the pieces that threads share, in values.
const (
	rowPieces = 64      // from so many rows on, rows are not cut
	leastCut  = 1 << 12 // of a lane dimension that is cut
	mostCut   = 1 << 15
)

// rowsStage cuts the lanes' dimension, where results lie along it and there are few rows, into parts for threads.
func (t Target) rowsStage(k *schedule.Kernel, r *nest.Rows) schedule.Stage {
	s := schedule.Stage{Algorithm: schedule.Rows, Threads: work(k) >= threadWork}
	if !r.Free {
		return s
	}
	rows, piece, least := nest.Points(r.Outer), r.Lane.Extent, int64(leastCut)
	if axis, lines := r.Transposed(k); axis >= 0 { // a task has so many rows
		rows, least = (rows+lines-1)/lines, max(lineValues, leastCut/lines)
	}
	if rows < rowPieces && piece > least {
		piece = even(piece, min(mostCut, max(least, nest.SaturatingProduct(rows, piece)/rowPieces)), lineValues)
	}
	s.Tiles = tiling(schedule.RoleElement, r.Lane, roundUp(piece, t.lanes(int(k.Operands[0].Type().Size()))))
	return s
}

// lineValues is a number of values that fills whole vectors on every target.
const lineValues = 64
