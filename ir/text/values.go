package text

import (
	"bytes"
	"errors"
	"math"
	"slices"

	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/zspace"
)

// value reports a finding of the value stage.
func (d *decoder) value(at int, what string, err error) {
	code, expected, found := ir.ValueProblem(err)
	d.report(at, code, ir.StageValue, "malformed "+what, expected, found)
}

// ref reads a reference: %name, ?id of a node that is not there, or ? for nothing.
func (d *decoder) ref() ir.NodeID {
	switch {
	case d.take('?'):
		if u, ok := d.uuid(); ok {
			return d.graph.AddDangling(u)
		}
		return ir.NoNode
	case !d.take('%'):
		d.failHere("a node: % and its name")
		return ir.NoNode
	}
	at := d.pos - 1
	n := wordLength(d.data[d.pos:], letter|digit)
	if n == 0 {
		d.fail(d.pos, "a name")
		return ir.NoNode
	}
	name := d.data[d.pos : d.pos+n]
	d.pos += n
	if id, ok := d.names.find(name); ok {
		return id
	}
	d.pending = true
	w, ok := d.wanted[string(name)]
	if !ok {
		w = wanted{unresolved - ir.NodeID(len(d.wanted)), at}
		d.wanted[string(name)] = w
	}
	return w.id
}

// box reads a range, such as [0:2, -1:3].
func (d *decoder) box() zspace.Range {
	d.peek()
	at := d.pos
	d.expect('[')
	start, end := d.start[:0], d.end[:0]
	before := len(d.findings)
	for n := 0; d.more(n, ']'); n++ {
		start = append(start, d.integer())
		d.expect(':')
		end = append(end, d.integer())
	}
	d.start, d.end = start, end
	if d.bad || len(d.findings) > before {
		return zspace.Range{}
	}
	if err := (zspace.Range{Start: start, End: end}).Validate(); err != nil {
		d.value(at, "range", err)
		return zspace.Range{}
	}
	return d.intern.Range(start, end)
}

// selection reads a reference and a box, which may be left out where the node has a range of its own.
func (d *decoder) selection() ir.Selection {
	tensor := d.ref()
	if d.bad {
		return ir.Selection{Tensor: tensor}
	}
	if d.pos < len(d.data) && d.data[d.pos] == '[' {
		return d.intern.Select(tensor, d.box())
	}
	if n := d.graph.Node(tensor); n != nil {
		if body, ok := n.Body.(fullRanger); ok {
			return d.intern.Select(tensor, body.FullRange())
		}
	}
	d.pending = true
	return ir.Select(tensor, whole)
}

// affine reads a map such as (d0, d1) -> (d0 + 1).
func (d *decoder) affine() zspace.AffineMap {
	at := d.pos
	text := d.mapText('(', ')', false)
	if d.bad {
		return zspace.AffineMap{}
	}
	a, err := zspace.ParseAffineMap(string(text))
	d.mapError(at, "affine map", err)
	return a
}

// projection reads a map such as (d0, d1) -> [d0 + 1] + [1].
func (d *decoder) projection() zspace.ProjectionMap {
	d.peek()
	at := d.pos
	text := d.mapText('[', ']', true)
	if d.bad {
		return zspace.ProjectionMap{}
	}
	if p, ok := d.maps[string(text)]; ok {
		return p
	}
	p, err := zspace.ParseProjectionMap(string(text))
	d.mapError(at, "projection", err)
	if err == nil && len(d.maps) < maxMaps {
		d.maps[string(text)] = p
	}
	return p
}

// maxMaps bounds how many different projections are shared.
const maxMaps = 1 << 12

func (d *decoder) mapError(at int, what string, err error) {
	var syntax *zspace.ParseError
	switch {
	case err == nil:
	case errors.As(err, &syntax) && syntax.Cause == nil:
		d.report(at+syntax.Offset, codeSyntax, ir.StageParse, "malformed "+what, syntax.Want, syntax.Found)
		d.bad = true
	default:
		d.value(at, what, err)
	}
}

// mapText measures a map: two bracketed lists with an arrow between them and, if it has a shape, a third behind a plus sign.
func (d *decoder) mapText(open, closing byte, shaped bool) []byte {
	at := d.pos
	d.bracketed('(', ')')
	if !d.arrow() {
		d.failHere(`"->"`)
	}
	d.bracketed(open, closing)
	if shaped {
		d.expect('+')
		d.bracketed('[', ']')
	}
	return d.data[at:max(at, d.pos)]
}

// bracketed passes over a list in brackets that holds no brackets, on one line.
func (d *decoder) bracketed(open, closing byte) {
	d.expect(open)
	if d.bad {
		return
	}
	rest := d.data[d.pos:]
	n := bytes.IndexByte(rest, closing)
	if line := bytes.IndexByte(rest[:max(n, 0)], '\n'); n < 0 || line >= 0 {
		d.fail(d.pos, "a list that ends with "+string(closing)+" on the same line")
		return
	}
	d.pos += n + 1
}

