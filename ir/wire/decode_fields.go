package wire

import (
	"cmp"
	"math"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"

	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/zspace"
)

// reader is the ir.Fields that fills a body, a tag or an item of a list from its message. Bodies visit their fields in the
// order of the fields' numbers.
type reader struct {
	d     *decoder
	depth int
	m     message
}

// read fills a body from the bytes of its message.
func (d *decoder) read(depth int, b []byte, fields func(ir.Fields)) {
	for len(d.readers) <= depth {
		d.readers = append(d.readers, &reader{d: d, depth: len(d.readers)})
	}
	r := d.readers[depth]
	if d.open(&r.m, b) {
		fields(r)
	}
}

// find moves to a field; false if the message has none, or after an error.
func (r *reader) find(f ir.Field) bool {
	if r.d.err != nil || !r.m.find(number(f)) {
		return false
	}
	r.d.field = f.Name
	return true
}

// last moves to the last of the fields with a number, as the last of several values of one field counts.
func (r *reader) last(f ir.Field, take func() bool) {
	for r.find(f) {
		if !take() {
			r.d.fail("a value of the wrong type")
		}
	}
}

func (r *reader) Bool(f ir.Field, v *bool) {
	r.last(f, func() bool { x, ok := r.m.varint(); *v = x != 0; return ok })
}

func (r *reader) Int(f ir.Field, v *int64) {
	*v = 0
	r.last(f, func() bool { x, ok := r.m.varint(); *v = protowire.DecodeZigZag(x); return ok })
}

func (r *reader) String(f ir.Field, v *string) {
	*v = ""
	r.last(f, func() bool { x, ok := r.m.text(); *v = r.d.intern.Name(x); return ok })
}

func (r *reader) Ref(f ir.Field, v *ir.NodeID) {
	*v = ir.NoNode
	r.last(f, func() bool { x, ok := r.m.varint(); *v = r.d.ref(protowire.DecodeZigZag(x)); return ok })
}

func (r *reader) Ints(f ir.Field, v *[]int64) {
	if r.find(f) {
		out, ok := r.m.packed(number(f), nil)
		if *v = out; !ok {
			r.d.fail("a value of the wrong type")
		}
	}
}

func (r *reader) Refs(f ir.Field, v *[]ir.NodeID) {
	if !r.find(f) {
		return
	}
	numbers, ok := r.m.packed(number(f), r.d.start[:0])
	r.d.start = numbers
	if !ok {
		r.d.fail("a value of the wrong type")
	}
	ids := make([]ir.NodeID, len(numbers))
	for i, x := range numbers {
		ids[i] = r.d.ref(x)
	}
	*v = ids
}

// message opens the message of a field that may be there once.
func (r *reader) message(f ir.Field, in *message) bool {
	if !r.find(f) {
		return false
	}
	b, ok := r.m.bytes()
	if !ok || r.m.num == number(f) {
		r.d.fail("a value of the wrong type, or there twice")
		return false
	}
	return r.d.open(in, b)
}

func (r *reader) Range(f ir.Field, v *zspace.Range) {
	*v = zspace.Range{Start: zspace.Point{}, End: zspace.Point{}}
	var in message
	if r.message(f, &in) {
		*v = r.d.box(&in, rangeStart)
	}
}

// box reads two fields of integers as a range.
func (d *decoder) box(in *message, start protowire.Number) zspace.Range {
	var ok1, ok2 bool
	d.start, ok1 = in.packed(start, d.start[:0])
	d.end, ok2 = in.packed(start+1, d.end[:0])
	if !ok1 || !ok2 {
		d.fail("a range that is not of integers")
		return zspace.Range{}
	}
	if err := (zspace.Range{Start: d.start, End: d.end}).Validate(); err != nil {
		d.fail("%v", err)
		return zspace.Range{}
	}
	return d.intern.Range(d.start, d.end)
}

func (r *reader) Affine(f ir.Field, v *zspace.AffineMap) {
	*v = zspace.AffineMap{Projection: zspace.Matrix{}, Offset: zspace.Point{}}
	var in message
	if r.message(f, &in) {
		*v = r.d.affine(&in)
	}
}

