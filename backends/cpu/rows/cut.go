package rows

import (
	"slices"

	"tensortapestry.org/tapc/backends/cpu/isa"
	"tensortapestry.org/tapc/backends/cpu/unit"
	"tensortapestry.org/tapc/dialects/schedule"
)

const runNanoseconds = 1000 // that a run of short rows takes at most: pools hand out no less at a time

// tasks is how many tasks there are where each is one cell, or those that are computed together.
func tasks(r *Kernel) int64 {
	tasks := r.tiles()
	for i := range r.Outer {
		tasks *= r.steps(i)
	}
	return tasks
}

// run is how many neighbouring cells along an outer axis are one task, or groups of cells that are computed together.
type run struct {
	axis   int
	length int64
}

// runOf gives the runs of short rows along the innermost axis that has several.
func runOf(r *Kernel) run {
	if r.tiles() > 1 {
		return run{length: 1}
	}
	for i := range slices.Backward(r.Outer) {
		if steps := r.steps(i); steps > 1 {
			each := unit.Nanoseconds(r.k, r.buffers, unit.VectorRate*float64(r.n)) / float64(max(1, tasks(r)))
			return run{i, max(1, int64(min(float64(steps), runNanoseconds/each)))}
		}
	}
	return run{length: 1}
}

// tasks is how many tasks there are of runs.
func (x run) tasks(r *Kernel) int64 {
	if x.length == 1 {
		return tasks(r)
	}
	steps := r.steps(x.axis)
	return tasks(r) / steps * ((steps + x.length - 1) / x.length)
}

// tile is how many lanes of a row a task has: all if lanes are reduced, and a part of them if they are rows.
func (r *Kernel) tile() int64 {
	if levels := r.k.Loops[r.Lane.Inner()].Levels; r.Free && len(levels) > 1 {
		return min(r.Lane.Extent, isa.Align(levels[0].Tile, r.n))
	}
	if r.few && r.threads() {
		return min(r.Lane.Extent, isa.Align((r.Lane.Extent+fewTiles-1)/fewTiles, r.n))
	}
	return r.Lane.Extent
}

// tiles is how many of these a row is cut into.
func (r *Kernel) tiles() int64 { return (r.Lane.Extent + r.tile() - 1) / r.tile() }

// steps is how many cells, or groups of cells that are computed together, an outer axis has.
func (r *Kernel) steps(axis int) int64 {
	n := together(r, axis)
	return (r.Outer[axis].Extent + n - 1) / n
}

// together is how many cells along an outer axis are computed together: those of a span or a jam.
func together(r *Kernel, axis int) int64 {
	switch jam := r.decided.jam; {
	case r.span != nil && axis == len(r.Outer)-1:
		return r.span.cells
	case jam != nil && axis == jam.axis:
		return jam.cells
	}
	return 1
}

// threads says whether loops are bound to threads.
func (r *Kernel) threads() bool {
	return slices.ContainsFunc(r.k.Loops, func(l schedule.Loop) bool { return l.Levels[0].Bind == schedule.Thread })
}
