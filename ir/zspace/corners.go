package zspace

import (
	"cmp"
	"slices"
)

// tiler looks for the first cell, in row-major order, that the parts do not hold
// exactly as often as whole does. It works on the boxes that have cells, whole
// last with weight -1, and only on the dimensions in which they are not all
// alike.
type tiler struct {
	dims   []int   // the dimensions that matter, ascending
	coord  []int64 // per box: start and end in each of dims
	weight []int   // per box: +1 for a part, -1 for whole
	cell   Point   // where the search stands; the answer in the end

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

func newTiler(whole Range, parts []Range) *tiler {
	boxes := make([]Range, 0, len(parts)+1)
	t := &tiler{cell: whole.Start.Clone()}
	for _, r := range parts {
		if !r.Empty() {
			boxes = append(boxes, r)
			t.weight = append(t.weight, 1)
		}
	}
	if !whole.Empty() {
		boxes = append(boxes, whole)
		t.weight = append(t.weight, -1)
	}
	for d := range whole.Rank() {
		if !alike(boxes, d) {
			t.dims = append(t.dims, d)
		} else if len(boxes) > 0 {
			t.cell[d] = boxes[0].Start[d]
		}
	}
	t.coord = make([]int64, 0, 2*len(boxes)*len(t.dims))
	for _, r := range boxes {
		for _, d := range t.dims {
			t.coord = append(t.coord, r.Start[d], r.End[d])
		}
	}
	t.events = make([][]event, len(t.dims))
	t.faces = make([][]face, len(t.dims))
	t.budget = len(boxes)*len(boxes)/64 + 1<<20
	return t
}

// alike reports whether all boxes have the same extent at the same place in d.
func alike(boxes []Range, d int) bool {
	for _, r := range boxes {
		if r.Start[d] != boxes[0].Start[d] || r.End[d] != boxes[0].End[d] {
			return false
		}
	}
	return true
}

// firstBad leaves the first bad cell in t.cell, or returns false if all is well.
// Summing corners is quick unless there are many dimensions and few equal faces:
// then its cost doubles with each dimension, and comparing pairs is cheaper.
func (t *tiler) firstBad() bool {
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
	if level == len(t.dims) {
		sum := 0
		for _, f := range faces {
			sum += f.weight
		}
		return sum != 0
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
			t.cell[t.dims[level]] = events[0].at
			if t.corners(rest, level+1) || t.budget < 0 {
				return t.budget >= 0
			}
		}
		events = events[n:]
	}
	return false
}

// sorted gives the two ends of every face in dimension level, by coordinate and
// then so that equal faces of the dimensions beyond stand together.
func (t *tiler) sorted(faces []face, level int) []event {
	events := t.events[level][:0]
	at := 2 * level
	for _, f := range faces {
		c := t.coord[f.box*2*len(t.dims):]
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
	n := 2 * len(t.dims)
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
