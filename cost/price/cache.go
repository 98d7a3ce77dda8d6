package price

import (
	"slices"

	"tensortapestry.org/tapc/cost/machine"
	"tensortapestry.org/tapc/cost/work"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/zspace"
)

// place is what two buffers have in common if they lie in the same bytes: buffers of an arena by where they begin, others by themselves.
type place struct {
	buffer ir.NodeID
	arena  ir.NodeID // the device
	offset int64
}

func placeOf(id ir.NodeID, b *schedule.Buffer) place {
	if b.Space == schedule.Arena {
		return place{buffer: ir.NoNode, arena: b.Device, offset: b.Offset}
	}
	return place{buffer: id}
}

// history follows which bytes were touched when, through a program that runs again and again.
type history struct {
	buffers map[ir.NodeID]*schedule.Buffer
	last    map[place][]visit // of each place, those that no later one covers, the latest last
	now     float64
	all     float64 // bytes of different places
}

// visit is when a box of a buffer was touched last: how many bytes had been, in all.
type visit struct {
	buffer ir.NodeID
	box    zspace.Range
	at     float64
}

// mostVisits bounds how many parts of a place are known apart: an earlier one is as good as one of the last run.
const mostVisits = 64

// replay runs through a program once, so that the next run finds what the last left.
func replay(works []*work.Work, buffers map[ir.NodeID]*schedule.Buffer) *history {
	h := &history{buffers: buffers, last: map[place][]visit{}}
	parts, sizes := map[ir.NodeID]float64{}, map[place]float64{} // of buffers what is touched of them
	for _, w := range works {
		for _, t := range w.Touches {
			if h.find(t) == nil {
				parts[t.Buffer] += t.Bytes
			}
			p, b := placeOf(t.Buffer, buffers[t.Buffer]), buffers[t.Buffer]
			n, _ := b.Range.BigSize().Float64()
			sizes[p] = max(sizes[p], min(parts[t.Buffer], n*float64(b.Type().Size())))
		}
		h.touch(w)
	}
	for _, n := range sizes {
		h.all += n
	}
	return h
}

// touch takes note of what a kernel touches.
func (h *history) touch(w *work.Work) {
	for _, t := range w.Touches {
		h.now += t.Bytes
		p := placeOf(t.Buffer, h.buffers[t.Buffer])
		list := slices.DeleteFunc(h.last[p], func(v visit) bool { return v.buffer != t.Buffer || t.Box.Contains(v.box) })
		if len(list) == mostVisits {
			list = slices.Delete(list, 0, 1)
		}
		h.last[p] = append(list, visit{t.Buffer, t.Box, h.now})
	}
}

// find gives the last visit of some of what is touched, nil if there was none.
func (h *history) find(t work.Touch) *visit {
	list := h.last[placeOf(t.Buffer, h.buffers[t.Buffer])]
	for i := range slices.Backward(list) {
		if v := &list[i]; v.buffer != t.Buffer || v.box.Overlaps(t.Box) {
			return v
		}
	}
	return nil
}

// distance is how many bytes were touched since a kernel's operand was, with those of the kernel itself: a cache of as many has it still.
func (h *history) distance(w *work.Work, t work.Touch) float64 {
	v := h.find(t)
	if v == nil {
		return h.all
	}
	return min(h.now-v.at+w.Bytes(), h.all)
}

// level is a place that data comes from: a cache of a device, or its memory.
type level struct {
	name  string
	bytes float64        // that so many units have of it together
	alone machine.Figure // bytes a second of what is read where nothing is written
	read  machine.Figure
	write machine.Figure
}

// levels gives the caches of a device and its memory, as so many units have them.
func levels(d *machine.Device, units int64) (list []level) {
	for _, c := range d.Caches {
		n := float64((units + c.Units - 1) / c.Units)
		if c.Units > d.Units { // other devices have their part of it
			n = float64(d.Units) / float64(c.Units)
		}
		copies, reading := c.Reached(units)
		list = append(list, levelOf(c.Name, n*float64(c.Bytes), copies, reading))
	}
	return append(list, levelOf("memory", 0, d.MemoryBandwidth(units), d.MemoryRead(units)))
}

// levelOf makes a level of what copies reach there, and what reading alone does.
func levelOf(name string, bytes float64, copies, reading machine.Figure) level {
	read, write := directions(copies, reading)
	if !reading.Known() {
		reading = copies
	}
	return level{name, bytes, reading, read, write}
}

// directions gives the bandwidths of what is read and of what is written, from that of copies, which read and write as much, and that of reading
// alone: half of a copy is read at the latter. A copy that is faster than reading alone says nothing about the two.
func directions(copies, reading machine.Figure) (read, write machine.Figure) {
	if !reading.Known() || reading.Value <= copies.Value {
		return copies, copies
	}
	writing := func(c, r float64) float64 { return 1 / (2/c - 1/max(r, c)) }
	return reading, machine.Figure{Value: writing(copies.Value, reading.Value), Low: writing(copies.Low, reading.Low), High: writing(copies.High, reading.High), Source: copies.Source}
}

// over is the time in which so many bytes are read and written.
func (l level) over(read, written float64) Interval {
	if written == 0 {
		return over(read, l.alone)
	}
	return over(read, l.read).Plus(over(written, l.write))
}

// beyond is from how many times a cache's size on it has nothing left of what is touched in turns: of 1.25, 1.5 and 2 the nearest to measured times (docs/performance.md).
const beyond = 1.25

// parts says how much of what was touched so many bytes ago each level still has. A cache has all of what is nearer than its size, less and less of what is farther, and none
// from beyond on: what programs touch again they touch in the same order, so that what is asked for next is what went first.
func parts(list []level, distance float64) []float64 {
	out, left := make([]float64, len(list)), 1.0
	for i, l := range list {
		part := left
		if i < len(list)-1 {
			part *= min(max((beyond-distance/l.bytes)/(beyond-1), 0), 1)
		}
		out[i] = part
		left -= part
	}
	return out
}
