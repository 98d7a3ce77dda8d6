package calibrate

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"tensortapestry.org/tapc/cost/machine"
	"tensortapestry.org/tapc/cost/sample"
)

// probe is a program that is measured.
type probe struct {
	graph   *sample.Graph
	plan    string // by which it is built, if there is one
	threads int64
	program string
	things  float64 // that it does: operations, or bytes that it moves
	beyond  bool    // what is touched in turns is larger than the cache
	what    what
	dtype   string
	row     string     // of the rates of products of narrow numbers
	cache   int        // of bandwidths; the number of caches is memory
	times   []float64  // in seconds
	states  [][2]State // of the cores before and behind each
}

// what is what a probe finds out.
type what uint8

const (
	products what = iota
	results       // of products, of which there are few for each
	arithmetic
	functions
	following // arithmetic before and behind a function
	divisions
	gathers
	shuffles
	scalars
	narrow // products of bytes and of bfloat16
	bandwidth
	reading
	keeping // what a cache still has of what is touched in turns
	columns // of a right factor that is read in place
	lasting // what is read that nobody has touched for a while
	period  // that while, of the same program
	start
	region  // some kernels that threads share
	single  // one that has as much to do
	pacing  // what all devices compute side by side
	handing // a count from one device to the next
	copying // bytes that one device has to another
)

// rowOf is the row of a machine file that a probe gives the rate of.
var rowOf = map[what]string{products: "fma", results: "result", arithmetic: "vector", functions: "function", following: "following", divisions: "division", gathers: "gather", shuffles: "shuffle", scalars: "scalar"}

// Sizes of probes. None is that of a program that predictions are held to.
const (
	cells      = 2000 // of arithmetic that stays in the first cache, with both operands and the result
	steps      = 8    // of such arithmetic: those of one vector follow each other, and a core begins so few of the next vectors meanwhile that longer chains wait
	functional = 16   // what exp counts
	around     = 4    // steps of arithmetic before and behind such a function
	divided    = 4    // what a root counts
	across     = 200  // of a square that is transposed
	halved     = 1200 // every other one of twice as many
	whole      = 256  // of squares of integers and of narrow numbers, which are multiplied
	longRow    = 1 << 14

	resultRows = 48 // of a product of short sums, which is in the first cache with its result of float32,
	resultCols = 96
	resultSum  = 8

	rowOfColumns = 1600 // columns of a right factor, whose rows are not whole pages apart

	regions   = 16      // kernels that threads share,
	divisible = 1 << 14 // each of so many cells of a function, which takes as long wherever they are

	untouched = 4 << 20 // bytes that nobody touches for a while, at most
	idle      = 16_000  // cells of which functions are computed meanwhile
	whiles    = 5       // times as many of them, one of the other
)

// multiplied is the size of squares that are multiplied: the second cache has them, and all threads have as much each.
func multiplied(dtype string, threads int64) int64 {
	n := map[string]float64{"float32": 192, "float64": 144}[dtype]
	return int64(math.Cbrt(float64(threads))*n) / 16 * 16
}

