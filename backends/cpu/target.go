package cpu

import (
	"tensortapestry.org/tapc/passes/tile"
)

// Target is a kind of processor that code is written for.
type Target struct {
	tile.Target
	Name    string   // what --cpu calls it
	Flags   []string // that make the compiler write code for it
	Has     string   // the condition, in C, that a processor can run the code; "" if every one can
	machine string   // the name of its architecture
}

// Scheduled is the target that passes/tile cuts loops for by default.
var Scheduled = Target{Target: tile.Default, machine: "x86_64"}

// lanes is how many values of a size are computed with together: a vector of them.
func (t Target) lanes(size int) int { return max(1, int(t.Vector)/size) }
