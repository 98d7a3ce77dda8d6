package price

import (
	"cmp"
	"math"
	"slices"

	"tensortapestry.org/tapc/cost/machine"
	"tensortapestry.org/tapc/cost/work"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/copies"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/zspace"
)

// place is what two buffers have in common if they lie in the same bytes: buffers of an arena by where they begin, others by themselves.
type place struct {
	buffer ir.NodeID
	arena  ir.NodeID // the device
	offset int64
}

// history follows which bytes a device touched when, through a program that runs again and again.
type history struct {
	*memory
	last map[place][]visit // of each place, those that no later one covers, the latest last
	now  float64
	all  float64 // bytes of different places
	code float64 // and of the instructions of all kernels
	took float64 // seconds of its steps
	runs float64 // seconds of a run, for one of its steps: the device with the most to do waits for nobody
}

// memory is what the devices of a program have in common, if they are threads of one process: which of them wrote what.
type memory struct {
	buffers map[ir.NodeID]*schedule.Buffer
	process *Process
	steps   int // that all devices have done
	written map[place][]visit
	now     float64 // bytes that all have touched
	all     float64 // of different places
	code    float64
}

// visit is when a box of a buffer was touched last: how many bytes the device had touched, in all, and how many seconds it had worked in the middle of the step; and how units have touched it since it was written.
type visit struct {
	by     *history
	buffer ir.NodeID
	box    zspace.Range
	step   int
	at     float64
	among  float64 // and all devices together
	took   float64
	held   []boxes
}

// mostVisits bounds how many parts of a place are known apart: an earlier one is as good as one of the last run.
const mostVisits = 64

// replay runs through what devices do once, so that the next run finds what the last left. Each device has caches of its own.
func replay(list []done, buffers map[ir.NodeID]*schedule.Buffer, process *Process) map[ir.NodeID]*history {
	type key struct {
		device ir.NodeID
		buffer ir.NodeID
	}
	out, m := map[ir.NodeID]*history{}, &memory{buffers: buffers, process: process, written: map[place][]visit{}}
	parts, sizes, whole := map[key]float64{}, map[ir.NodeID]map[place]float64{}, map[place]float64{} // of buffers what is touched of them
	for _, s := range list {
		h := out[s.device]
		if h == nil {
			h = &history{memory: m, last: map[place][]visit{}}
			out[s.device], sizes[s.device] = h, map[place]float64{}
		}
		h.code += s.code
		m.code += s.code
		for _, t := range s.work.Touches {
			id := m.origin(t.Buffer)
			if h.find(t) == nil {
				parts[key{s.device, id}] += t.Bytes
			}
			p, b := m.place(id), buffers[id]
			n, _ := b.Range.BigSize().Float64()
			whole[p] = max(whole[p], n*float64(b.Type().Size()))
			sizes[s.device][p] = max(sizes[s.device][p], min(parts[key{s.device, id}], n*float64(b.Type().Size())))
		}
		h.touch(s)
	}
	together, longest := map[place]float64{}, 0.0
	for _, h := range out {
		longest = max(longest, h.took)
	}
	for d, h := range out {
		h.runs = 1
		if h.took > 0 {
			h.runs = longest / h.took
		}
		for p, n := range sizes[d] {
			h.all += n
			together[p] = min(together[p]+n, whole[p]) // what several devices have is once in a cache that they share
		}
	}
	for _, n := range together {
		m.all += n
	}
	return out
}

// origin gives the buffer in whose memory a buffer is.
func (m *memory) origin(id ir.NodeID) ir.NodeID {
	if b := m.buffers[id]; b.Over != ir.NoNode {
		return b.Over
	}
	return id
}

func (m *memory) place(id ir.NodeID) place {
	if b := m.buffers[id]; b.Space == schedule.Arena {
		return place{buffer: ir.NoNode, arena: b.Device, offset: b.Offset}
	}
	return place{buffer: id}
}

// touch takes note of what a step touches.
func (h *history) touch(s done) {
	h.steps++
	h.took += s.takes
	for i, t := range s.work.Touches {
		h.now += t.Bytes
		h.memory.now += t.Bytes
		id := h.origin(t.Buffer)
		p := h.place(id)
		var now []boxes
		if len(s.units) > 0 {
			now = held(h.held(t), s.units[i], t.Write)
		}
		v := visit{by: h, buffer: id, box: t.Box, step: h.steps, at: h.now, among: h.memory.now, took: h.took - s.takes/2, held: now}
		h.last[p] = note(h.last[p], v)
		if h.process != nil && t.Write {
			h.written[p] = note(h.written[p], v)
		}
	}
}

// note adds a visit behind those of a place that it does not cover.
func note(list []visit, v visit) []visit {
	list = slices.DeleteFunc(list, func(o visit) bool { return o.buffer != v.buffer || v.box.Contains(o.box) })
	if len(list) == mostVisits {
		list = slices.Delete(list, 0, 1)
	}
	return append(list, v)
}

