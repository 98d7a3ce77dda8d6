package tensorops

import (
	"slices"

	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/zspace"
	"tensortapestry.org/tapc/ir/zspace/pieces"
)

// ReadsKind is the kind of the tag that refines a signature.
var ReadsKind = &ir.Kind{URI: tapcTagBase + "Reads", Keyword: "reads", Num: 5, New: func() ir.Body { return new(Reads) }}

// Reads refines a signature: it says what is read exactly of the input selections whose projection says more.
type Reads struct{ Selections []SelectionReads }

// SelectionReads says it of one selection: pieces, none if nothing is read, or a reason why the projection holds.
type SelectionReads struct {
	Port   string
	Entry  int64
	Reason string
	Pieces []pieces.Piece
}

// Kind is ReadsKind.
func (*Reads) Kind() *ir.Kind { return ReadsKind }

// Fields names the selections.
func (r *Reads) Fields(f ir.Fields) {
	f.List(ir.Field{Num: 1, Name: "selections"}, len(r.Selections), func(n int) { r.Selections = make([]SelectionReads, n) },
		func(i int, f ir.Fields) { r.Selections[i].fields(f) })
}

func (s *SelectionReads) fields(f ir.Fields) {
	f.String(ir.Field{Num: 1, Name: "port", Style: ir.Positional}, &s.Port)
	f.Int(ir.Field{Num: 2, Name: "entry", Style: ir.Positional}, &s.Entry)
	f.String(ir.Field{Num: 3, Name: "reason", Optional: true}, &s.Reason)
	f.List(ir.Field{Num: 4, Name: "pieces", Optional: true}, len(s.Pieces), func(n int) { s.Pieces = make([]pieces.Piece, n) },
		func(i int, f ir.Fields) { pieceFields(&s.Pieces[i], f) })
}

func pieceFields(p *pieces.Piece, f ir.Fields) {
	window := []int64(p.Window)
	f.Affine(ir.Field{Num: 1, Name: "cells", Style: ir.Positional}, &p.Cells)
	f.Ints(ir.Field{Num: 2, Name: "window", Optional: true}, &window)
	f.Affine(ir.Field{Num: 3, Name: "guards", Optional: true}, &p.Guards)
	p.Window = window
}

// ReadsOf gives a node's refinement of its signature, or nil.
func ReadsOf(n *ir.Node) *Reads {
	r, _ := n.Tag(ReadsKind).(*Reads)
	return r
}

// Get gives the pieces of a selection; ok is false where the projection holds.
func (r *Reads) Get(port string, entry int) (list []pieces.Piece, ok bool) {
	if r == nil {
		return nil, false
	}
	for i := range r.Selections {
		if s := &r.Selections[i]; s.Port == port && s.Entry == int64(entry) {
			return s.Pieces, s.Reason == ""
		}
	}
	return nil, false
}

// Selects gives the box of an input's selection that a box of an operation's index selects: the least box around what the pieces read,
// where the selection has pieces, and else what the projection says. Where nothing is read it is empty, at the projection's start.
func (r *Reads) Selects(port string, entry int, m zspace.ProjectionMap, index zspace.Range) (zspace.Range, error) {
	whole, err := m.Apply(index)
	list, ok := r.Get(port, entry)
	if err != nil || !ok || index.Empty() {
		return whole, err
	}
	hull, some, _ := pieces.Hull(list, index)
	if !some {
		return zspace.Range{Start: whole.Start, End: whole.Start.Clone()}, nil
	}
	return hull, nil
}

// MoveReads moves what an operation is said to read of a selection by delta, as the selection was moved. The error is an overflow.
func MoveReads(n *ir.Node, port string, entry int, delta zspace.Point) error {
	list, ok := ReadsOf(n).Get(port, entry)
	if !ok {
		return nil
	}
	tag := &Reads{Selections: slices.Clone(ReadsOf(n).Selections)}
	at := slices.IndexFunc(tag.Selections, func(s SelectionReads) bool { return s.Port == port && s.Entry == int64(entry) })
	tag.Selections[at].Pieces = slices.Clone(list)
	for i := range list {
		p, err := list[i].Translate(delta)
		if err != nil {
			return err
		}
		tag.Selections[at].Pieces[i] = p
	}
	n.SetTag(tag)
	return nil
}

// Narrow sets the selections of inputs, which are those of a signed operation, to what its whole index selects.
func Narrow(n *ir.Node, inputs ir.Ports) {
	sig, reads, index := SignatureOf(n), ReadsOf(n), IndexOf(n)
	if reads == nil {
		return
	}
	for _, s := range reads.Selections {
		p, m := inputs.Get(s.Port), sig.Inputs.Get(s.Port)
		if p == nil || m == nil || s.Entry < 0 || s.Entry >= int64(min(len(p.Sel), len(m.Maps))) {
			continue // which a constraint says
		}
		if r, err := reads.Selects(s.Port, int(s.Entry), m.Maps[s.Entry], index.Range); err == nil {
			p.Sel[s.Entry].SetRange(r)
		}
	}
}
