package loomjson

import (
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"

	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/zspace"
)

// array opens the array at the cursor; false, and the value passed over, if something else is there.
func (d *decoder) array(expected string) bool {
	if d.peek() != '[' {
		if !d.broken {
			d.wrongType(expected)
		}
		return false
	}
	d.open()
	return !d.broken
}

// name reads a string that is likely to come again.
func (d *decoder) name() (string, bool) {
	if d.peek() != '"' {
		d.wrongType("a string")
		return "", false
	}
	return d.pool.Name(d.text()), !d.broken
}

// integer reads an integer; one with a fraction or an exponent is refused, as is one beyond 64 bits.
func (d *decoder) integer() (int64, bool) {
	c := d.peek()
	if v, ok := d.smallInt(); ok {
		return v, true
	}
	if c != '-' && (c < '0' || c > '9') {
		d.wrongType("an integer")
		return 0, false
	}
	at := d.pos
	text, integer := d.number()
	if d.broken {
		return 0, false
	}
	if !integer {
		d.schema(at, codeType, "a value of the wrong type", "an integer without fraction or exponent", d.describe(at))
		return 0, false
	}
	v, err := strconv.ParseInt(string(text), 10, 64)
	if err != nil {
		d.report(at, ir.CodeTooLarge, ir.StageValue, "a number is too large", "an integer of 64 bits", d.describe(at))
	}
	return v, err == nil
}

// integers reads an array of integers and appends them to out.
func (d *decoder) integers(out []int64) ([]int64, bool) {
	if !d.array("an array of integers") {
		return out, false
	}
	good := true
	for n := 0; d.more(n, ']'); n++ {
		v, ok := d.integer()
		good = good && ok
		out = append(out, v)
	}
	return out, good && !d.broken
}

// ref reads a reference. A node that has not been met yet is numbered from unresolved down until the end of the document.
func (d *decoder) ref() ir.NodeID {
	c := d.peek()
	u, ok := d.plainUUID()
	if !ok {
		if c != '"' {
			d.wrongType("the id of a node")
			return ir.NoNode
		}
		at := d.pos
		if u, ok = ir.UUIDFromText(d.text()); !ok {
			d.schema(at, codeRef, "a malformed reference", "an id of 8-4-4-4-12 hex digits", d.describe(at))
			return ir.NoNode
		}
	}
	if id, met := d.ids[u]; met {
		return id
	}
	d.owner.pending = true
	id, known := d.wanted[u]
	if !known {
		id = unresolved - ir.NodeID(len(d.wanted))
		d.wanted[u] = id
	}
	return id
}

// unresolved and the numbers below it stand for nodes that are referred to before they are met.
const unresolved = ir.NoNode - 1

// plainUUID reads an id that is written without escapes; if it is anything else the cursor stays.
func (d *decoder) plainUUID() (ir.UUID, bool) {
	i := d.pos
	if i+38 > len(d.data) || d.data[i] != '"' || d.data[i+37] != '"' {
		return ir.UUID{}, false
	}
	u, ok := ir.UUIDFromText(d.data[i+1 : i+37])
	if ok {
		d.pos = i + 38
	}
	return u, ok
}

// box reads a range.
func (d *decoder) box() zspace.Range {
	var o object
	if !d.object(&o, `a range, {"start": […], "end": […]}`) {
		return zspace.Range{}
	}
	start, ok1 := o.integers("start", d.start[:0])
	end, ok2 := o.integers("end", d.stop[:0])
	d.start, d.stop = start, end
	o.close("start", "end")
	if !ok1 || !ok2 || d.broken {
		return zspace.Range{}
	}
	if err := (zspace.Range{Start: start, End: end}).Validate(); err != nil {
		d.value(o.at, "range", err)
		return zspace.Range{}
	}
	return d.pool.Range(start, end)
}

// integers reads a member that is an array of integers.
func (o *object) integers(name string, out []int64) ([]int64, bool) {
	if !o.find(name) {
		if !o.d.broken {
			o.missing(name)
		}
		return out, false
	}
	out, ok := o.d.integers(out)
	o.done()
	return out, ok
}

// affine reads an affine map.
func (d *decoder) affine() zspace.AffineMap {
	var o object
	if !d.object(&o, `a map, {"projection": [[…]], "offset": […]}`) {
		return zspace.AffineMap{}
	}
	m, ok1 := o.matrix("projection")
	offset, ok2 := o.integers("offset", d.start[:0])
	d.start = offset
	o.close("projection", "offset")
	if !ok1 || !ok2 || d.broken {
		return zspace.AffineMap{}
	}
	if len(m) == 1 && len(m[0]) == 0 && len(offset) == 0 {
		m = zspace.Matrix{} // [[]] is how Loom writes a matrix without rows
	}
	a := zspace.AffineMap{Projection: m, Offset: d.pool.Vector(offset)}
	if err := a.Validate(); err != nil {
		d.value(o.at, "affine map", err)
		return zspace.AffineMap{}
	}
	return a
}

