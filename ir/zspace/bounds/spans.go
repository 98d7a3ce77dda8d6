package bounds

import (
	"math"
	"slices"

	"tensortapestry.org/tapc/ir/zspace"
)

// span says between which bounds, inclusive, the sum row·loops lies. Its row has no common divisor, its first factor is positive,
// and it is 0 for loops of one value.
type span struct {
	row    []int64
	lo, hi int64
}

// Spans are what conditions say of a point of some loops: each sum is there once.
type Spans struct {
	loops zspace.Range
	list  []span
	never bool // a sum of loops of one value is outside of its bounds
}

// SpansOf gathers what is known of the sums of which conditions speak, over a box of loops that is not empty.
func SpansOf(when []Condition, loops zspace.Range) Spans {
	s := Spans{loops: loops}
	for _, c := range when {
		row, fixed := s.wide(c.Row)
		divisor := int64(0)
		for _, a := range row {
			divisor = gcd(divisor, a)
		}
		if divisor == 0 { // of loops of one value
			s.never = s.never || fixed < c.Lo || fixed > c.Hi
			continue
		}
		lo, hi := c.Lo, c.Hi
		if firstOf(row) < 0 {
			divisor, fixed = -divisor, -fixed
			lo, hi = negated(hi), negated(lo)
		}
		for l := range row {
			row[l] /= divisor
		}
		divisor = max(divisor, -divisor)
		least, most := s.hull(row)
		if lo != math.MinInt64 {
			least = max(least, ceilDiv(lo-fixed, divisor))
		}
		if hi != math.MaxInt64 {
			most = min(most, floorDiv(hi-fixed, divisor))
		}
		s.add(span{row, least, most})
	}
	return s
}

// add notes the bounds of a sum.
func (s *Spans) add(x span) {
	for i := range s.list {
		if have := &s.list[i]; slices.Equal(have.row, x.row) {
			have.lo, have.hi = max(have.lo, x.lo), min(have.hi, x.hi)
			return
		}
	}
	s.list = append(s.list, x)
}

// wide splits a sum of loops into that of the loops of more than one value and the value of the others.
func (s *Spans) wide(row []int64) (wide []int64, fixed int64) {
	wide = make([]int64, len(row))
	for l, a := range row {
		if s.loops.End[l]-s.loops.Start[l] > 1 {
			wide[l] = a
		} else {
			fixed += a * s.loops.Start[l]
		}
	}
	return wide, fixed
}

// hull gives the least and the greatest value of a sum over all loops.
func (s *Spans) hull(row []int64) (lo, hi int64) {
	for l, a := range row {
		if a != 0 {
			least, most := scaled(a, s.loops.Start[l], s.loops.End[l]-1)
			lo, hi = lo+least, hi+most
		}
	}
	return lo, hi
}

// Contradict says whether one of the conditions holds at no point, as far as that takes few steps to find out.
func (s *Spans) Contradict() bool {
	return s.never || slices.ContainsFunc(s.list, func(x span) bool {
		steps := maxSteps
		return x.lo > x.hi || s.small(x.row, 0) && !s.reached(x.row, x.lo, x.hi, &steps)
	})
}

// maxSteps bounds how many values of loops are tried to find one at which a sum lies between its bounds.
const maxSteps = 256

// reached says whether a sum of loops takes a value between two bounds, or that is not known after so many steps: one of o + 4k with o and k below 2 is never 2.
func (s *Spans) reached(row []int64, lo, hi int64, steps *int) bool {
	at := 0
	for l, a := range row {
		if max(a, -a) > max(row[at], -row[at]) {
			at = l
		}
	}
	factor := row[at]
	if factor == 0 {
		return lo <= 0 && hi >= 0
	}
	rest := slices.Clone(row)
	rest[at] = 0
	least, most := s.hull(rest)
	from, to := lo-most, hi-least // of factor times the loop
	if factor < 0 {
		factor, from, to = -factor, -to, -from
	}
	for v := max(s.loops.Start[at], ceilDiv(from, factor)); v <= min(s.loops.End[at]-1, floorDiv(to, factor)); v++ {
		if *steps--; *steps < 0 || s.reached(rest, lo-row[at]*v, hi-row[at]*v, steps) {
			return true
		}
	}
	return false
}

// Clip cuts the values between lo and hi that a coordinate row·loops + off takes to those that the sums it is made of leave.
func (s *Spans) Clip(row []int64, off, lo, hi int64) (int64, int64) {
	if len(s.list) == 0 || !s.small(row, off) {
		return lo, hi
	}
	rest, fixed := s.wide(row)
	least, most := off+fixed, off+fixed
	for _, x := range s.list {
		if m := multiple(rest, x.row); m != 0 && slices.EqualFunc(rest, x.row, func(a, b int64) bool { return a == m*b }) { // all of it
			from, to := scaled(m, x.lo, x.hi)
			lo, hi = max(lo, least+from), min(hi, most+to)
		}
	}
	for _, x := range s.list {
		m := multiple(rest, x.row)
		if m == 0 {
			continue
		}
		for l, a := range x.row {
			rest[l] -= m * a
		}
		from, to := scaled(m, x.lo, x.hi)
		least, most = least+from, most+to
	}
	from, to := s.hull(rest)
	return max(lo, least+from), min(hi, most+to)
}

// small says whether the parts of row·loops + off can be added in any order within 64 bits.
func (s *Spans) small(row []int64, off int64) bool {
	const limit = 1 << 60
	bound := math.Abs(float64(off))
	for l, a := range row {
		bound += math.Abs(float64(a)) * max(math.Abs(float64(s.loops.Start[l])), math.Abs(float64(s.loops.End[l])))
	}
	return bound <= limit
}

// multiple gives m if a sum is m times another along all loops of that one, and 0 if there is no such m.
func multiple(row, of []int64) int64 {
	m, known := int64(0), false
	for l, a := range of {
		switch {
		case a == 0:
		case row[l]%a != 0, known && row[l]/a != m:
			return 0
		default:
			m, known = row[l]/a, true
		}
	}
	return m
}

// firstOf gives the first factor of a sum that is not 0, or 0.
func firstOf(row []int64) int64 {
	for _, a := range row {
		if a != 0 {
			return a
		}
	}
	return 0
}

// Condition says that a sum of loops lies between two bounds, inclusive; the greatest and the least number are none.
type Condition struct {
	Row    []int64
	Lo, Hi int64
}

// Narrow cuts a box of loops to the values that a condition on one loop leaves; one on several, or on none, leaves all.
func (c Condition) Narrow(loops zspace.Range) zspace.Range {
	at := -1
	for i, x := range c.Row {
		if x != 0 && at >= 0 {
			return loops
		}
		if x != 0 {
			at = i
		}
	}
	if at < 0 {
		return loops // it holds everywhere or nowhere, which Spans say
	}
	lo, hi, factor := c.Lo, c.Hi, c.Row[at]
	if factor < 0 {
		lo, hi, factor = negated(hi), negated(lo), -factor
	}
	out := loops.Clone()
	if lo != math.MinInt64 {
		out.Start[at] = max(out.Start[at], -floorDiv(-lo, factor))
	}
	if hi != math.MaxInt64 {
		out.End[at] = min(out.End[at], floorDiv(hi, factor)+1)
	}
	out.Start[at] = min(out.Start[at], out.End[at])
	return out
}

// negated turns a bound round; the infinite ones stay infinite.
func negated(x int64) int64 {
	switch x {
	case math.MinInt64:
		return math.MaxInt64
	case math.MaxInt64:
		return math.MinInt64
	}
	return -x
}
