package memory

import (
	"cmp"
	"slices"
)

// place gives every buffer of one device its offset and returns the arena's size.
func place(lives []*life, steps int) int64 {
	bySize := slices.Clone(lives)
	slices.SortStableFunc(bySize, func(a, b *life) int {
		return cmp.Or(cmp.Compare(b.buf.Bytes, a.buf.Bytes), cmp.Compare(a.id, b.id))
	})
	peak, grain := int64(0), int64(0)
	for _, l := range bySize {
		grain = divisor(l.buf.Align, grain)
	}
	t := newTimeline(steps, grain)
	for _, l := range bySize {
		l.buf.Offset = t.fit(l)
		peak = max(peak, l.buf.Offset+l.buf.Bytes)
		t.add(l)
	}
	return peak
}

// divisor is the greatest common divisor; 0 has all.
func divisor(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

func align(n, to int64) int64 { return (n + to - 1) / to * to }

// timeline knows which bytes are taken when: a tree over the steps. A life is the union of the spans of a few of its nodes, twice
// the tree's height at most.
type timeline struct {
	steps int
	grain int64   // what lies between the end of a buffer and the next multiple of it, no other can take
	whole []bytes // by node: what is taken in all of the node's span
	some  []bytes // by node: what is taken in some part of it, or all
}

func newTimeline(steps int, grain int64) *timeline {
	size := 1
	for size < steps {
		size *= 2
	}
	return &timeline{steps: size, grain: grain, whole: make([]bytes, 2*size), some: make([]bytes, 2*size)}
}

// spans gives the nodes whose spans make up a life, and those above them.
func (t *timeline) spans(l *life) (nodes, above []int) {
	from, to := l.first+t.steps, l.last+t.steps+1
	for lo, hi := from, to; lo < hi; lo, hi = lo/2, hi/2 {
		if lo%2 == 1 {
			nodes = append(nodes, lo)
			lo++
		}
		if hi%2 == 1 {
			hi--
			nodes = append(nodes, hi)
		}
	}
	for _, leaf := range [2]int{from, to - 1} {
		for n := leaf / 2; n > 0; n /= 2 {
			above = append(above, n)
		}
	}
	slices.Sort(above)
	above = slices.DeleteFunc(slices.Compact(above), func(n int) bool { return t.inside(n, nodes) })
	return nodes, above
}

// inside says whether a node is one of some or below it.
func (t *timeline) inside(n int, nodes []int) bool {
	for ; n > 0; n /= 2 {
		if slices.Contains(nodes, n) {
			return true
		}
	}
	return false
}

// fit gives the lowest place that is free all through a life.
func (t *timeline) fit(l *life) int64 {
	if l.buf.Bytes == 0 {
		return 0
	}
	nodes, above := t.spans(l)
	var taken []bytes
	for _, n := range nodes {
		taken = append(taken, t.some[n])
	}
	for _, n := range above {
		taken = append(taken, t.whole[n])
	}
	taken = slices.DeleteFunc(taken, func(b bytes) bool { return len(b) == 0 })
	at := int64(0)
	for moved := true; moved; {
		moved = false
		for _, b := range taken {
			if end, hit := b.hit(at, at+l.buf.Bytes); hit {
				at, moved = align(end, l.buf.Align), true
			}
		}
	}
	return at
}

// add takes the bytes of a buffer for its life.
func (t *timeline) add(l *life) {
	if l.buf.Bytes == 0 {
		return
	}
	from, to := l.buf.Offset, align(l.buf.Offset+l.buf.Bytes, t.grain)
	nodes, above := t.spans(l)
	for _, n := range nodes {
		t.whole[n].add(from, to)
		t.some[n].add(from, to)
	}
	for _, n := range above {
		t.some[n].add(from, to)
	}
}

// bytes is a set of bytes: intervals, ascending, that do not touch.
type bytes []interval

type interval struct{ from, to int64 }

// behind gives the number of the first interval that ends at a byte or behind it.
func (b bytes) behind(at int64) int {
	i, _ := slices.BinarySearchFunc(b, at, func(x interval, at int64) int { return cmp.Compare(x.to, at) })
	return i
}

// hit gives the end of the first interval that has a byte between two places.
func (b bytes) hit(from, to int64) (end int64, ok bool) {
	i := b.behind(from + 1)
	if i == len(b) || b[i].from >= to {
		return 0, false
	}
	return b[i].to, true
}

// add joins an interval with those that it meets.
func (b *bytes) add(from, to int64) {
	i := b.behind(from)
	j := i
	for ; j < len(*b) && (*b)[j].from <= to; j++ {
		from, to = min(from, (*b)[j].from), max(to, (*b)[j].to)
	}
	*b = slices.Replace(*b, i, j, interval{from, to})
}
