// Package fuse is the pass that joins kernels: a kernel whose result only one other kernel reads, each element once, becomes
// part of that kernel, and the buffer between them disappears.
//
// So Linear and ReLU become one kernel with the ReLU as its epilogue, and sequences of elementwise kernels touch memory once. What a kernel
// only moves has no buffer where that can be: its readers read it where it comes from (forward; reader.go cuts their loops where it must), or the kernel that computes
// it stores it where it is moved to (store). An attention becomes one kernel, see back-to-back products in chain.go. Elementwise kernels that read the same elements
// become one, which loads them once (unite), and so do reductions of the same rows (reductions.go); what is cheap is computed again by each of its readers
// (again.go). Products read bfloat16 before it is converted, where there are instructions for that (widen). Access to elements is package access.
// Values do not change: every element is computed by the same expression. Read next: passes/tile.
package fuse

import (
	"cmp"
	"slices"

	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/cost"
	"tensortapestry.org/tapc/dialects/schedule/unread"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/passes/fuse/access"
	"tensortapestry.org/tapc/passes/fuse/join"
)

// Options of a run.
type Options struct {
	May   func(kernel ir.NodeID) bool // says whether to make a kernel part of another
	Pairs bool                        // products of bfloat16 have instructions
	Model cost.Model                  // what kernels are compared by; nil for how many vectors they load
}

// Run joins kernels until none can be joined, and gives how often it did.
func Run(g *ir.Graph, opt Options) (int, error) {
	steps, err := schedule.Order(g)
	if err != nil {
		return 0, err
	}
	may, f := opt.May, &fuser{g: g, prices: &prices{g: g, model: opt.Model}, at: map[ir.NodeID]int{}, reads: map[ir.NodeID]*reads{}, fixed: fixedIn(g), widens: opt.Pairs}
	for i, id := range steps {
		f.at[id] = i
		if k, ok := body[*schedule.Kernel](g, id); ok {
			access.Cut(k)
		}
	}
	f.index()
	before := len(steps)
	steps = slices.DeleteFunc(steps, f.fixed.Has)
	joined := each(f, steps, func(id ir.NodeID, k *schedule.Kernel) bool { return f.keep(id, k, may) })
	behind := f.behindFolds(steps)
	joined += f.joinAll(steps, behind, may)
	joined += forwardAll(f, steps, true, may)
	joined += f.joinAll(steps, behind, may) // what now has one reader
	f.indexWriters()
	joined += each(f, steps, func(id ir.NodeID, k *schedule.Kernel) bool { return f.store(id, k, may) })
	joined += each(f, steps, func(id ir.NodeID, k *schedule.Kernel) bool { return f.chain(id, k, may) || widen(f, id, k, may) })
	f.widens = false
	joined += f.joinAll(steps, behind, may) // what conversions that are left read
	joined += forwardAll(f, steps, false, may)
	more, err := unite(f, may)
	if err != nil {
		return 0, err
	}
	f.mendOrder()
	if steps, err = schedule.Order(g); err != nil {
		return 0, err
	}
	f.index()
	more += each(f, steps, func(id ir.NodeID, k *schedule.Kernel) bool { return repeat(f, id, k, may) })
	more += dropStores(f, may)
	f.mendOrder()
	unread.Drop(g)
	f.dropBuffers()
	return joined + more, cmp.Or(f.prices.failed, extendLives(g, before))
}

// each tries something with each kernel that is there by then, and says how often it was done.
func each(f *fuser, steps []ir.NodeID, try func(id ir.NodeID, k *schedule.Kernel) bool) (n int) {
	for _, id := range steps {
		if k, ok := body[*schedule.Kernel](f.g, id); ok && try(id, k) {
			n++
		}
	}
	return n
}

// forwardAll lets readers read what is moved where it comes from, and says how often it did.
func forwardAll(f *fuser, steps []ir.NodeID, even bool, may func(kernel ir.NodeID) bool) int {
	return each(f, steps, func(id ir.NodeID, k *schedule.Kernel) bool { return !f.changes(k) && f.forward(id, k, even, may) })
}

// joinAll makes each kernel part of the one that reads its result, where it can, and says how often it did.
func (f *fuser) joinAll(steps []ir.NodeID, behind ir.NodeSet, may func(kernel ir.NodeID) bool) (joined int) {
	for _, late := range []bool{false, true} { // what is worked out for what goes on with a sum becomes part of it before the sum does
		for _, id := range steps {
			k, ok := body[*schedule.Kernel](f.g, id)
			if !ok || behind.Has(id) != late {
				continue
			}
			if consumer, operand, ok := f.consumer(id, k); ok && may(id) {
				c, _ := body[*schedule.Kernel](f.g, consumer)
				f.become(id, consumer, join.Of(k, c, []int{operand}).Join())
				joined++
			}
		}
	}
	return joined
}

// behindFolds gives the kernels that reduce, and those that may become part of one: that alone read what such a kernel gives.
func (f *fuser) behindFolds(steps []ir.NodeID) (out ir.NodeSet) {
	writer := map[ir.NodeID]ir.NodeID{}
	for _, id := range steps {
		k, ok := body[*schedule.Kernel](f.g, id)
		if !ok {
			continue
		}
		if access.Folds(k, access.AnyLoop) {
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

// consumer finds the one kernel that a kernel can become part of, and the number of the operand it reads the result through.
func (f *fuser) consumer(id ir.NodeID, k *schedule.Kernel) (ir.NodeID, int, bool) {
	writes := func(o schedule.Operand) bool { return o.Mode == schedule.Write }
	out := slices.IndexFunc(k.Operands, writes)
	buf, ok := body[*schedule.Buffer](f.g, k.Operands[out].Buffer)
	written, err := access.Reach(k, out)
	if !ok || err != nil || buf.Space != schedule.Arena || slices.ContainsFunc(k.Operands[out+1:], writes) {
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
			read, err := access.Reach(c, i)
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
	if operand < 0 || f.fixed.Has(found) {
		return 0, 0, false
	}
	c, _ := body[*schedule.Kernel](f.g, found)
	if ofFactors(f, found) || !bounded(k, c) || f.prices.losesVectors(k, c) || !aligned(k, out, c, operand) || f.storesOver(c, k) || !f.waitsOnly(found, id) {
		return 0, 0, false
	}
	return found, operand, true
}

// aligned says whether the consumer reads each element of the result exactly once: coordinate by coordinate, one loop of the
// producer's result is one loop of the consumer, and the consumer has no other loop of more than one value.
func aligned(k *schedule.Kernel, out int, c *schedule.Kernel, in int) bool {
	usedK, usedC := map[int]bool{}, map[int]bool{}
	for i, row := range k.Operands[out].Access.Projection {
		a, okA := access.Unit(row, k.Loops)
		b, okB := access.Unit(c.Operands[in].Access.Projection[i], c.Loops)
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
		if !usedK[l] && slices.Contains(parallel, l) && access.Folds(k, l) {
			return false
		}
	}
	if access.Folds(k, access.AnyLoop) && access.Folds(c, access.AnyLoop) {
		return false // a sum inside of a sum, of one value too, is neither a product nor rows, and would be added in another order
	}
	return access.StoredOver(k)
}
