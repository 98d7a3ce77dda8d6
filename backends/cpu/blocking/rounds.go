package blocking

import (
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/nest"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/passes/tile"
)

// MaxPacked bounds the panels of an operand that are packed at once, in bytes, unless a config says another number of them.
const MaxPacked = 32 << 20

// panelStep is how many panels of columns rounds are a multiple of, so that register tiles have whole ones.
func panelStep(b *Blocking) int64 { return b.PanelsOf(max(b.Panel, b.Cut.TileCols)) }

// rounds chooses how many panels of the right operand are packed at once: whole groups of a batch, or columns of one group; 0 where all of them are few
// enough.
func rounds(b *Blocking) int64 {
	all, one := b.PanelsOf(b.C.Col.Extent), b.Length*schedule.PanelBytes
	switch whole := all * one; {
	case b.Pack.Right != tile.UpFront || whole <= MaxPacked/max(1, b.Outer):
		return 0
	case whole <= MaxPacked:
		return all * (MaxPacked / whole)
	}
	return min(all, max(1, MaxPacked/one/panelStep(b))*panelStep(b))
}

// checkRounds says why operands cannot be packed in rounds of so many panels.
func checkRounds(b *Blocking) error {
	n, all, step := b.Rounds.Right, b.PanelsOf(b.C.Col.Extent), panelStep(b)
	return firstFault(
		fault{b.Rounds.Left != 0 || n != 0 && b.Pack.Right != tile.UpFront, "an operand is packed in rounds: expected that of the right one, packed into device memory", nil},
		fault{n < all && n%step != 0, "%d panels are packed at once: expected a multiple of %d, as register tiles have so many", []any{n, step}},
		fault{n > all && (n%all != 0 || n/all > b.Outer), "%d panels are packed at once: expected those of some of the %d groups, of %d each", []any{n, b.Outer, all}})
}

// streams says whether the right operand is used so few times that reading it takes the time.
func streams(b *Blocking) bool {
	return b.Pack.Right != tile.Unpacked && b.C.Row.Extent <= 2*b.Cut.TileRows && b.Length*b.C.Col.Extent*int64(b.D.Size()) > nearBytes
}

const (
	nearBytes = 1 << 19 // of columns that some cache is expected to have
	farAhead  = 2 * schedule.UsualAhead
)

// aheadOf chooses by how many values of the reduction packed columns are asked for before their use: more than usual if they come from memory.
func aheadOf(b *Blocking) int64 {
	if streams(b) {
		return farAhead
	}
	return 0
}

// Ahead is by how many values of the reduction a register tile asks for columns before their use, 0 for not at all.
func (b *Blocking) Ahead() int64 {
	if b.Cut.Ahead == 0 && b.Pack.Right != tile.Unpacked {
		return schedule.UsualAhead
	}
	return b.Cut.Ahead
}

// expectBytes is the size of operands of which a register tile's part is in no cache near by.
const expectBytes = 256 << 10

// Expected gives the operands whose lines a register tile asks for while it multiplies: those that its epilogue touches, which are large, and have
// neighbours along the results that it finishes together.
func Expected(b *Blocking, buffers map[ir.NodeID]*schedule.Buffer, touched func(operand int) bool) (out []int) {
	along, apart := b.Neighbours()
	for i, o := range b.K.Operands {
		v := b.C.Views[i]
		if i != b.C.Left && i != b.C.Right && touched(i) && along.Step(v) == 1 && apart.Step(v) != 0 && buffers[o.Buffer].Bytes >= expectBytes {
			out = append(out, i)
		}
	}
	return out
}

// Neighbours gives the dimension of the results that are finished together, columns or rows, and the other one.
func (b *Blocking) Neighbours() (along, apart nest.Dim) {
	if b.C.Transposed {
		return b.C.Row, b.C.Col
	}
	return b.C.Col, b.C.Row
}

// Of memory that the packing of windows asks for.
const (
	copyAhead = 4       // steps of the outermost loop of the reduction before its turn
	longStep  = 1 << 10 // bytes of such a step from which on no processor sees it coming
)

// WindowAhead is how far from an element of a right operand with windows the one is that is asked for when it is packed, 0 for none.
func WindowAhead(b *Blocking) int64 {
	if len(b.C.Reduction) == 0 || len(b.C.Reduction[0].Loops) == 0 {
		return 0
	}
	outer := b.C.Reduction[0].Loops[0]
	step := b.C.Views[b.C.Right].Steps[outer]
	if bytes := step * int64(b.D.Size()); b.K.Loops[outer].Extent() < 2*copyAhead || bytes < longStep && bytes > -longStep {
		return 0
	}
	return copyAhead * step
}