// probes lists what is measured on a device.
func probes(d *machine.Device) (list []probe) {
	add := func(p probe, name string, make func(g *sample.Graph)) {
		p.graph = sample.New(name)
		make(p.graph)
		list = append(list, p)
	}
	for _, threads := range threadsOf(d) {
		for _, dtype := range []string{"float32", "float64"} {
			n := multiplied(dtype, threads)
			add(probe{what: products, dtype: dtype, threads: threads, things: 2 * float64(n*n*n)}, "products", func(g *sample.Graph) {
				g.Product(g.Tensor(dtype, n, n), g.Tensor(dtype, n, n))
			})
		}
		for i := range len(d.Caches) + 1 {
			n := cellsIn(d, i, threads)
			add(probe{what: bandwidth, cache: i, threads: threads, things: 8 * float64(n)}, "copies", func(g *sample.Graph) { g.Each("relu", g.Float(n)) })
			add(probe{what: reading, cache: i, threads: threads, things: 8 * float64(n)}, "sums", func(g *sample.Graph) { sums(g, 2*n) })
		}
	}
	for _, dtype := range []string{"float32", "float64"} {
		add(probe{what: results, dtype: dtype, threads: 1, things: resultRows * resultCols}, "results", func(g *sample.Graph) {
			g.Product(g.Tensor(dtype, resultRows, resultSum), g.Tensor(dtype, resultSum, resultCols))
		})
	}
	probeCaches(d, add)
	for _, dtype := range []string{"float32", "float64"} {
		add(probe{what: arithmetic, dtype: dtype, threads: 1, things: steps * cells}, "arithmetic", func(g *sample.Graph) { chain(g, dtype) })
		add(probe{what: functions, dtype: dtype, threads: 1, things: functional * cells}, "functions", func(g *sample.Graph) { g.Each("exp", g.Tensor(dtype, cells)) })
		add(probe{what: following, dtype: dtype, threads: 1, things: around * cells}, "functions in arithmetic", func(g *sample.Graph) {
			x, y := g.Tensor(dtype, cells), g.Tensor(dtype, cells)
			g.Both("add", g.Both("mul", g.Each("exp", g.Both("add", g.Both("mul", x, y), y)), y), y)
		})
		add(probe{what: divisions, dtype: dtype, threads: 1, things: divided * cells}, "divisions", func(g *sample.Graph) { g.Each("sqrt", g.Tensor(dtype, cells)) })
	}
	for _, dtype := range []string{"int32", "int64"} {
		add(probe{what: products, dtype: dtype, threads: 1, things: 2 * whole * whole * whole}, "products", func(g *sample.Graph) {
			g.Product(g.Tensor(dtype, whole, whole), g.Tensor(dtype, whole, whole))
		})
		add(probe{what: arithmetic, dtype: dtype, threads: 1, things: steps * cells}, "arithmetic", func(g *sample.Graph) { chain(g, dtype) })
		add(probe{what: divisions, dtype: dtype, threads: 1, things: divided * cells}, "divisions", func(g *sample.Graph) {
			g.Apply("div", "result", g.Tensor(dtype, cells), "", "a: %s, b: %s", g.Tensor(dtype, cells), g.Tensor(dtype, cells))
		})
	}
	add(probe{what: scalars, dtype: "float32", threads: 1, things: steps * cells}, "arithmetic", func(g *sample.Graph) { chain(g, "float16") })
	bytes, halves := narrowRows()
	add(probe{what: narrow, dtype: "int8", row: bytes, threads: 1, things: 2 * whole * whole * whole}, "products", func(g *sample.Graph) {
		g.Apply("matmul_integer", "Y", g.Tensor("int32", whole, whole), "", "A: %s, B: %s", g.Tensor("uint8", whole, whole), g.Tensor("int8", whole, whole))
	})
	add(probe{what: narrow, dtype: "bfloat16", row: halves, threads: 1, things: 2 * whole * whole * whole}, "products", func(g *sample.Graph) {
		g.Product(g.Tensor("bfloat16", whole, whole), g.Tensor("bfloat16", whole, whole))
	})
	for _, dtype := range []string{"float32", "float64"} {
		add(probe{what: gathers, dtype: dtype, threads: 1, things: across * across}, "transposes", func(g *sample.Graph) {
			g.Apply("permute", "result", g.Tensor(dtype, across, across), "{perm: [1, 0]}", "tensor: %s", g.Tensor(dtype, across, across))
		})
		add(probe{what: shuffles, dtype: dtype, threads: 1, things: halved}, "slices", func(g *sample.Graph) {
			g.Apply("slice", "result", g.Tensor(dtype, halved), fmt.Sprintf("{starts: [0], lengths: [%d], steps: [2]}", halved), "tensor: %s", g.Tensor(dtype, 2*halved))
		})
	}
	add(probe{what: start, threads: 1}, "start", func(g *sample.Graph) { g.Each("relu", g.Float(16)) })
	if d.Units > 1 {
		add(probe{what: region, threads: d.Units}, "regions", func(g *sample.Graph) {
			for range regions {
				g.Each("exp", g.Float(divisible))
			}
		})
		add(probe{what: single, threads: d.Units}, "region", func(g *sample.Graph) { g.Each("exp", g.Float(regions*divisible)) })
	}
	return list
}

