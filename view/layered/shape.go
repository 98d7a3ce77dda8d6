package layered

import "slices"

// local is the structure of a segment: boxes by their classes, and where their edges come from, by numbers in the segment. References have
// the numbers behind those of the boxes.
type local struct {
	boxes   int
	classes []uint64 // of boxes, then of references
	edges   []Edge
	size    []Point // the largest of all instances
}

func (l *local) key() uint64 {
	h := mix(uint64(l.boxes))
	for _, c := range l.classes {
		h = mix(h ^ c)
	}
	for _, e := range l.edges {
		h = mix(h ^ uint64(e.From)<<20 ^ uint64(e.To))
	}
	return h
}

func (l *local) same(m *local) bool {
	return l.boxes == m.boxes && slices.Equal(l.classes, m.classes) && slices.Equal(l.edges, m.edges)
}

// shapes collects the structures of segments.
type shapes struct {
	*work
	locals []*local
	byKey  map[uint64][]int
	number []int // of each box in the present segment, -1 for others
}

func newShapes(w *work) *shapes {
	s := &shapes{work: w, byKey: map[uint64][]int{}, number: make([]int, len(w.Boxes))}
	for i := range s.number {
		s.number[i] = -1
	}
	return s
}

// add appends a segment to a layout.
func (s *shapes) add(l *Layout, p part) {
	seg := Segment{Boxes: s.order[p.from:p.to:p.to], Block: p.block}
	x := s.structure(&seg)
	key := x.key()
	seg.Shape = -1
	for _, i := range s.byKey[key] {
		if s.locals[i].same(x) {
			seg.Shape = i
			s.locals[i].widen(x)
		}
	}
	if seg.Shape < 0 {
		seg.Shape = len(s.locals)
		s.locals = append(s.locals, x)
		s.byKey[key] = append(s.byKey[key], seg.Shape)
	}
	l.Segments = append(l.Segments, seg)
}

// widen makes room for another instance.
func (l *local) widen(m *local) {
	for i := range l.size {
		l.size[i].X, l.size[i].Y = max(l.size[i].X, m.size[i].X), max(l.size[i].Y, m.size[i].Y)
	}
}

// structure finds the references of a segment, and what it looks like.
func (s *shapes) structure(seg *Segment) *local {
	x := &local{boxes: len(seg.Boxes)}
	for i, box := range seg.Boxes {
		s.number[box] = i
		b := s.Boxes[box]
		x.classes, x.size = append(x.classes, b.Class), append(x.size, Point{b.Width, b.Height})
	}
	refs := map[int]int{}
	for i, box := range seg.Boxes {
		for _, from := range s.before.of(box) {
			source := int(from)
			at := s.number[source]
			if at < 0 || at >= i { // of another segment, or closing a cycle
				if known, ok := refs[source]; ok {
					at = known
				} else {
					at = x.boxes + len(seg.Refs)
					refs[source] = at
					seg.Refs = append(seg.Refs, source)
					x.classes, x.size = append(x.classes, s.Boxes[source].Class), append(x.size, Point{s.Boxes[source].Brief, RefHeight})
				}
			}
			if e := (Edge{at, i}); !slices.Contains(x.edges[max(0, len(x.edges)-8):], e) {
				x.edges = append(x.edges, e)
			}
		}
	}
	for _, box := range seg.Boxes {
		s.number[box] = -1
	}
	return x
}

// place lays out all structures, and takes apart blocks whose instances turn out to differ.
func (s *shapes) place(l *Layout) {
	for _, x := range s.locals {
		l.Shapes = append(l.Shapes, newPlacing(x).shape())
	}
	l.split()
}

// split makes blocks of instances that have the same shapes: what differs from the instance before it begins another block, or is none.
func (l *Layout) split() {
	number := 0
	for i := 0; i < len(l.Segments); {
		b := l.Segments[i].Block
		if b.Instances == 0 {
			i++
			continue
		}
		same := 1
		for ; b.Instance+same < b.Instances && l.alike(i, i+same*b.Pieces, b.Pieces); same++ {
		}
		if same > 1 {
			number++
		}
		for j := range same * b.Pieces {
			to := &l.Segments[i+j].Block
			if *to = (Block{}); same > 1 {
				*to = Block{number, j / b.Pieces, same, j % b.Pieces, b.Pieces}
			}
		}
		i += same * b.Pieces
	}
}

// alike says whether segments from two places on have the same shapes.
func (l *Layout) alike(i, j, n int) bool {
	for k := range n {
		if l.Segments[i+k].Shape != l.Segments[j+k].Shape {
			return false
		}
	}
	return true
}
