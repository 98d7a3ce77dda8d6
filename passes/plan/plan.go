// Package plan is the pass that places the arena buffers of every device: buffers whose lives do not overlap share bytes, and
// the order that makes sharing safe is written into the schedule.
//
// Lives are counted in steps of schedule.Order. Buffers are placed largest first at the lowest offset where they fit
// (greedy by size; Y. Pisarchyk, J. Lee, "Efficient Memory Management for Deep Neural Net Inference", 2020). Read next:
// backends/cpu.
package plan

import (
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
		peaks[d] = place(byDevice[d])
		order(g, byDevice[d])
	}
	return peaks, nil
}

func livesOf(g *ir.Graph, steps []ir.NodeID) []*life {
	of := map[ir.NodeID]*life{}
	var lives []*life
	touch := func(buffer ir.NodeID, at int, step ir.NodeID, write bool) {
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
		switch b := g.Node(id).Body.(type) {
		case *schedule.Transfer:
			touch(b.From, at, id, false)
			touch(b.To, at, id, true)
		case *schedule.Kernel:
			for _, o := range b.Operands {
				touch(o.Buffer, at, id, o.Mode == schedule.Write)
			}
		}
	}
	for _, l := range lives {
		l.buf.First, l.buf.Last = int64(l.first), int64(l.last)
	}
	return lives
}

// place gives every buffer of one device its offset and returns the arena's size.
func place(lives []*life) int64 {
	order := slices.Clone(lives)
	slices.SortStableFunc(order, func(a, b *life) int {
		switch {
		case a.buf.Bytes != b.buf.Bytes && a.buf.Bytes > b.buf.Bytes:
			return -1
		case a.buf.Bytes != b.buf.Bytes:
			return 1
		}
		return int(a.id) - int(b.id)
	})
	peak := int64(0)
	var placed []*life // by offset
	for _, l := range order {
		at := int64(0)
		for _, p := range placed {
			if p.last < l.first || l.last < p.first {
				continue
			}
			if at+l.buf.Bytes <= p.buf.Offset {
				break
			}
			at = max(at, align(p.buf.Offset+p.buf.Bytes, l.buf.Align))
		}
		l.buf.Offset = at
		peak = max(peak, at+l.buf.Bytes)
		i, _ := slices.BinarySearchFunc(placed, at, func(p *life, at int64) int {
			if p.buf.Offset < at {
				return -1
			}
			return 1
		})
		placed = slices.Insert(placed, i, l)
	}
	return peak
}

func align(n, to int64) int64 { return (n + to - 1) / to * to }

// order makes every writer of a buffer wait for the users of the buffers whose bytes it takes over.
func order(g *ir.Graph, lives []*life) {
	byOffset := slices.Clone(lives)
	slices.SortStableFunc(byOffset, func(a, b *life) int {
		switch {
		case a.buf.Offset < b.buf.Offset:
			return -1
		case a.buf.Offset > b.buf.Offset:
			return 1
		}
		return a.first - b.first
	})
	for i, a := range byOffset {
		for _, b := range byOffset[i+1:] {
			if b.buf.Offset >= a.buf.Offset+a.buf.Bytes {
				break
			}
			if b.buf.Bytes == 0 || a.buf.Bytes == 0 {
				continue
			}
			early, late := a, b
			if late.last < early.first {
				early, late = late, early
			}
			waitFor(g, late.writers, early.users)
		}
	}
}

func waitFor(g *ir.Graph, writers, users []ir.NodeID) {
	for _, w := range writers {
		var after *[]ir.NodeID
		switch b := g.Node(w).Body.(type) {
		case *schedule.Kernel:
			after = &b.After
		case *schedule.Transfer:
			after = &b.After
		}
		for _, u := range users {
			if u != w && !slices.Contains(*after, u) {
				*after = append(*after, u)
			}
		}
	}
}
