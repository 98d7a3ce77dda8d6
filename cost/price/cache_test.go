package price

import (
	"math"
	"slices"
	"testing"

	"tensortapestry.org/tapc/cost/machine"
	"tensortapestry.org/tapc/cost/work"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/nest"
	"tensortapestry.org/tapc/ir"
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
		l := level{bytes: 1000, kept: curve(&machine.Device{Caches: []machine.Cache{x.cache}}, 0)}
		if got := l.keeps(1000 * x.times); math.Abs(got-x.want) > 1e-9 {
			t.Errorf("%v of %+v: %v, expected %v", x.times, x.cache, got, x.want)
		}
	}
}

// TestNothingKept: of what passes a cache nothing is left, and never less than that, however the points' parts are rounded: the price of less would be no number.
func TestNothingKept(t *testing.T) {
	for i := range 10_000 {
		part := float64(i) / 10_000
		l := level{bytes: 1 << 19, kept: curve(&machine.Device{Caches: []machine.Cache{{Kept: machine.Exactly(1), Beyond: machine.Exactly(part)}}}, 0)}
		for _, times := range []float64{machine.More, machine.Passes} {
			if got, want := l.keeps(times*l.bytes), map[bool]float64{true: part}[times == machine.More]; got < 0 || math.Abs(got-want) > 1e-9 {
				t.Fatalf("%v of %v: %v", times, part, got)
			}
		}
	}
}

// Less and less of what is larger is in the nearer part of a cache, until what is as large as calibrate measures the whole of it by is priced by the whole alone.
func TestNearerPart(t *testing.T) {
	d := &machine.Device{Caches: []machine.Cache{{Name: "L3" + machine.Nearby}, {Name: "L3"}}}
	l := level{bytes: 1000, kept: curve(d, 0)}
	for times, want := range map[float64]float64{0.5: 1, 1: 0.8, 1.75: 0.5, 3: 0} {
		if got := l.keeps(1000 * times); math.Abs(got-want) > 1e-9 {
			t.Errorf("%v times: %v, expected %v", times, got, want)
		}
	}
	if got := curve(d, 1); len(got) != 2 || got[0].times != 1 {
		t.Errorf("the whole keeps %v", got)
	}
}

// What is written is what reading leaves of the time of copies, whether reading alone is faster than these or slower; it is not known where reading is less than half as fast.
func TestDirections(t *testing.T) {
	for _, x := range []struct{ copies, reading, read, write float64 }{{20, 30, 30, 15}, {20, 20, 20, 20}, {20, 15, 15, 30}, {20, 9, 20, 20}, {20, 0, 20, 20}} {
		read, write := directions(machine.Exactly(x.copies), machine.Exactly(x.reading))
		if read.Value != x.read || math.Abs(write.Value-x.write) > 1e-9 || write.Low <= 0 || write.High <= 0 {
			t.Errorf("copies %v, reading %v: reads %+v, writes %+v", x.copies, x.reading, read, write)
		}
	}
}

// TestHidden: what of a resource is not hidden behind a much longer one is nothing at least, however the root of the sum of cubes is rounded.
func TestHidden(t *testing.T) {
	rounded := 0
	for i := range 1000 {
		long := 1e-8 * (1 + float64(i)/7)
		s := step{{{"long", seconds(machine.Exactly(long))}}, {{"short", seconds(machine.Exactly(long * 1e-9))}}}
		if math.Pow(math.Pow(long, overlap)+math.Pow(long*1e-9, overlap), 1.0/overlap) < long {
			rounded++
		}
		s.together(func(term Term) {
			if term.Time.Value < 0 || term.Time.Value > long {
				t.Errorf("%g s: %s takes %g s", long, term.What, term.Time.Value)
			}
		})
	}
	if rounded == 0 {
		t.Error("no root is rounded down: nothing is tested")
	}
}

// A cache that devices share has what all of them touched, in all of its bytes; one of their own does not know what others do.
func TestSharedCache(t *testing.T) {
	strict := curve(&machine.Device{Caches: []machine.Cache{{}}}, 0)
	list := []level{{bytes: 100, kept: strict, part: 1}, {bytes: 500, kept: strict, part: 0.5}, {part: 1}}
	for _, x := range []struct {
		d    distance
		want []float64
	}{{distance{100, 5000, 0}, []float64{1, 0, 0}}, {distance{900, 1000, 0}, []float64{0, 1, 0}}, {distance{900, 1250, 0}, []float64{0, 0, 1}}, {distance{400, 1125, 0}, []float64{0, 0.5, 0.5}}} {
		if got := parts(list, x.d); !slices.Equal(got, x.want) {
			t.Errorf("%v: %v, expected %v", x.d, got, x.want)
		}
	}
}