// probeCaches adds what is measured of caches beside how fast copies and sums are: what they keep, how long that lasts, and how fast right factors in place come.
func probeCaches(d *machine.Device, add func(p probe, name string, make func(g *sample.Graph))) {
	for i, c := range d.Caches {
		for _, beyond := range []bool{false, true} {
			n := c.Bytes / 4
			if beyond {
				n = int64(machine.More*float64(c.Bytes)) / 4
			}
			add(probe{what: keeping, cache: i, threads: 1, things: 4 * float64(n), beyond: beyond}, "sums", func(g *sample.Graph) { sums(g, n) })
		}
	}
	for i := nearLast(d); i < len(d.Caches); i++ {
		n := 2 * cellsIn(d, i, 1) / rowOfColumns
		add(probe{what: columns, cache: i, threads: 1, things: float64(4 * n * rowOfColumns)}, "columns", func(g *sample.Graph) { g.Product(g.Float(1, n), g.Float(n, rowOfColumns)) })
	}
	if n := untouchedIn(d); n > 0 {
		for _, w := range []what{lasting, period} {
			add(probe{what: w, threads: 1, things: float64(n)}, "untouched", func(g *sample.Graph) {
				sums(g, n/4)
				x := g.Float(idle)
				for range whiles {
					x = g.Each("erfc", x)
				}
			})
		}
	}
}

// chain is arithmetic that goes from one step to the next.
func chain(g *sample.Graph, dtype string) {
	x, y := g.Tensor(dtype, cells), g.Tensor(dtype, cells)
	for i := range steps {
		x = g.Both([]string{"mul", "add"}[i%2], x, y)
	}
}

// sums reads so many elements, in rows so long that joining lanes at their ends does not count.
func sums(g *sample.Graph, n int64) {
	rows := max(1, n/longRow)
	g.Reduce("sum", g.Float(rows, n/rows), 1)
}

// threadsOf gives one thread and, if there are more, one for each unit.
func threadsOf(d *machine.Device) []int64 {
	if d.Units > 1 {
		return []int64{1, d.Units}
	}
	return []int64{1}
}

// cellsIn is how many elements are read and written so that a cache has them, and the one before it has not; more than all caches for memory.
func cellsIn(d *machine.Device, cache int, threads int64) int64 {
	const each = 8
	share := func(c machine.Cache) int64 { return c.Bytes * max(1, threads/c.Units) }
	if cache == len(d.Caches) {
		return min(8*share(d.Caches[cache-1]), 512<<20) / each
	}
	size := int64(machine.Fits * float64(share(d.Caches[cache])))
	if cache > 0 {
		size = max(size, min(machine.Passes*share(d.Caches[cache-1]), share(d.Caches[cache])))
	}
	return size / each
}

// untouchedIn is how many bytes only the last cache has, or its nearer part, for which it is measured how long they stay; none if others have them, too.
func untouchedIn(d *machine.Device) int64 {
	near := nearLast(d)
	if near < 1 {
		return 0
	}
	n := min(d.Caches[near].Bytes/2, untouched)
	if n < machine.Passes*d.Caches[near-1].Bytes {
		return 0
	}
	return n
}

// nearLast is the last cache, or its nearer part; -1 if there is none.
func nearLast(d *machine.Device) int {
	last := len(d.Caches) - 1
	if last > 0 && d.Near(last-1) {
		return last - 1
	}
	return last
}

// conclude gives a device what was measured.
func conclude(d *machine.Device, list []probe) {
	for i := range list {
		if list[i].what == start {
			d.Launch = list[i].seconds()
		}
	}
	for i := range list {
		p := &list[i]
		p.spare(d.Launch.Value)
		switch p.what {
		case bandwidth:
			giveBandwidth(d, p, func(c *machine.Cache) (one, all *machine.Figure) { return &c.Bandwidth, &c.All }, &d.UnitBandwidth, &d.Bandwidth)
		case reading:
			giveBandwidth(d, p, func(c *machine.Cache) (one, all *machine.Figure) { return &c.Read, &c.AllRead }, &d.UnitRead, &d.Read)
		case columns:
			d.Caches[p.cache].Columns = p.rate(p.things)
		case region:
			giveRegion(d, list)
		case start, keeping, lasting, period, pacing, handing, copying, following, results, single:
		default:
			giveRate(d, p)
		}
	}
	for i := len(d.Caches) - 2; i >= 0; i-- { // a nearer cache is no slower: what says so was disturbed
		near, far := &d.Caches[i], d.Caches[i+1]
		near.Bandwidth, near.Read = faster(near.Bandwidth, far.Bandwidth), faster(near.Read, far.Read)
	}
	for i := range list {
		switch p := &list[i]; p.what { // by what the caches and functions reach
		case keeping:
			giveKept(d, p)
		case copying:
			giveExchange(d, p)
		case following:
			giveFollowing(d, p)
		case results:
			giveResults(d, p)
		}
	}
	giveLasts(d, list)
	ownCaches(d)
	for i := range d.Caches {
		if c := &d.Caches[i]; c.Beyond.Value > c.Kept.Value {
			c.Beyond = c.Kept
		}
	}
}