// find gives the last visit of some of what is touched, nil if there was none.
func (h *history) find(t work.Touch) *visit {
	id := h.origin(t.Buffer)
	list := h.last[h.place(id)]
	for i := range slices.Backward(list) {
		if v := &list[i]; v.buffer != id || v.box.Overlaps(t.Box) {
			return v
		}
	}
	return nil
}

// held gives how units have touched what is touched since it was written.
func (h *history) held(t work.Touch) []boxes {
	if v := h.find(t); v != nil && v.buffer == h.origin(t.Buffer) {
		return v.held
	}
	return nil
}

// foreign is the part of what a kernel touches, of which each unit touches a box, that all units together have from each other: by the last visits of all its parts.
func (h *history) foreign(t work.Touch, now boxes, units int64) (part float64) {
	id := h.origin(t.Buffer)
	for _, v := range h.last[h.place(id)] {
		if v.buffer != id || !v.box.Overlaps(t.Box) {
			continue
		}
		var there boxes
		for _, want := range now {
			both, ok := want.Intersect(v.box)
			if !ok {
				both = zspace.Range{Start: v.box.Start, End: v.box.Start}
			}
			there = append(there, both)
		}
		part += foreign(there, v.held, t.Box, units)
	}
	return part
}

// source is where a part of what a kernel touches was last: in the caches of its device or, where that has written it since, of another one.
type source struct {
	part     float64
	distance distance
	other    bool
}

// distance is how many bytes a device has touched since, and all devices that share a cache with it, and how many seconds ago that was, from the middle of one step to that of the other.
type distance struct{ own, all, ago float64 }

// sources gives where what a kernel touches that takes so many seconds was last. A cache of as many bytes as were touched since, with those of the kernel itself, has it still. Of other devices it says
// something if it is asked to.
func (h *history) sources(w *work.Work, takes float64, t work.Touch, others bool) (list []source) {
	own, v, whole := source{part: 1, distance: distance{h.all, h.memory.all, (h.took + takes/2) * h.runs}}, h.find(t), cells(t.Box)
	since, bytes := 0, w.Bytes()
	if v != nil {
		own.distance, since = distance{min(h.now-v.at+bytes, h.all), min(h.memory.now-v.among+bytes, h.memory.all), (h.took - v.took + takes/2) * h.runs}, v.step
	}
	id := h.origin(t.Buffer)
	for _, o := range h.written[h.place(id)] {
		if !others || o.by == h || o.step <= since || o.buffer != id || whole == 0 {
			continue
		}
		if both, ok := t.Box.Intersect(o.box); ok {
			part := min(own.part, cells(both)/whole)
			own.part -= part
			list = append(list, source{part, distance{o.by.now - o.at + bytes, min(h.memory.now-o.among+bytes, h.memory.all), (o.by.took - o.took + takes/2) * o.by.runs}, true})
		}
	}
	return append(list, own)
}

// level is a place that data comes from: a cache of a device, or its memory.
type level struct {
	name  string
	bytes float64        // that so many units have of it together
	kept  []point        // what it still has of what is touched in turns
	own   bool           // it is a cache that each unit has for itself
	near  bool           // it is the first or second cache: what comes from there without being fetched ahead comes meanwhile
	far   bool           // it is memory, or what is behind the nearer part of a cache
	part  float64        // of a cache that the device shares with others, whose size is that of its part
	lasts float64        // seconds after which half of what nobody touches is gone; 0 if it stays
	ports bool           // it reads and writes at the same time
	alone machine.Figure // bytes a second of what is read where nothing is written
	read  machine.Figure
	write machine.Figure

	columns float64 // how many times as long as in order columns that are read in place take
}

// levels gives the caches of a device and its memory, as so many units have them.
func levels(d *machine.Device, units int64) (list []level) {
	behind, columns := 0, 1.0 // caches that are before one; of the last cache of which it is known
	for i, c := range d.Caches {
		n, part := float64((units+c.Units-1)/c.Units), 1.0
		if c.Units > d.Units { // other devices have their part of it
			n = float64(d.Units) / float64(c.Units)
			part = n
		}
		copies, reading := c.Reached(units)
		l := levelOf(c.Name, copies, reading)
		l.bytes, l.kept, l.own, l.near, l.part = n*float64(c.Bytes), curve(d, i), c.Units == 1, c.Units == 1 && behind < 2, part
		l.far = i > 0 && d.Near(i-1)
		l.lasts = c.Lasts.Value
		if d.Near(i) {
			l.lasts = d.Caches[i+1].Lasts.Value
		} else {
			behind++
		}
		l.columns = 1
		if c.Columns.Known() {
			columns = max(1, cmp.Or(c.Read.Value, c.Bandwidth.Value)/c.Columns.Value)
			l.columns = columns
		}
		if i == 0 {
			l.ports, l.read, l.write = true, l.alone, copies.Times(machine.Exactly(0.5))
		}
		list = append(list, l)
	}
	memory := levelOf("memory", d.MemoryBandwidth(units), d.MemoryRead(units))
	memory.columns, memory.far = columns, true
	return append(list, memory)
}

