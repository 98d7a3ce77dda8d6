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

// bindRows cuts the lanes' dimension into vectors, and where there are few rows into pieces for threads.
func (t Target) bindRows(k *schedule.Kernel, r *nest.Rows) {
	bind := schedule.Serial
	if work(k) >= threadWork {
		bind = schedule.Thread
	}
	rows := int64(1)
	for _, d := range r.Outer {
		rows = nest.SaturatingProduct(rows, d.Extent)
		for _, l := range d.Loops {
			k.Loops[l].Levels = []schedule.Level{{Tile: 1, Bind: bind}}
		}
	}
	lanes := t.lanes(int(k.Operands[0].Type().Size()))
	if !r.Free {
		k.Loops[r.Lane.Inner()].Levels = []schedule.Level{{Tile: lanes}, {Tile: 1, Bind: schedule.Vector}}
		return
	}
	piece := r.Lane.Extent
	if rows < rowPieces && piece > leastCut {
		piece = even(piece, min(mostCut, max(leastCut, nest.SaturatingProduct(rows, piece)/rowPieces)), lineValues)
	}
	bindDim(k, r.Lane, bind, roundUp(piece, lanes), lanes, 1)
	inner := &k.Loops[r.Lane.Inner()]
	inner.Levels[len(inner.Levels)-1].Bind = schedule.Vector
}

// lineValues is a number of values that fills whole vectors on every target.
const lineValues = 64
