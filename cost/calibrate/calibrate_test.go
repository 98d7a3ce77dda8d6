package calibrate

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"tensortapestry.org/tapc/cost/machine"
	"tensortapestry.org/tapc/dialects/application/planfile"
	"tensortapestry.org/tapc/internal/filecache"
)

// two is a device of two cores, as the system would describe it.
func two() machine.Device {
	return machine.Device{Name: "cpu", Kind: kind, Units: 2, Memory: 4 << 30,
		Caches: []machine.Cache{{Name: "L1", Bytes: 32 << 10, Units: 1}, {Name: "L2", Bytes: 1 << 20, Units: 1}, {Name: "L3", Bytes: 32 << 20, Units: 2}}}
}

// TestConclude: from times that a machine of known rates would give, the file of that machine comes, and it can be read.
func TestConclude(t *testing.T) {
	d := two()
	list := probes(&d)
	for i := range list {
		p := &list[i]
		best := map[what]float64{start: 5e-9, region: regions*1e-6 + regions*5e-9 + 30e-6, single: 1e-6 + 5e-9 + 30e-6}[p.what]
		if p.things > 0 {
			best = p.things / (100e9 * float64(p.threads))
		}
		switch n := float64(multiplied(p.dtype, p.threads)); {
		case p.what == products:
			best += n * n / (5e9 * float64(p.threads))
		case p.what == results:
			best = 2*resultSum*p.things/100e9 + p.things/5e9
		}
		p.times = []float64{best * 1.5, best * 0.9, best, best * 1.2} // the least is of a moment
		for j := range p.times {
			if p.things > 0 {
				p.times[j] += 5e-9
			}
		}
	}
	conclude(&d, list)
	near := func(what string, f machine.Figure, want float64) {
		if math.Abs(f.Value/want-1) > 1e-9 || f.Low > f.Value || f.High < f.Value {
			t.Errorf("%s is %+v, expected %v", what, f, want)
		}
	}
	near("launch", d.Launch, 5e-9)
	near("region", d.Region, 1e-6)
	near("memory", d.Bandwidth, 200e9)
	near("memory of one", d.UnitBandwidth, 100e9)
	for _, c := range d.Caches {
		near(c.Name, c.Bandwidth, 100e9)
		if c.Units > 1 {
			near(c.Name+" of all", c.All, 200e9)
			near(c.Name+" read by all", c.AllRead, 200e9)
		}
	}
	near("columns", d.Caches[len(d.Caches)-1].Columns, 100e9)
	for row, dtypes := range map[string][]string{
		"fma": {"float32", "float64", "int32", "int64", "uint8"}, "vector": {"float32", "float64", "int32", "int64", "uint64", "int8"}, "function": {"float32", "float64"}, "following": {"float32", "float64"},
		"division": {"float32", "float64", "int32", "int64"}, "gather": {"float32", "float64", "int64"}, "shuffle": {"float32", "float64", "int8", "uint64"}, "scalar": {"float32", "int64"},
	} {
		for _, dtype := range dtypes {
			one, err := d.Rate(dtype, row, 1)
			all, err2 := d.Rate(dtype, row, 2)
			if err != nil || err2 != nil {
				t.Fatal(err, err2)
			}
			near(dtype+" "+row, one, 100e9)
			near(dtype+" "+row+" of all", all, 200e9)
		}
	}
	for _, dtype := range []string{"float32", "float64"} {
		one, err := d.Rate(dtype, "result", 1)
		if err != nil {
			t.Fatal(err)
		}
		near(dtype+" results", one, 5e9)
	}
	if same(list) < 1.05 || same(list) > 1.2 {
		t.Errorf("halves whose best times are 1 and 1.1 differ by %v", same(list))
	}
	list[0].times = list[0].times[:1] // one time has no halves
	if s := same(list); s < 1.05 || s > 1.2 {
		t.Errorf("halves differ by %v where one probe has one time", s)
	}
	m := &machine.Machine{Format: machine.Format, Name: "two", Devices: []machine.Device{d}}
	var text bytes.Buffer
	if err := m.Write(&text); err != nil {
		t.Fatal(err)
	}
	if _, err := machine.Read(text.Bytes(), "two.yaml"); err != nil {
		t.Fatalf("%v\n%s", err, &text)
	}
}

