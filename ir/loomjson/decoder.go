package loomjson

import (
	"slices"
	"strings"

	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/diag"
)

// decoder reads one document. It collects problems and goes on; only a syntax error ends the reading.
type decoder struct {
	scanner
	file  string
	graph *ir.Graph
	kinds
	ids      map[ir.UUID]ir.NodeID
	wanted   map[ir.UUID]ir.NodeID // ids referred to before their node was met, by number from unresolved down
	owner    owner
	problems []problem
	waiting  []ir.NodeID // nodes with references to nodes not met when they were read
	pool     ir.Intern
	scratch
}

// kinds are what a document may have, by type URI, and what is expected in the place of fields that kinds had once.
type kinds struct {
	nodes, tags map[string]*ir.Kind
	retired     map[string]string
}

// scratch holds what is read before its size is known or before it is asked for, and the readers of bodies by depth.
type scratch struct {
	stash       []member
	readers     []*reader
	start, stop []int64
	ports       []ir.Port
	places      []int // of the ports
}

// owner is the node, or the envelope, that is being read.
type owner struct {
	inBody  bool // in a body or a tag, where the schema judges
	pending bool // refers to nodes not met yet
}

// problem is a finding whose line, column and pointer are still to be worked out from its offset.
type problem struct {
	at int
	d  diag.Diagnostic
}

// report adds a finding at an offset.
func (d *decoder) report(at int, code, constraint, message, expected, found string) {
	if d.broken {
		return
	}
	if len(d.problems) == MaxFindings {
		d.problems = append(d.problems, problem{at, diag.Diagnostic{Code: codeMore, Constraint: ir.StageParse,
			Severity: diag.Remark, Message: "there are more problems; the rest of the document was not read"}})
		d.broken = true
		d.pos = len(d.data)
		return
	}
	d.problems = append(d.problems, problem{at, diag.Diagnostic{Code: code, Constraint: constraint, Message: message,
		Expected: expected, Found: found}})
}

// schema reports a breach of a schema, under the envelope's code outside bodies and tags.
func (d *decoder) schema(at int, code, message, expected, found string) {
	constraint := schemaConstraint
	if !d.owner.inBody {
		code, constraint = codeEnvelope, ir.StageParse
	}
	d.report(at, code, constraint, message, expected, found)
}

// wrongType reports that the value at the cursor is of the wrong type and passes over it.
func (d *decoder) wrongType(expected string) {
	if c := d.peek(); c == 0 || strings.IndexByte(`{["-0123456789tfn`, c) < 0 {
		d.failHere(expected)
		return
	}
	d.schema(d.pos, codeType, "a value of the wrong type", expected, d.describe(d.pos))
	d.skip()
}

// value reports a finding of the value stage.
func (d *decoder) value(at int, what string, err error) {
	code, expected, found := ir.ValueProblem(err)
	d.report(at, code, ir.StageValue, "malformed "+what, expected, found)
}

// member is a member of an object that was passed over, to be read when it is asked for.
type member struct {
	key    string
	at     int // of the key
	value  int // offset of the value, -1 once read
	passed bool
}

// object reads an object's members by name, whatever their order in the text. Objects are closed in the reverse order of
// their opening. Members met before they are asked for are kept on the decoder's stash.
type object struct {
	d      *decoder
	at     int // of the opening brace
	n      int // members met so far
	base   int // of this object's part of the stash
	resume int // where to go on after a value from the stash, -1 if not there
	closed bool
}

// object opens the object at the cursor; ok is false, and the value passed over, if something else is there.
func (d *decoder) object(o *object, expected string) bool {
	if d.peek() != '{' {
		if !d.broken {
			d.wrongType(expected)
		}
		return false
	}
	*o = object{d: d, at: d.pos, base: len(d.stash), resume: -1}
	d.open()
	return true
}

// find moves the cursor to the value of a member; after the value has been read or skipped, done must be called.
func (o *object) find(name string) bool {
	d := o.d
	if len(d.stash) > o.base {
		for i := o.base; i < len(d.stash); i++ {
			if m := &d.stash[i]; !m.passed && m.key == name {
				m.passed, o.resume, d.pos = true, d.pos, m.value
				return true
			}
		}
	}
	for !o.closed {
		if !d.more(o.n, '}') {
			o.closed = true
			return false
		}
		o.n++
		d.peek()
		if d.isKey(name) || o.pass(name) {
			return !d.broken
		}
	}
	return false
}

// isNext moves to the value of a member if it is the next one.
func (o *object) isNext(name string) bool {
	d := o.d
	mark, depth := d.pos, d.depth
	if d.more(o.n, '}') {
		if d.peek(); d.isKey(name) {
			o.n++
			return true
		}
	}
	if !d.broken {
		d.pos, d.depth = mark, depth
	}
	return false
}

// isKey consumes the next key with its colon if it is the given name, written plainly.
func (d *decoder) isKey(name string) bool {
	end := d.pos + 1 + len(name)
	if end >= len(d.data) || d.data[d.pos] != '"' || d.data[end] != '"' || string(d.data[d.pos+1:end]) != name {
		return false
	}
	d.pos = end + 1
	if !d.take(':') {
		d.failHere(`":"`)
	}
	d.peek()
	return true
}

// unwanted is the name of no member: it is not UTF-8.
const unwanted = "\xff"

// pass reads a key and stashes the member; at the wanted one it stops before the value instead and says true.
func (o *object) pass(wanted string) bool {
	d := o.d
	at := d.pos
	key := d.key()
	d.peek()
	if string(key) == wanted {
		return true
	}
	d.stash = append(d.stash, member{key: string(key), at: at, value: d.pos})
	d.skip()
	return false
}

// done goes back to the member after the last one met in the text.
func (o *object) done() {
	if o.resume >= 0 && !o.d.broken {
		o.d.pos = o.resume
	}
	o.resume = -1
}

// close reads the rest of the object and reports the members that are none of the known ones, and those that are there twice.
func (o *object) close(known ...string) {
	d := o.d
	for !o.closed && d.more(o.n, '}') {
		o.n++
		d.peek()
		o.pass(unwanted)
	}
	for i := o.base; i < len(d.stash); i++ {
		m := &d.stash[i]
		switch {
		case m.passed || d.broken:
		case slices.Contains(known, m.key):
			d.report(m.at, codeRepeated, ir.StageParse, "a key is there twice", "each key once", quote(m.key))
		default:
			expected, retired := d.retired[m.key]
			if !retired {
				expected = expectNames(known)
			}
			d.schema(m.at, codeUnknown, "an unknown field", expected, quote(m.key))
		}
	}
	d.stash = d.stash[:o.base]
}

// missing reports a member that must be there.
func (o *object) missing(name string) {
	o.d.schema(o.at, codeMissing, "a field is missing", quote(name), "nothing")
}
