package devices

import (
	"slices"

	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/copies"
	"tensortapestry.org/tapc/ir"
)

// Alias is where a buffer is in the memory of another, in bytes from its start.
type Alias struct {
	Buffer ir.NodeID
	Offset int64
}

// aliasing finds the transfers that need no copy, as all devices have one memory: a kernel reads what a device was sent where the sender has it, or
// computes what the caller is given in the caller's memory.
type aliasing struct {
	g       *ir.Graph
	steps   []ir.NodeID
	checks  []ir.NodeID
	writers map[ir.NodeID][]int // steps that write a buffer
	readers map[ir.NodeID][]int
	beside  map[ir.NodeID][]ir.NodeID // buffers of a device whose bytes others have, too
	aliases map[ir.NodeID]Alias
	later   map[ir.NodeID][]ir.NodeID // what steps wait for besides
}

// findAliases finds the aliases of buffers, and what steps wait for because of them.
func findAliases(g *ir.Graph, steps, checks []ir.NodeID) *aliasing {
	s := &aliasing{g: g, steps: steps, checks: checks, writers: map[ir.NodeID][]int{}, readers: map[ir.NodeID][]int{}, aliases: map[ir.NodeID]Alias{},
		later: map[ir.NodeID][]ir.NodeID{}, beside: map[ir.NodeID][]ir.NodeID{}}
	for n := range g.Nodes() {
		if b, ok := n.Body.(*schedule.Buffer); ok && (b.Space == schedule.Arena || b.Over != ir.NoNode) {
			s.beside[b.Device] = append(s.beside[b.Device], n.ID)
		}
	}
	for i, id := range steps {
		switch b := g.Node(id).Body.(type) {
		case *schedule.Kernel:
			for _, o := range b.Operands {
				of := s.readers
				if o.Mode == schedule.Write {
					of = s.writers
				}
				of[o.Buffer] = append(of[o.Buffer], i)
			}
		case *schedule.Transfer:
			s.readers[b.From], s.writers[b.To] = append(s.readers[b.From], i), append(s.writers[b.To], i)
		}
	}
	for i, id := range steps {
		if t, ok := g.Node(id).Body.(*schedule.Transfer); ok {
			s.transfer(i, t)
		}
	}
	return s
}

func (s *aliasing) buffer(id ir.NodeID) *schedule.Buffer {
	return s.g.Node(id).Body.(*schedule.Buffer)
}

// transfer makes one of the buffers of a transfer an alias of the other, if it can be: what is in the arena and is all
// sent, where the other has its elements as far apart.
func (s *aliasing) transfer(step int, t *schedule.Transfer) {
	from, to := s.buffer(t.From), s.buffer(t.To)
	c := copies.Of(t, from, to)
	_, moved := s.aliases[t.From]
	box := t.Box(from)
	switch {
	case moved || from.Device == to.Device || c.Bytes == 0:
	case to.Space == schedule.Arena && box.Equal(to.Range) && c.To == 0 && len(s.writers[t.To]) == 1 && alike(from, to, to) && aligned(to, c.From):
		s.read(step, t, Alias{t.From, c.From})
	case from.Space == schedule.Arena && to.Space == schedule.Output && to.Over == ir.NoNode && !slices.Contains(s.checks, to.Tensor) &&
		box.Equal(from.Range) && c.From == 0 && alike(from, to, from) && aligned(from, c.To):
		s.aliases[t.From] = Alias{t.To, c.To}
	}
}

// alike says whether the elements of one of two buffers are as far apart in both.
func alike(a, b, one *schedule.Buffer) bool {
	for d, n := range one.Range.Shape() {
		if n > 1 && a.Strides[d] != b.Strides[d] {
			return false
		}
	}
	return true
}

// aligned says whether a buffer can be some bytes from the start of another.
func aligned(b *schedule.Buffer, bytes int64) bool { return bytes%max(1, b.Align) == 0 }

// read lets who reads what a transfer brings read it where it comes from, unless its bytes change before the last of these steps. Who changes them
// later waits for the readers.
func (s *aliasing) read(step int, t *schedule.Transfer, alias Alias) {
	readers := s.readers[t.To]
	last := step
	for _, r := range readers {
		last = max(last, r)
	}
	changes := s.changes(t.From)
	if slices.ContainsFunc(changes, func(w int) bool { return w > step && w <= last }) {
		return
	}
	s.aliases[t.To] = alias
	for _, w := range changes {
		for _, r := range readers {
			if w > last {
				s.later[s.steps[w]] = append(s.later[s.steps[w]], s.steps[r])
			}
		}
	}
}

// changes gives the steps that write other buffers into the bytes of one.
func (s *aliasing) changes(buffer ir.NodeID) (steps []int) {
	b := s.buffer(buffer)
	for _, id := range s.beside[b.Device] {
		x := s.buffer(id)
		overlaps := b.Space == schedule.Arena && x.Space == schedule.Arena && x.Offset < b.Offset+b.Bytes && b.Offset < x.Offset+x.Bytes
		if id != buffer && (overlaps || x.Over == buffer) {
			steps = append(steps, s.writers[id]...)
		}
	}
	return steps
}