// giveRegion gives a device what it takes more that all units share a kernel: of some kernels what is left without one that has as much to do. One unit alone would be another pace than that of all together.
func giveRegion(d *machine.Device, list []probe) {
	at := func(w what) *probe { return &list[slices.IndexFunc(list, func(p probe) bool { return p.what == w })] }
	several, one := at(region).seconds(), Usual(at(single).times)
	more := func(t float64) float64 { return max((t-one)/(regions-1)-d.Launch.Value, leastRegion) }
	d.Region = machine.Figure{Value: more(several.Value), Low: more(several.Low), High: more(several.High)}
}

// leastRegion is what that is at least, in seconds.
const leastRegion = 1e-8

// apartReads is how many times as much as it can, at most, if it was one cache, what all units read of it together is from where each has its own.
const apartReads = 1.3

// ownCaches gives each unit the caches for itself that the system says are shared and that are not: a virtual machine may say that of cores that it has from different ones. Of data that one unit
// has no room for all units together read at most as many times as much as one as there are, if they share a cache, and more if each has one that its part fits.
func ownCaches(d *machine.Device) {
	for i := range d.Caches {
		c := &d.Caches[i]
		if units := float64(min(c.Units, d.Units)); units < 2 || d.Near(i) || !c.AllRead.Known() || c.AllRead.Value < apartReads*units*c.Read.Value {
			continue
		}
		for j := range d.Caches {
			if o := &d.Caches[j]; j == i || d.Near(j) && j+1 == i {
				o.Units, o.All, o.AllRead = 1, machine.Figure{}, machine.Figure{}
			}
		}
	}
}

// Least differences: how many times as fast a cache is as what is behind it, so that times say which of them data comes from, and the part of it that is told from none.
const (
	apart     = 1.15
	leastPart = 0.01
)

// giveKept gives a cache the part of what is touched in turns that it still has: what is read faster than what is behind it would give it. Nothing is said where that is as fast.
func giveKept(d *machine.Device, p *probe) {
	near, far := d.Caches[p.cache].Read.Value, d.UnitRead.Value
	if p.cache+1 < len(d.Caches) {
		far = d.Caches[p.cache+1].Read.Value
	}
	if near < apart*far {
		return
	}
	part := func(rate float64) float64 { return min(max((1/far-1/rate)/(1/far-1/near), leastPart), 1) }
	f := p.rate(p.things)
	kept := machine.Figure{Value: part(f.Value), Low: part(f.Low), High: part(f.High)}
	if c := &d.Caches[p.cache]; p.beyond {
		c.Beyond = kept
	} else {
		c.Kept = kept
	}
}

// giveLasts gives the last cache the time that what nobody touches stays there: of what is read after a while the part is gone that it takes longer by, as if that came from memory. A cache that has
// nearly all of it then is used by nobody else.
func giveLasts(d *machine.Device, list []probe) {
	i := slices.IndexFunc(list, func(p probe) bool { return p.what == lasting })
	j := slices.IndexFunc(list, func(p probe) bool { return p.what == period })
	if i < 0 || j < 0 {
		return
	}
	near, far := d.Caches[nearLast(d)].Read.Value, d.UnitRead.Value
	if near < apart*far {
		return
	}
	f, while := list[i].rate(list[i].things), Usual(list[j].times)
	gone := func(rate float64) float64 { return (1/rate - 1/near) / (1/far - 1/near) }
	if gone(f.Value) <= leastGone {
		return
	}
	after := func(rate float64) float64 {
		return while * math.Pow(1/min(max(gone(rate), leastGone), mostGone)-1, 1.0/machine.Leaving)
	}
	d.Caches[len(d.Caches)-1].Lasts = machine.Figure{Value: after(f.Value), Low: after(f.Low), High: after(f.High)}
}

// Least and greatest part of what nobody has touched for a while that is gone, of which it is said how long it stays.
const (
	leastGone = 0.1
	mostGone  = 0.9
)

// giveExchange gives the last cache that units have for themselves what another unit reads there: of copies of what another has written what is left without writing them to a cache of one's own.
func giveExchange(d *machine.Device, p *probe) {
	at := -1
	for i, c := range d.Caches {
		if c.Units == 1 {
			at = i
		}
	}
	if at < 0 {
		return
	}
	c := &d.Caches[at]
	writing := 1 / c.Bandwidth.Value // of a byte: copies write half of what they move
	if c.Read.Value > c.Bandwidth.Value {
		writing = 2/c.Bandwidth.Value - 1/c.Read.Value
	}
	reading := func(copied float64) float64 { return 1 / max(1/copied-writing, 1/c.Read.Value) }
	sorted := slices.Sorted(slices.Values(p.times)) // the best is of two threads that had one core after the other
	of := func(t float64) float64 { return reading(p.things / t) }
	c.Exchange = machine.Figure{Value: of(Median(sorted)), Low: of(sorted[len(sorted)-1]), High: of(sorted[0])}
}

