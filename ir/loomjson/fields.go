package loomjson

import (
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/zspace"
)

// reader is the ir.Fields that fills a body, a tag or an item of a list from the value at the cursor. At first it takes the
// members to stand in the order of the fields, as they do in what tapc writes; if they turn out not to, the body is read again
// with whatever order they have.
type reader struct {
	d        *decoder
	depth    int
	obj      object
	opened   bool
	refused  bool // the value is no object, or is already read
	ordered  bool // the members are taken to stand in order
	disorder bool // but they do not
	asked    []string
	last     int // offset of the value read last
}

// read fills a body from the value at the cursor and passes over the value.
func (d *decoder) read(depth int, fields func(ir.Fields)) {
	for len(d.readers) <= depth {
		d.readers = append(d.readers, &reader{d: d})
	}
	d.peek()
	r := d.readers[depth]
	at, nesting, before := d.pos, d.depth, len(d.problems)
	if r.attempt(depth, true, fields); r.disorder && !d.broken {
		d.pos, d.depth, d.problems = at, nesting, d.problems[:before]
		d.stash = d.stash[:r.obj.base]
		r.attempt(depth, false, fields)
	}
}

func (r *reader) attempt(depth int, ordered bool, fields func(ir.Fields)) {
	d := r.d
	*r = reader{d: d, depth: depth, ordered: ordered, asked: r.asked[:0], last: d.pos}
	fields(r)
	switch {
	case r.refused || r.disorder:
	case !r.opened && len(r.asked) > 0, !r.opened && !r.open(): // no object, which has been said
	case !r.ordered:
		r.obj.close(r.asked...)
	default:
		r.disorder = d.more(r.obj.n, '}')
	}
}

func (r *reader) open() bool {
	r.opened = r.d.object(&r.obj, "an object")
	r.refused = !r.opened
	return r.opened
}

// find moves to a field's value. A field without a name is the whole value.
func (r *reader) find(f ir.Field) bool {
	d := r.d
	if f.Name == "" {
		r.refused = true // nothing else can be in it
		r.last = d.pos
		return !d.broken
	}
	r.asked = append(r.asked, f.Name)
	if r.refused || r.disorder || !r.opened && !r.open() {
		return false
	}
	switch {
	case r.ordered && r.obj.isNext(f.Name):
	case r.ordered:
		r.disorder = !f.Optional
		return false
	case !r.obj.find(f.Name):
		if !f.Optional && !d.broken {
			r.obj.missing(f.Name)
		}
		return false
	}
	r.last = d.pos
	return true
}

// done ends the reading of a field found.
func (r *reader) done() {
	if r.opened {
		r.obj.done()
	}
}

func (r *reader) Bool(f ir.Field, v *bool) {
	if !r.find(f) {
		return
	}
	switch d := r.d; {
	case d.word("true"):
		*v = true
	case d.word("false"):
		*v = false
	default:
		d.wrongType("true or false")
	}
	r.done()
}

func (r *reader) Int(f ir.Field, v *int64) {
	if r.find(f) {
		if x, ok := r.d.integer(); ok {
			*v = x
		}
		r.done()
	}
}

func (r *reader) Ints(f ir.Field, v *[]int64) {
	if !r.find(f) {
		return
	}
	out, ok := r.d.integers(r.d.start[:0])
	r.d.start = out
	if ok {
		*v = append([]int64(nil), out...)
	}
	r.done()
}

func (r *reader) String(f ir.Field, v *string) {
	if !r.find(f) {
		return
	}
	if s, ok := r.d.name(); ok {
		*v = s
	}
	r.done()
}

func (r *reader) Ref(f ir.Field, v *ir.NodeID) {
	*v = ir.NoNode
	if r.find(f) {
		*v = r.d.ref()
		r.done()
	}
}

func (r *reader) Refs(f ir.Field, v *[]ir.NodeID) {
	if !r.find(f) {
		return
	}
	d := r.d
	if d.array("an array of ids") {
		var ids []ir.NodeID
		for n := 0; d.more(n, ']'); n++ {
			ids = append(ids, d.ref())
		}
		*v = ids
	}
	r.done()
}

func (r *reader) Range(f ir.Field, v *zspace.Range) {
	if r.find(f) {
		*v = r.d.box()
		r.done()
	}
}

func (r *reader) Affine(f ir.Field, v *zspace.AffineMap) {
	if r.find(f) {
		*v = r.d.affine()
		r.done()
	}
}

func (r *reader) Attrs(f ir.Field, v *ir.Attrs) {
	if r.find(f) {
		*v = r.d.attrs(true)
		r.done()
	}
}

func (r *reader) Ports(f ir.Field, v *ir.Ports) {
	if r.find(f) {
		*v = r.d.portList()
		r.done()
	}
}

func (r *reader) PortMaps(f ir.Field, v *ir.PortMaps) {
	if r.find(f) {
		*v = r.d.mapList()
		r.done()
	}
}

// List reads an array of objects: first it counts them, then it visits each.
func (r *reader) List(f ir.Field, _ int, grow func(int), each func(int, ir.Fields)) {
	if !r.find(f) {
		return
	}
	d := r.d
	if d.array("an array of objects") {
		n, mark, depth := 0, d.pos, d.depth
		for ; d.more(n, ']'); n++ {
			d.skip()
		}
		if !d.broken {
			d.pos, d.depth = mark, depth
			grow(n)
			for i := 0; d.more(i, ']'); i++ {
				d.peek()
				d.read(r.depth+1, func(fs ir.Fields) { each(i, fs) })
			}
		}
	}
	r.done()
}

// Fail reports a value that the body could not make sense of, at the place of the last value read.
func (r *reader) Fail(f ir.Field, expected, found string) {
	if !r.d.broken {
		r.d.report(r.last, ir.CodeMeaning, ir.StageValue, quote(f.Name)+" means nothing", expected, found)
	}
}
