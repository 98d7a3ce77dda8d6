package schedule

import (
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/zspace"
)

// Transfer copies a box of a buffer into another buffer of the same tensor; without a Range (of no dimensions) all of it, and both have the same cells.
type Transfer struct {
	From, To ir.NodeID
	After    []ir.NodeID
	Range    zspace.Range
}

// Kind is TransferKind.
func (*Transfer) Kind() *ir.Kind { return TransferKind }

// Fields names the two buffers, what must be done before, and the box.
func (t *Transfer) Fields(f ir.Fields) {
	f.Ref(ir.Field{Num: 1, Name: "from", Style: ir.Positional}, &t.From)
	f.Ref(ir.Field{Num: 2, Name: "to", Style: ir.Arrow}, &t.To)
	f.Refs(ir.Field{Num: 3, Name: "after", Optional: true}, &t.After)
	f.Range(ir.Field{Num: 4, Name: "range", Optional: true}, &t.Range)
}

// Box gives the cells that a transfer from a buffer copies.
func (t *Transfer) Box(from *Buffer) zspace.Range {
	if t.Range.Rank() == 0 {
		return from.Range
	}
	return t.Range
}
