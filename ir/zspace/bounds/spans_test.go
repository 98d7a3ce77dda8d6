package bounds

import (
	"math"
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
