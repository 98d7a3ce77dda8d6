package schedule

import "math"

// system asks for integers t with 0 ≤ t[j] ≤ reach[j] and lo[k] ≤ rows[k]·t ≤ hi[k].
type system struct {
	rows   [][]int64
	lo, hi []int64
	reach  []int64
	base   []int64 // for images: the coordinates at the start of the loops
	budget int
}

// interval holds the values, inclusive, that are left for each unknown.
type interval struct{ lo, hi []int64 }

// solve gives a solution if there is one. decided is false when the search used up its budget, or the numbers are too large
// to be added safely.
func (s *system) solve() (t []int64, decided bool) {
	for k, row := range s.rows {
		size := math.Abs(float64(s.lo[k])) + math.Abs(float64(s.hi[k]))
		for j, a := range row {
			size += math.Abs(float64(a)) * float64(s.reach[j])
		}
		if size > 1<<60 {
			return nil, false
		}
	}
	all := interval{make([]int64, len(s.reach)), append([]int64(nil), s.reach...)}
	t = s.search(all)
	return t, t != nil || s.budget >= 0
}

// search narrows the intervals and bisects the widest until nothing or one point is left. It owns the intervals.
func (s *system) search(in interval) []int64 {
	if !s.narrow(in) {
		return nil
	}
	widest, width := 0, int64(0)
	for j := range in.lo {
		if w := in.hi[j] - in.lo[j]; w > width {
			widest, width = j, w
		}
	}
	if width == 0 {
		return in.lo // narrowing has checked every row
	}
	if s.budget--; s.budget < 0 {
		return nil
	}
	mid := in.lo[widest] + width/2
	low := interval{append([]int64(nil), in.lo...), append([]int64(nil), in.hi...)}
	low.hi[widest] = mid
	if t := s.search(low); t != nil || s.budget < 0 {
		return t
	}
	in.lo[widest] = mid + 1
	return s.search(in)
}

// narrow tightens the intervals by every row, a bounded number of rounds; false if some row can not hold.
func (s *system) narrow(in interval) bool {
	for range 16 {
		changed := false
		for k := range s.rows {
			c, ok := s.narrowRow(k, in)
			if !ok {
				return false
			}
			changed = changed || c
		}
		if !changed {
			break
		}
	}
	return true
}

func (s *system) narrowRow(k int, in interval) (changed, ok bool) {
	low, high, step := int64(0), int64(0), int64(0) // of the row; its values lie step apart
	for j, a := range s.rows[k] {
		l, h := scaled(a, in.lo[j], in.hi[j])
		low, high = low+l, high+h
		if in.lo[j] < in.hi[j] {
			step = gcd(step, a)
		}
	}
	if low > s.hi[k] || high < s.lo[k] {
		return false, false
	}
	if step > 1 && low+step*ceilDiv(s.lo[k]-low, step) > s.hi[k] {
		return false, false // no value of the row lies between the bounds
	}
	for j, a := range s.rows[k] {
		if a == 0 || in.lo[j] == in.hi[j] {
			continue
		}
		l, h := scaled(a, in.lo[j], in.hi[j])
		least, most := s.lo[k]-(high-h), s.hi[k]-(low-l)
		if a < 0 {
			a, least, most = -a, -most, -least
		}
		from, to := max(in.lo[j], ceilDiv(least, a)), min(in.hi[j], floorDiv(most, a))
		if from > to {
			return false, false
		}
		if from == in.lo[j] && to == in.hi[j] {
			continue
		}
		changed = true
		in.lo[j], in.hi[j] = from, to
		nl, nh := scaled(s.rows[k][j], from, to)
		low, high = low+nl-l, high+nh-h
	}
	return changed, true
}

// scaled is the least and the greatest value of a·t for t between two bounds.
func scaled(a, from, to int64) (low, high int64) {
	if a < 0 {
		from, to = to, from
	}
	return a * from, a * to
}

func gcd(a, b int64) int64 {
	if b < 0 {
		b = -b
	}
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

func ceilDiv(a, b int64) int64 { return -floorDiv(-a, b) }
