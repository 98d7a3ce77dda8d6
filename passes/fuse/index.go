package fuse

import (
	"slices"

	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/tensorops/sequence"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/zspace"
	"tensortapestry.org/tapc/passes/fuse/access"
)

type fuser struct {
	prices  *prices
	g       *ir.Graph
	at      map[ir.NodeID]int         // position of each step before fusion
	readers map[ir.NodeID][]ir.NodeID // kernels and transfers that read a buffer, as they were; see readersOf
	reads   map[ir.NodeID]*reads      // an index for buffers that many read
	waiters map[ir.NodeID][]ir.NodeID // steps that wait for one, as they were
	writers map[ir.NodeID][]ir.NodeID // and those that write it, once indexWriters has found them
	moved   map[ir.NodeID]ir.NodeID   // kernels that became part of another
	over    map[ir.NodeID]ir.NodeID   // outputs, by the inputs that they lie over
	fixed   ir.NodeSet                // kernels of operations that sequence points name: they stay as they are
	widens  bool                      // products may yet read factors before they are converted
}

// now gives the kernel that a step is part of by now, and remembers it for all on the way there.
func (f *fuser) now(id ir.NodeID) ir.NodeID {
	to := id
	for next, ok := f.moved[to]; ok; next, ok = f.moved[to] {
		to = next
	}
	for id != to {
		id, f.moved[id] = f.moved[id], to
	}
	return to
}

// present gives what some steps are part of by now, each once, without those that are no longer there.
func (f *fuser) present(steps []ir.NodeID) []ir.NodeID {
	seen := map[ir.NodeID]bool{}
	out := steps[:0:0]
	for _, id := range steps {
		if id = f.now(id); !seen[id] && f.g.Node(id) != nil {
			seen[id] = true
			out = append(out, id)
		}
	}
	return out
}

// readersOf gives the steps that read a buffer by now.
func (f *fuser) readersOf(buffer ir.NodeID) []ir.NodeID {
	list := f.present(f.readers[buffer])
	f.readers[buffer] = list
	return list
}

// fixedIn gives the kernels that sequence points order.
func fixedIn(g *ir.Graph) (fixed ir.NodeSet) {
	ordered := sequence.Ordered(g)
	for op, kernels := range schedule.Carriers(g) {
		for _, k := range kernels {
			if ordered.Has(op) {
				fixed.Add(k)
			}
		}
	}
	return fixed
}

// mendOrder makes every step that waits for a kernel wait for what the kernel became part of.
func (f *fuser) mendOrder() {
	for n := range f.g.Nodes() {
		if after := schedule.AfterOf(n); after != nil {
			*after = f.mended(n.ID, *after)
		}
	}
}

func (f *fuser) mended(self ir.NodeID, after []ir.NodeID) []ir.NodeID {
	out := after[:0:0]
	seen := map[ir.NodeID]bool{self: true}
	for _, id := range after {
		if id = f.now(id); !seen[id] {
			seen[id] = true
			out = append(out, id)
		}
	}
	return out
}

func (f *fuser) index() {
	f.readers, f.waiters, f.moved = map[ir.NodeID][]ir.NodeID{}, map[ir.NodeID][]ir.NodeID{}, map[ir.NodeID]ir.NodeID{}
	f.over = map[ir.NodeID]ir.NodeID{}
	for n := range f.g.Nodes() {
		after, _ := schedule.After(n)
		for _, a := range after {
			f.waiters[a] = append(f.waiters[a], n.ID)
		}
		switch b := n.Body.(type) {
		case *schedule.Buffer:
			if b.Over != ir.NoNode {
				f.over[b.Over] = n.ID
			}
		case *schedule.Transfer:
			f.readers[b.From] = append(f.readers[b.From], n.ID)
		case *schedule.Kernel:
			for _, o := range b.Operands {
				if list := f.readers[o.Buffer]; o.Mode == schedule.Read && (len(list) == 0 || list[len(list)-1] != n.ID) {
					f.readers[o.Buffer] = append(list, n.ID)
				}
			}
		}
	}
}

// indexWriters finds the steps that write each buffer.
func (f *fuser) indexWriters() {
	f.writers = map[ir.NodeID][]ir.NodeID{}
	for n := range f.g.Nodes() {
		switch b := n.Body.(type) {
		case *schedule.Transfer:
			f.writers[b.To] = append(f.writers[b.To], n.ID)
		case *schedule.Kernel:
			for _, o := range b.Operands {
				if o.Mode == schedule.Write {
					f.writers[o.Buffer] = append(f.writers[o.Buffer], n.ID)
				}
			}
		}
	}
}

// reads finds the steps that read a part of a buffer.
type reads struct {
	boxes *zspace.Index
	by    []ir.NodeID // by number of the box
	whole []ir.NodeID // that read all of it, or an unknown part
}

// fewReaders is how many readers are looked at one by one.
const fewReaders = 8

