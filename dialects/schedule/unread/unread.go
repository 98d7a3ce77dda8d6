// Package unread finds what a schedule moves and nobody reads. Passes that leave kernels with fewer reads than their operands had call it.
package unread

import (
	"slices"

	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/uses"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/zspace"
)

// Drop removes the transfers into arena buffers of whose cells no step reads any (TAP0308), as of an operand that a kernel has and does not
// load: what waited for such a transfer waits for what it waited for. Kernels keep their operands and buffers.
func Drop(g *ir.Graph) {
	dropped := map[ir.NodeID][]ir.NodeID{}
	for again := true; again; { // what only a dropped transfer read
		again = false
		var read map[ir.NodeID][]zspace.Range
		for n := range g.Nodes() {
			t, box, ok := arrival(g, n)
			if !ok {
				continue
			}
			if read == nil {
				read = readBoxes(g)
			}
			if !slices.ContainsFunc(read[t.To], box.Overlaps) {
				dropped[n.ID] = t.After
				g.Remove(n.ID)
				again = true
			}
		}
	}
	if len(dropped) == 0 {
		return
	}
	for n := range g.Nodes() {
		switch b := n.Body.(type) {
		case *schedule.Kernel:
			b.After = mended(b.After, dropped)
		case *schedule.Transfer:
			b.After = mended(b.After, dropped)
		}
	}
}

// arrival says whether a node is a transfer into an arena buffer, and which cells it brings.
func arrival(g *ir.Graph, n *ir.Node) (*schedule.Transfer, zspace.Range, bool) {
	t, ok := n.Body.(*schedule.Transfer)
	if !ok {
		return nil, zspace.Range{}, false
	}
	from, okFrom := bufferAt(g, t.From)
	to, okTo := bufferAt(g, t.To)
	if !okFrom || !okTo || to.Space != schedule.Arena {
		return nil, zspace.Range{}, false
	}
	box := t.Box(from)
	return t, box, !box.Empty()
}

func bufferAt(g *ir.Graph, id ir.NodeID) (*schedule.Buffer, bool) {
	n := g.Node(id)
	if n == nil {
		return nil, false
	}
	b, ok := n.Body.(*schedule.Buffer)
	return b, ok
}

// mended gives the steps that some steps are when those that are dropped are what they waited for.
func mended(after []ir.NodeID, dropped map[ir.NodeID][]ir.NodeID) (out []ir.NodeID) {
	for _, id := range after {
		next := []ir.NodeID{id}
		if behind, gone := dropped[id]; gone {
			next = mended(behind, dropped)
		}
		for _, id := range next {
			if !slices.Contains(out, id) {
				out = append(out, id)
			}
		}
	}
	return out
}

// readBoxes gives the boxes of each buffer that steps read, at least.
func readBoxes(g *ir.Graph) map[ir.NodeID][]zspace.Range {
	read := map[ir.NodeID][]zspace.Range{}
	for n := range g.Nodes() {
		switch b := n.Body.(type) {
		case *schedule.Transfer:
			if from, ok := bufferAt(g, b.From); ok {
				read[b.From] = append(read[b.From], b.Box(from))
			}
		case *schedule.Kernel:
			boxes, err := uses.Reads(b)
			for i, o := range b.Operands {
				if whole, ok := bufferAt(g, o.Buffer); ok && err != nil && o.Mode == schedule.Read {
					read[o.Buffer] = append(read[o.Buffer], whole.Range)
				} else if err == nil {
					read[o.Buffer] = append(read[o.Buffer], boxes[i]...)
				}
			}
		}
	}
	return read
}
