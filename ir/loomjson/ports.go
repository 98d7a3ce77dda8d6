package loomjson

import (
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/zspace"
)

// portList reads an object of ports: names, each with an array of at least one selection.
func (d *decoder) portList() ir.Ports {
	if d.peek() != '{' {
		d.wrongType("an object of ports")
		return ir.Ports{}
	}
	out, at := d.ports[:0], d.places[:0]
	d.open()
	for n := 0; d.more(n, '}'); n++ {
		d.peek()
		at = append(at, d.pos)
		name := d.memberName(true)
		out = append(out, ir.Port{Name: name, Sel: d.selections()})
	}
	d.ports, d.places = out, at
	out = sortNamed(d, out, at, func(p *ir.Port) string { return p.Name })
	return d.pool.Ports(out)
}

func (d *decoder) selections() []ir.Selection {
	d.peek()
	at := d.pos
	if !d.array("an array of selections") {
		return nil
	}
	var few [8]ir.Selection
	out := few[:0]
	for n := 0; d.more(n, ']'); n++ {
		out = append(out, d.selection())
	}
	if len(out) == 0 && !d.broken {
		d.schema(at, codeEmptyPort, "a port selects nothing", "at least one selection", "an empty array")
	}
	return d.pool.Selections(out)
}

func (d *decoder) selection() ir.Selection {
	var o object
	s := ir.Selection{Tensor: ir.NoNode}
	if !d.object(&o, `a selection, {"tensorId": "…", "range": {…}}`) {
		return s
	}
	if o.find("tensorId") {
		s.Tensor = d.ref()
		o.done()
	} else if !d.broken {
		o.missing("tensorId")
	}
	if o.find("range") {
		s = d.pool.Select(s.Tensor, d.box())
		o.done()
	} else if !d.broken {
		o.missing("range")
	}
	o.close("tensorId", "range")
	return s
}

// mapList reads an object of projections by port. The schema says nothing about names that are not identifiers; they fail
// later, when they are compared with the ports.
func (d *decoder) mapList() ir.PortMaps {
	if d.peek() != '{' {
		d.wrongType("an object of projections")
		return nil
	}
	out, at := ir.PortMaps{}, []int(nil)
	d.open()
	for n := 0; d.more(n, '}'); n++ {
		d.peek()
		at = append(at, d.pos)
		m := ir.NamedMaps{Name: d.memberName(false)}
		if d.array("an array of projections") {
			m.Maps = []zspace.ProjectionMap{}
			for k := 0; d.more(k, ']'); k++ {
				m.Maps = append(m.Maps, d.projection())
			}
		}
		out = append(out, m)
	}
	return sortNamed(d, out, at, func(m *ir.NamedMaps) string { return m.Name })
}
