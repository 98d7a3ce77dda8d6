// Package waits decides which steps of a schedule are certain to be done before others begin, for many pairs at once.
//
// Steps are numbers here, so that it knows no dialect and must not import one. Read next: dialects/schedule/constraint_reach.go.
package waits

import (
	"slices"

	"github.com/bits-and-blooms/bitset"
)

// Order is steps, numbered so that none waits for a later one.
type Order struct {
	after  [][]int32 // what each step waits for directly, ascending
	source []int32   // scratch: by number, one more than its bit in the present block
}

// New gives the order in which each step waits for those of a list, which are ascending.
func New(after [][]int32) *Order { return &Order{after, make([]int32, len(after))} }

// Pair asks whether step A is done before step B may begin.
type Pair struct{ A, B int32 }

// sourceBlock is how many steps are followed at once, in bits.
const sourceBlock = 1024

// Unordered gives the positions of the pairs for which A is not certain to be done before B begins, ascending; those that it has found when more,
// which is asked from time to time, says no. Most pairs are direct waits; the rest are decided for a block of steps at a time, whose bits are passed
// along the waits: steps times waits over 64 word operations in the worst case, in memory linear in the steps.
func (o *Order) Unordered(pairs []Pair, more func() bool) []int {
	var bad, open []int
	for i, p := range pairs {
		if p.A >= p.B {
			bad = append(bad, i)
		} else if _, direct := slices.BinarySearch(o.after[p.B], p.A); !direct {
			open = append(open, i)
		}
	}
	slices.SortFunc(open, func(i, j int) int { return int(pairs[i].A) - int(pairs[j].A) })
	for len(open) > 0 && more() {
		n, sources := 0, 0
		for ; n < len(open); n++ {
			if n == 0 || pairs[open[n]].A != pairs[open[n-1]].A {
				if sources == sourceBlock {
					break
				}
				sources++
			}
		}
		bad = append(bad, o.block(pairs, open[:n])...)
		open = open[n:]
	}
	slices.Sort(bad)
	return bad
}

// block decides pairs with at most sourceBlock different first steps, which come in order.
func (o *Order) block(pairs []Pair, open []int) []int {
	low, high, bits := pairs[open[0]].A, int32(0), int32(0)
	for _, i := range open {
		if o.source[pairs[i].A] == 0 {
			bits++
			o.source[pairs[i].A] = bits
		}
		high = max(high, pairs[i].B)
	}
	reached := make([]*bitset.BitSet, high-low+1)
	for at := low + 1; at <= high; at++ {
		reached[at-low] = o.pass(at, low, reached)
	}
	var bad []int
	for _, i := range open {
		set := reached[pairs[i].B-low]
		if set == nil || !set.Test(uint(o.source[pairs[i].A]-1)) {
			bad = append(bad, i)
		}
	}
	for _, i := range open {
		o.source[pairs[i].A] = 0
	}
	return bad
}

// pass gives the sources of the present block that are done before a step begins, nil for none.
func (o *Order) pass(at, low int32, reached []*bitset.BitSet) *bitset.BitSet {
	var set *bitset.BitSet
	for _, a := range o.after[at] {
		if a < low || o.source[a] == 0 && reached[a-low] == nil {
			continue
		}
		if set == nil {
			set = bitset.New(sourceBlock)
		}
		if reached[a-low] != nil {
			set.InPlaceUnion(reached[a-low])
		}
		if o.source[a] > 0 {
			set.Set(uint(o.source[a] - 1))
		}
	}
	return set
}