// TestStays: of what a cache that others use has had for as long as half of it lasts, half comes from there and half from memory; of a cache that nobody else uses all.
func TestStays(t *testing.T) {
	list := []level{{bytes: 100, kept: []point{{1, 1}, {1.25, 0}}, part: 1}, {bytes: 1000, kept: []point{{1, 1}, {1.25, 0}}, part: 1, lasts: 1e-3}, {name: "memory"}}
	for _, x := range []struct {
		d    distance
		want []float64
	}{{distance{500, 500, 0}, []float64{0, 1, 0}}, {distance{500, 500, 1e-3}, []float64{0, 0.5, 0.5}}, {distance{500, 500, 2e-3}, []float64{0, 1. / 9, 8. / 9}}, {distance{50, 50, 1}, []float64{1, 0, 0}}} {
		for i, got := range parts(list, x.d) {
			if math.Abs(got-x.want[i]) > 1e-12 {
				t.Errorf("%+v: %v, expected %v", x.d, parts(list, x.d), x.want)
			}
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

// A unit that alone wrote both halves of a buffer, by two kernels, has nothing of it from others; of two units that each wrote half of each half, a unit that reads all has half of it from the other.
func TestForeignParts(t *testing.T) {
	buffers := map[ir.NodeID]*schedule.Buffer{0: {Range: zspace.MustShape(8), DType: "float32", Space: schedule.Output, Over: ir.NoNode}}
	part := func(from, to int64) zspace.Range {
		return zspace.Range{Start: zspace.Point{from}, End: zspace.Point{to}}
	}
	write := func(units ...zspace.Range) done {
		box := part(units[0].Start[0], units[len(units)-1].End[0])
		return done{device: 1, units: []boxes{units}, work: &work.Work{Touches: []work.Touch{{Write: true, Bytes: 4 * cells(box), Box: box}}}}
	}
	all := work.Touch{Bytes: 32, Box: part(0, 8)}
	for _, x := range []struct {
		list []done
		now  boxes
		want float64
	}{
		{[]done{write(part(0, 4)), write(part(4, 8))}, boxes{part(0, 8)}, 0},
		{[]done{write(part(0, 2), part(2, 4)), write(part(4, 6), part(6, 8))}, boxes{part(0, 8), part(0, 8)}, 1},
		{[]done{write(part(0, 2), part(2, 4)), write(part(4, 6), part(6, 8))}, boxes{part(0, 2), part(6, 8)}, 0},
	} {
		if got := replay(x.list, buffers, nil)[1].foreign(all, x.now, int64(len(x.now))); got != x.want {
			t.Errorf("%d units: %v, expected %v", len(x.now), got, x.want)
		}
	}
}

// What another device has written since is in that one's caches, as far as it has; what nobody writes, or this device wrote last, is in its own. What lies over another buffer is what it lies over.
func TestOtherDevices(t *testing.T) {
	const input, made, over, first, second = 0, 1, 2, 10, 11
	all, half := zspace.MustShape(8), zspace.MustShape(4)
	buffers := map[ir.NodeID]*schedule.Buffer{}
	for i := range ir.NodeID(3) {
		buffers[i] = &schedule.Buffer{Range: all, DType: "float32", Space: schedule.Output, Over: ir.NoNode}
	}
	step := func(device ir.NodeID, touches ...work.Touch) done {
		return done{device: device, work: &work.Work{Touches: touches}}
	}
	touch := func(buffer ir.NodeID, box zspace.Range, write bool) work.Touch {
		return work.Touch{Buffer: buffer, Box: box, Write: write, Bytes: 4 * cells(box)}
	}
	read := touch(input, all, false)
	list := []done{step(first, read, touch(made, all, true)), step(second, read, touch(over, half, false), touch(over, half, true)), step(first, touch(made, all, false))}
	for _, x := range []struct {
		what    string
		process *Process
		under   ir.NodeID
		device  ir.NodeID
		touch   work.Touch
		want    []source
	}{
		{"an input", &Process{}, ir.NoNode, second, read, []source{{1, distance{64, 64, 0}, false}}},
		{"its own", &Process{}, made, second, touch(over, half, false), []source{{1, distance{16, 16, 0}, false}}},
		{"half of it another's", &Process{}, made, first, touch(made, all, false), []source{{0.5, distance{32, 32, 0}, true}, {0.5, distance{32, 64, 0}, false}}},
		{"over nothing", &Process{}, ir.NoNode, first, touch(made, all, false), []source{{1, distance{32, 96, 0}, false}}},
		{"memories of their own", nil, ir.NoNode, first, touch(made, all, false), []source{{1, distance{32, 96, 0}, false}}},
	} {
		buffers[over].Over = x.under
		devices := replay(list[:2], buffers, x.process)
		w := &work.Work{Touches: []work.Touch{x.touch}}
		if got := devices[x.device].sources(w, 0, x.touch, true); !slices.Equal(got, x.want) {
			t.Errorf("%s: %v, expected %v", x.what, got, x.want)
		}
		for _, s := range devices[x.device].sources(w, 0, x.touch, false) {
			if s.other {
				t.Errorf("%s: of other devices though nothing is known of what travels from there", x.what)
			}
		}
	}
	// A device with half of the first's work waits for half of a run, in which what it touched leaves as well.
	list[0].takes, list[1].takes = 2, 1
	for _, d := range []ir.NodeID{first, second} {
		devices := replay(list[:2], buffers, &Process{})
		if got := devices[d].sources(&work.Work{}, 0, read, false); len(got) != 1 || got[0].distance.ago != 1 {
			t.Errorf("device %d: %v", d, got)
		}
	}
	// Once the first has written all, the second has nothing of its own.
	buffers[over].Over = made
	devices := replay(append(list, list[0]), buffers, &Process{})
	x := touch(over, half, false)
	if got := devices[second].sources(&work.Work{}, 0, x, true); len(got) != 2 || got[0].part != 1 || !got[0].other || got[1].part != 0 {
		t.Errorf("what was written over: %v", got)
	}
}

// Parts of a buffer travel in whole lines: runs of 112 bytes that begin 224 apart are in 2.5 lines each, wherever they begin; whole buffers and runs of lines are what they are.
func TestPieces(t *testing.T) {
	of := func(strides []int64, extents ...int64) *schedule.Buffer {
		b := &schedule.Buffer{DType: "float32", Strides: strides}
		for _, n := range extents {
			b.Range.Start, b.Range.End = append(b.Range.Start, 0), append(b.Range.End, n)
		}
		return b
	}
	image := of([]int64{3136, 56, 1}, 64, 56, 56)
	for _, x := range []struct {
		b          *schedule.Buffer
		start, end zspace.Point
		want       float64
	}{
		{image, zspace.Point{0, 0, 0}, zspace.Point{64, 56, 56}, 1},
		{image, zspace.Point{0, 0, 0}, zspace.Point{64, 56, 28}, 160. / 112},
		{image, zspace.Point{0, 0, 28}, zspace.Point{64, 56, 56}, 160. / 112},
		{image, zspace.Point{3, 0, 0}, zspace.Point{9, 56, 56}, 1},
		{image, zspace.Point{0, 0, 7}, zspace.Point{64, 56, 8}, 16}, // a line for each element
		{of([]int64{1, 64}, 64, 100), zspace.Point{0, 3}, zspace.Point{64, 5}, 1},
		{of([]int64{7, 56, 1}, 1, 56, 56), zspace.Point{0, 3, 0}, zspace.Point{1, 5, 56}, 480. / 448}, // two lines of an image, as neighbours
		{of([]int64{1, 64}, 64, 100), zspace.Point{0, 3}, zspace.Point{16, 5}, 1},
		{of([]int64{1, 64}, 64, 100), zspace.Point{8, 3}, zspace.Point{24, 5}, 96. / 64},
	} {
		if got := work.PiecesOf(x.b, zspace.Range{Start: x.start, End: x.end}).Lines; got != x.want {
			t.Errorf("%v to %v of %v: %v bytes travel for each, expected %v", x.start, x.end, x.b.Range, got, x.want)
		}
	}
	if got := work.PiecesOf(image, zspace.Range{Start: zspace.Point{0, 0, 0}, End: zspace.Point{64, 56, 28}}).Run; got != 112 {
		t.Errorf("half of each line of an image is in pieces of %v bytes, expected 112", got)
	}
}

// Vectors that begin within a line of a cache may end in the next: of rows that begin at each quarter of a line, three of four vectors of 16 do and a quarter of those of 8, which two begin in a line.
// Near miss: rows of whole lines, and those of whole vectors, do not.
func TestInTwoLines(t *testing.T) {
	for _, x := range []struct {
		rows, row, step, first, lanes int64
		want                          float64
	}{
		{300, 304, 300, 0, 16, 0.75}, {300, 304, 300, 0, 8, 0.25}, {2, 8, 8, 0, 16, 0}, {2, 9, 9, 0, 16, 0.5}, {300, 320, 320, 0, 16, 0}, {300, 24, 24, 0, 8, 0}, {300, 24, 24, 0, 16, 0.25},
		{1, 1600, 0, -1, 16, 1}, {1, 1600, 0, -1, 8, 0.5}, {3, 1600, 1, -1, 8, 1. / 3}, {1, 1600, 0, 16, 16, 0},
	} {
		k := &schedule.Kernel{Loops: []schedule.Loop{{End: x.rows}, {Start: 1, End: x.row + 1}}}
		if got := inTwoLines(k, 1, nest.View{Base: x.first - 1, Steps: []int64{x.step, 1}}, x.lanes, 16); math.Abs(got-x.want) > 1e-9 {
			t.Errorf("%d rows of %d, %d apart, from %d on, in vectors of %d: %v in two lines, expected %v", x.rows, x.row, x.step, x.first, x.lanes, got, x.want)
		}
	}
}

// TestTorn: the ends of runs that are between two lines, of all runs or of those that do not begin with one; columns of whole lines have none.
func TestTorn(t *testing.T) {
	buffer := func(shape ...int64) *schedule.Buffer {
		return &schedule.Buffer{Range: zspace.MustShape(shape...), DType: "float32", Strides: zspace.RowMajor(zspace.MustShape(shape...).Shape())}
	}
	part := func(start, end zspace.Point) zspace.Range { return zspace.Range{Start: start, End: end} }
	for _, x := range []struct {
		what string
		of   *schedule.Buffer
		box  zspace.Range
		want float64
	}{
		{"half of rows of four lines", buffer(100, 64), part(zspace.Point{0, 32}, zspace.Point{100, 64}), 0},
		{"17 of 34 numbers, 8 bytes apart", buffer(100, 34), part(zspace.Point{0, 0}, zspace.Point{100, 17}), 100 * (1 - 8.0/64 + 1 - 4.0/64)},
		{"8 of 16 numbers, whose ends are in the middle of lines", buffer(100, 16), part(zspace.Point{0, 0}, zspace.Point{100, 8}), 100 * (1 - 32.0/64)},
		{"rows in one run", buffer(100, 34), part(zspace.Point{0, 0}, zspace.Point{50, 34}), 1 - 16.0/64},
		{"whole lines in one run", buffer(100, 32), part(zspace.Point{0, 0}, zspace.Point{50, 32}), 0},
		{"nothing", buffer(100, 34), part(zspace.Point{0, 0}, zspace.Point{0, 34}), 0},
	} {
		if got := torn(x.of, x.box); math.Abs(got-x.want) > 1e-9 {
			t.Errorf("%s: %v, expected %v", x.what, got, x.want)
		}
	}
}

// TestCrossed: lines at the ends of what a device writes cross where another device writes the same buffer; not where it writes another one, where the device reads, or where each has a memory of its own.
func TestCrossed(t *testing.T) {
	const made, other, first, second = 0, 1, 10, 11
	whole := zspace.MustShape(100, 34)
	left, right := zspace.Range{Start: zspace.Point{0, 0}, End: zspace.Point{100, 17}}, zspace.Range{Start: zspace.Point{0, 17}, End: zspace.Point{100, 34}}
	buffers := map[ir.NodeID]*schedule.Buffer{}
	for i := range ir.NodeID(2) {
		buffers[i] = &schedule.Buffer{Range: whole, DType: "float32", Strides: []int64{34, 1}, Space: schedule.Output, Over: ir.NoNode}
	}
	touch := func(buffer ir.NodeID, box zspace.Range, write bool) work.Touch {
		return work.Touch{Buffer: buffer, Box: box, Write: write, Bytes: 4 * cells(box)}
	}
	step := func(device ir.NodeID, t work.Touch) done {
		return done{device: device, work: &work.Work{Touches: []work.Touch{t}}}
	}
	for _, x := range []struct {
		what    string
		by      ir.NodeID // what the second device writes
		process *Process
		write   bool
		crosses bool
	}{{"the same", made, &Process{}, true, true}, {"another", other, &Process{}, true, false}, {"read", made, &Process{}, false, false}, {"memories of their own", made, nil, true, false}} {
		mine := touch(made, left, x.write)
		h := replay([]done{step(first, mine), step(second, touch(x.by, right, true))}, buffers, x.process)[first]
		if got := h.crossed(mine); (got > 0) != x.crosses || x.crosses && got != torn(buffers[made], left)*schedule.LineBytes*backAndForth {
			t.Errorf("%s: %v", x.what, got)
		}
	}
}