// key reads the name of a port or a parameter and the colon; identifier demands that it is one.
func (d *decoder) key(identifier bool) (name string, at int) {
	c := d.peek()
	at = d.pos
	if c == '"' && !d.bad {
		name = d.quoted()
		if identifier && !isIdentifier(name) {
			d.report(at, codeIdentifier, schemaConstraint, "a name is not an identifier", "a letter or _, then letters, digits or _", quote(name))
		}
	} else {
		name = d.intern.Name(d.identifier())
	}
	d.expect(':')
	return name, at
}

// attrs reads parameters in braces; at the top their names must be identifiers.
func (d *decoder) attrs(top bool, depth int) ir.Attrs {
	if depth > maxDepth {
		d.report(d.pos, codeDeep, ir.StageParse, "nested too deep", "fewer levels", "more than 500")
		d.bad = true
		return nil
	}
	d.expect('{')
	var out ir.Attrs
	var places []int
	for n := 0; d.more(n, '}'); n++ {
		name, at := d.key(top)
		out = append(out, ir.Attr{Name: name, Value: d.attr(depth + 1)})
		places = append(places, at)
	}
	return sortNamed(d, slices.Clip(out), places, func(a *ir.Attr) string { return a.Name })
}

// attr reads the value of a parameter.
func (d *decoder) attr(depth int) ir.AttrValue {
	if d.bad {
		return ir.AttrValue{}
	}
	switch c := d.peek(); {
	case c == '"':
		return ir.StringAttr(d.quoted())
	case c == '{':
		return ir.AttrValue{Kind: ir.AttrMap, Map: d.attrs(false, depth)}
	case c == '[':
		return d.attrList(depth)
	case classes[c] == letter || c == '-':
		return d.wordAttr()
	}
	return d.number()
}

func (d *decoder) attrList(depth int) ir.AttrValue {
	v := ir.AttrValue{Kind: ir.AttrList}
	if depth > maxDepth {
		d.report(d.pos, codeDeep, ir.StageParse, "nested too deep", "fewer levels", "more than 500")
		d.bad = true
		return v
	}
	d.expect('[')
	for n := 0; d.more(n, ']'); n++ {
		v.List = append(v.List, d.attr(depth+1))
	}
	v.List = slices.Clip(v.List)
	return v
}

// wordAttr reads a value that is a word, or a negative number.
func (d *decoder) wordAttr() ir.AttrValue {
	at := d.pos
	negative := d.data[d.pos] == '-'
	if negative {
		d.pos++
	}
	switch word := d.data[d.pos : d.pos+identLength(d.data[d.pos:])]; {
	case string(word) == "inf":
		d.pos += len(word)
		if negative {
			return ir.FloatAttr(math.Inf(-1))
		}
		return ir.FloatAttr(math.Inf(1))
	case negative:
	case string(word) == "nan":
		d.pos += len(word)
		return ir.FloatAttr(math.NaN())
	case string(word) == "true" || string(word) == "false":
		d.pos += len(word)
		return ir.BoolAttr(string(word) == "true")
	case string(word) == "null":
		d.pos += len(word)
		return ir.AttrValue{}
	}
	d.pos = at
	return d.number()
}

// ports reads ports in parentheses, each with one selection or a bracketed list.
func (d *decoder) ports() ir.Ports {
	out, places := d.portList[:0], d.places[:0]
	d.expect('(')
	for n := 0; d.more(n, ')'); n++ {
		name, place := d.key(true)
		out = append(out, ir.Port{Name: name, Sel: d.selections()})
		places = append(places, place)
	}
	d.portList, d.places = out, places
	return d.intern.Ports(sortNamed(d, out, places, func(p *ir.Port) string { return p.Name }))
}

func (d *decoder) selections() []ir.Selection {
	var few [8]ir.Selection
	out := few[:0]
	d.peek()
	at := d.pos
	if !d.take('[') {
		return d.intern.Selections(append(out, d.selection()))
	}
	for n := 0; d.more(n, ']'); n++ {
		out = append(out, d.selection())
	}
	if len(out) == 0 && !d.bad {
		d.report(at, codeEmptyPort, schemaConstraint, "a port selects nothing", "at least one selection", "an empty list")
	}
	return d.intern.Selections(out)
}

// portMaps reads projections by port in parentheses, each port with one or a bracketed list.
func (d *decoder) portMaps() ir.PortMaps {
	out, places := ir.PortMaps{}, []int(nil)
	d.expect('(')
	for n := 0; d.more(n, ')'); n++ {
		name, at := d.key(false)
		m := ir.NamedMaps{Name: name, Maps: []zspace.ProjectionMap{}}
		if d.take('[') {
			for k := 0; d.more(k, ']'); k++ {
				m.Maps = append(m.Maps, d.projection())
			}
		} else if !d.bad {
			m.Maps = append(m.Maps, d.projection())
		}
		out, places = append(out, m), append(places, at)
	}
	return sortNamed(d, out, places, func(m *ir.NamedMaps) string { return m.Name })
}

// sortNamed sorts a list by name and reports names that are there twice; at holds where each stands.
func sortNamed[E any](d *decoder, list []E, at []int, name func(*E) string) []E {
	if d.bad {
		return list
	}
	return ir.SortByName(list, name, func(i int) {
		d.report(at[i], codeRepeated, ir.StageParse, "a name is there twice", "each name once", quote(name(&list[i])))
	})
}
