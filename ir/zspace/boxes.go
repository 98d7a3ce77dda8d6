package zspace

import (
	"cmp"
	"slices"
)

// Index finds those of many boxes that share a cell with another box. It is a tree over the boxes, halved along the
// dimension in which their middles spread most, each part with the least box around it.
type Index struct {
	boxes []Range
	order []int // of the boxes that have cells
	parts []indexPart
}

// indexPart is a node of the tree: order[from:to]; its halves are parts[left] and the one after parts[left]'s, or it is a leaf.
type indexPart struct {
	hull        Range
	from, to    int
	left, right int // 0: a leaf
}

// leafSize is how many boxes a leaf holds at most.
const leafSize = 8

// NewIndex indexes boxes of one rank, which do not change afterwards.
func NewIndex(boxes []Range) *Index {
	x := &Index{boxes: boxes}
	for i, r := range boxes {
		if !r.Empty() {
			x.order = append(x.order, i)
		}
	}
	if len(x.order) > 0 {
		x.build(0, len(x.order))
	}
	return x
}

// build adds the part of order[from:to] and gives its number.
func (x *Index) build(from, to int) int {
	hull := x.boxes[x.order[from]].Clone()
	for _, i := range x.order[from:to] {
		for d := range hull.Start {
			hull.Start[d] = min(hull.Start[d], x.boxes[i].Start[d])
			hull.End[d] = max(hull.End[d], x.boxes[i].End[d])
		}
	}
	at := len(x.parts)
	x.parts = append(x.parts, indexPart{hull: hull, from: from, to: to})
	if to-from <= leafSize || !x.halve(from, to) {
		return at
	}
	mid := from + (to-from)/2
	left := x.build(from, mid)
	right := x.build(mid, to)
	x.parts[at].left, x.parts[at].right = left, right
	return at
}

// halve sorts order[from:to] along the dimension in which the middles spread most; false if they do not spread.
func (x *Index) halve(from, to int) bool {
	middle := func(i, d int) int64 { return x.boxes[i].Start[d]/2 + x.boxes[i].End[d]/2 }
	best, spread := 0, uint64(0)
	for d := range x.boxes[x.order[from]].Start {
		lo := middle(x.order[from], d)
		hi := lo
		for _, i := range x.order[from:to] {
			lo, hi = min(lo, middle(i, d)), max(hi, middle(i, d))
		}
		if s := uint64(hi) - uint64(lo); s > spread {
			best, spread = d, s
		}
	}
	if spread == 0 {
		return false
	}
	slices.SortFunc(x.order[from:to], func(a, b int) int {
		return cmp.Or(cmp.Compare(middle(a, best), middle(b, best)), cmp.Compare(a, b))
	})
	return true
}

// Query gives the numbers of the boxes that share a cell with r, ascending.
func (x *Index) Query(r Range) []int {
	if len(x.parts) == 0 {
		return nil
	}
	var found []int
	stack := []int{0}
	for len(stack) > 0 {
		p := &x.parts[stack[len(stack)-1]]
		stack = stack[:len(stack)-1]
		switch {
		case !p.hull.Overlaps(r):
		case p.left > 0:
			stack = append(stack, p.left, p.right)
		default:
			for _, i := range x.order[p.from:p.to] {
				if x.boxes[i].Overlaps(r) {
					found = append(found, i)
				}
			}
		}
	}
	slices.Sort(found)
	return found
}
