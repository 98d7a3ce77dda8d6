package split

import (
	"fmt"

	"tensortapestry.org/tapc/dialects/schedule/nest"
)

// tree is the order in which a CPU adds n values of a float sum (docs/numerics.md): blocks of leaf values, each added value by value, blocks of 64
// of these, and so on, up to top times; the blocks of the last kind are added one by one.
type tree struct {
	product bool // up to 256 values are one block, and there are no larger blocks than groups of 4096
}

// level is how often blocks of blocks are taken of n values: 0 if they are added one by one.
func (t tree) level(n int64) (level int) {
	if t.product {
		switch {
		case nest.PartialSumOf(n) == n:
			return 0
		case n > nest.SumBlock*nest.SumBlock:
			return 2
		}
		return 1
	}
	for size := int64(nest.SumBlock); size < n; size *= nest.SumBlock {
		level++
	}
	return level
}

// alike says whether n values by themselves are added as they are at a level of the whole's tree: one block alone is what it is, with
// any levels above it.
func (t tree) alike(level int, n int64) bool {
	if t.product && level > 0 && n > nest.SumBlock && t.level(n) == 0 {
		return false // a block of up to 256 by itself
	}
	return t.level(n) <= level
}

// term is a part of a sum: the values from From to To as one operation adds them, or the sum of Terms, one by one.
type term struct {
	From, To int64
	Terms    []*term
}

// size is how many values a block of a level has.
func size(level int) int64 {
	n := int64(1)
	for range level {
		n *= nest.SumBlock
	}
	return n
}

// cut gives the terms of a sum of n values whose parts begin at some places, so that it has the bits of the whole; nil if a place lies inside a
// block, or there are more than some terms.
func (t tree) cut(n int64, places []int64, most int) *term {
	c := cutting{tree: t, places: places, left: most}
	return c.at(t.level(n), 0, n)
}

type cutting struct {
	tree
	places []int64
	left   int // terms that there may be
}

// first gives the first place between two values, or the end.
func (c *cutting) first(from, to int64) int64 {
	for _, p := range c.places {
		if p > from && p < to {
			return p
		}
	}
	return to
}

// at gives the terms of values that are added at a level: from begins a block of it.
func (c *cutting) at(level int, from, to int64) *term {
	place := c.first(from, to)
	if place == to && c.alike(level, to-from) {
		if c.left--; c.left < 0 {
			return nil
		}
		return &term{From: from, To: to}
	}
	if level == 0 {
		return nil
	}
	block := size(level)
	sum := &term{From: from, To: to}
	if whole := from + (place-from)/block*block; whole > from && whole < to && c.alike(level, whole-from) {
		if c.left--; c.left < 0 {
			return nil
		}
		sum.Terms, from = append(sum.Terms, &term{From: from, To: whole}), whole // the first blocks are added to each other in any case
	}
	for ; from < to; from += block {
		x := c.at(level-1, from, min(from+block, to))
		if x == nil {
			return nil
		}
		sum.Terms = append(sum.Terms, x)
	}
	return sum
}

// where says where n values can be cut.
func (t tree) where(n int64) string {
	if t.level(n) == 0 {
		return fmt.Sprintf("the permission reassociate: its %d values are one block", n)
	}
	if t.level(n) == 1 {
		return fmt.Sprintf("cuts at multiples of %d, or the permission reassociate", nest.SumBlock)
	}
	return fmt.Sprintf("cuts at multiples of %d, best of %d, or the permission reassociate", nest.SumBlock, size(t.level(n)))
}
