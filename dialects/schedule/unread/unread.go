// Package unread finds what a schedule moves and nobody reads. Passes that leave kernels with fewer reads than their operands had call it.
package unread

import (
	"slices"

	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/uses"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/zspace"
	"tensortapestry.org/tapc/ir/zspace/images"
)

// Drop removes the transfers into arena buffers of whose cells no step reads any (TAP0308), as of an operand that a kernel has and does not
// load: what waited for such a transfer waits for what it waited for. Kernels keep their operands and buffers.
func Drop(g *ir.Graph) {
	dropped := map[ir.NodeID][]ir.NodeID{}
	for again := true; again; { // what only a dropped transfer read
		again = false
		var read map[ir.NodeID][]images.Image
		for n := range g.Nodes() {
			t, box, ok := arrival(g, n)
			if !ok {
				continue
			}
			if read == nil {
				read = reads(g)
			}
			if !slices.ContainsFunc(read[t.To], func(r images.Image) bool { return meets(r, box) }) {
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

// reads gives what steps read of each buffer.
func reads(g *ir.Graph) map[ir.NodeID][]images.Image {
	read := map[ir.NodeID][]images.Image{}
	for n := range g.Nodes() {
		switch b := n.Body.(type) {
		case *schedule.Transfer:
			if from, ok := bufferAt(g, b.From); ok {
				read[b.From] = append(read[b.From], images.Box(b.Box(from)))
			}
		case *schedule.Kernel:
			for _, u := range uses.Of(b) {
				id := b.Operands[u.Operand].Buffer
				whole, ok := bufferAt(g, id)
				switch {
				case !ok || u.Write || u.Never:
				case u.Err != nil: // nobody knows which cells
					read[id] = append(read[id], images.Box(whole.Range))
				default:
					read[id] = append(read[id], u.Image(b))
				}
			}
		}
	}
	return read
}

// meets says whether some of what is read is in a box, or may be: cells that strides leap over are not read.
func meets(read images.Image, box zspace.Range) bool {
	if !read.Hull.Overlaps(box) {
		return false
	}
	_, found, decided := read.Meet(images.Box(box))
	return found || !decided
}