// affine reads a matrix and its offsets, which say how many rows it has.
func (d *decoder) affine(in *message) zspace.AffineMap {
	var ok1, ok2 bool
	d.start, ok1 = in.packed(mapCoefficients, d.start[:0])
	d.end, ok2 = in.packed(mapOffset, d.end[:0])
	rows, cells := len(d.end), len(d.start)
	if !ok1 || !ok2 || rows == 0 && cells > 0 || rows > 0 && cells%rows != 0 {
		d.fail("a map of %d coefficients in %d rows", cells, rows)
		return zspace.AffineMap{}
	}
	a := zspace.AffineMap{Projection: make(zspace.Matrix, rows), Offset: d.intern.Vector(d.end)}
	if rows == 0 {
		return a
	}
	all, cols := d.intern.Vector(d.start), cells/rows
	for i := range a.Projection {
		a.Projection[i] = all[i*cols : (i+1)*cols : (i+1)*cols]
	}
	return a
}

func (r *reader) Attrs(f ir.Field, v *ir.Attrs) {
	var out ir.Attrs
	for r.find(f) {
		if b, ok := r.m.bytes(); ok {
			out = append(out, r.d.attr(b, 0))
		} else {
			r.d.fail("a parameter that is no message")
		}
	}
	*v = r.d.sortedAttrs(out)
}

func (d *decoder) sortedAttrs(list ir.Attrs) ir.Attrs {
	return sorted(d, list, func(a *ir.Attr) string { return a.Name })
}

// sorted sorts a list by name and refuses names that are there twice.
func sorted[E any](d *decoder, list []E, name func(*E) string) []E {
	compare := func(a, b E) int { return cmp.Compare(name(&a), name(&b)) }
	if !slices.IsSortedFunc(list, compare) {
		slices.SortStableFunc(list, compare)
	}
	for i := 1; i < len(list); i++ {
		if name(&list[i-1]) == name(&list[i]) {
			d.fail("name %q is there twice", name(&list[i]))
		}
	}
	return list
}

func (d *decoder) attr(b []byte, depth int) (a ir.Attr) {
	var m message
	if !d.open(&m, b) {
		return a
	}
	if m.find(named1) {
		text, ok := m.text()
		if a.Name = d.intern.Name(text); !ok {
			d.fail("malformed name of a parameter")
		}
	}
	if m.find(named2) {
		if b, ok := m.bytes(); ok {
			a.Value = d.attrValue(b, depth+1)
		} else {
			d.fail("a parameter's value is no message")
		}
	}
	return a
}

// attrValue reads the last of the members that are there; null if none is.
func (d *decoder) attrValue(b []byte, depth int) (v ir.AttrValue) {
	var m message
	if depth > maxDepth {
		d.fail("parameters nested deeper than %d", maxDepth)
	}
	if d.err != nil || !d.open(&m, b) {
		return v
	}
	for m.num != 0 && d.err == nil {
		switch m.num {
		case valueBool, valueInt:
			v = d.intValue(&m)
		case valueFloat:
			if m.typ != protowire.Fixed64Type {
				d.fail("a float of the wrong type")
				return v
			}
			bits, _ := protowire.ConsumeFixed64(m.body)
			m.next()
			v = ir.FloatAttr(math.Float64frombits(bits))
		case valueString:
			text, ok := m.text()
			if v = ir.StringAttr(d.intern.Name(text)); !ok {
				d.fail("malformed string of a parameter")
			}
		case valueList, valueMap:
			v = d.manyValue(&m, depth)
		default:
			m.next()
		}
	}
	return v
}

func (d *decoder) intValue(m *message) ir.AttrValue {
	kind := m.num
	x, ok := m.varint()
	if !ok {
		d.fail("an integer of the wrong type")
	}
	if kind == valueBool {
		return ir.BoolAttr(x != 0)
	}
	return ir.IntAttr(protowire.DecodeZigZag(x))
}

