package bounds

import (
	"math"
	"math/rand/v2"
	"testing"

	"tensortapestry.org/tapc/ir/zspace"
)

// A sum of two loops of one value each holds or does not, at all points: windows that lie wholly in the padding read nothing.
func TestSpansOfLoopsOfOneValue(t *testing.T) {
	loops := zspace.Range{Start: zspace.Point{0, 1, 2}, End: zspace.Point{7, 2, 3}}
	for _, c := range []struct {
		lo, hi int64
		never  bool
	}{
		{math.MinInt64, 6, true}, // 1 + 3·2 is 7
		{math.MinInt64, 7, false},
		{8, math.MaxInt64, true},
		{7, 7, false},
	} {
		s := SpansOf([]Condition{{Row: []int64{0, 1, 3}, Lo: c.lo, Hi: c.hi}}, loops)
		if s.Contradict() != c.never {
			t.Errorf("%d ≤ d1 + 3·d2 ≤ %d at 7: contradicts %v", c.lo, c.hi, s.Contradict())
		}
	}
}

// A sum of few values between two bounds is held to all points: o + 4k with o and k below 2 is never 2, though it is below that and above.
func TestSumsThatAreNeverReached(t *testing.T) {
	r := rand.New(rand.NewPCG(18, 1))
	never, inside := 0, 0
	for range 20000 {
		loops, row := zspace.Range{Start: zspace.Point{}, End: zspace.Point{}}, []int64{}
		for range 1 + r.IntN(3) {
			from := r.Int64N(9) - 4
			loops.Start, loops.End = append(loops.Start, from), append(loops.End, from+1+r.Int64N(4))
			row = append(row, r.Int64N(13)-6)
		}
		c := Condition{Row: row, Lo: r.Int64N(41) - 20}
		c.Hi = c.Lo + r.Int64N(3)
		found, least, most := false, int64(math.MaxInt64), int64(math.MinInt64)
		for at := loops.Start.Clone(); ; {
			sum := int64(0)
			for l, a := range row {
				sum += a * at[l]
			}
			found, least, most = found || sum >= c.Lo && sum <= c.Hi, min(least, sum), max(most, sum)
			l := 0
			for ; l < len(at); l++ {
				if at[l]++; at[l] < loops.End[l] {
					break
				}
				at[l] = loops.Start[l]
			}
			if l == len(at) {
				break
			}
		}
		s := SpansOf([]Condition{c}, loops)
		if s.Contradict() == found {
			t.Fatalf("%v of %v between %d and %d: contradicts %v", row, loops, c.Lo, c.Hi, s.Contradict())
		}
		if !found {
			never++
			if least < c.Lo && most > c.Hi {
				inside++
			}
		}
	}
	if inside < 500 || never > 19000 {
		t.Errorf("%d conditions hold nowhere, %d of them between the least and the greatest sum", never, inside)
	}
}

// Where there are too many values to try, a sum is taken to be reached: that asks for a cell too many, never for one too few.
func TestStepsAreBounded(t *testing.T) {
	const n = 12 // factors, all even but one that is too large: 1001 is never reached, which no bound shows
	loops, row := zspace.Range{Start: make(zspace.Point, n), End: make(zspace.Point, n)}, make([]int64, n)
	for l := range row {
		loops.End[l], row[l] = 100, 200+2*int64(l)
	}
	row[0] = 1000001
	loops.End[0] = 2
	if s := SpansOf([]Condition{{Row: row, Lo: 1001, Hi: 1001}}, loops); s.Contradict() {
		t.Error("all sums were tried")
	}
}
