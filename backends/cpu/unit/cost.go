package unit

import (
	"fmt"

	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/nest"
	"tensortapestry.org/tapc/dialects/tensorops/kernels/instance"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/scalar"
)

// What a processor does in a nanosecond, about. The run-time library decides by such figures whom to wake for a region and how large
// pieces are; a factor of three does not matter.
//
// The price of a config (passes/tile) is no such figure: it is of a whole kernel, whose regions take times of their own, is not known yet where a reduction
// is split for threads, and is for data that come from memory, by which candidates are told apart. A program that runs again has its data in caches: sums and
// elementwise kernels of 4,000 to 800,000 elements have prices of 4 to 14 times what they take on one thread, and 3 to 6 times by these figures.
const (
	SerialRate   = 2  // operations without vectors
	VectorRate   = 2  // times the lanes: operations of vectors
	TileRate     = 7  // times the lanes: multiplications and additions of register tiles
	NarrowRate   = 16 // times the lanes: those of narrow numbers
	WinogradRate = 14 // times the lanes: those that a convolution saves by transforming tiles among them
	memoryRate   = 20 // bytes that are read or written
	PackRate     = 8  // bytes that are packed or copied
	StagedRate   = 1  // bytes of what is folded for all points together, of which each is looked at a few times
)

// Nanoseconds estimates how long a kernel takes on one thread that does so many operations in a nanosecond.
func (e *Unit) Nanoseconds(k *schedule.Kernel, rate float64) float64 {
	return Nanoseconds(k, e.Buffers, rate)
}

// Nanoseconds is that of a kernel that reads and writes some buffers.
func Nanoseconds(k *schedule.Kernel, buffers map[ir.NodeID]*schedule.Buffer, rate float64) float64 {
	operations := 0.0
	k.Visit(func(e *scalar.Expr, times float64) { operations += times * instance.Weight(e) })
	return max(operations/rate, nest.OperandBytes(k, buffers)/memoryRate)
}

// OperandBytes is the size of all buffers of a kernel.
func (e *Unit) OperandBytes(k *schedule.Kernel) float64 { return nest.OperandBytes(k, e.Buffers) }

// Each writes how many picoseconds an index of a region takes that takes some nanoseconds in all.
func Each(nanoseconds float64, indices int64) string {
	return fmt.Sprint(int64(min(1000*nanoseconds/float64(max(1, indices)), 1<<50)))
}

// MaxUnrolled is how many steps of a reduction are written out, as those of a window.
const MaxUnrolled = 32
