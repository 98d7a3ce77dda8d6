package cpu

import (
	"tensortapestry.org/tapc/passes/tile"
)

// Target is a kind of processor that code is written for.
type Target struct {
	tile.Target
	Name     string   // what --cpu calls it
	Flags    []string // that make the compiler write code for it
	Features []string // that a processor must have, as __builtin_cpu_supports calls them; none: every processor has them
}

// Scheduled is the target that passes/tile cuts loops for by default.
var Scheduled = Target{Target: tile.Default}

// lanes is how many values of a size are computed with together: a vector of them.
func (t Target) lanes(size int) int { return max(1, int(t.Vector)/size) }
