package cpu

import (
	"tensortapestry.org/tapc/passes/tile"
)

// Target is a kind of processor that code is written for.
type Target struct {
	tile.Target
	Name string // what --cpu calls it
}

// lanes is how many values of a size are computed with together: a vector of them.
func (t Target) lanes(size int) int { return max(1, int(t.Vector)/size) }
