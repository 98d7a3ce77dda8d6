package compare

import (
	"context"

	"tensortapestry.org/tapc/ir/tensorfile"
)

// Runner is a side that runs the model in processes of its own.
type Runner interface {
	Title() string // with its version
	// Values runs the model once and gives its outputs by name.
	Values(ctx context.Context) (map[string]tensorfile.Tensor, error)
	// Bench gives the milliseconds of a run, the median of several after some that are not timed.
	Bench(ctx context.Context) (float64, error)
	// Once runs the model once in a new process.
	Once(ctx context.Context) (Usage, error)
	// Peak gives the memory of a process that runs the model.
	Peak(ctx context.Context) (Usage, error)
	Close() error
}

// Usage is what a process took that ran a model once.
type Usage struct {
	Milliseconds float64 // from its start to its end
	Peak         int64   // bytes of its greatest resident set; 0 is not known
	Host         int64   // of these, before the model was read
}

// Named is a tensor under the name that a side has for it.
type Named struct {
	Name string
	tensorfile.Tensor
}

// benchMilliseconds is about how long one measurement takes after its warm-up, and the bounds of its number of runs.
const (
	benchMilliseconds = 250
	leastRuns         = 3
	mostRuns          = 2000
)

// runsFor gives how many runs one measurement has, of which one takes so long.
func runsFor(milliseconds float64) int {
	if milliseconds <= 0 {
		return mostRuns
	}
	return max(leastRuns, int(min(mostRuns, benchMilliseconds/milliseconds)))
}
