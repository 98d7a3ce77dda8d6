package ir

import (
	"slices"

	"tensortapestry.org/tapc/ir/zspace"
)

// CloneBody copies a body or a tag so that changing the copy leaves the original alone. Ranges and maps are shared: they are
// never changed in place.
func CloneBody(b Body) Body { return new(copier).clone(b) }

// copier copies many bodies by one recording.
type copier struct {
	record recording
	replay replay
}

func (c *copier) clone(b Body) Body {
	c.record.values = c.record.values[:0]
	b.Fields(&c.record)
	c.replay.values = c.record.values
	d := b.Kind().New()
	d.Fields(&c.replay)
	return d
}

// EqualBody says whether two bodies or tags are of one kind with equal fields. References are compared as numbers, so both
// must belong to graphs with the same numbering.
func EqualBody(a, b Body) bool {
	if a == nil || b == nil {
		return a == b
	}
	if a.Kind() != b.Kind() {
		return false
	}
	var ra, rb recording
	a.Fields(&ra)
	b.Fields(&rb)
	return slices.EqualFunc(ra.values, rb.values, func(x, y fieldValue) bool { return x.equal(y) })
}

// fieldValue holds the value of any one field.
type fieldValue struct {
	num   int64
	ints  []int64
	str   string
	refs  []NodeID
	rng   zspace.Range
	aff   zspace.AffineMap
	attrs Attrs
	ports Ports
	maps  PortMaps
}

func (v fieldValue) equal(w fieldValue) bool {
	return v.num == w.num && v.str == w.str && slices.Equal(v.ints, w.ints) && slices.Equal(v.refs, w.refs) &&
		v.rng.Equal(w.rng) && v.aff.Equal(w.aff) && v.attrs.Equal(w.attrs) && v.ports.Equal(w.ports) && v.maps.Equal(w.maps)
}

// recording is a writer that keeps every field's value in order.
type recording struct{ values []fieldValue }

func (r *recording) put(v fieldValue) { r.values = append(r.values, v) }

func (r *recording) Bool(_ Field, v *bool) {
	n := int64(0)
	if *v {
		n = 1
	}
	r.put(fieldValue{num: n})
}
func (r *recording) Int(_ Field, v *int64)                { r.put(fieldValue{num: *v}) }
func (r *recording) Ints(_ Field, v *[]int64)             { r.put(fieldValue{ints: *v}) }
func (r *recording) String(_ Field, v *string)            { r.put(fieldValue{str: *v}) }
func (r *recording) Ref(_ Field, v *NodeID)               { r.put(fieldValue{refs: []NodeID{*v}}) }
func (r *recording) Refs(_ Field, v *[]NodeID)            { r.put(fieldValue{refs: *v}) }
func (r *recording) Range(_ Field, v *zspace.Range)       { r.put(fieldValue{rng: *v}) }
func (r *recording) Affine(_ Field, v *zspace.AffineMap)  { r.put(fieldValue{aff: *v}) }
func (r *recording) Attrs(_ Field, v *Attrs)              { r.put(fieldValue{attrs: *v}) }
func (r *recording) Ports(_ Field, v *Ports)              { r.put(fieldValue{ports: *v}) }
func (r *recording) PortMaps(_ Field, v *PortMaps)        { r.put(fieldValue{maps: *v}) }
func (r *recording) Fail(f Field, expected, found string) {}
func (r *recording) List(_ Field, length int, _ func(int), each func(int, Fields)) {
	r.put(fieldValue{num: int64(length)})
	for i := range length {
		each(i, r)
	}
}

// replay is a reader that gives back what a recording holds.
type replay struct{ values []fieldValue }

func (r *replay) take() fieldValue {
	v := r.values[0]
	r.values = r.values[1:]
	return v
}

func (r *replay) Bool(_ Field, v *bool)                { *v = r.take().num != 0 }
func (r *replay) Int(_ Field, v *int64)                { *v = r.take().num }
func (r *replay) Ints(_ Field, v *[]int64)             { *v = slices.Clone(r.take().ints) }
func (r *replay) String(_ Field, v *string)            { *v = r.take().str }
func (r *replay) Ref(_ Field, v *NodeID)               { *v = r.take().refs[0] }
func (r *replay) Refs(_ Field, v *[]NodeID)            { *v = slices.Clone(r.take().refs) }
func (r *replay) Range(_ Field, v *zspace.Range)       { *v = r.take().rng }
func (r *replay) Affine(_ Field, v *zspace.AffineMap)  { *v = r.take().aff }
func (r *replay) Attrs(_ Field, v *Attrs)              { *v = slices.Clone(r.take().attrs) }
func (r *replay) Ports(_ Field, v *Ports)              { *v = r.take().ports.Clone() }
func (r *replay) PortMaps(_ Field, v *PortMaps)        { *v = slices.Clone(r.take().maps) }
func (r *replay) Fail(f Field, expected, found string) {}
func (r *replay) List(_ Field, _ int, grow func(int), each func(int, Fields)) {
	n := int(r.take().num)
	grow(n)
	for i := range n {
		each(i, r)
	}
}
