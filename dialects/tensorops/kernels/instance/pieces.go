package instance

import (
	"slices"

	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/dialects/tensorops/numbers"
	"tensortapestry.org/tapc/dialects/tensorops/reads"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/zspace"
	"tensortapestry.org/tapc/ir/zspace/pieces"
)

// Exact gives what the selection of an operand is read at, by all its views; reason says why that is not known.
func (in *Instance) Exact(operand int) (list []pieces.Piece, reason string) {
	if in.derived == nil {
		b := &reads.Body{Known: func(i int) *reads.Known { return reads.KnownOf(numbers.Of(in.Graph, in.Operands[i].Sel.Tensor)) }}
		for _, d := range in.Dims {
			b.Extents, b.Index = append(b.Extents, d.Extent), append(b.Index, d.Index)
		}
		for i, o := range in.Operands {
			b.Accesses, b.Selections = append(b.Accesses, o.Access), append(b.Selections, in.selection(i))
		}
		for _, s := range in.Statements {
			b.Statements = append(b.Statements, reads.Statement{Over: s.Over, Local: s.Store < 0, Value: s.Value})
		}
		in.derived = reads.Of(b)
	}
	found := in.derived[in.selection(operand)]
	return found.Pieces, found.Reason
}

// selection gives the first operand that reads the same selection.
func (in *Instance) selection(operand int) int {
	o := in.Operands[operand]
	return slices.IndexFunc(in.Operands, func(v Operand) bool { return v.Decl == o.Decl && v.Entry == o.Entry })
}

// Pieces says what is read exactly of the inputs of which the projections of the signature say more.
func (in *Instance) Pieces(inputs ir.PortMaps) (tag tensorops.Reads) {
	for i, o := range in.Operands {
		if o.View || o.Decl.Out || o.Sel.Range().Empty() || o.Sel.Range().Rank() == 0 || in.Index().Empty() {
			continue
		}
		s := tensorops.SelectionReads{Port: o.Port, Entry: int64(o.Entry)}
		s.Pieces, s.Reason = in.Exact(i)
		if s.Reason != "" || !reads.Exact(s.Pieces, inputs.Get(o.Port).Maps[o.Entry], in.Index()) {
			tag.Selections = append(tag.Selections, s)
		}
	}
	return tag
}

// ReadCells gives the cells of an operand that the instance reads in a box of its dims; a hull where no more is known.
func (in *Instance) ReadCells(operand int, box zspace.Range) ([]pieces.Box, error) {
	list, reason := in.Exact(operand)
	var index zspace.Range
	for j, d := range in.Dims {
		if d.Index {
			index.Start, index.End = append(index.Start, box.Start[j]), append(index.End, box.End[j])
		}
	}
	if !in.Operands[operand].Decl.Out && reason == "" {
		boxes, _ := pieces.Cells(list, index)
		return boxes, nil
	}
	hull, err := in.Reads(operand, box)
	return pieces.OfRange(hull), err
}
