package layout

import (
	"slices"

	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/copies"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/ir"
)

// alias lets devices that have one memory read what they are sent where the sender has it, and compute their parts of what the caller is given, or another device has as a whole, there: the
// buffer that they would have lies over that one, with its strides, and nothing is copied. It gives how many buffers lie over others.
func (c *chooser) alias() (int, error) {
	steps, err := schedule.Order(c.g)
	if err != nil {
		return 0, err
	}
	p := &aliasing{chooser: c, writers: map[ir.NodeID]int{}, looked: ir.NodeSet{}}
	if program, err := tensorops.ProgramOf(c.g); err == nil {
		for _, id := range program.Held()[len(program.Outputs):] {
			p.looked.Add(id)
		}
	}
	var sent []*schedule.Transfer
	for _, id := range steps {
		n := c.g.Node(id)
		schedule.Touches(n, func(buffer ir.NodeID, write bool) {
			if write {
				p.writers[buffer]++
			}
		})
		if t, ok := n.Body.(*schedule.Transfer); ok {
			sent = append(sent, t)
		}
	}
	for n := range c.g.Nodes() {
		if b, ok := n.Body.(*schedule.Buffer); ok && b.Updates() {
			p.changes.Add(b.Over)
		}
	}
	changed := 0
	for _, computed := range []bool{true, false} { // who reads of what lies over another buffer then reads there
		for _, t := range sent {
			if p.try(t, computed) {
				changed++
			}
		}
	}
	return changed, nil
}

// aliasing puts buffers over others.
type aliasing struct {
	*chooser
	writers map[ir.NodeID]int // how many steps write a buffer
	looked  ir.NodeSet        // tensors at which the program looks when it ends, which it keeps elsewhere
	changes ir.NodeSet        // inputs that outputs lie over
	under   ir.NodeSet        // what buffers of the arena lie over
}

// try puts the sender's buffer of a transfer over the receiver's, if it is a part that is computed for that, or the receiver's over the sender's.
func (p *aliasing) try(t *schedule.Transfer, computed bool) bool {
	from, to := schedule.BufferOf(p.g, t.From), schedule.BufferOf(p.g, t.To)
	box := t.Box(from)
	switch {
	case from.Device == to.Device || box.Empty() || p.elsewhere(from) || p.elsewhere(to):
	case computed && from.Space == schedule.Arena && from.Over == ir.NoNode && !p.under.Has(t.From) && box.Equal(from.Range) && to.Over == ir.NoNode && p.collects(t.To, to):
		return p.over(from, t, t.To)
	case !computed && to.Space == schedule.Arena && to.Over == ir.NoNode && from.Space != schedule.Constant && box.Equal(to.Range) && p.writers[t.To] == 1:
		under := schedule.Underlying(p.g, t.From)
		return !p.changes.Has(under) && p.over(to, t, under)
	}
	return false
}

// collects says whether a buffer is where parts of several devices come together: the caller's, or one that several steps write.
func (p *aliasing) collects(id ir.NodeID, b *schedule.Buffer) bool {
	return b.Space == schedule.Output && !p.looked.Has(b.Tensor) || b.Space == schedule.Arena && p.writers[id] > 1
}

// elsewhere says whether a buffer is not in the memory of the host.
func (p *aliasing) elsewhere(b *schedule.Buffer) bool {
	return schedule.DeviceOf(p.g, b.Device).Type != schedule.Host
}

// over puts a buffer over another that has its cells. Where their elements are not as far apart, these are in one order, in runs of whole lines of a cache, and no sum goes along several
// dimensions at once: with gaps it would be another one.
func (p *aliasing) over(b *schedule.Buffer, t *schedule.Transfer, under ir.NodeID) bool {
	u := schedule.BufferOf(p.g, under)
	if !alike(b, u) && (!inOrder(b, u) || copies.Of(t, b, u).Bytes < schedule.LineBytes || len(p.joined[p.all(under)]) > 0) {
		return false
	}
	b.Over, b.Offset, b.First, b.Last = under, 0, 0, 0
	b.Strides, b.Bytes = slices.Clone(u.Strides), int64(b.Type().Size())
	for d, n := range b.Range.Shape() {
		b.Bytes += (n - 1) * b.Strides[d] * int64(b.Type().Size())
	}
	p.under.Add(under)
	for b.From(u)%b.Align != 0 {
		b.Align /= 2
	}
	return true
}

// alike says whether the elements of a buffer are as far apart as the same ones of another.
func alike(a, b *schedule.Buffer) bool {
	for d, n := range a.Range.Shape() {
		if n > 1 && a.Strides[d] != b.Strides[d] {
			return false
		}
	}
	return true
}

// inOrder says whether the elements of a buffer come in the order in which they come in another.
func inOrder(a, b *schedule.Buffer) bool {
	shape := a.Range.Shape()
	for d := range shape {
		for e := range d {
			if shape[d] > 1 && shape[e] > 1 && (a.Strides[d] < a.Strides[e]) != (b.Strides[d] < b.Strides[e]) {
				return false
			}
		}
	}
	return true
}
