// Package fuse is the pass that joins kernels: a kernel whose result only one other kernel reads, each element once, becomes
// part of that kernel, and the buffer between them disappears.
//
// So Linear and ReLU become one kernel with the ReLU as its epilogue, and chains of elementwise kernels touch memory once. Products
// read what was copied for them, as the heads of an attention are, where it stood before; see forward and cut. An attention becomes one
// kernel, see chain.
// Values do not change: every element is computed by the same expression. Read next: passes/tile.
package fuse

import (
	"slices"

	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/zspace"
)

// Run joins kernels until none can be joined, and gives how often it did.
func Run(g *ir.Graph) (int, error) {
	return RunWhile(g, func(ir.NodeID) bool { return true })
}

// RunWhile is Run that asks before it makes a kernel part of another.
func RunWhile(g *ir.Graph, may func(kernel ir.NodeID) bool) (int, error) {
	steps, err := schedule.Order(g)
	if err != nil {
		return 0, err
	}
	f := &fuser{g: g, at: map[ir.NodeID]int{}, reads: map[ir.NodeID]*reads{}}
	for i, id := range steps {
		f.at[id] = i
		if k, ok := body[*schedule.Kernel](g, id); ok {
			cut(k)
		}
	}
	f.index()
	joined := 0
	behind := f.behindFolds(steps)
	for _, late := range []bool{false, true} { // what is worked out for what goes on with a sum becomes part of it before the sum does
		for _, id := range steps {
			k, ok := body[*schedule.Kernel](g, id)
			if !ok || behind.Has(id) != late {
				continue
			}
			if consumer, operand, ok := f.consumer(id, k); ok && may(id) {
				f.join(id, consumer, operand)
				joined++
			}
		}
	}
	for _, id := range steps {
		if k, ok := body[*schedule.Kernel](g, id); ok && f.forward(id, k, may) {
			joined++
		}
	}
	f.indexWriters()
	for _, id := range steps {
		if k, ok := body[*schedule.Kernel](g, id); ok && f.chain(id, k, may) {
			joined++
		}
	}
	f.mendOrder()
	f.dropBuffers()
	return joined, nil
}

// behindFolds gives the kernels that fold, and those that may become part of one: that alone read what such a kernel gives.
func (f *fuser) behindFolds(steps []ir.NodeID) (out ir.NodeSet) {
	writer := map[ir.NodeID]ir.NodeID{}
	for _, id := range steps {
		k, ok := body[*schedule.Kernel](f.g, id)
		if !ok {
			continue
		}
		if folds(k, anyLoop) {
			out.Add(id)
		}
		for _, o := range k.Operands {
			if w, ok := writer[o.Buffer]; ok && o.Mode == schedule.Read && out.Has(w) && len(f.readers[o.Buffer]) == 1 {
				out.Add(id)
			}
		}
		for _, o := range k.Operands {
			if o.Mode == schedule.Write {
				writer[o.Buffer] = id
			}
		}
	}
	return out
}

func body[B ir.Body](g *ir.Graph, id ir.NodeID) (b B, ok bool) {
	if n := g.Node(id); n != nil {
		b, ok = n.Body.(B)
	}
	return b, ok
}

