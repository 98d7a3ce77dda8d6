package pieces

import (
	"fmt"
	"slices"

	"tensortapestry.org/tapc/ir/zspace"
)

// progression is the numbers start, start + step, …, count of them.
type progression struct{ start, step, count int64 }

func (p progression) last() int64 { return p.start + (p.count-1)*p.step }

// within gives the numbers of a progression from lo to hi.
func (p progression) within(lo, hi int64) progression {
	if p.start < lo {
		n := -floorDiv(p.start-lo, p.step)
		p.start, p.count = p.start+n*p.step, p.count-n
	}
	if p.count > 0 && p.last() > hi {
		p.count = floorDiv(hi-p.start, p.step) + 1
	}
	p.count = max(0, p.count)
	if p.count == 1 {
		p.step = 1
	}
	return p
}

// joined gives two progressions as one, where they are one or the first has all of the second.
func (p progression) joined(q progression) (progression, bool) {
	switch {
	case p.count == 1 && q.count == 1:
		lo, hi := min(p.start, q.start), max(p.start, q.start)
		return progression{lo, max(1, hi-lo), min(2, hi-lo+1)}, hi-lo <= 1
	case p.count == 1:
		p, q = q, p
	}
	if q.count > 1 && q.step != p.step || (q.start-p.start)%p.step != 0 {
		return p, false
	}
	if q.start > p.last()+p.step || q.last() < p.start-p.step {
		return p, false
	}
	lo, hi := min(p.start, q.start), max(p.last(), q.last())
	return progression{lo, p.step, (hi-lo)/p.step + 1}, true
}

// part is a strided box: a progression along each coordinate.
type part []progression

// joined gives two strided boxes as one that has the same cells, if there is one.
func (p part) joined(q part) (part, bool) {
	differ := -1
	for i := range p {
		if p[i] != q[i] {
			if differ >= 0 {
				return nil, false
			}
			differ = i
		}
	}
	if differ < 0 {
		return p, true
	}
	x, ok := p[differ].joined(q[differ])
	if !ok {
		return nil, false
	}
	out := slices.Clone(p)
	out[differ] = x
	return out, true
}

// fewParts is how many strided boxes are tried to be made one.
const fewParts = 128

// union joins two lists of strided boxes, making one of two where that can be.
func union(a, b []part) []part {
	out := append([]part{}, a...)
	if len(a)+len(b) > fewParts {
		return append(out, b...)
	}
	for _, p := range b {
		for again := true; again; {
			again = false
			for i, q := range out {
				if j, ok := q.joined(p); ok {
					p, again = j, true
					out = slices.Delete(out, i, i+1)
					break
				}
			}
		}
		out = append(out, p)
	}
	return out
}

// bounding gives the least box around strided boxes.
func bounding(list []part) part {
	out := slices.Clone(list[0])
	for i := range out {
		lo, hi := out[i].start, out[i].last()
		for _, p := range list[1:] {
			lo, hi = min(lo, p[i].start), max(hi, p[i].last())
		}
		out[i] = progression{lo, 1, hi - lo + 1}
	}
	return out
}

// Box is a strided box: along dimension k the coordinates Start[k], Start[k] + Step[k], …, Count[k] of them.
type Box struct{ Start, Step, Count zspace.Point }

// Range is the least box around the cells.
func (b Box) Range() zspace.Range {
	r := zspace.Range{Start: b.Start.Clone(), End: b.Start.Clone()}
	for k, n := range b.Count {
		r.End[k] += (n-1)*b.Step[k] + 1
	}
	return r
}

// String gives a range for a dense box, and else the step of each dimension behind it.
func (b Box) String() string {
	if slices.ContainsFunc(b.Step, func(s int64) bool { return s != 1 }) {
		return fmt.Sprintf("%v by %v", b.Range(), b.Step)
	}
	return b.Range().String()
}

// Cells gives what a box of the index reads through pieces, as strided boxes, which may overlap. exact is false where it was not
// found within a bound of steps, and boxes around it are given.
func Cells(list []Piece, index zspace.Range) (boxes []Box, exact bool) {
	var all []part
	exact = true
	if index.Empty() {
		return nil, true
	}
	for i := range list {
		s, ok := list[i].system(index)
		if !ok {
			exact = false
			continue
		}
		parts, whole := (&solver{steps}).parts(s)
		all, exact = union(all, parts), exact && whole
	}
	for _, p := range all {
		b := Box{make(zspace.Point, len(p)), make(zspace.Point, len(p)), make(zspace.Point, len(p))}
		for k, x := range p {
			b.Start[k], b.Step[k], b.Count[k] = x.start, x.step, x.count
		}
		boxes = append(boxes, b)
	}
	return boxes, exact
}

// Hull gives the least box around what a box of the index reads through pieces; some is false if it reads nothing. Where that was
// not found within a bound of steps, exact is false and the box may be larger.
func Hull(list []Piece, index zspace.Range) (hull zspace.Range, some, exact bool) {
	boxes, exact := Cells(list, index)
	hull, some = Around(boxes)
	return hull, some, exact
}

// Around gives the least box around strided boxes of one rank; some is false if there are none.
func Around(boxes []Box) (hull zspace.Range, some bool) {
	for _, b := range boxes {
		r := b.Range()
		if some {
			r, _ = zspace.Bounding(hull, r)
		}
		hull, some = r, true
	}
	return hull, some
}

// OfRange gives a box as strided boxes: none if it has no cells.
func OfRange(r zspace.Range) []Box {
	if r.Empty() {
		return nil
	}
	step := make(zspace.Point, r.Rank())
	for k := range step {
		step[k] = 1
	}
	return []Box{{r.Start.Clone(), step, r.Shape()}}
}
