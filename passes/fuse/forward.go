package fuse

import (
	"slices"

	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/passes/fuse/access"
)

// forward lets the kernels that read what another only moved read it where it comes from, and drops what was moved: the heads of an
// attention are parts of the rows that one product writes, images come with their channels innermost, and parts of a concatenation are
// read as such. That must not cost vectors: products put what they multiply in order themselves, other kernels must read neighbours where they
// write neighbours, or else take fewer loads than before, all together.
//
// A mover that is not even cuts loops of its readers. That comes last, so that all else finds the loops that it knows.
func (f *fuser) forward(id ir.NodeID, k *schedule.Kernel, even bool, may func(kernel ir.NodeID) bool) bool {
	m, ok := f.moverOf(k)
	if !ok || even && !m.even || k.Space().Empty() {
		return false
	}
	readers := f.readersOf(k.Operands[m.out].Buffer)
	joined := make([]reader, len(readers))
	all := false // of what the mover's applications put out is used by somebody
	for i, r := range readers {
		c, isKernel := body[*schedule.Kernel](f.g, r)
		if !isKernel || c.Device != k.Device || c.Space().Empty() { // what has no elements is not read
			return false
		}
		if joined[i], ok = m.into(c); !ok {
			return false
		}
		all = all || m.used(c)
	}
	if !all || !f.prices.pays(m, readers, joined) || !may(id) {
		return false
	}
	for i, r := range readers {
		f.g.Node(r).Body = joined[i].Kernel
	}
	f.drop(id, k, readers)
	return true
}

// used says whether a kernel reads all that is moved, or a part of it that nobody else puts out.
func (m *mover) used(c *schedule.Kernel) bool {
	for i, o := range c.Operands {
		if o.Buffer != m.k.Operands[m.out].Buffer {
			continue
		}
		if read, err := access.Reach(c, i); err == nil && (read.Contains(m.written) || len(m.k.Applications) == 1 && read.Overlaps(m.written)) {
			return true
		}
	}
	return false
}

// drop removes a copy: those who waited for it wait for what it waited for, and the first of its readers carries out its
// applications.
func (f *fuser) drop(id ir.NodeID, k *schedule.Kernel, readers []ir.NodeID) {
	for i, r := range readers {
		c, _ := body[*schedule.Kernel](f.g, r)
		c.After = mergeAfter(k.After, c.After, id)
		if i == 0 {
			c.Applications = append(slices.Clone(k.Applications), c.Applications...)
			c.Name = k.Name + "+" + c.Name
			n := f.g.Node(r)
			n.Label = c.Name
			n.SetOrigin(&ir.Origin{Rule: "fuse", From: origins(f.g.Node(id), n)})
		}
	}
	for _, o := range k.Operands {
		if o.Mode == schedule.Read {
			delete(f.reads, o.Buffer)
			f.readers[o.Buffer] = append(f.readers[o.Buffer], readers...)
		}
	}
	waiters := f.waitersOf(id)
	for _, a := range k.After {
		f.waiters[f.now(a)] = append(f.waiters[f.now(a)], waiters...)
	}
	for _, w := range waiters {
		if after := schedule.AfterOf(f.g.Node(w)); after != nil {
			*after = mergeAfter(k.After, *after, id)
		}
	}
	f.g.Remove(id)
}
