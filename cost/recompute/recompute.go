// Package recompute says when devices hold the tensors of a schedule, and makes the schedule in which a tensor is computed again for the step that reads it last, instead of
// being held until then (rematerialization).
//
// It must not price anything. Read next: cost/price, which prices both schedules.
package recompute

import (
	"slices"

	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/passes/memory"
)

// Life is a buffer with the steps that write it and those that read it, in the order of the schedule.
type Life struct {
	Buffer  ir.NodeID
	Writers []ir.NodeID
	Readers []ir.NodeID
	From    int // the first step that touches it, by its place in the order
	To      int // and the last
}

// Lives gives the buffers that hold a tensor, or parts of it, in the order of the graph, and of how many steps the schedule is.
func Lives(g *ir.Graph, tensor ir.NodeID) (list []*Life, steps int, err error) {
	order, err := schedule.Order(g)
	if err != nil {
		return nil, 0, err
	}
	of := map[ir.NodeID]*Life{}
	for n := range g.Nodes() {
		if b, ok := n.Body.(*schedule.Buffer); ok && b.Tensor == tensor {
			of[n.ID] = &Life{Buffer: n.ID, From: -1}
			list = append(list, of[n.ID])
		}
	}
	for at, id := range order {
		schedule.Touches(g.Node(id), func(buffer ir.NodeID, write bool) {
			l := of[buffer]
			if l == nil {
				return
			}
			steps := &l.Readers
			if write {
				steps = &l.Writers
			}
			if !slices.Contains(*steps, id) {
				*steps = append(*steps, id)
			}
			if l.To = at; l.From < 0 {
				l.From = at
			}
		})
	}
	return list, len(order), nil
}

// Why says in words why a tensor is not computed again.
type Why string

// Why there is no such schedule.
const (
	Kept    Why = "programs hold inputs, outputs and constants as long as they run"
	Once    Why = "one step alone reads it: computing it for that one would be computing it later"
	Several Why = "no kernel makes it alone, of which it is the only result"
	Over    Why = "what it is computed from is written over before it is read last"
)

// Again gives the schedule in which the kernel that writes a buffer is carried out once more for the step that reads it last: a copy of the graph, with its arenas placed anew, and the kernel
// that it has more. It is for prices: a device carries out an application once (KernelApplicationAgreementConstraint). Where there is none, why says so.
func Again(g *ir.Graph, l *Life) (c *ir.Graph, kernel ir.NodeID, why Why, err error) {
	switch {
	case schedule.BufferOf(g, schedule.Underlying(g, l.Buffer)).Space != schedule.Arena:
		return nil, ir.NoNode, Kept, nil
	case len(l.Readers) < 2:
		return nil, ir.NoNode, Once, nil
	}
	order, err := schedule.Order(g)
	if err != nil {
		return nil, ir.NoNode, "", err
	}
	made, ok := g.Node(l.Writers[0]).Body.(*schedule.Kernel)
	if !ok || len(l.Writers) > 1 || results(made) != 1 {
		return nil, ir.NoNode, Several, nil
	}
	if writtenOver(g, order[l.From+1:l.To], made) {
		return nil, ir.NoNode, Over, nil
	}
	c = g.Clone()
	buffer := *schedule.BufferOf(c, l.Buffer)
	label := g.Node(l.Buffer).Label
	to := c.Add(&buffer, label+".again").ID
	again := *c.Node(l.Writers[0]).Body.(*schedule.Kernel)
	again.Operands = slices.Clone(again.Operands)
	for i, o := range again.Operands {
		if o.Mode == schedule.Write {
			again.Operands[i].Buffer = to
		}
	}
	again.After = append(slices.Clone(again.After), order[l.To-1])
	kernel = c.Add(&again, g.Node(l.Writers[0]).Label+".again").ID
	switch x := c.Node(order[l.To]).Body.(type) {
	case *schedule.Kernel:
		for i, o := range x.Operands {
			if o.Buffer == l.Buffer {
				x.Operands[i].Buffer = to
			}
		}
		x.After = append(x.After, kernel)
	case *schedule.Transfer:
		x.From, x.After = to, append(x.After, kernel)
	}
	_, err = memory.Run(c)
	return c, kernel, "", err
}

// results is how many operands a kernel writes.
func results(k *schedule.Kernel) (n int) {
	for _, o := range k.Operands {
		if o.Mode == schedule.Write {
			n++
		}
	}
	return n
}

// writtenOver says whether one of some steps writes what a kernel reads: parts of a result may be, and what lies over an input.
func writtenOver(g *ir.Graph, steps []ir.NodeID, k *schedule.Kernel) bool {
	reads := func(buffer ir.NodeID) bool {
		over := schedule.BufferOf(g, buffer).Over
		return slices.ContainsFunc(k.Operands, func(o schedule.Operand) bool {
			return o.Mode == schedule.Read && (o.Buffer == buffer || over != ir.NoNode && o.Buffer == over)
		})
	}
	return slices.ContainsFunc(steps, func(id ir.NodeID) (over bool) {
		schedule.Touches(g.Node(id), func(buffer ir.NodeID, write bool) { over = over || write && reads(buffer) })
		return over
	})
}