func (o *object) matrix(name string) (zspace.Matrix, bool) {
	d := o.d
	if !o.find(name) {
		if !d.broken {
			o.missing(name)
		}
		return nil, false
	}
	defer o.done()
	if !d.array("an array of rows") {
		return nil, false
	}
	m, good := zspace.Matrix{}, true
	for n := 0; d.more(n, ']'); n++ {
		row, ok := d.integers(d.start[:0])
		d.start = row
		good = good && ok
		m = append(m, d.pool.Vector(row))
	}
	return m, good && !d.broken
}

// projection reads an affine map with the shape of its boxes.
func (d *decoder) projection() zspace.ProjectionMap {
	var o object
	if !d.object(&o, `a projection, {"affineMap": {…}, "shape": […]}`) {
		return zspace.ProjectionMap{}
	}
	var p zspace.ProjectionMap
	before := len(d.problems)
	if o.find("affineMap") {
		p.AffineMap = d.affine()
		o.done()
	} else if !d.broken {
		o.missing("affineMap")
	}
	shape, ok := o.integers("shape", d.start[:0])
	d.start = shape
	o.close("affineMap", "shape")
	if !ok || d.broken || len(d.problems) > before {
		return zspace.ProjectionMap{}
	}
	p.Shape = d.pool.Vector(shape)
	if err := p.Validate(); err != nil {
		d.value(o.at, "projection", err)
	}
	return p
}

// attr reads a parameter's value, of any kind.
func (d *decoder) attr() ir.AttrValue {
	switch c := d.peek(); {
	case c == '"':
		return ir.StringAttr(d.pool.Name(d.text()))
	case c == '{':
		return ir.AttrValue{Kind: ir.AttrMap, Map: d.attrs(false)}
	case c == '[':
		v := ir.AttrValue{Kind: ir.AttrList}
		d.open()
		for n := 0; d.more(n, ']'); n++ {
			v.List = append(v.List, d.attr())
		}
		v.List = slices.Clip(v.List)
		return v
	case c == '-' || c >= '0' && c <= '9':
		return d.numberAttr()
	case d.word("true"):
		return ir.BoolAttr(true)
	case d.word("false"):
		return ir.BoolAttr(false)
	case d.word("null"):
	default:
		d.failHere("a value")
	}
	return ir.AttrValue{}
}

// infinity is how a parameter that is infinite is written: a number of JSON that no float64 can hold.
const infinity = "1e999"

func (d *decoder) numberAttr() ir.AttrValue {
	if v, ok := d.smallInt(); ok {
		return ir.IntAttr(v)
	}
	at := d.pos
	text, integer := d.number()
	if d.broken {
		return ir.AttrValue{}
	}
	if integer {
		v, err := strconv.ParseInt(string(text), 10, 64)
		if err != nil {
			d.report(at, ir.CodeTooLarge, ir.StageValue, "a number is too large", "an integer of 64 bits", d.describe(at))
		}
		return ir.IntAttr(v)
	}
	f, err := strconv.ParseFloat(string(text), 64)
	if errors.Is(err, strconv.ErrRange) && strings.TrimPrefix(string(text), "-") != infinity && math.IsInf(f, 0) {
		d.report(at, ir.CodeTooLarge, ir.StageValue, "a number is too large", "a number of 64 bits, or 1e999 for infinity", d.describe(at))
	}
	return ir.FloatAttr(f)
}

// attrs reads an object of parameters; at the top their names must be identifiers.
func (d *decoder) attrs(top bool) ir.Attrs {
	if d.peek() != '{' {
		d.wrongType("an object")
		return nil
	}
	var out ir.Attrs
	var at []int
	d.open()
	for n := 0; d.more(n, '}'); n++ {
		d.peek()
		at = append(at, d.pos)
		name := d.memberName(top)
		out = append(out, ir.Attr{Name: name, Value: d.attr()})
	}
	return sortNamed(d, slices.Clip(out), at, func(a *ir.Attr) string { return a.Name })
}

// memberName reads the key of a map; identifier demands that it is one.
func (d *decoder) memberName(identifier bool) string {
	at := d.pos
	key := d.key()
	if identifier && !d.broken && !isIdentifier(key) {
		d.schema(at, codeName, "a name is not an identifier", "a letter or _, then letters, digits or _", quote(string(key)))
	}
	return d.pool.Name(key)
}

// sortNamed sorts a map's entries by name and reports those that are there twice; at holds where each stands.
func sortNamed[E any](d *decoder, list []E, at []int, name func(*E) string) []E {
	if d.broken {
		return list
	}
	return ir.SortByName(list, name, func(i int) {
		d.report(at[i], codeRepeated, ir.StageParse, "a key is there twice", "each key once", quote(name(&list[i])))
	})
}

func isIdentifier(s []byte) bool {
	for i, c := range s {
		letter := c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return len(s) > 0
}
