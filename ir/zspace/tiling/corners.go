package tiling

import (
	"cmp"
	"slices"

	"tensortapestry.org/tapc/ir/zspace"
)

// tiler looks for the first cell, in row-major order, that the parts do not hold
// exactly as often as whole does. It works on the boxes that have cells, whole
// last with weight -1.
type tiler struct {
	rank   int
	coord  []int64      // per box: start and end in each dimension
	weight []int        // per box: +1 for a part, -1 for whole
	cell   zspace.Point // where the search stands; the answer in the end

	events [][]event // scratch by level
	faces  [][]face
	budget int // events that corners may still use
}

// face is a box seen in the dimensions from some level on, counted weight times.
type face struct {
	box, weight int
}

// event is a face at one coordinate of the dimension before it.
type event struct {
	at int64
	face
}

func newTiler(whole zspace.Range, parts []zspace.Range) *tiler {
	rank := whole.Rank()
	t := &tiler{
		rank:   rank,
		coord:  make([]int64, 0, 2*rank*(len(parts)+1)),
		cell:   make(zspace.Point, rank),
		events: make([][]event, rank),
		faces:  make([][]face, rank),
	}
	for _, r := range parts {
		t.add(r, 1)
	}
	t.add(whole, -1)
	t.budget = len(t.weight)*len(t.weight)/64 + 1<<20
	return t
}

// add takes a box in unless it has no cells.
func (t *tiler) add(r zspace.Range, weight int) {
	if r.Empty() {
		return
	}
	t.weight = append(t.weight, weight)
	for d := range t.rank {
		t.coord = append(t.coord, r.Start[d], r.End[d])
	}
}

// firstBad leaves the first bad cell in t.cell, or returns false if all is well.
// Summing corners is quick unless there are many dimensions in which faces differ:
// then its cost doubles with each, and comparing pairs is cheaper.
func (t *tiler) firstBad() bool {
	if len(t.weight) == 0 {
		return false
	}
	all := make([]face, len(t.weight))
	for b, w := range t.weight {
		all[b] = face{box: b, weight: w}
	}
	found := t.corners(all, 0)
	if t.budget < 0 {
		return t.byPairs()
	}
	return found
}

// corners looks for the first corner with a sum that is not zero among the faces
// given, in the dimensions from level on. It gives up when the budget is spent.
func (t *tiler) corners(faces []face, level int) bool {
	if level == t.rank {
		sum := 0
		for _, f := range faces {
			sum += f.weight
		}
		return sum != 0
	}
	if start, ok := t.common(faces, level); ok {
		t.cell[level] = start
		return t.corners(faces, level+1)
	}
	t.budget -= 2 * len(faces)
	if t.budget < 0 {
		return false
	}
	events := t.sorted(faces, level)
	for len(events) > 0 {
		n := 1
		for n < len(events) && events[n].at == events[0].at {
			n++
		}
		if rest := t.cancel(events[:n], level); len(rest) > 0 {
			t.cell[level] = events[0].at
			if t.corners(rest, level+1) || t.budget < 0 {
				return t.budget >= 0
			}
		}
		events = events[n:]
	}
	return false
}

// common returns the start that all faces have in dimension level if they have
// the end in common too: then the rest decides, and the first bad cell is there.
func (t *tiler) common(faces []face, level int) (start int64, ok bool) {
	n := 2 * t.rank
	first := t.coord[faces[0].box*n+2*level:]
	for _, f := range faces[1:] {
		c := t.coord[f.box*n+2*level:]
		if c[0] != first[0] || c[1] != first[1] {
			return 0, false
		}
	}
	return first[0], true
}

// sorted gives the two ends of every face in dimension level, by coordinate and
// then so that equal faces of the dimensions beyond stand together.
func (t *tiler) sorted(faces []face, level int) []event {
	events := t.events[level][:0]
	at := 2 * level
	for _, f := range faces {
		c := t.coord[f.box*2*t.rank:]
		events = append(events,
			event{c[at], f},
			event{c[at+1], face{box: f.box, weight: -f.weight}})
	}
	slices.SortFunc(events, func(a, b event) int {
		if a.at != b.at {
			return cmp.Compare(a.at, b.at)
		}
		return slices.Compare(t.beyond(a.box, level), t.beyond(b.box, level))
	})
	t.events[level] = events
	return events
}

// beyond is the face of a box in the dimensions after level.
func (t *tiler) beyond(box, level int) []int64 {
	n := 2 * t.rank
	return t.coord[box*n+2*level+2 : (box+1)*n]
}

// cancel adds the weights of equal faces and drops those that come to nothing.
func (t *tiler) cancel(events []event, level int) []face {
	out := t.faces[level][:0]
	for _, e := range events {
		last := len(out) - 1
		if last >= 0 && slices.Equal(t.beyond(out[last].box, level), t.beyond(e.box, level)) {
			out[last].weight += e.weight
			if out[last].weight == 0 {
				out = out[:last]
			}
			continue
		}
		out = append(out, e.face)
	}
	t.faces[level] = out
	return out
}
