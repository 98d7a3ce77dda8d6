package cut

import (
	"math/rand/v2"

	"tensortapestry.org/tapc/ir/zspace"
)

// Random gives a cut that fits an index, for tests: of one or two levels, by counts, sizes, names or boxes.
func Random(rnd *rand.Rand, s Space) Cut {
	if rnd.IntN(4) == 0 {
		return Cut{[]Level{{Boxes: randomBoxes(rnd, s.Index, 3)}}}
	}
	c := Cut{[]Level{randomLevel(rnd, s, true)}}
	if rnd.IntN(3) == 0 {
		second := Cut{append(c.Levels, randomLevel(rnd, s, false))}
		if _, err := second.Blocks(s); err == nil {
			return second
		}
	}
	return c
}

// randomLevel cuts along some dimensions; sizes fit the whole index alone.
func randomLevel(rnd *rand.Rand, s Space, whole bool) (l Level) {
	named := rnd.IntN(3) == 0 && len(s.Names) > 0
	for d, extent := range s.Index.Shape() {
		p := Part{Count: 1}
		switch k := rnd.IntN(5); {
		case k == 0 && extent > 0:
			p = Part{Size: 1 + rnd.Int64N(extent)}
		case k == 1 && extent > 1 && whole:
			at := 1 + rnd.Int64N(extent-1)
			p = Part{Sizes: []int64{at, extent - at}}
		case k < 4:
			p = Part{Count: min(max(extent, 1), 1+rnd.Int64N(3))}
		}
		if named && rnd.IntN(2) == 0 {
			continue
		}
		if named {
			l.Names = append(l.Names, s.Names[d])
		}
		l.Parts = append(l.Parts, p)
	}
	if named && l.Names == nil {
		return randomLevel(rnd, Space{Index: s.Index}, whole)
	}
	return l
}

// randomBoxes halves a box again and again, at random places along random dimensions: no grid gives what comes of it.
func randomBoxes(rnd *rand.Rand, box zspace.Range, depth int) []zspace.Range {
	d := -1
	if box.Rank() > 0 {
		d = rnd.IntN(box.Rank())
	}
	if depth == 0 || d < 0 || box.End[d]-box.Start[d] < 2 {
		return []zspace.Range{box}
	}
	at := 1 + rnd.Int64N(box.End[d]-box.Start[d]-1)
	low, high := box.Clone(), box.Clone()
	low.End[d], high.Start[d] = box.Start[d]+at, box.Start[d]+at
	return append(randomBoxes(rnd, low, depth-1), randomBoxes(rnd, high, depth-1)...)
}
