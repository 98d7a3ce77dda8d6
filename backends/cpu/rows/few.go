package rows

import (
	"tensortapestry.org/tapc/backends/cpu/isa"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/nest"
	"tensortapestry.org/tapc/dialects/schedule/nest/few"
	"tensortapestry.org/tapc/ir"
)

const (
	fewMost  = few.Most // elements of rows that are not few
	fewTiles = 64       // parts of the rows that threads share, at most
)

// fewElements gives rows of few elements with lanes that are rows; ok is false for other rows.
func fewElements(t isa.Target, k *schedule.Kernel, buffers map[ir.NodeID]*schedule.Buffer, found *nest.Rows) (out *nest.Rows, ok bool) {
	return few.Rows(k, buffers, found, Of(t, k, buffers, found, 0).sweeps, int64(t.Lanes(widest(k, found))))
}
