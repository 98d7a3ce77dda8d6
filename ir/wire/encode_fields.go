package wire

import (
	"google.golang.org/protobuf/encoding/protowire"

	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/zspace"
)

func number(f ir.Field) protowire.Number { return protowire.Number(f.Num) }

func (e *encoder) Bool(f ir.Field, v *bool) {
	if *v {
		e.varint(number(f), 1)
	}
}

func (e *encoder) Int(f ir.Field, v *int64)     { e.varint(number(f), protowire.EncodeZigZag(*v)) }
func (e *encoder) Ints(f ir.Field, v *[]int64)  { e.packed(number(f), *v) }
func (e *encoder) String(f ir.Field, v *string) { e.str(number(f), *v) }

func (e *encoder) Ref(f ir.Field, v *ir.NodeID) {
	e.varint(number(f), protowire.EncodeZigZag(e.refNumber(*v)))
}

func (e *encoder) Refs(f ir.Field, v *[]ir.NodeID) {
	if len(*v) == 0 {
		return
	}
	at := e.open(number(f))
	for _, id := range *v {
		e.buf = protowire.AppendVarint(e.buf, protowire.EncodeZigZag(e.refNumber(id)))
	}
	e.shut(at)
}

func (e *encoder) Range(f ir.Field, v *zspace.Range) {
	at := e.open(number(f))
	e.packed(rangeStart, v.Start)
	e.packed(rangeEnd, v.End)
	e.shut(at)
}

func (e *encoder) Affine(f ir.Field, v *zspace.AffineMap) {
	at := e.open(number(f))
	e.affine(v)
	e.shut(at)
}

func (e *encoder) Attrs(f ir.Field, v *ir.Attrs) {
	for i := range *v {
		at := e.open(number(f))
		e.attr(&(*v)[i])
		e.shut(at)
	}
}

func (e *encoder) Ports(f ir.Field, v *ir.Ports) {
	for i := range v.Len() {
		p := v.At(i)
		at := e.open(number(f))
		e.str(named1, p.Name)
		for j := range p.Sel {
			s := &p.Sel[j]
			sel := e.open(named2)
			e.varint(selectionTensor, protowire.EncodeZigZag(e.refNumber(s.Tensor)))
			e.packed(selectionStart, s.Range().Start)
			e.packed(selectionEnd, s.Range().End)
			e.shut(sel)
		}
		e.shut(at)
	}
}

func (e *encoder) PortMaps(f ir.Field, v *ir.PortMaps) {
	for i := range *v {
		m := &(*v)[i]
		at := e.open(number(f))
		e.str(named1, m.Name)
		for j := range m.Maps {
			one := e.open(named2)
			e.affine(&m.Maps[j].AffineMap)
			e.packed(mapShape, m.Maps[j].Shape)
			e.shut(one)
		}
		e.shut(at)
	}
}

func (e *encoder) List(f ir.Field, n int, _ func(int), each func(int, ir.Fields)) {
	for i := range n {
		at := e.open(number(f))
		each(i, e)
		e.shut(at)
	}
}

// Fail does nothing: what a body holds has a meaning.
func (e *encoder) Fail(ir.Field, string, string) {}
