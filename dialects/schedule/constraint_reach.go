package schedule

import (
	"slices"

	"github.com/bits-and-blooms/bitset"

	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/check"
)

// steps are the kernels and transfers of a graph whose order has no cycle, numbered as in Order.
type steps struct {
	ids    []ir.NodeID // by number
	number []int32     // by node id; -1 for other nodes
	after  [][]int32   // by number: what the step waits for directly, ascending
	source []int32     // scratch: by number, one more than its bit in the present block
}

// stepsOf numbers the steps of a graph.
func stepsOf(c *check.Context) *steps {
	return check.Cached(c, "schedule.steps", func() *steps {
		g := c.Graph()
		s := &steps{number: make([]int32, g.Bound())}
		s.ids, _ = Order(g) // ScheduleOrderConstraint has found no cycle
		for i := range s.number {
			s.number[i] = -1
		}
		for i, id := range s.ids {
			s.number[id] = int32(i)
		}
		s.after = make([][]int32, len(s.ids))
		for i, id := range s.ids {
			after, _ := After(g.Node(id))
			for _, a := range after {
				s.after[i] = append(s.after[i], s.number[a])
			}
			slices.Sort(s.after[i])
		}
		s.source = make([]int32, len(s.ids))
		return s
	})
}

// pair asks whether the step with number a is done before the one with number b may begin.
type pair struct{ a, b int32 }

// sourceBlock is how many steps are followed at once, in bits.
const sourceBlock = 1024

// unordered gives the positions of the pairs for which a is not certain to be done before b begins, ascending. Most pairs are
// direct waits; the rest are decided for a block of steps at a time, whose bits are passed along the waits: steps times
// waits over 64 word operations in the worst case, in memory linear in the steps.
func (s *steps) unordered(c *check.Context, pairs []pair) []int {
	var bad, open []int
	for i, p := range pairs {
		if p.a >= p.b {
			bad = append(bad, i)
		} else if _, direct := slices.BinarySearch(s.after[p.b], p.a); !direct {
			open = append(open, i)
		}
	}
	slices.SortFunc(open, func(i, j int) int { return int(pairs[i].a) - int(pairs[j].a) })
	for len(open) > 0 && c.Go() {
		n, sources := 0, 0
		for ; n < len(open); n++ {
			if n == 0 || pairs[open[n]].a != pairs[open[n-1]].a {
				if sources == sourceBlock {
					break
				}
				sources++
			}
		}
		bad = append(bad, s.block(pairs, open[:n])...)
		open = open[n:]
	}
	slices.Sort(bad)
	return bad
}

// block decides pairs with at most sourceBlock different first steps, which come in order.
func (s *steps) block(pairs []pair, open []int) []int {
	low, high, bits := pairs[open[0]].a, int32(0), int32(0)
	for _, i := range open {
		if s.source[pairs[i].a] == 0 {
			bits++
			s.source[pairs[i].a] = bits
		}
		high = max(high, pairs[i].b)
	}
	reached := make([]*bitset.BitSet, high-low+1)
	for at := low + 1; at <= high; at++ {
		reached[at-low] = s.pass(at, low, reached)
	}
	var bad []int
	for _, i := range open {
		set := reached[pairs[i].b-low]
		if set == nil || !set.Test(uint(s.source[pairs[i].a]-1)) {
			bad = append(bad, i)
		}
	}
	for _, i := range open {
		s.source[pairs[i].a] = 0
	}
	return bad
}

// pass gives the sources of the present block that are done before a step begins, nil for none.
func (s *steps) pass(at, low int32, reached []*bitset.BitSet) *bitset.BitSet {
	var set *bitset.BitSet
	for _, a := range s.after[at] {
		if a < low || s.source[a] == 0 && reached[a-low] == nil {
			continue
		}
		if set == nil {
			set = bitset.New(sourceBlock)
		}
		if reached[a-low] != nil {
			set.InPlaceUnion(reached[a-low])
		}
		if s.source[a] > 0 {
			set.Set(uint(s.source[a] - 1))
		}
	}
	return set
}