// A usual time is no moment's: of three the middle one. Of fewer there is no other than the least.
func TestUsualTime(t *testing.T) {
	for _, x := range []struct {
		times []float64
		want  float64
	}{{nil, 0}, {[]float64{3}, 3}, {[]float64{3, 2}, 2}, {[]float64{3, 1, 2}, 2}, {[]float64{5, 1, 4, 2, 3}, 2}} {
		if got := Usual(x.times); got != x.want {
			t.Errorf("%v: %v, expected %v", x.times, got, x.want)
		}
	}
}

// TestOwnCaches: a cache that all units read from so much faster together than one does is several, and so is its nearer part. Near misses: units that read as many times as much as there are, and
// a nearer part of which one unit reads as much as its part of all.
func TestOwnCaches(t *testing.T) {
	of := func(v float64) machine.Figure { return machine.Exactly(v) }
	for _, x := range []struct {
		near, all float64
		want      int64
	}{{140e9, 40e9, 2}, {140e9, 51e9, 2}, {140e9, 83e9, 1}, {300e9, 40e9, 2}} {
		d := two()
		d.Caches[2].Read, d.Caches[2].AllRead, d.Caches[2].All = of(20e9), of(x.all), of(x.all)
		d.Caches = slices.Insert(d.Caches, 2, machine.Cache{Name: "L3" + machine.Nearby, Bytes: 8 << 20, Units: 2, Read: of(70e9), AllRead: of(x.near), All: of(x.near)})
		ownCaches(&d)
		for _, c := range d.Caches[2:] {
			if c.Units != x.want || c.All.Known() != (x.want == 2) || c.AllRead.Known() != (x.want == 2) {
				t.Errorf("%s, of which both read %g: %d units, both %v: expected %d", c.Name, x.all, c.Units, c.AllRead, x.want)
			}
		}
		if d.Caches[1].Units != 1 {
			t.Errorf("L2 is of %d units", d.Caches[1].Units)
		}
	}
}

// TestRowsOf finds the micro-kernels of processors in what Linux says of them; amx counts where it is for the type, and what no word says is for every processor.
func TestRowsOf(t *testing.T) {
	for text, want := range map[string][2]string{
		"": {"any", "any"},
		"processor\t: 0\nflags\t\t: fpu avx512_vnni avx512_bf16 avx2\n": {"vnni", "bf16"},
		"flags\t\t: amx_tile amx_int8 amx_bf16 avx512_vnni avx_vnni\n":  {"amx", "amx"},
		"flags\t\t: avx2 avx_vnni\nbugs\t\t: avx512_vnni avx512_bf16\n": {"vexvnni", "any"},
		"Features\t: fp asimd asimddp\n":                                {"sdot", "any"},
		"Features\t: fp asimd asimddp i8mm bf16\n":                      {"usdot", "bfdot"},
		"model name\t: i8mm\n":                                          {"any", "any"},
	} {
		if bytes, halves := rowsOf(text); bytes != want[0] || halves != want[1] {
			t.Errorf("%q: %s and %s, expected %v", text, bytes, halves, want)
		}
	}
}

// TestSizes: what is copied fits the cache that is measured, and not the one before it.
func TestSizes(t *testing.T) {
	d := two()
	for _, threads := range []int64{1, 2} {
		for i, c := range d.Caches {
			bytes := 8 * cellsIn(&d, i, threads)
			if bytes > c.Bytes*max(1, threads/c.Units) || i > 0 && bytes < 3*d.Caches[i-1].Bytes*max(1, threads/d.Caches[i-1].Units) {
				t.Errorf("%s of %d threads: %d bytes", c.Name, threads, bytes)
			}
		}
		if bytes := 8 * cellsIn(&d, 3, threads); bytes < 4*d.Caches[2].Bytes {
			t.Errorf("memory: %d bytes", bytes)
		}
	}
}