type fuser struct {
	g       *ir.Graph
	at      map[ir.NodeID]int         // position of each step before fusion
	readers map[ir.NodeID][]ir.NodeID // kernels and transfers that read a buffer, as they were; see readersOf
	reads   map[ir.NodeID]*reads      // an index for buffers that many read
	waiters map[ir.NodeID][]ir.NodeID // steps that wait for one, as they were
	writers map[ir.NodeID][]ir.NodeID // and those that write it, once indexWriters has found them
	moved   map[ir.NodeID]ir.NodeID   // kernels that became part of another
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

// mendOrder makes every step that waits for a kernel wait for what the kernel became part of.
func (f *fuser) mendOrder() {
	for n := range f.g.Nodes() {
		switch b := n.Body.(type) {
		case *schedule.Kernel:
			b.After = f.mended(n.ID, b.After)
		case *schedule.Transfer:
			b.After = f.mended(n.ID, b.After)
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
	for n := range f.g.Nodes() {
		after, _ := schedule.After(n)
		for _, a := range after {
			f.waiters[a] = append(f.waiters[a], n.ID)
		}
		switch b := n.Body.(type) {
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
			if box, err := reach(k, i); err == nil {
				boxes, x.by = append(boxes, box), append(x.by, id)
			} else {
				x.whole = append(x.whole, id)
			}
		}
	}
	x.boxes = zspace.NewIndex(boxes)
	return x
}

// consumer finds the one kernel that a kernel can become part of, and the number of the operand it reads the result through.
func (f *fuser) consumer(id ir.NodeID, k *schedule.Kernel) (ir.NodeID, int, bool) {
	out := -1
	for i, o := range k.Operands {
		if o.Mode == schedule.Write {
			if out >= 0 {
				return 0, 0, false
			}
			out = i
		}
	}
	buf, ok := body[*schedule.Buffer](f.g, k.Operands[out].Buffer)
	if !ok || buf.Space != schedule.Arena {
		return 0, 0, false
	}
	written, err := reach(k, out)
	if err != nil {
		return 0, 0, false
	}
	found, operand := ir.NoNode, -1
	for _, r := range f.touching(k.Operands[out].Buffer, written) {
		c, isKernel := body[*schedule.Kernel](f.g, r)
		if !isKernel {
			return 0, 0, false
		}
		for i, o := range c.Operands {
			if o.Mode != schedule.Read || o.Buffer != k.Operands[out].Buffer {
				continue
			}
			read, err := reach(c, i)
			switch {
			case err != nil:
				return 0, 0, false
			case !read.Overlaps(written):
			case operand >= 0 || !read.Equal(written) || c.Device != k.Device:
				return 0, 0, false
			default:
				found, operand = r, i
			}
		}
	}
	if operand < 0 {
		return 0, 0, false
	}
	c, _ := body[*schedule.Kernel](f.g, found)
	if !bounded(k, c) || !aligned(k, out, c, operand) || !f.waitsOnly(found, id) {
		return 0, 0, false
	}
	return found, operand, true
}

// reach is the box of the buffer that an operand touches over all loops.
func reach(k *schedule.Kernel, operand int) (zspace.Range, error) {
	a := k.Operands[operand].Access
	shape := make(zspace.Point, a.Projection.Rows())
	for i := range shape {
		shape[i] = 1
	}
	return zspace.ProjectionMap{AffineMap: a, Shape: shape}.Apply(k.Space())
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

// waitersOf gives the steps that wait for one by now.
func (f *fuser) waitersOf(step ir.NodeID) []ir.NodeID {
	list := f.present(f.waiters[step])
	list = slices.DeleteFunc(list, func(id ir.NodeID) bool { return id == step }) // what is part of it now
	f.waiters[step] = list
	return slices.Clone(list)
}

// unit gives the loop that a row of an access follows, if it is one loop with factor 1; loops of one value do not count.
func unit(row []int64, loops []schedule.Loop) (int, bool) {
	at := -1
	for j, a := range row {
		switch {
		case a == 0 || loops[j].Extent() == 1:
		case a != 1 || at >= 0:
			return 0, false
		default:
			at = j
		}
	}
	return at, true
}

// aligned says whether the consumer reads each element of the result exactly once: coordinate by coordinate, one loop of the
// producer's result is one loop of the consumer, and the consumer has no other loop of more than one value.
func aligned(k *schedule.Kernel, out int, c *schedule.Kernel, in int) bool {
	usedK, usedC := map[int]bool{}, map[int]bool{}
	for i, row := range k.Operands[out].Access.Projection {
		a, okA := unit(row, k.Loops)
		b, okB := unit(c.Operands[in].Access.Projection[i], c.Loops)
		if !okA || !okB || (a < 0) != (b < 0) {
			return false
		}
		if a < 0 {
			continue
		}
		if usedK[a] || usedC[b] || k.Loops[a].Extent() != c.Loops[b].Extent() {
			return false
		}
		usedK[a], usedC[b] = true, true
	}
	for j, l := range c.Loops {
		if l.Extent() != 1 && !usedC[j] {
			return false
		}
	}
	parallel := k.Parallel()
	for l := range k.Loops { // a loop of one value that is folded along stays, and the consumer has none for it
		if !usedK[l] && slices.Contains(parallel, l) && folds(k, l) {
			return false
		}
	}
	if folds(k, anyLoop) {
		for b := range usedC {
			if folds(c, b) {
				return false // a sum inside of a sum is neither a product nor a row
			}
		}
	}
	return storedOver(k)
}

// storedOver says whether all local values run along loops of the stored result only.
func storedOver(k *schedule.Kernel) bool {
	parallel := k.Parallel()
	for _, s := range k.Statements {
		if s.Store < 0 && slices.ContainsFunc(s.Over, func(l int64) bool { return !slices.Contains(parallel, int(l)) }) {
			return false
		}
	}
	return true
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
