package tile

import (
	"fmt"
	"strings"

	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/ir"
)

// Target is what the pass knows of the processor that kernels are cut for.
type Target struct {
	Vector    int64 // bytes of a vector register
	Registers int64 // vector registers
	L2        int64 // bytes of the second cache of one core

	program int64 // bytes of the buffers of the program whose kernel is looked at
}

// Bytes is how many the buffers of a program have.
func Bytes(buffers map[ir.NodeID]*schedule.Buffer) (n int64) {
	for _, b := range buffers {
		n += b.Bytes
	}
	return n
}

// Near says whether some bytes stay in the second cache whatever goes by.
func (t Target) Near(bytes int64) bool { return bytes <= t.L2/4 }

// Default is the target of a pass that is told nothing else: a processor with AVX-512.
var Default = Target{Vector: 64, Registers: 32, L2: 1 << 20}

// lanes is how many values of a size fit a vector.
func (t Target) lanes(size int) int64 { return max(1, t.Vector/int64(size)) }

// family is what the names of all targets begin with.
const family = "cpu_"

// Name is that of the target's configs. It says what the pass knows, so that processors for which it decides the same have one config.
func (t Target) Name() string {
	return fmt.Sprintf("%sv%d_r%d_l%dk", family, t.Vector, t.Registers, t.L2>>10)
}

// Named says whether a config is for a target, whichever it is.
func Named(target string) bool { return strings.HasPrefix(target, family) }

// Limits of what processors are said to have.
const (
	mostVector    = 256
	mostRegisters = 128
	mostL2        = 1 << 30
)

// TargetNamed gives the target whose configs have a name; ok says whether there is one.
func TargetNamed(name string) (t Target, ok bool) {
	n, err := fmt.Sscanf(name, family+"v%d_r%d_l%dk", &t.Vector, &t.Registers, &t.L2)
	if err != nil || n != 3 || t.L2 > mostL2>>10 {
		return t, false
	}
	t.L2 <<= 10
	powerOfTwo := t.Vector&(t.Vector-1) == 0
	return t, t.Name() == name && t.Vector >= 8 && t.Vector <= mostVector && powerOfTwo && t.Registers >= 8 && t.Registers <= mostRegisters && t.L2 > 0
}
