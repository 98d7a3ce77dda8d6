package text

import (
	"strconv"

	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/zspace"
)

// field writes what stands before a field's value; false if the field is zero and left out.
func (e *encoder) field(f ir.Field, zero bool) bool {
	if zero && f.Optional {
		return false
	}
	switch {
	case f.Style == ir.Named && !e.group:
		e.space()
		e.group = true
		e.put("{" + f.Name + ": ")
	case f.Style == ir.Named:
		e.put(", " + f.Name + ": ")
	case e.group:
		e.fail("field %q stands behind named ones", f.Name)
	case f.Style == ir.Arrow:
		e.space()
		e.put("-> ")
	default:
		e.space()
	}
	return true
}

// space separates a field from what comes before, except at the start of a list's item.
func (e *encoder) space() {
	if !e.bare {
		e.buf = append(e.buf, ' ')
	}
	e.bare = false
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
	switch {
	case !e.field(f, *v == ""):
	case isWord(*v) && !(f.Optional && f.Style == ir.Positional):
		e.put(*v)
	default:
		e.quoted(*v)
	}
}

func (e *encoder) Ref(f ir.Field, v *ir.NodeID) {
	if e.field(f, *v == ir.NoNode) {
		e.ref(*v)
	}
}

func (e *encoder) Refs(f ir.Field, v *[]ir.NodeID) {
	if !e.field(f, len(*v) == 0) {
		return
	}
	e.buf = append(e.buf, '[')
	for i, id := range *v {
		e.comma(i)
		e.ref(id)
	}
	e.buf = append(e.buf, ']')
}

func (e *encoder) Range(f ir.Field, v *zspace.Range) {
	if e.field(f, v.Rank() == 0) {
		e.box(*v)
	}
}

func (e *encoder) Affine(f ir.Field, v *zspace.AffineMap) {
	if !e.field(f, len(v.Offset) == 0) {
		return
	}
	if err := v.Validate(); err != nil {
		e.fail("%w", err)
	}
	e.put(v.String())
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
	e.buf = append(e.buf, '(')
	for i := range v.Len() {
		p := v.At(i)
		e.comma(i)
		e.key(p.Name)
		if len(p.Sel) == 1 {
			e.selection(p.Sel[0])
			continue
		}
		e.buf = append(e.buf, '[')
		for j, s := range p.Sel {
			e.comma(j)
			e.selection(s)
		}
		e.buf = append(e.buf, ']')
	}
	e.buf = append(e.buf, ')')
}

func (e *encoder) PortMaps(f ir.Field, v *ir.PortMaps) {
	if !e.field(f, len(*v) == 0) {
		return
	}
	e.buf = append(e.buf, '(')
	for i := range *v {
		m := &(*v)[i]
		e.comma(i)
		e.key(m.Name)
		if len(m.Maps) == 1 {
			e.projection(&m.Maps[0])
			continue
		}
		e.buf = append(e.buf, '[')
		for j := range m.Maps {
			e.comma(j)
			e.projection(&m.Maps[j])
		}
		e.buf = append(e.buf, ']')
	}
	e.buf = append(e.buf, ')')
}

func (e *encoder) projection(p *zspace.ProjectionMap) {
	if err := p.Validate(); err != nil {
		e.fail("%w", err)
	}
	e.put(p.String())
}

// List writes a block with an item a line; inside another list it stays on the line.
func (e *encoder) List(f ir.Field, n int, _ func(int), each func(int, ir.Fields)) {
	if !e.field(f, n == 0) {
		return
	}
	outer := e.group
	e.nested++
	e.buf = append(e.buf, '[')
	for i := range n {
		switch {
		case e.nested > 1:
			e.comma(i)
		case i > 0:
			e.put(",\n    ")
		default:
			e.put("\n    ")
		}
		e.group, e.bare = false, true
		each(i, e)
		e.shut()
		e.bare = false
	}
	e.nested--
	if n > 0 && e.nested == 0 {
		e.put("\n  ")
	}
	e.buf = append(e.buf, ']')
	e.group = outer
}

// Fail does nothing: what a body holds has a meaning.
func (e *encoder) Fail(ir.Field, string, string) {}
