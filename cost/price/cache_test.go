package price

import (
	"math"
	"testing"

	"tensortapestry.org/tapc/cost/machine"
)

// A cache keeps less of what is larger, by the points that were measured, and by those of a strict order where none were.
func TestCurve(t *testing.T) {
	measured := machine.Cache{Kept: machine.Exactly(0.6), Beyond: machine.Exactly(0.2)}
	for _, x := range []struct {
		cache       machine.Cache
		times, want float64
	}{
		{measured, 0.1, 1}, {measured, 0.5, 1}, {measured, 0.75, 0.8}, {measured, 1, 0.6}, {measured, 1.25, 0.4}, {measured, 1.5, 0.2}, {measured, 2.25, 0.1}, {measured, 3, 0},
		{measured, 9, 0}, {machine.Cache{}, 1, 1}, {machine.Cache{}, 1.125, 0.5}, {machine.Cache{}, 1.25, 0}, {machine.Cache{Kept: machine.Exactly(0.6)}, 1, 1},
	} {
		l := level{bytes: 1000, kept: curve(&x.cache)}
		if got := l.keeps(1000 * x.times); math.Abs(got-x.want) > 1e-9 {
			t.Errorf("%v of %+v: %v, expected %v", x.times, x.cache, got, x.want)
		}
	}
}

// Reading and writing follow each other but in the first cache, where the longer counts.
func TestFirstCache(t *testing.T) {
	d := &machine.Device{Units: 1, Bandwidth: machine.Exactly(10), Caches: []machine.Cache{
		{Name: "L1", Bytes: 100, Units: 1, Bandwidth: machine.Exactly(300), Read: machine.Exactly(400)}, {Name: "L2", Bytes: 1000, Units: 1, Bandwidth: machine.Exactly(200), Read: machine.Exactly(300)}}}
	list := levels(d, 1)
	for _, x := range []struct {
		level               int
		read, written, want float64
	}{{0, 800, 0, 2}, {0, 800, 150, 2}, {0, 800, 600, 4}, {0, 600, 600, 4}, {1, 600, 600, 6}, {1, 600, 0, 2}} {
		if got := list[x.level].over(x.read, x.written).Value; math.Abs(got-x.want) > 1e-9 {
			t.Errorf("%+v takes %v", x, got)
		}
	}
}
