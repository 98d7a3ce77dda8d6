package dot

import (
	"strconv"

	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/zspace"
)

// tree is a value as tables draw it: a text, or names with values.
type tree struct {
	text    string
	members []member
}

type member struct {
	name  string
	value tree
}

func leaf(text string) tree { return tree{text: text} }

// facts are the fields of a body as a drawing shows them: ports and references apart.
type facts struct {
	rows []member
	refs []reference
}

// reference is an edge: from the node to another, or the other way round.
type reference struct {
	name string
	to   ir.NodeID
	out  bool // data flows from the node
}

// factsOf reads the fields of a body. References are shown by edges; the rest is text.
func factsOf(g *ir.Graph, b ir.Body) facts {
	c := &collector{g: g}
	b.Fields(c)
	return c.facts
}

// collector is the ir.Fields that reads a body for a drawing.
type collector struct {
	g      *ir.Graph
	facts  facts
	writes bool // the item of a list holds the word "write", so data flows to what it refers to
}

func (c *collector) add(f ir.Field, t tree) {
	if f.Optional && t.text == "" && len(t.members) == 0 {
		return
	}
	c.facts.rows = append(c.facts.rows, member{f.Name, t})
}

func (c *collector) Bool(f ir.Field, v *bool) { c.add(f, leaf(strconv.FormatBool(*v))) }

func (c *collector) Int(f ir.Field, v *int64) {
	if !f.Optional || *v != 0 {
		c.add(f, leaf(strconv.FormatInt(*v, 10)))
	}
}

func (c *collector) Ints(f ir.Field, v *[]int64) {
	if !f.Optional || len(*v) > 0 {
		c.add(f, leaf(zspace.Point(*v).String()))
	}
}

func (c *collector) String(f ir.Field, v *string) {
	c.writes = c.writes || *v == "write"
	c.add(f, leaf(*v))
}

func (c *collector) Ref(f ir.Field, v *ir.NodeID) {
	c.facts.refs = append(c.facts.refs, reference{f.Name, *v, f.Style == ir.Arrow || c.writes})
}

func (c *collector) Refs(f ir.Field, v *[]ir.NodeID) {
	for _, id := range *v {
		c.facts.refs = append(c.facts.refs, reference{f.Name, id, f.Style == ir.Arrow})
	}
}

func (c *collector) Range(f ir.Field, v *zspace.Range) {
	if f.Optional && v.Rank() == 0 { // what is meant is all of it
		return
	}
	c.facts.rows = append(c.facts.rows, member{nameOr(f.Name, "range"), leaf(v.Text())}, member{"shape", leaf(v.ShapeString())})
}

func nameOr(name, other string) string {
	if name == "" {
		return other
	}
	return name
}

func (c *collector) Affine(f ir.Field, v *zspace.AffineMap) {
	if !f.Optional || len(v.Offset) > 0 {
		c.add(f, leaf(v.String()))
	}
}

func (c *collector) Attrs(f ir.Field, v *ir.Attrs) { c.add(f, c.attrs(*v)) }

func (c *collector) attrs(a ir.Attrs) tree {
	var t tree
	for _, x := range a {
		t.members = append(t.members, member{x.Name, c.attr(x.Value)})
	}
	return t
}

// maxItems bounds how many items of a parameter's list are drawn.
const maxItems = 16

func (c *collector) attr(v ir.AttrValue) tree {
	switch v.Kind {
	case ir.AttrNull:
		return leaf("null")
	case ir.AttrBool:
		return leaf(strconv.FormatBool(v.Int != 0))
	case ir.AttrInt:
		return leaf(strconv.FormatInt(v.Int, 10))
	case ir.AttrFloat:
		return leaf(strconv.FormatFloat(v.Num, 'g', -1, 64))
	case ir.AttrMap:
		return c.attrs(v.Map)
	case ir.AttrList:
		var t tree
		for i, x := range v.List {
			if i == maxItems {
				t.members = append(t.members, member{"…", leaf(strconv.Itoa(len(v.List)) + " items")})
				break
			}
			t.members = append(t.members, member{strconv.Itoa(i), c.attr(x)})
		}
		return t
	}
	return leaf(v.Str)
}

// Ports are drawn as selections.
func (c *collector) Ports(ir.Field, *ir.Ports) {}

func (c *collector) PortMaps(f ir.Field, v *ir.PortMaps) {
	var ports tree
	for _, m := range *v {
		for i, p := range m.Maps {
			ports.members = append(ports.members, member{m.Name + "[" + strconv.Itoa(i) + "]", leaf(p.String())})
		}
	}
	c.add(f, ports)
}

func (c *collector) List(f ir.Field, n int, _ func(int), each func(int, ir.Fields)) {
	var list tree
	for i := range n {
		item := &collector{g: c.g}
		each(i, item)
		for _, r := range item.facts.refs {
			c.facts.refs = append(c.facts.refs, reference{f.Name + "[" + strconv.Itoa(i) + "]." + r.name, r.to, r.out})
		}
		list.members = append(list.members, member{strconv.Itoa(i), tree{members: item.facts.rows}})
	}
	c.add(f, list)
}

func (c *collector) Fail(ir.Field, string, string) {}
