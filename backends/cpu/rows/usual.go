package rows

import (
	"slices"

	"tensortapestry.org/tapc/backends/cpu/unit"
	"tensortapestry.org/tapc/dialects/schedule/nest"
	"tensortapestry.org/tapc/ir/scalar"
)

// What pays.
const (
	streamBytes        = 32 << 20 // that a kernel reads and writes, from which results go past the caches: nothing of them would be left there for whoever reads them
	leastStream        = 5 << 19  // and from which results of the program do where the third cache is no faster than memory: the program finds out whether it runs on such a machine (tapc_far)
	partialNanoseconds = 50000    // that a kernel takes on one thread, from which its reduction is split
	fewTasks           = 16       // from so many on, there are tasks enough for threads
	partialBlocks      = 32       // that there are at least, where the tree has as many

	jamCells  = 8   // that are jammed at most,
	jamCostly = 2   // and where a vector calls functions
	jamGain   = 1.2 // work of cells one by one, by that of the same jammed, from which they are
)

// usualPart is the part of a reduction that a task has where it pays to split it, 0 elsewhere: the largest that makes tasks enough.
func usualPart(r *Kernel) (part int64) {
	p := partialOf(r)
	if p == nil || tasks(r) >= fewTasks || unit.Nanoseconds(r.k, r.buffers, unit.VectorRate*float64(r.n)) < partialNanoseconds {
		return 0
	}
	for i, size := range p.sizes() {
		if i == 0 || (p.extent+size-1)/size >= partialBlocks {
			part = size
		}
	}
	return part
}

// findJam finds the axis along which cells have the most work in common, with as many cells as can be jammed, or that operands of elementwise work lie along; nil if there is none.
func findJam(r *Kernel) *jam {
	if axis, cells := r.Transposed(r.k); axis >= 0 && !r.few && len(r.kept)+len(r.gathered) == 0 {
		return &jam{axis: axis, cells: cells, tiled: true}
	}
	reduce := onlyReduction(r)
	if reduce == nil || r.few || r.span != nil || len(r.kept)+len(r.Splits)+len(r.ahead) > 0 {
		return nil
	}
	axis, most := -1, 0.0
	for i, a := range r.Outer {
		if _, shared := work(r, reduce.Args[0], a); shared > most && mostJammed(r, i) > 1 {
			axis, most = i, shared
		}
	}
	if axis < 0 {
		return nil
	}
	return &jam{axis: axis, cells: mostJammed(r, axis)}
}

// findVectors finds the vectors of a row that can be jammed: of reductions that are not written out. nil if there are none.
func findVectors(r *Kernel) *jam {
	reduce := onlyReduction(r)
	if reduce == nil || !r.Free || r.few || r.span != nil || len(r.kept)+len(r.Splits)+len(r.ahead) > 0 || r.interior.guarded || small(r.Reduction) {
		return nil
	}
	most := int64(jamCells)
	if costly(reduce) {
		most = jamCostly
	}
	if most = min(most, (r.Lane.Extent+r.n-1)/r.n, int64(r.t.Registers)/2); most < 2 {
		return nil
	}
	return &jam{axis: beside, cells: most}
}

// mostJammed is how many cells along an outer axis can be jammed: those whose accumulators are in half the registers.
func mostJammed(r *Kernel, axis int) int64 {
	unroll := int64(1)
	if !r.Free {
		unroll = accumulatorsOf(r, onlyReduction(r).Args[0], false)
	}
	return min(jamCells, r.Outer[axis].Extent, int64(r.t.Registers)/2/unroll)
}

// usualJam is how many cells are jammed where that pays and leaves threads enough to do, or the vectors of a row, of which each would wait for its own sum; nil elsewhere.
func usualJam(r *Kernel) *jam {
	j := findJam(r)
	if j == nil {
		return findVectors(r)
	}
	if j.tiled {
		return j
	}
	all, shared := work(r, onlyReduction(r).Args[0], r.Outer[j.axis])
	all++ // to accumulate
	gain := func() float64 { return all / (all - shared*float64(j.cells-1)/float64(j.cells)) }
	for ; j.cells > 1 && gain() >= jamGain; j.cells /= 2 {
		x := *r
		x.decided.jam = j
		if x := &x; tasks(x) >= fewTasks || usualPart(x) > 0 {
			return j
		}
	}
	return findVectors(r)
}

// work is about how many instructions the value of a vector takes, all of them and those of which no operand moves along an axis.
func work(r *Kernel, e *scalar.Expr, axis nest.Dim) (all, shared float64) {
	own, moves := 1.0, false
	switch e.Op {
	case scalar.Const:
		own = 0
	case scalar.Local:
		all, shared = work(r, r.k.Statements[e.Ref].Value, axis)
		return all, shared
	case scalar.Loop:
		moves = slices.Contains(axis.Loops, e.Ref)
	case scalar.Load:
		moves = axis.Step(r.Views[e.Ref]) != 0
		if step := r.Lane.Step(r.Views[e.Ref]); step != 0 && step != 1 {
			own = 3
		}
	}
	for _, a := range e.Args {
		x, s := work(r, a, axis)
		all, shared = all+x, shared+s
		moves = moves || s < x
	}
	if e.Op.Class() >= scalar.Root {
		own = 16
	}
	if all += own; !moves {
		shared += own
	}
	return all, shared
}
