package loomjson

import (
	"strconv"

	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/zspace"
)

// field starts a member unless it is zero and may be left out. A field without a name is the body's whole value.
func (e *encoder) field(f ir.Field, zero bool) bool {
	if f.Name == "" {
		e.state = isValue
		return true
	}
	if zero && f.Optional {
		return false
	}
	if e.state == fresh {
		e.state = inObject
		e.outer = e.open()
	}
	e.key(f.Name)
	return true
}

func (e *encoder) Bool(f ir.Field, v *bool) {
	if e.field(f, !*v) {
		e.buf = strconv.AppendBool(e.buf, *v)
	}
}

func (e *encoder) Int(f ir.Field, v *int64) {
	if e.field(f, *v == 0) {
		e.buf = strconv.AppendInt(e.buf, *v, 10)
	}
}

func (e *encoder) Ints(f ir.Field, v *[]int64) {
	if e.field(f, len(*v) == 0) {
		e.ints(*v)
	}
}

func (e *encoder) String(f ir.Field, v *string) {
	if e.field(f, *v == "") {
		e.str(*v)
	}
}

func (e *encoder) Ref(f ir.Field, v *ir.NodeID) {
	if e.field(f, *v == ir.NoNode) {
		e.ref(*v)
	}
}

func (e *encoder) Refs(f ir.Field, v *[]ir.NodeID) {
	if e.field(f, len(*v) == 0) {
		e.list(len(*v), func(i int) { e.ref((*v)[i]) })
	}
}

func (e *encoder) Range(f ir.Field, v *zspace.Range) {
	if e.field(f, v.Rank() == 0) {
		e.box(*v)
	}
}

func (e *encoder) Affine(f ir.Field, v *zspace.AffineMap) {
	if e.field(f, len(v.Offset) == 0) {
		e.affine(*v)
	}
}

func (e *encoder) Attrs(f ir.Field, v *ir.Attrs) {
	if e.field(f, len(*v) == 0) {
		e.attrs(*v)
	}
}

func (e *encoder) Ports(f ir.Field, v *ir.Ports) {
	if !e.field(f, v.Len() == 0) {
		return
	}
	outer := e.open()
	for i := range v.Len() {
		p := v.At(i)
		e.key(p.Name)
		e.list(len(p.Sel), func(j int) {
			sel := e.open()
			e.key("tensorId")
			e.ref(p.Sel[j].Tensor)
			e.key("range")
			e.box(p.Sel[j].Range())
			e.shut(sel)
		})
	}
	e.shut(outer)
}

func (e *encoder) PortMaps(f ir.Field, v *ir.PortMaps) {
	if !e.field(f, len(*v) == 0) {
		return
	}
	outer := e.open()
	for i := range *v {
		m := &(*v)[i]
		e.key(m.Name)
		e.list(len(m.Maps), func(j int) {
			one := e.open()
			e.key("affineMap")
			e.affine(m.Maps[j].AffineMap)
			e.key("shape")
			e.ints(m.Maps[j].Shape)
			e.shut(one)
		})
	}
	e.shut(outer)
}

func (e *encoder) List(f ir.Field, n int, _ func(int), each func(int, ir.Fields)) {
	if !e.field(f, n == 0) {
		return
	}
	e.list(n, func(i int) {
		outer := e.open()
		each(i, e)
		e.shut(outer)
	})
}

// Fail does nothing: what a body holds has a meaning.
func (e *encoder) Fail(ir.Field, string, string) {}
