package fuse

import (
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/ir/scalar"
)

// What a kernel may become by joining. A kernel reads and writes memory once for all of its statements, so after some tens of
// operations for each element the processor, not memory, says how long it takes, and joining gains nothing more. But every value
// that is alive wants a register, every operand a pointer in one and a stream that the hardware can follow, and the time of tapc
// and of the C compiler grows faster than the length of a function. Kernels of real models have at most 80 operations and 9
// operands.
const (
	mostWork     = 256 // operations, loads and constants of all statements
	mostOperands = 64
)

// bounded says whether two kernels are small enough to be joined.
func bounded(k, c *schedule.Kernel) bool {
	return len(k.Operands)+len(c.Operands) <= mostOperands && work(k)+work(c) <= mostWork
}

// work is how much there is to do for an element of a kernel.
func work(k *schedule.Kernel) int {
	n := 0
	for _, s := range k.Statements {
		s.Value.Walk(func(*scalar.Expr) bool { n++; return true })
	}
	return n
}
