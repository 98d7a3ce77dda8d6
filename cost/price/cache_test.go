package price

import (
	"math"
	"testing"

	"tensortapestry.org/tapc/cost/machine"
	"tensortapestry.org/tapc/ir/zspace"
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

// What a unit has of a box is what it touched of it since it was written, in whatever way most of it; what is written only the unit that writes it has.
func TestForeign(t *testing.T) {
	all := zspace.MustShape(8, 8)
	part := func(r0, r1, c0, c1 int64) zspace.Range {
		return zspace.Range{Start: zspace.Point{r0, c0}, End: zspace.Point{r1, c1}}
	}
	rows, columns, each := boxes{part(0, 4, 0, 8), part(4, 8, 0, 8)}, boxes{part(0, 8, 0, 4), part(0, 8, 4, 8)}, boxes{all, all}
	for _, x := range []struct {
		what   string
		now    boxes
		before []boxes
		want   float64
	}{
		{"rows of rows", rows, []boxes{rows}, 0}, {"columns of rows", columns, []boxes{rows}, 0.5}, {"all of rows", each, []boxes{rows}, 1}, {"rows of all", rows, []boxes{each}, 0},
		{"columns that were read, of rows", columns, held([]boxes{rows}, columns, false), 0}, {"columns that were read and written as rows, of rows", columns, held([]boxes{rows, columns}, rows, true), 0.5},
		{"rows of what nobody knows", rows, nil, 0}, {"rows of what the first unit has", rows, []boxes{{all}}, 0.5},
	} {
		if got := foreign(x.now, x.before, all, 2); got != x.want {
			t.Errorf("%s: %v, expected %v", x.what, got, x.want)
		}
	}
	if n := len(held([]boxes{rows, each}, columns, false)); n != 2 {
		t.Errorf("what all have is held in %d ways more by columns", n)
	}
}
