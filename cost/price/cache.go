package price

import (
	"tensortapestry.org/tapc/cost/machine"
	"tensortapestry.org/tapc/cost/work"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/ir"
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
	last    map[place]float64 // bytes that had been touched, in all, when a place was last
	now     float64
	all     float64 // bytes of different places
}

// replay runs through a program once, so that the next run finds what the last left.
func replay(works []*work.Work, buffers map[ir.NodeID]*schedule.Buffer) *history {
	h := &history{buffers: buffers, last: map[place]float64{}}
	sizes := map[place]float64{}
	for _, w := range works {
		for _, t := range w.Touches {
			p := placeOf(t.Buffer, buffers[t.Buffer])
			sizes[p] = max(sizes[p], t.Bytes)
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
		h.last[placeOf(t.Buffer, h.buffers[t.Buffer])] = h.now
	}
}

// distance is how many bytes were touched since a kernel's operand was, with those of the kernel itself: a cache of as many has it still.
func (h *history) distance(w *work.Work, t work.Touch) float64 {
	last, ok := h.last[placeOf(t.Buffer, h.buffers[t.Buffer])]
	if !ok {
		return h.all
	}
	return min(h.now-last+w.Bytes(), h.all)
}

// level is a place that data comes from: a cache of a device, or its memory.
type level struct {
	name      string
	bytes     float64 // that so many units have of it together
	bandwidth machine.Figure
}

// levels gives the caches of a device and its memory, as so many units have them.
func levels(d *machine.Device, units int64) (list []level) {
	for _, c := range d.Caches {
		n := float64((units + c.Units - 1) / c.Units)
		list = append(list, level{c.Name, n * float64(c.Bytes), c.Bandwidth.Times(machine.Exactly(float64(units)))})
	}
	return append(list, level{"memory", 0, d.MemoryBandwidth(units)})
}

// parts says how much of what was touched so many bytes ago each level still has. A cache has all of what is nearer than its size, and none of what is
// twice as far.
func parts(list []level, distance float64) []float64 {
	out, left := make([]float64, len(list)), 1.0
	for i, l := range list {
		part := left
		if i < len(list)-1 {
			part *= min(max(2-distance/l.bytes, 0), 1)
		}
		out[i] = part
		left -= part
	}
	return out
}