// TestProducts: products by which rates are measured have as much for each of all units to do as one for one unit alone, whose operands are about what a small second cache has.
func TestProducts(t *testing.T) {
	for _, units := range []int64{2, 4, 16, 64} {
		d, alone := two(), map[string]float64{}
		d.Units = units
		for _, p := range probes(&d) {
			if p.what != products || p.row != "" {
				continue
			}
			size, float := map[string]float64{"float32": 4, "float64": 8}[p.dtype]
			if bytes := 3 * size * math.Pow(p.things/2, 2./3); p.threads == 1 {
				if alone[p.dtype] = p.things; float && (bytes < 256<<10 || bytes > 512<<10) {
					t.Errorf("%s: operands of %v bytes", p.dtype, bytes)
				}
			} else if part := p.things / float64(units) / alone[p.dtype]; part < 0.8 || part > 1.01 {
				t.Errorf("%s: each of %d units does %.2f of what one alone does", p.dtype, units, part)
			}
		}
	}
}

// TestLinked: of times that a link of a known latency and bandwidth would give, the figures are these; plans of the programs are plans.
func TestLinked(t *testing.T) {
	for _, devices := range []int64{2, 3, 8} {
		list := links(devices)
		for i := range list {
			p := &list[i]
			if _, err := planfile.Parse("p.json", []byte(p.plan)); err != nil {
				t.Fatalf("%v: %s", err, p.plan)
			}
			best := map[what]float64{handing: hops * (150e-9 + 30e-9), copying: p.things / 40e9}[p.what]
			p.times = []float64{2 * best, 0.9 * best, best}
		}
		l := linked(list, 30e-9)
		if math.Abs(l.Latency.Value/150e-9-1) > 1e-9 || math.Abs(l.Bandwidth.Value/40e9-1) > 1e-9 || l.Latency.High < l.Latency.Value || l.Bandwidth.Low > l.Bandwidth.Value {
			t.Errorf("%d devices: %+v", devices, l)
		}
	}
}

// TestPace: of times that devices would take that do a part of what they do alone, the pace is that part; it is never more than all, nor less than half.
func TestPace(t *testing.T) {
	for _, devices := range []int64{2, 3, 8} {
		for pace, want := range map[float64]float64{0.9: 0.9, 1: 1, 1.2: 1, 0.55: 0.55, 0.1: 0.5} {
			list := beside(devices)
			for i := range list {
				p := &list[i]
				if _, err := planfile.Parse("p.json", []byte(p.plan)); err != nil {
					t.Fatalf("%v: %s", err, p.plan)
				}
				best := 20e-6 * float64(devices)
				if p.threads > 1 {
					best = 20e-6/pace + 3e-7
				}
				p.times = []float64{2 * best, 0.9 * best, best}
			}
			if f := paceOf(list, devices, 3e-7); math.Abs(f.Value/want-1) > 1e-9 || f.Low > f.Value || f.High < f.Value {
				t.Errorf("%d devices at %v: %+v", devices, pace, f)
			}
		}
	}
}

// watched are the steps that a watcher was told of, and how many were to come.
type watched struct {
	planned int
	begun   []string
}

func (s *watched) Plan(steps ...string) { s.planned += len(steps) }
func (s *watched) Begin(step string)    { s.begun = append(s.begun, step) }

// Rounds beyond those that are measured in any case are planned when there is time for them, so what is left is never more than comes.
func TestRoundsAreTold(t *testing.T) {
	for budget, want := range map[time.Duration]int{0: leastRounds, time.Hour: mostRounds} {
		s := &watched{}
		for range leastRounds {
			s.Plan("a round")
		}
		r := &Run{options: Options{Budget: budget, Watch: s}}
		if err := r.rounds(t.Context()); err != nil {
			t.Fatal(err)
		}
		if s.planned != want || len(s.begun) != want || s.begun[want-1] != stepRound(want-1) {
			t.Errorf("within %v: %d planned, begun %q; want %d", budget, s.planned, s.begun, want)
		}
	}
}

