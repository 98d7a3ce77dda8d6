package fuse

import (
	"slices"

	"tensortapestry.org/tapc/dialects/application"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/nest"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/passes/fuse/access"
	"tensortapestry.org/tapc/passes/fuse/join"
)

// unions makes one kernel of elementwise kernels that read the same elements, and of reductions that do (reductions.go).
type unions struct {
	*prices
	f     *fuser
	steps []ir.NodeID // in order; those that are gone too
}

// unite makes one kernel of kernels that read the same elements wherever that pays, and says how often it did.
func unite(f *fuser, may func(kernel ir.NodeID) bool) (joined int, err error) {
	f.mendOrder()
	steps, err := schedule.Order(f.g)
	if err != nil {
		return 0, err
	}
	f.index()
	for i, id := range steps {
		f.at[id] = i
	}
	u := &unions{f.prices, f, steps}
	for _, id := range steps {
		for {
			with, kernel := u.partner(id)
			if kernel == nil || !may(id) {
				break
			}
			f.become(id, with, kernel)
			id = with
			joined++
		}
	}
	return joined, nil
}

// partner finds the elementwise kernel behind another one that reads the same elements: its result, which stays in memory for whoever else
// reads it (multi-consumer fusion), or one of its operands (horizontal fusion). Elements are then loaded once for both. No step between the two
// waits for the first, which is carried out with the second: what it reads is kept for as long as its result was. Kernels that only read the same
// operand follow each other, so that nothing is kept for longer.
func (u *unions) partner(id ir.NodeID) (ir.NodeID, *schedule.Kernel) {
	k, ok := body[*schedule.Kernel](u.f.g, id)
	if !ok || u.f.fixed.Has(id) {
		return 0, nil
	}
	unite := func(with ir.NodeID, c *schedule.Kernel, behind int) (*schedule.Kernel, bool) {
		if !u.elementwise(c) {
			return nil, false
		}
		return u.union(id, with, behind == 1)
	}
	if _, rows := u.reducing(k); rows {
		unite = func(_ ir.NodeID, c *schedule.Kernel, _ int) (*schedule.Kernel, bool) { return u.reductions(k, c) }
	} else if !u.elementwise(k) {
		return 0, nil
	}
	waiters, behind := u.f.waitersOf(id), 0
	for _, with := range u.steps[u.f.at[id]+1:] {
		if u.f.g.Node(with) == nil {
			continue
		}
		if behind++; behind > mostBehind {
			break
		}
		c, ok := body[*schedule.Kernel](u.f.g, with)
		if ok && !u.f.fixed.Has(with) && c.Device == k.Device && !u.partly(k, c) && !u.partly(c, k) && len(k.Operands)+len(c.Operands) <= mostStreams && bounded(k, c) {
			if joined, ok := unite(with, c, behind); ok {
				return with, joined
			}
		}
		if slices.Contains(waiters, with) {
			break
		}
	}
	return 0, nil
}

// partly says whether one kernel stores a part of a tensor of which another computes a part for itself alone: one that puts out both stores both.
func (u *unions) partly(k, c *schedule.Kernel) (found bool) {
	for _, o := range k.Operands {
		if b, ok := body[*schedule.Buffer](u.f.g, o.Buffer); ok && o.Mode == schedule.Write && !c.Writes(o.Buffer) {
			for _, id := range c.Applications {
				app, _ := body[*application.Application](u.f.g, id)
				app.Outputs.All(func(_, _ int, sel *ir.Selection) { found = found || sel.Tensor == b.Tensor })
			}
		}
	}
	return found
}

// mostBehind is how many steps behind a kernel are looked at: the shards of an operation follow each other.
const mostBehind = 16

// mostStreams is how many operands kernels have at most that are joined for what they both read: each is a stream of memory of its own.
const mostStreams = 16

// elementwise says whether a kernel that reduces nothing computes each of its points by itself, with arithmetic, from and to memory that no other has:
// what only moves elements is read where it comes from, or stored where it goes.
func (u *unions) elementwise(k *schedule.Kernel) bool {
	if !access.StoredOver(k) {
		return false
	}
	if _, moves := u.f.moverOf(k); moves {
		return false
	}
	for _, o := range k.Operands {
		if _, ok := access.Inverse(k, o.Access); !ok && o.Mode == schedule.Write {
			return false
		}
	}
	return u.apart(k)
}

// apart says whether no buffer of a kernel lies over another, or under one.
func (u *unions) apart(k *schedule.Kernel) bool {
	return !slices.ContainsFunc(k.Operands, func(o schedule.Operand) bool {
		b, ok := body[*schedule.Buffer](u.f.g, o.Buffer)
		_, under := u.f.over[o.Buffer]
		return !ok || under || b.Over != ir.NoNode
	})
}

// union makes one kernel of two that have the same points, if that takes fewer loads and stores. What the second reads of the results of the
// first it reads at the point where they are computed, and neither stores what the other reads besides, nor what it stores, as shards do. Next says that
// the second follows the first: what both read may then be an operand of either.
func (u *unions) union(id, with ir.NodeID, next bool) (*schedule.Kernel, bool) {
	k, _ := body[*schedule.Kernel](u.f.g, id)
	c, _ := body[*schedule.Kernel](u.f.g, with)
	j := join.New(k, c)
	for i, o := range k.Operands {
		switch in := reading(c, o.Buffer); {
		case c.Writes(o.Buffer):
			return nil, false
		case o.Mode == schedule.Read || len(in) == 0:
		case len(in) > 1 || !j.Follow(i, in[0]):
			return nil, false
		default:
			j.Link(i, in, u.readElsewhere(k, i, id, with))
		}
	}
	for i, o := range k.Operands {
		for _, in := range reading(c, o.Buffer) {
			if j.Loops() == nil && o.Mode == schedule.Read {
				j.Follow(i, in)
			}
		}
	}
	if j.Loops() == nil || j.Links() == 0 && !next {
		return nil, false
	}
	if !u.elements(k) || !u.elements(c) {
		return nil, false
	}
	joined := j.Join()
	return joined, u.elements(joined) && u.less([]*schedule.Kernel{joined}, []*schedule.Kernel{k, c}, 0)
}

// reading gives the operands through which a kernel reads a buffer.
func reading(k *schedule.Kernel, buffer ir.NodeID) (out []int) {
	for i, o := range k.Operands {
		if o.Mode == schedule.Read && o.Buffer == buffer {
			out = append(out, i)
		}
	}
	return out
}

// elements says whether a kernel is elementwise, with vectors that follow one of its loops.
func (f *prices) elements(k *schedule.Kernel) bool {
	r, ok := nest.Of[*nest.Rows](f.first(k))
	return ok && r.Free && len(r.Reduction) == 0
}

// readElsewhere says whether others than the kernel that stores a result and one that reads it see what is stored.
func (u *unions) readElsewhere(k *schedule.Kernel, out int, writer, reader ir.NodeID) bool {
	b, ok := body[*schedule.Buffer](u.f.g, k.Operands[out].Buffer)
	stored, err := access.Reach(k, out)
	if !ok || err != nil || b.Space != schedule.Arena {
		return true
	}
	return slices.ContainsFunc(u.f.readersOf(k.Operands[out].Buffer), func(r ir.NodeID) bool {
		c, isKernel := body[*schedule.Kernel](u.f.g, r)
		return r != writer && r != reader && (!isKernel || slices.ContainsFunc(reading(c, k.Operands[out].Buffer), func(i int) bool {
			read, err := access.Reach(c, i)
			return err != nil || read.Overlaps(stored)
		}))
	})
}
