package tile

import (
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/nest"
)

// Sizes of the parts that threads share, in values.
const (
	rowTasks = 64      // from so many rows on, rows are not cut
	leastCut = 1 << 12 // of a lane dimension that is cut
	mostCut  = 1 << 15
	evenCut  = 4 // parts are a multiple of it, if rows are cut and not transposed: 2 or 4 threads have as many each
)

// rowsStage cuts the lanes' dimension, where results lie along it and there are few rows, into parts for threads.
func (t Target) rowsStage(k *schedule.Kernel, r *nest.Rows) schedule.Stage {
	s := schedule.Stage{Algorithm: schedule.Rows, Threads: work(k) >= threadWork}
	if !r.Free {
		return s
	}
	rows, part, least := nest.Points(r.Outer), r.Lane.Extent, int64(leastCut)
	axis, lines := r.Transposed(k)
	if axis >= 0 { // a task has so many rows
		rows, least = (rows+lines-1)/lines, max(lineValues, leastCut/lines)
	}
	if rows < rowTasks && part > least {
		most := min(mostCut, max(least, nest.SaturatingProduct(rows, part)/rowTasks))
		if axis < 0 { // shorter parts of transposes take longer: 1000 by 900 in 256 and not 512, 1.6 times as long on Zen 3
			parts := (part + most - 1) / most
			for rows*parts%evenCut != 0 {
				parts++
			}
			most = roundUp((part+parts-1)/parts, lineValues)
		}
		part = even(part, most, lineValues)
	}
	s.Tiles = tiling(schedule.RoleElement, r.Lane, roundUp(part, t.lanes(int(k.Operands[0].Type().Size()))))
	return s
}

// lineValues is a number of values that fills whole vectors on every target.
const lineValues = 64