// Of a cache that is faster than what is behind it, the part that it keeps follows from what is read; of one that is not, nothing is said.
func TestKept(t *testing.T) {
	d := two()
	d.UnitRead = machine.Exactly(50e9)
	for i, rate := range []float64{400e9, 200e9, 190e9} {
		d.Caches[i].Read = machine.Exactly(rate)
	}
	for i := range d.Caches {
		for _, beyond := range []bool{false, true} {
			far := 190e9
			if i == 0 {
				far = 200e9
			} else if i == 2 {
				far = 50e9
			}
			part := map[bool]float64{false: 0.75, true: 0.25}[beyond]
			p := probe{what: keeping, cache: i, beyond: beyond, things: 1e6, times: []float64{1e6 * (part/d.Caches[i].Read.Value + (1-part)/far)}}
			giveKept(&d, &p)
		}
	}
	for i, c := range d.Caches {
		if want := map[bool]float64{true: 0.75}[i != 1]; math.Abs(c.Kept.Value-want) > 1e-9 || math.Abs(c.Beyond.Value-want/3) > 1e-9 {
			t.Errorf("%s keeps %v and %v", c.Name, c.Kept.Value, c.Beyond.Value)
		}
	}
}

// TestLasts: of what nobody has touched for a while, so much is gone as reading it again takes longer; where that is next to nothing, or memory is as fast as the cache, nothing is said. It is the nearer part of a cache
// that is as fast as it was.
func TestLasts(t *testing.T) {
	for _, c := range []struct {
		gone, while, memory, want float64
		nearby                    bool
	}{{0.5, 1e-3, 20e9, 1e-3, false}, {0.5, 1e-3, 20e9, 1e-3, true}, {0.9, 2e-3, 20e9, 2e-3 * math.Cbrt(1./9), false}, {1.3, 2e-3, 20e9, 2e-3 * math.Cbrt(1./9), false},
		{0.2, 1e-3, 20e9, math.Cbrt(4) * 1e-3, false}, {0.05, 1e-3, 20e9, 0, false}, {0, 1e-3, 20e9, 0, false}, {0.5, 1e-3, 95e9, 0, false}} {
		d := two()
		if c.nearby {
			d.Caches = split(d.Caches)
			d.Caches[len(d.Caches)-1].Read = machine.Exactly(30e9)
		}
		d.UnitRead = machine.Exactly(c.memory)
		last := len(d.Caches) - 1
		near := last
		if c.nearby {
			near--
		}
		d.Caches[near].Read = machine.Exactly(100e9)
		n := float64(untouchedIn(&d))
		again := n * (c.gone/c.memory + (1-c.gone)/100e9)
		giveLasts(&d, []probe{{what: lasting, things: n, times: []float64{3 * again, again, again}}, {what: period, things: n, times: []float64{c.while, 2 * c.while, c.while}}})
		if got := d.Caches[last].Lasts.Value; math.Abs(got-c.want) > 1e-9 || d.Caches[near].Lasts.Known() && near != last {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

// What each cache keeps is measured of as much as it holds and of more, and of the nearer part of one, too.
func TestKeepingIsMeasured(t *testing.T) {
	d := two()
	d.Caches = split(d.Caches)
	n := map[int][]float64{}
	for _, p := range probes(&d) {
		if p.what == keeping {
			n[p.cache] = append(n[p.cache], p.things/float64(d.Caches[p.cache].Bytes))
		}
	}
	for i, c := range d.Caches {
		if !slices.Equal(n[i], []float64{1, machine.More}) {
			t.Errorf("%s: probes of %v times its size", c.Name, n[i])
		}
	}
}

// Times at which the cores of a probe were slower or faster than cores usually are do not count, unless there are no others; what other cores did is of no account. Nor do those at which the
// cores of several threads were farther apart or nearer.
func TestUsual(t *testing.T) {
	r := &Run{}
	for _, p := range []Pace{{2.1}, {2.3}, {1.5}, {2.2}, {2}, {2.4}} {
		r.note(p)
	}
	if r.fastest > 2 || 1.2*r.fastest < 2.4-1e-9 {
		t.Errorf("usual cores take %v at least", r.fastest)
	}
	at := func(first, second float64) [2]State {
		return [2]State{{Pace: Pace{2, first}}, {Pace: Pace{second, 2.2}}}
	}
	p := &probe{threads: 2, times: []float64{3, 1, 2, 4, 5}, states: [][2]State{at(2, 2.4), at(2, 3), at(2.3, 2.1), at(1.6, 2), at(2, 1.7)}}
	if got := r.usual(p); !slices.Equal(got, []float64{3, 2}) {
		t.Errorf("%v", got)
	}
	p.threads = 1
	if got := r.usual(p); !slices.Equal(got, []float64{3, 2, 4}) {
		t.Errorf("on one thread: %v", got)
	}
	p.threads, p.states = 2, slices.Repeat([][2]State{at(2, 1.7)}, 5)
	if got := r.usual(p); !slices.Equal(got, p.times) {
		t.Errorf("%v", got)
	}
	r.apart = 60
	for i, hops := range [][2]float64{{60, 61}, {60, 280}, {50, 70}, {280, 60}, {60, 20}} {
		p.states[i] = [2]State{{Pace{2, 2}, hops[0]}, {Pace{2, 2}, hops[1]}}
	}
	if got := r.usual(p); !slices.Equal(got, []float64{3, 2}) {
		t.Errorf("of cores apart: %v", got)
	}
	p.threads = 1
	if got := r.usual(p); !slices.Equal(got, p.times) {
		t.Errorf("of cores apart, on one thread: %v", got)
	}
}

// Usual is the fastest state in which cores are in a quarter of the time, or as often as is asked for, the one in which they are most often if they are in none so often; of several cores that in which
// they are together.
func TestUsualOfTwo(t *testing.T) {
	slow, fast := []Pace{{2, 2.1}, {2.1, 2.2}, {2.2, 2}}, []Pace{{1, 1.1}, {1.1, 1.05}}
	mixed := []Pace{{1, 2}, {2, 1}, {1.1, 2.2}, {2.1, 1}}
	for _, x := range []struct {
		together    int
		often       float64
		paces       []Pace
		from, until float64
	}{
		{1, 0, slices.Concat(slow, slow, slow, fast), 1.7, 2}, {1, 0, slices.Concat(slow, fast), 0.8, 1}, {2, 0, slices.Concat(slow, slow, slow, fast), 1.8, 2}, {2, 0, slices.Concat(slow, fast), 0.9, 1},
		{1, 0, slices.Concat(mixed, slow), 0.8, 1}, {2, 0, slices.Concat(mixed, slow), 1.8, 2}, {2, 0, slices.Concat(mixed, mixed, mixed, slow, fast), 1.8, 2}, {2, 0, mixed, 0, 0}, {3, 0, slow, 1.8, 2},
		{2, 0.1, slices.Concat(slow, slow, slow, fast), 0.9, 1}, {2, 0.2, slices.Concat(slow, slow, slow, fast), 1.8, 2},
	} {
		r := &Run{options: Options{Together: x.together, Often: x.often}}
		for _, p := range x.paces {
			r.note(p)
		}
		if r.fastest < x.from || r.fastest > x.until {
			t.Errorf("%d together of %v: usual cores take %v at least", x.together, x.paces, r.fastest)
		}
	}
}

// What runs on one thread runs on the core that is fastest, and on the slowest of cores that are looked at together.
func TestOrder(t *testing.T) {
	for together, want := range map[int][]int{1: {7, 5, 6}, 2: {6, 5, 7}} {
		r := &Run{options: Options{Together: together}, cores: []int{5, 6, 7}}
		if got := r.order(Pace{2, 3, 1}); !slices.Equal(r.cores, want) || got[0] != map[int]float64{1: 1, 2: 3}[together] {
			t.Errorf("%d together: cores %v, paces %v", together, r.cores, got)
		}
	}
}

// What is measured between two states of which one is unusual is measured again, until there is no time for it. On several threads the cores are as far apart as usual, too.
func TestSteady(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	said := func(name string) string { // prints the first line of a file, and takes it away
		return write(name, fmt.Sprintf("#!/bin/sh\ncd '%s'\nread ms < %s.list\nsed -i 1d %[2]s.list\necho p10 $ms ms\n", dir, name), 0o777)
	}
	list := []probe{{what: arithmetic, dtype: "float32", threads: 1, program: said("paces")}, {what: handing, threads: 2, program: said("hops")}}
	of := func(wait time.Duration, paces, hops string) (measured int, last [2]State) {
		write("paces.list", paces, 0o666)
		write("hops.list", hops, 0o666)
		r := &Run{probes: list, cores: cores()[:1], wait: wait, apart: 3e-3, hopped: time.Now().Add(time.Hour)}
		for range 10 {
			r.note(Pace{1e-3})
		}
		threads := int64(1)
		if hops != "" {
			threads = 2
		}
		last, err := r.steady(t.Context(), State{}, threads, func() error { measured++; return nil })
		if err != nil {
			t.Fatal(err)
		}
		return measured, last
	}
	for _, x := range []struct {
		wait          time.Duration
		paces, hops   string
		measured      int
		before, after float64
	}{
		{time.Hour, "1\n1.1\n", "", 1, 1e-3, 1.1e-3},
		{time.Hour, "2\n1\n2\n2\n1\n1.1\n", "", 2, 1e-3, 1.1e-3}, // waits, is disturbed, waits again
		{0, "1\n2\n", "", 1, 1e-3, 2e-3},
		{time.Hour, strings.Repeat("1\n2\n", mostTries), "", mostTries, 1e-3, 2e-3},
		{time.Hour, "1.1\n1.1\n1\n1.1\n", "3\n20\n3.1\n3\n", 2, 1e-3, 1.1e-3}, // is disturbed
		{time.Hour, "1.1\n1\n1.1\n", "20\n3.1\n2.5\n", 1, 1e-3, 1.1e-3},       // waits
		{0, "1\n1.1\n", "3\n1\n", 1, 1e-3, 1.1e-3},
	} {
		if n, last := of(x.wait, x.paces, x.hops); n != x.measured || last[0].Pace[0] != x.before || last[1].Pace[0] != x.after {
			t.Errorf("%q, %q: measured %d times, the last between %v", x.paces, x.hops, n, last)
		}
	}
}

// A program that may use one core has that core alone, and the next has all again.
func TestCores(t *testing.T) {
	all := cores()
	if runtime.GOOS != "linux" || len(all) == 0 {
		t.Skip("the system does not say which cores there are")
	}
	count := func(on []int) string {
		var out strings.Builder
		c := exec.Command("nproc")
		c.Stdout = &out
		if err := startOn(c, on); err != nil {
			t.Fatal(err)
		}
		if err := c.Wait(); err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(out.String())
	}
	if got := count(all[:1]); got != "1" {
		t.Errorf("%s cores", got)
	}
	if got := count(nil); got != strconv.Itoa(len(all)) {
		t.Errorf("%s cores behind it, expected %d", got, len(all))
	}
}

// Programs have their common objects from the user's cache, and where there is none from a folder beside them.
func TestObjectsIn(t *testing.T) {
	dir := t.TempDir()
	for set, want := range map[string]string{"off": filepath.Join(dir, "objects"), filepath.Join(dir, "users"): filepath.Join(dir, "users")} {
		t.Setenv(filecache.Variable, set)
		got := ""
		for _, v := range objectsIn(dir) { // the last one counts
			if name, value, _ := strings.Cut(v, "="); name == filecache.Variable {
				got = value
			}
		}
		if got != want {
			t.Errorf("%s=%s: objects are in %q, expected %q", filecache.Variable, set, got, want)
		}
	}
}
