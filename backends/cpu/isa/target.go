// Package isa knows families of processors: their levels, for which programs carry versions, the vectors of each, and what compilers are told. Nothing
// here depends on the machine that tapc runs on; it must not import backends/cpu. Read next: machine.go.
package isa

import (
	"tensortapestry.org/tapc/passes/tile"
)

// Target is a kind of processor that code is written for.
type Target struct {
	tile.Target
	Name    string   // what --cpu calls it
	Flags   []string // that make the compiler write code for it
	Has     string   // the condition, in C, that a processor can run the code; "" if every one can
	Machine string   // the name of its architecture
}

// Scheduled is the target that passes/tile cuts loops for by default.
var Scheduled = Target{Target: tile.Default, Machine: "x86_64"}

// Copies are facts of a processor's memory by which operands are copied into panels. They change neither a value nor what is where, so no config has them.
type Copies struct {
	Line  int64 // bytes of a line of a cache: so many rows are copied at once that they fill whole lines
	Rows  int64 // values of a reduction that all panels of a thread take before the next: their lines, which neighbouring panels share, stay in the first cache
	Ahead int64 // values of a reduction before their turn that lines are asked for: memory answers after about as many
}

// Copies are those of the target's architecture.
func (t Target) Copies() Copies {
	for _, a := range architectures {
		if a.Name == t.Machine {
			return a.Copies
		}
	}
	return usualCopies
}

// usualCopies are those of processors of which nothing else was measured.
var usualCopies = Copies{Line: 64, Rows: 64, Ahead: 16}

// Lanes is how many values of a size are computed with together: a vector of them.
func (t Target) Lanes(size int) int { return max(1, int(t.Vector)/size) }

// Align rounds a size up to a multiple.
func Align(n, to int64) int64 { return (n + to - 1) / to * to }
