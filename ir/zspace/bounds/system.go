// Package bounds decides which integer points satisfy linear bounds: whether a system has a solution, and how far sums reach.
//
// It knows rows of factors and boxes, nothing of kernels. Read next: dialects/schedule, whose constraints ask it.
package bounds

import "math"

// System asks for integers t with 0 ≤ t[j] ≤ Reach[j] and Lo[k] ≤ Rows[k]·t ≤ Hi[k]. Budget bounds the steps of the search.
type System struct {
	Rows   [][]int64
	Lo, Hi []int64
	Reach  []int64
	Budget int
}

// interval holds the values, inclusive, that are left for each unknown.
type interval struct{ lo, hi []int64 }

// Solve gives a solution if there is one. decided is false when the search used up its budget, or the numbers are too large
// to be added safely.
func (s *System) Solve() (t []int64, decided bool) {
	for k, row := range s.Rows {
		size := math.Abs(float64(s.Lo[k])) + math.Abs(float64(s.Hi[k]))
		for j, a := range row {
			size += math.Abs(float64(a)) * float64(s.Reach[j])
		}
		if size > 1<<60 {
			return nil, false
		}
	}
	all := interval{make([]int64, len(s.Reach)), append([]int64(nil), s.Reach...)}
	t = s.search(all)
	return t, t != nil || s.Budget >= 0
}

// search narrows the intervals and bisects the widest until nothing or one point is left. It owns the intervals.
func (s *System) search(in interval) []int64 {
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
	if s.Budget--; s.Budget < 0 {
		return nil
	}
	mid := in.lo[widest] + width/2
	low := interval{append([]int64(nil), in.lo...), append([]int64(nil), in.hi...)}
	low.hi[widest] = mid
	if t := s.search(low); t != nil || s.Budget < 0 {
		return t
	}
	in.lo[widest] = mid + 1
	return s.search(in)
}

// narrow tightens the intervals by every row, a bounded number of rounds; false if some row can not hold.
func (s *System) narrow(in interval) bool {
	for range 16 {
		changed := false
		for k := range s.Rows {
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

func (s *System) narrowRow(k int, in interval) (changed, ok bool) {
	low, high, step := int64(0), int64(0), int64(0) // of the row; its values lie step apart
	for j, a := range s.Rows[k] {
		l, h := scaled(a, in.lo[j], in.hi[j])
		low, high = low+l, high+h
		if in.lo[j] < in.hi[j] {
			step = gcd(step, a)
		}
	}
	if low > s.Hi[k] || high < s.Lo[k] {
		return false, false
	}
	if step > 1 && low+step*ceilDiv(s.Lo[k]-low, step) > s.Hi[k] {
		return false, false // no value of the row lies between the bounds
	}
	for j, a := range s.Rows[k] {
		if a == 0 || in.lo[j] == in.hi[j] {
			continue
		}
		l, h := scaled(a, in.lo[j], in.hi[j])
		least, most := s.Lo[k]-(high-h), s.Hi[k]-(low-l)
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
		nl, nh := scaled(s.Rows[k][j], from, to)
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

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b != 0 && (a < 0) != (b < 0) {
		q--
	}
	return q
}