// touching gives all steps by now that read a part of a buffer, and maybe others that read the buffer.
func (f *fuser) touching(buffer ir.NodeID, part zspace.Range) []ir.NodeID {
	if len(f.readers[buffer]) <= fewReaders {
		return f.readersOf(buffer)
	}
	x := f.reads[buffer]
	if x == nil {
		x = f.readsOf(buffer)
		f.reads[buffer] = x
	}
	list := slices.Clone(x.whole)
	for _, i := range x.boxes.Query(part) {
		list = append(list, x.by[i])
	}
	return f.present(list)
}

// readsOf indexes the reads of a buffer. What is read of it stays the same when kernels are joined.
func (f *fuser) readsOf(buffer ir.NodeID) *reads {
	x := &reads{}
	var boxes []zspace.Range
	for _, id := range f.readersOf(buffer) {
		k, isKernel := body[*schedule.Kernel](f.g, id)
		if !isKernel {
			x.whole = append(x.whole, id)
			continue
		}
		for i, o := range k.Operands {
			if o.Mode != schedule.Read || o.Buffer != buffer {
				continue
			}
			if box, err := access.Reach(k, i); err == nil {
				boxes, x.by = append(boxes, box), append(x.by, id)
			} else {
				x.whole = append(x.whole, id)
			}
		}
	}
	x.boxes = zspace.NewIndex(boxes)
	return x
}

// waitersOf gives the steps that wait for one by now.
func (f *fuser) waitersOf(step ir.NodeID) []ir.NodeID {
	list := f.present(f.waiters[step])
	list = slices.DeleteFunc(list, func(id ir.NodeID) bool { return id == step }) // what is part of it now
	f.waiters[step] = list
	return slices.Clone(list)
}

// dropBuffers removes the arena buffers that nothing reads or writes any more.
func (f *fuser) dropBuffers() {
	var used ir.NodeSet
	for n := range f.g.Nodes() {
		switch b := n.Body.(type) {
		case *schedule.Transfer:
			used.Add(b.From)
			used.Add(b.To)
		case *schedule.Kernel:
			for _, o := range b.Operands {
				used.Add(o.Buffer)
			}
		}
	}
	for n := range f.g.Nodes() {
		if b, ok := n.Body.(*schedule.Buffer); ok && b.Space == schedule.Arena && !used.Has(n.ID) {
			f.g.Remove(n.ID)
		}
	}
}

// extendLives lets arena buffers that lived to the last of so many steps live to what is the last now: a mover's parts may be more steps than there were.
func extendLives(g *ir.Graph, before int) error {
	steps, err := schedule.Order(g)
	if err != nil || len(steps) <= before {
		return err
	}
	for n := range g.Nodes() {
		if b, ok := n.Body.(*schedule.Buffer); ok && b.Space == schedule.Arena && b.Last == int64(before)-1 {
			b.Last = int64(len(steps)) - 1
		}
	}
	return nil
}

// become makes a kernel part of one that comes behind it: the node of that one stays, with the joined kernel.
func (f *fuser) become(producer, consumer ir.NodeID, joined *schedule.Kernel) {
	n := f.g.Node(consumer)
	before, _ := schedule.After(f.g.Node(producer))
	after, _ := schedule.After(n)
	joined.After = mergeAfter(before, after, producer)
	n.Label = joined.Name
	n.Body = joined
	n.SetOrigin(&ir.Origin{Rule: "fuse", From: origins(f.g.Node(producer), n)})
	f.rewire(producer, consumer)
	f.g.Remove(producer)
}

// rewire notes that the producer is part of the consumer, which now reads what the producer read and waits for what it waited for.
func (f *fuser) rewire(producer, consumer ir.NodeID) {
	f.moved[producer] = consumer
	f.waiters[consumer] = append(f.waiters[consumer], f.waiters[producer]...)
}

func origins(nodes ...*ir.Node) []ir.Pos {
	var from []ir.Pos
	for _, n := range nodes {
		if o := n.Origin(); o != nil {
			from = append(from, o.From...)
		} else {
			from = append(from, n.Pos)
		}
	}
	return from
}

// mergeAfter gives all of a and what b has besides, without one step.
func mergeAfter(a, b []ir.NodeID, without ir.NodeID) []ir.NodeID {
	out := slices.Clone(a)
	in := map[ir.NodeID]bool{without: true}
	for _, id := range a {
		in[id] = true
	}
	for _, id := range b {
		if !in[id] {
			in[id] = true
			out = append(out, id)
		}
	}
	return out
}

// waitsOnly says whether a kernel may start as early as another once they are joined: nothing else that it waits for waits
// for that one. The search goes from the producer on, as few steps wait for it that are not the consumer.
func (f *fuser) waitsOnly(consumer, producer ir.NodeID) bool {
	seen := map[ir.NodeID]bool{}
	stack := f.waitersOf(producer)
	for len(stack) > 0 {
		id := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if id == consumer || seen[id] {
			continue
		}
		seen[id] = true
		next := f.waitersOf(id)
		if slices.Contains(next, consumer) {
			return false
		}
		stack = append(stack, next...)
	}
	return true
}

func body[B ir.Body](g *ir.Graph, id ir.NodeID) (b B, ok bool) {
	if n := g.Node(id); n != nil {
		b, ok = n.Body.(B)
	}
	return b, ok
}
