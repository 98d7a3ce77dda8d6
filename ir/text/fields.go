package text

import (
	"strings"

	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/zspace"
)

// reader is the ir.Fields that fills a body, a tag or an item of a list from the text at the cursor.
type reader struct {
	d       *decoder
	depth   int
	start   int
	group   []entry // the named fields in braces
	grouped bool    // the braces have been looked for
	end     int     // behind the closing brace
	asked   []string
	last    int // offset of the value read last
}

// entry is a named field: the place of its name and of its value.
type entry struct {
	name      string
	at, value int
	read      bool
}

// read fills a body from the cursor on.
func (d *decoder) read(depth int, fields func(ir.Fields)) {
	for len(d.readers) <= depth {
		d.readers = append(d.readers, &reader{d: d})
	}
	r := d.readers[depth]
	d.peek()
	*r = reader{d: d, depth: depth, start: d.pos, group: r.group[:0], asked: r.asked[:0], last: d.pos}
	fields(r)
	if d.bad || r.end == 0 {
		return
	}
	for _, e := range r.group {
		if !e.read {
			expected, retired := d.reg.Retired[e.name]
			if !retired {
				expected = "one of " + strings.Join(r.asked, ", ")
			}
			d.report(e.at, codeField, ir.StageParse, "an unknown field, or one that is there twice", expected, quote(e.name))
		}
	}
	d.pos = r.end
}

// field moves to a field's value. starts tells whether a byte can begin it, for fields that may be left out.
func (r *reader) field(f ir.Field, starts func(c byte) bool) bool {
	d := r.d
	if d.bad {
		return false
	}
	c := d.peek()
	switch f.Style {
	case ir.Named:
		return r.named(f)
	case ir.Arrow:
		if !d.arrow() {
			if !f.Optional {
				d.failHere(`"->"`)
			}
			return false
		}
		d.peek()
	default:
		if f.Optional && !starts(c) {
			return false
		}
	}
	r.last = d.pos
	return true
}

// named moves to the value of a field in braces.
func (r *reader) named(f ir.Field) bool {
	d := r.d
	if !r.grouped {
		r.index()
	}
	r.asked = append(r.asked, f.Name)
	for i := range r.group {
		if e := &r.group[i]; e.name == f.Name && !e.read {
			e.read = true
			d.pos = e.value
			r.last = e.value
			return !d.bad
		}
	}
	if !f.Optional && !d.bad {
		d.report(r.start, codeField, ir.StageParse, "a field is missing", f.Name+" in braces", "nothing")
	}
	return false
}

// index notes where the fields in braces are.
func (r *reader) index() {
	d := r.d
	r.grouped = true
	if !d.take('{') {
		return
	}
	for n := 0; d.more(n, '}'); n++ {
		d.peek()
		e := entry{at: d.pos}
		e.name = d.intern.Name(d.identifier())
		d.expect(':')
		d.peek()
		e.value = d.pos
		d.skipValue()
		r.group = append(r.group, e)
	}
	r.end = d.pos
}

// identifier reads an identifier.
func (d *decoder) identifier() []byte {
	d.peek()
	n := identLength(d.data[d.pos:])
	if n == 0 {
		d.failHere("a name: a letter or _, then letters, digits or _")
	}
	d.pos += n
	return d.data[d.pos-n : d.pos]
}

func is(cs string) func(byte) bool {
	return func(c byte) bool { return c != 0 && strings.IndexByte(cs, c) >= 0 }
}

var (
	startsInt  = is("-0123456789")
	startsList = is("[")
	startsRef  = is("%?")
	startsMap  = is("(")
	startsWord = func(c byte) bool { return classes[c] == letter }
	startsText = is(`"`)
	startsSet  = is("{")
)

func (r *reader) Bool(f ir.Field, v *bool) {
	if !r.field(f, startsWord) {
		return
	}
	switch d := r.d; {
	case d.isWordNext("true"):
		*v = true
	case d.isWordNext("false"):
		*v = false
	case !f.Optional:
		d.failHere("true or false")
	}
}

func (r *reader) Int(f ir.Field, v *int64) {
	if r.field(f, startsInt) {
		*v = r.d.integer()
	}
}

func (r *reader) Ints(f ir.Field, v *[]int64) {
	if !r.field(f, startsList) {
		return
	}
	d := r.d
	var out []int64
	d.expect('[')
	for n := 0; d.more(n, ']'); n++ {
		out = append(out, d.integer())
	}
	*v = out
}

func (r *reader) String(f ir.Field, v *string) {
	if !r.field(f, startsText) {
		return
	}
	d := r.d
	if d.peek() == '"' {
		if s := d.quoted(); !d.bad {
			*v = s
		}
		return
	}
	if word := d.word(); len(word) > 0 {
		*v = d.intern.Name(word)
		return
	}
	d.failHere("a word, or a string in quotes, for " + f.Name)
}

func (r *reader) Ref(f ir.Field, v *ir.NodeID) {
	*v = ir.NoNode
	if r.field(f, startsRef) {
		*v = r.d.ref()
	}
}

func (r *reader) Refs(f ir.Field, v *[]ir.NodeID) {
	if !r.field(f, startsList) {
		return
	}
	d := r.d
	var out []ir.NodeID
	d.expect('[')
	for n := 0; d.more(n, ']'); n++ {
		out = append(out, d.ref())
	}
	*v = out
}

func (r *reader) Range(f ir.Field, v *zspace.Range) {
	if r.field(f, startsList) {
		*v = r.d.box()
	}
}

func (r *reader) Affine(f ir.Field, v *zspace.AffineMap) {
	if r.field(f, startsMap) {
		*v = r.d.affine()
	}
}

func (r *reader) Attrs(f ir.Field, v *ir.Attrs) {
	if r.field(f, startsSet) {
		*v = r.d.attrs(true, 0)
	}
}

func (r *reader) Ports(f ir.Field, v *ir.Ports) {
	if r.field(f, startsMap) {
		*v = r.d.ports()
	}
}

func (r *reader) PortMaps(f ir.Field, v *ir.PortMaps) {
	if r.field(f, startsMap) {
		*v = r.d.portMaps()
	}
}

// List reads a bracketed list: first it counts the items, then it visits each.
func (r *reader) List(f ir.Field, _ int, grow func(int), each func(int, ir.Fields)) {
	if !r.field(f, startsList) {
		return
	}
	d := r.d
	d.expect('[')
	mark, n := d.pos, 0
	for ; d.more(n, ']'); n++ {
		d.skipValue()
	}
	if d.bad {
		return
	}
	d.pos = mark
	grow(n)
	for i := 0; d.more(i, ']'); i++ {
		d.read(r.depth+1, func(fs ir.Fields) { each(i, fs) })
	}
}

// Fail reports a value that the body could not make sense of, at the place of the last value read.
func (r *reader) Fail(f ir.Field, expected, found string) {
	if !r.d.bad {
		r.d.report(r.last, ir.CodeMeaning, ir.StageValue, quote(f.Name)+" means nothing", expected, found)
	}
}