// faster is the greater of two figures.
func faster(a, b machine.Figure) machine.Figure {
	if b.Value > a.Value {
		return b
	}
	return a
}

// spare takes what it takes to begin out of the times of a probe that measures something else.
func (p *probe) spare(launch float64) {
	for i, t := range p.times {
		if p.things > 0 && t > 2*launch {
			p.times[i] = t - launch
		}
	}
}

// seconds is the time of a probe: the best, and at most the median.
func (p *probe) seconds() machine.Figure {
	t := p.rate(1)
	return machine.Figure{Value: 1 / t.Value, Low: 1 / t.High, High: 1 / t.Low}
}

// giveBandwidth gives a cache, or the memory of one unit or of all, what a probe moved.
func giveBandwidth(d *machine.Device, p *probe, of func(*machine.Cache) (one, all *machine.Figure), unit, all *machine.Figure) {
	f := p.rate(p.things)
	switch {
	case p.cache < len(d.Caches):
		c := &d.Caches[p.cache]
		one, shared := of(c)
		if p.threads == 1 {
			*one = f
		} else if c.Units > 1 {
			*shared = f.Times(machine.Exactly(float64(min(c.Units, p.threads)) / float64(p.threads)))
		}
	case p.cache == len(d.Caches) && p.threads == 1:
		*unit = f
		if d.Units == 1 {
			*all = f
		}
	case p.cache == len(d.Caches):
		*all = f
	}
}

// giveRate gives the rate of a row: that of one unit, and of all where that was measured.
func giveRate(d *machine.Device, p *probe) {
	row := cmp.Or(p.row, rowOf[p.what])
	at := slices.IndexFunc(d.Rates, func(r machine.Rate) bool { return r.Type == p.dtype && r.Row == row })
	if at < 0 {
		at = len(d.Rates)
		d.Rates = append(d.Rates, machine.Rate{Type: p.dtype, Row: row})
	}
	r, f := &d.Rates[at], p.rate(p.things)
	if p.threads == 1 {
		r.Unit, r.Rate = f, f.Times(machine.Exactly(float64(d.Units)))
	} else {
		r.Rate = f
	}
}

// mostResults is the part of the time of products that their results take, at most.
const mostResults = 0.2

// giveResults gives the rate of results of products: of a product of short sums what is left without the products, which themselves are without their results then. Of n numbers that are multiplied for a
// result the products take 2n, and the result takes as long whatever n is.
func giveResults(d *machine.Device, p *probe) {
	rate, err := d.Rate(p.dtype, rowOf[products], 1)
	if err != nil {
		return
	}
	operations, n := 2*resultSum*p.things, float64(multiplied(p.dtype, 1)) // of this probe, and of that of the rate
	p.things -= operations / (2 * n)                                       // those that the rate has already
	most := mostResults * 2 * n * p.things / rate.Value
	for i, t := range p.times {
		p.times[i] = min(max(t-operations/rate.Value, most/1000), most)
	}
	each := Usual(p.times) / p.things
	giveRate(d, p)
	for i := range d.Rates {
		r := &d.Rates[i]
		if r.Type != p.dtype || r.Row != rowOf[products] {
			continue
		}
		without := func(f machine.Figure, units int64) machine.Figure { // results of as much for each of so many
			part := 1 / (1 - f.Value/float64(units)*each/(2*float64(multiplied(p.dtype, units))))
			return f.Times(machine.Exactly(part))
		}
		r.Unit, r.Rate = without(r.Unit, 1), without(r.Rate, d.Units)
	}
}

// giveFollowing gives the rate of arithmetic before and behind functions: of its probe what is left without these. It is no faster than other arithmetic.
func giveFollowing(d *machine.Device, p *probe) {
	function, err := d.Rate(p.dtype, rowOf[functions], 1)
	vector, err2 := d.Rate(p.dtype, rowOf[arithmetic], 1)
	if err != nil || err2 != nil {
		return
	}
	for i, t := range p.times {
		p.times[i] = max(t-functional*cells/function.Value, p.things/vector.Value)
	}
	giveRate(d, p)
}
