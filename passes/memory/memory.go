// Package memory is the pass that places the arena buffers of every device: buffers whose lives do not overlap share bytes, and
// the order that makes sharing safe is written into the schedule.
//
// Lives are counted in steps of schedule.Order. Buffers are placed largest first at the lowest offset where they fit
// (greedy by size; Y. Pisarchyk, J. Lee, "Efficient Memory Management for Deep Neural Net Inference", 2020). Read next:
// backends/cpu.
package memory

import (
	"cmp"
	"slices"

	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/ir"
)

// life is an arena buffer while it is planned.
type life struct {
	id          ir.NodeID
	buf         *schedule.Buffer
	first, last int
	users       []ir.NodeID // steps that touch it, in order
	writers     []ir.NodeID
}

// Run places every arena buffer and gives the peak of each device in bytes.
func Run(g *ir.Graph) (map[ir.NodeID]int64, error) {
	steps, err := schedule.Order(g)
	if err != nil {
		return nil, err
	}
	lives := livesOf(g, steps)
	peaks := map[ir.NodeID]int64{}
	byDevice := map[ir.NodeID][]*life{}
	var devices []ir.NodeID
	for _, l := range lives {
		if byDevice[l.buf.Device] == nil {
			devices = append(devices, l.buf.Device)
		}
		byDevice[l.buf.Device] = append(byDevice[l.buf.Device], l)
	}
	for _, d := range devices {
		peaks[d] = place(byDevice[d], len(steps))
		order(g, byDevice[d])
	}
	return peaks, nil
}

func livesOf(g *ir.Graph, steps []ir.NodeID) []*life {
	of := map[ir.NodeID]*life{}
	var lives []*life
	touch := func(buffer ir.NodeID, at int, step ir.NodeID, write bool) {
		buffer = schedule.Underlying(g, buffer) // which who reads or writes there keeps alive
		b, ok := g.Node(buffer).Body.(*schedule.Buffer)
		if !ok || b.Space != schedule.Arena {
			return
		}
		l := of[buffer]
		if l == nil {
			l = &life{id: buffer, buf: b, first: at}
			of[buffer] = l
			lives = append(lives, l)
		}
		l.last = at
		if len(l.users) == 0 || l.users[len(l.users)-1] != step {
			l.users = append(l.users, step)
		}
		if write {
			l.writers = append(l.writers, step)
		}
	}
	for at, id := range steps {
		schedule.Touches(g.Node(id), func(buffer ir.NodeID, write bool) { touch(buffer, at, id, write) })
	}
	for _, l := range lives {
		l.buf.First, l.buf.Last = int64(l.first), int64(l.last)
	}
	return lives
}

// order makes every writer of a buffer wait for the users of the buffers whose bytes it takes over: those that had a byte last,
// as these waited for who had it before. Of the writers only the first of each device waits for them, and the device's others for the first.
func order(g *ir.Graph, lives []*life) {
	inTime := slices.Clone(lives)
	slices.SortStableFunc(inTime, func(a, b *life) int { return cmp.Or(cmp.Compare(a.first, b.first), cmp.Compare(a.id, b.id)) })
	var owners claims
	for _, l := range inTime {
		if l.buf.Bytes == 0 || len(l.writers) == 0 { // nobody reads what nobody writes
			continue
		}
		waits := ir.NodeList{}
		for _, old := range owners.take(l.buf.Offset, l.buf.Offset+l.buf.Bytes, l) {
			for _, u := range old.users {
				waits.Add(u)
			}
		}
		if len(waits.List()) == 0 {
			continue
		}
		first := map[ir.NodeID]ir.NodeID{} // of each device's writers
		for _, w := range l.writers {
			d := l.buf.Device
			if k, ok := g.Node(w).Body.(*schedule.Kernel); ok {
				d = k.Device
			}
			if one, ok := first[d]; ok {
				waitFor(g, w, []ir.NodeID{one})
				continue
			}
			first[d] = w
			waitFor(g, w, waits.List())
		}
	}
}

// waitFor makes a step wait for others.
func waitFor(g *ir.Graph, step ir.NodeID, others []ir.NodeID) {
	after, have := schedule.AfterOf(g.Node(step)), ir.NodeList{}
	have.Add(step)
	for _, a := range *after {
		have.Add(a)
	}
	for _, u := range others {
		if have.Add(u) {
			*after = append(*after, u)
		}
	}
}
