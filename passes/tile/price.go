package tile

import (
	"fmt"
	"math"

	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/cost"
	"tensortapestry.org/tapc/dialects/schedule/nest"
	"tensortapestry.org/tapc/dialects/tensorops/kernels/instance"
	"tensortapestry.org/tapc/ir/scalar"
)

// Cycles of one core, and what it does in them. Nothing here was measured but the order of register tiles and of transformed convolutions
// (docs/performance.md): prices are there to compare candidates.
const (
	coreHertz     = 2.5e9
	coreBandwidth = 10e9 // bytes a second of memory that one core has
	coreError     = 4    // the factor by which times may be off
	cycleParts    = 8    // of a cycle that steps of products count in
	lowPrecision  = 8    // multiply-adds of bytes or bfloat16 for each lane in a cycle
)

// facts are those of one core of the target.
func (t Target) facts() cost.Device {
	return cost.Device{Name: "cpu", Units: 1, Hertz: coreHertz, Rate: float64(2 * t.lanes(4)), Bandwidth: coreBandwidth, Error: coreError, Waits: true}
}

// productCycles is the time of a contraction's register tiles on one core.
func (t Target) productCycles(p productPlan, c *nest.Contraction) float64 {
	if p.tile.cycles == noTile { // one product at a time
		return float64(nest.SaturatingProduct(p.length, p.batch, c.Row.Extent, c.Col.Extent))
	}
	return float64(p.tile.cycles) / cycleParts * float64(p.length) * float64(p.batch) * float64(max(1, c.Col.Extent)) / float64(min(c.Col.Extent, t.keptColumns(c, int64(c.Sum.Type.Size()), p.Right)))
}

// lowPrecisionCycles is the time of a low-precision contraction.
func (t Target) lowPrecisionCycles(n *nest.LowPrecision) float64 {
	products := nest.SaturatingProduct(n.Length(), n.C.Row.Extent, n.C.Col.Extent, nest.Points(n.C.Batch))
	return float64(products) / float64(lowPrecision*t.lanes(4))
}

// scalarCycles is the time of a kernel that does so many operations in a cycle.
func (x *considering) scalarCycles(rate float64) float64 { return operations(x.a.Kernel) / rate }

// stagedCycles is the time of scans: each element of what a kernel reads and writes is looked at a few times.
func (x *considering) stagedCycles() float64 {
	return nest.OperandBytes(x.a.Kernel, x.a.Buffers) * coreHertz / 1e9
}

// operations is about how many additions a kernel takes, point by point.
func operations(k *schedule.Kernel) (sum float64) {
	k.Visit(func(e *scalar.Expr, times float64) { sum += times * (1 + instance.Weight(e)) })
	return sum
}

// otherPacking is a way to read operands that is not chosen, and why.
type otherPacking struct {
	Packing
	why error
}

// otherPackings gives the ways to read the operands of a contraction, one at a time, that PackingOf does not choose.
func (t Target) otherPackings(c *nest.Contraction, chosen Packing) []otherPacking {
	var out []otherPacking
	for _, left := range []Pack{Unpacked, UpFront, PerMacroTile} {
		if left != chosen.Left && chosen.Left != Prepacked && (left == Unpacked || c.Padded == nil) && (left != PerMacroTile || len(c.Reduction) == 1) {
			out = append(out, otherPacking{Packing{left, chosen.Right}, notLeft(c, left, chosen.Left)})
		}
	}
	for _, right := range []Pack{Unpacked, UpFront} {
		if right != chosen.Right && chosen.Right != Prepacked {
			out = append(out, otherPacking{Packing{chosen.Left, right}, t.notRight(c, right)})
		}
	}
	return out
}

// notLeft says why a left operand is not read as it might be.
func notLeft(c *nest.Contraction, pack, chosen Pack) error {
	bytes := nest.SaturatingProduct(c.Row.Extent, c.InnerReduction(), int64(c.Sum.Type.Size()))
	switch {
	case pack == Unpacked && chosen == UpFront:
		return fmt.Errorf("neighbours along the reduction are in cache lines of their own, which every few columns would fetch anew")
	case pack == Unpacked:
		return fmt.Errorf("its %d bytes are rows far apart, which push each other out of the first cache", bytes)
	case pack == UpFront && chosen == PerMacroTile:
		return fmt.Errorf("a copy of all %d bytes would not stay in the second cache", bytes)
	case pack == UpFront:
		return fmt.Errorf("neighbours along the reduction are in one cache line, or %d rows and %d columns are too few for a copy to pay", c.Row.Extent, c.Col.Extent)
	}
	return fmt.Errorf("%d bytes of %d rows are used for %d columns: packing pays from %d bytes, %d rows, %d columns and %d products, where rows are read in order", bytes, c.Row.Extent,
		c.Col.Extent, largeBytes, largeRows, leastPieceCols, largeFold)
}

// notRight says why a right operand is not read as it might be.
func (t Target) notRight(c *nest.Contraction, pack Pack) error {
	switch {
	case pack == Unpacked && c.Window != nil:
		return fmt.Errorf("windows overlap, and are gathered into panels")
	case pack == Unpacked && c.Computed != nil:
		return fmt.Errorf("it is computed, panel by panel")
	case pack == Unpacked && c.Col.Step(c.Views[c.Right]) != 1:
		return fmt.Errorf("columns are not neighbours")
	}
	if uses := t.copyUses(c); uses < math.MaxInt64 {
		return fmt.Errorf("each element is used %d times, and a copy pays above %d", c.Uses(), uses)
	}
	return fmt.Errorf("rows less than a page apart are read as fast where they are")
}