// levelOf makes a level of what copies reach there, and what reading alone does.
func levelOf(name string, copies, reading machine.Figure) level {
	read, write := directions(copies, reading)
	if !reading.Known() {
		reading = copies
	}
	return level{name: name, alone: reading, read: read, write: write}
}

// directions gives the bandwidths of what is read and of what is written, from that of copies, which read and write as much, and that of reading alone: half of a copy is read at the latter.
// Reading alone that moves less than half of what copies do says nothing about the two.
func directions(copies, reading machine.Figure) (read, write machine.Figure) {
	writing := func(c, r float64) float64 { return 1 / (2/c - 1/r) }
	if !reading.Known() || reading.Value <= copies.Value/2 {
		return copies, copies
	}
	within := func(c, r float64) float64 { return max(r, 0.51*c) }
	return reading, machine.Figure{Value: writing(copies.Value, within(copies.Value, reading.Value)), Low: writing(copies.Low, within(copies.Low, reading.Low)),
		High: writing(copies.High, within(copies.High, reading.High)), Source: copies.Source}
}

// over is the time in which so many bytes are read and written. The first cache does both at the same time, so that its copies take as long as what they write.
func (l level) over(read, written float64) Interval {
	reading, writing := over(read, l.read), over(written, l.write)
	switch {
	case written == 0:
		return over(read, l.alone)
	case l.ports && reading.Value > writing.Value:
		return reading
	case l.ports:
		return writing
	}
	return reading.Plus(writing)
}

// point is the part that a cache still has of what is touched in turns, where that is so many times as large as the cache.
type point struct{ times, part float64 }

// curve gives the points between which the part that a cache keeps is on straight lines: at the sizes at which calibrate measures it, and, where these are not known,
// those of a cache that nearly always gives up what was not touched for the longest time. The nearer part of a cache has ever less of what is larger then, until all is in the cache as a whole.
func curve(d *machine.Device, cache int) []point {
	c := &d.Caches[cache]
	switch {
	case c.Kept.Known() && c.Beyond.Known():
		return []point{{machine.Fits, 1}, {1, c.Kept.Value}, {machine.More, c.Beyond.Value}, {machine.Passes, 0}}
	case d.Near(cache):
		return []point{{machine.Fits, 1}, {machine.Passes, 0}}
	}
	return []point{{1, 1}, {1.25, 0}}
}

// keeps is the part that a level still has of what was touched so many bytes ago.
func (l *level) keeps(distance float64) float64 {
	times, before := distance/l.bytes, l.kept[0]
	for _, p := range l.kept {
		if times <= p.times {
			if p == before {
				return p.part
			}
			return before.part + (p.part-before.part)*((times-before.times)/(p.times-before.times)) // nothing where that is all, to the bit
		}
		before = p
	}
	return before.part
}

// stays is the part that others have left of what was touched so many seconds ago.
func (l *level) stays(ago float64) float64 {
	if l.lasts == 0 {
		return 1
	}
	return 1 / (1 + math.Pow(ago/l.lasts, machine.Leaving))
}

// parts says how much of what was touched so many bytes ago each level still has: less and less of what is farther, for what programs touch again they touch in the same
// order, so that what is asked for next is what went first. A cache that devices share has what all of them touched.
func parts(list []level, d distance) []float64 {
	out, left := make([]float64, len(list)), 1.0
	for i, l := range list {
		part, ago := left, d.own
		if l.part < 1 {
			ago = d.all * l.part
		}
		if i < len(list)-1 {
			part *= l.keeps(ago) * l.stays(d.ago)
		}
		out[i] = part
		left -= part
	}
	return out
}

// backAndForth is how many times as long as a line that streams from another cache one takes that two devices write, each again and again. Measured on Zen 3, where lines stream in 1.6 ns: 1.6 to
// 19 ns, by how near to each other in time the two come to it.
const backAndForth = 3

// crossed is how many bytes of lines that a device writes other devices write, too, as such lines take: those where the runs of what is written end between two lines.
func (h *history) crossed(t work.Touch) float64 {
	id := h.origin(t.Buffer)
	if h.process == nil || !t.Write || !slices.ContainsFunc(h.written[h.place(id)], func(v visit) bool { return v.by != h && v.buffer == id }) {
		return 0
	}
	return torn(h.buffers[id], t.Box) * schedule.LineBytes * backAndForth
}

// torn is how many ends of the runs in which a box lies in a buffer are between the ends of lines, where the buffer begins with a line. Of the ends of several runs it is the part of all addresses that they can have.
func torn(b *schedule.Buffer, box zspace.Range) float64 {
	c := copies.Of(&schedule.Transfer{Range: box}, b, b)
	if c.Bytes == 0 {
		return 0
	}
	runs, starts, ends := 1.0, c.From, c.From+c.Bytes // the largest powers of two up to a line that divide all of them
	for _, s := range c.Steps {
		runs *= float64(s.Count)
		starts, ends = starts|s.From, ends|s.From
	}
	between := func(of int64) float64 {
		step := of & -of
		if step == 0 || step >= schedule.LineBytes {
			return 0
		}
		return 1 - float64(step)/schedule.LineBytes
	}
	return runs * (between(starts) + between(ends))
}