func (d *decoder) manyValue(m *message, depth int) ir.AttrValue {
	v := ir.AttrValue{Kind: ir.AttrList}
	if m.num == valueMap {
		v.Kind = ir.AttrMap
	}
	b, ok := m.bytes()
	var in message
	if !ok || !d.open(&in, b) {
		d.fail("a malformed list or map of a parameter")
		return v
	}
	for in.find(items) && d.err == nil {
		item, ok := in.bytes()
		switch {
		case !ok:
			d.fail("a malformed item of a parameter")
		case v.Kind == ir.AttrMap:
			v.Map = append(v.Map, d.attr(item, depth+1))
		default:
			v.List = append(v.List, d.attrValue(item, depth+1))
		}
	}
	v.Map = d.sortedAttrs(v.Map)
	return v
}

func (r *reader) Ports(f ir.Field, v *ir.Ports) {
	out := r.d.ports[:0]
	for r.find(f) {
		b, ok := r.m.bytes()
		var m message
		if !ok || !r.d.open(&m, b) {
			r.d.fail("a malformed port")
			return
		}
		out = append(out, r.d.port(&m))
	}
	r.d.ports = out
	*v = r.d.intern.Ports(sorted(r.d, out, func(p *ir.Port) string { return p.Name }))
}

func (d *decoder) name(m *message) string {
	if !m.find(named1) {
		return ""
	}
	text, ok := m.text()
	if !ok {
		d.fail("a malformed name")
	}
	return d.intern.Name(text)
}

func (d *decoder) port(m *message) ir.Port {
	p := ir.Port{Name: d.name(m)}
	var few [8]ir.Selection
	out := few[:0]
	for m.find(named2) && d.err == nil {
		b, ok := m.bytes()
		var in message
		if !ok || !d.open(&in, b) {
			d.fail("a malformed selection")
			return p
		}
		tensor := ir.NoNode
		for in.find(selectionTensor) {
			x, ok := in.varint()
			if tensor = d.ref(protowire.DecodeZigZag(x)); !ok {
				d.fail("a malformed selection")
			}
		}
		out = append(out, d.intern.Select(tensor, d.box(&in, selectionStart)))
	}
	p.Sel = d.intern.Selections(out)
	return p
}

func (r *reader) PortMaps(f ir.Field, v *ir.PortMaps) {
	out := ir.PortMaps{}
	for r.find(f) {
		b, ok := r.m.bytes()
		var m message
		if !ok || !r.d.open(&m, b) {
			r.d.fail("malformed projections")
			return
		}
		n := ir.NamedMaps{Name: r.d.name(&m), Maps: []zspace.ProjectionMap{}}
		for m.find(named2) && r.d.err == nil {
			b, ok := m.bytes()
			if !ok {
				r.d.fail("a malformed projection")
				return
			}
			n.Maps = append(n.Maps, r.d.projection(b))
		}
		out = append(out, n)
	}
	*v = sorted(r.d, out, func(m *ir.NamedMaps) string { return m.Name })
}

// maxMaps bounds how many different projections are shared.
const maxMaps = 1 << 12

func (d *decoder) projection(b []byte) zspace.ProjectionMap {
	if p, ok := d.maps[string(b)]; ok {
		return p
	}
	var in message
	if !d.open(&in, b) {
		return zspace.ProjectionMap{}
	}
	p := zspace.ProjectionMap{AffineMap: d.affine(&in)}
	var ok bool
	d.start, ok = in.packed(mapShape, d.start[:0])
	p.Shape = d.intern.Vector(d.start)
	if err := p.Validate(); err != nil || !ok {
		d.fail("a malformed projection: %v", err)
		return zspace.ProjectionMap{}
	}
	if len(d.maps) < maxMaps && d.err == nil {
		d.maps[string(b)] = p
	}
	return p
}

// List counts the messages of a field, then visits each.
func (r *reader) List(f ir.Field, _ int, grow func(int), each func(int, ir.Fields)) {
	if !r.find(f) {
		return
	}
	n := 0
	for ahead := r.m; ahead.find(number(f)); ahead.next() {
		n++
	}
	grow(n)
	for i := range n {
		b, ok := r.m.bytes()
		if !ok {
			r.d.fail("an item that is no message")
			return
		}
		r.d.read(r.depth+1, b, func(fs ir.Fields) { each(i, fs) })
	}
}

// Fail reports a value that the body could not make sense of.
func (r *reader) Fail(f ir.Field, expected, found string) {
	r.d.field = f.Name
	r.d.fail("expected %s, found %s", expected, found)
}
