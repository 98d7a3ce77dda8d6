package check

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/zspace"
)

// SchemaType holds every body and every tag to its schema, so that graphs made by passes and plugins keep what readers
// demand of files.
var SchemaType = Constraint{
	ID: "SchemaTypeConstraint",
	Doc: "Every body and every tag keeps its schema: ids are unique; port and parameter names are identifiers (a letter or _, then " +
		"letters, digits or _); names and tags are sorted and none is there twice; every port of a node selects at least one box; " +
		"ranges have as many starts as ends and no start beyond its end; the rows of a matrix are of one length, with one offset " +
		"for each row and one extent, not negative, for each row. Readers refuse such files already; this holds graphs made by " +
		"passes and plugins to the same.",
	Codes: []Code{
		{"TAP0111", "two nodes have the same id"},
		{"TAP0112", "a name is not an identifier"},
		{"TAP0113", "names or tags are there twice, or not sorted"},
		{"TAP0114", "a port selects nothing"},
		{"TAP0115", "a range, an affine map or a projection is malformed"},
		{"TAP0116", "a field has a value that means nothing to its type"},
	},
	Check: checkSchema,
}

func checkSchema(c *Context) {
	ids := map[ir.UUID]*ir.Node{}
	v := &schemaVisitor{c: c}
	for n := range c.Graph().Nodes() {
		if !c.Go() {
			return
		}
		if id, given := n.UUID(); given {
			if other := ids[id]; other != nil {
				c.Report(c.Error("TAP0111", n, "/id", "two nodes have the id %s", id).
					WithNote(c.At(other, "/id"), "the other is %s", c.graph.Name(other.ID)))
			}
			ids[id] = n
		}
		v.node = n
		v.visit("/body", n.Body)
		v.tags(n)
	}
}

// schemaVisitor reads the fields of bodies as a writer does and reports those that break the schema.
type schemaVisitor struct {
	c    *Context
	node *ir.Node
	path []string // of the struct whose fields are visited
}

func (v *schemaVisitor) tags(n *ir.Node) {
	tags := n.Tags()
	for i, t := range tags {
		if i > 0 && tags[i-1].Kind().URI >= t.Kind().URI {
			v.path = append(v.path[:0], TagField(t.Kind()))
			v.report("TAP0113", "", "tags are not sorted by type, or one is there twice",
				"a type after "+kindName(tags[i-1].Kind()), kindName(t.Kind()))
		}
		v.visit(TagField(t.Kind()), t)
	}
}

// visit reads the fields of a body. A body whose fields can not even be read, such as a value with a missing part, is a
// finding and not a fault: it may come from a pass of somebody else.
func (v *schemaVisitor) visit(at string, b ir.Body) {
	defer func() {
		if r := recover(); r != nil {
			v.report("TAP0116", "", "its fields can not be read", "complete fields", fmt.Sprint(r))
		}
	}()
	v.path = append(v.path[:0], at)
	b.Fields(v)
}

// report adds a finding at a field of the struct that is visited, or at the struct itself for "".
func (v *schemaVisitor) report(code, field, message, expected, found string) {
	at := strings.Join(v.path, "")
	if field != "" {
		at += "/" + field
	}
	v.c.Report(v.c.Error(code, v.node, at, "%s: %s", v.c.graph.Name(v.node.ID), message).Want(expected, found))
}

func (v *schemaVisitor) Bool(ir.Field, *bool)        {}
func (v *schemaVisitor) Int(ir.Field, *int64)        {}
func (v *schemaVisitor) Ints(ir.Field, *[]int64)     {}
func (v *schemaVisitor) String(ir.Field, *string)    {}
func (v *schemaVisitor) Ref(ir.Field, *ir.NodeID)    {}
func (v *schemaVisitor) Refs(ir.Field, *[]ir.NodeID) {}
func (v *schemaVisitor) Fail(f ir.Field, e, s string) {
	v.report("TAP0116", f.Name, f.Name+" means nothing", e, s)
}

func (v *schemaVisitor) Range(f ir.Field, r *zspace.Range) {
	v.valid(f.Name, "range", r.Validate())
}

func (v *schemaVisitor) Affine(f ir.Field, a *zspace.AffineMap) {
	v.valid(f.Name, "affine map", a.Validate())
}

func (v *schemaVisitor) valid(field, what string, err error) {
	if err != nil {
		v.report("TAP0115", field, "malformed "+what, "a valid "+what, err.Error())
	}
}

func (v *schemaVisitor) Attrs(f ir.Field, a *ir.Attrs) {
	v.names(f.Name, len(*a), func(i int) string { return (*a)[i].Name }, true)
	for _, x := range *a {
		v.attr(f.Name+"/"+escape(x.Name), x.Value)
	}
}

// attr checks a parameter's value; the names inside maps are free.
func (v *schemaVisitor) attr(field string, x ir.AttrValue) {
	if x.Kind > ir.AttrMap {
		v.report("TAP0116", field, "a parameter has no known kind", "a kind from 0 to "+strconv.Itoa(int(ir.AttrMap)),
			strconv.Itoa(int(x.Kind)))
	}
	for i, item := range x.List {
		v.attr(field+"/"+strconv.Itoa(i), item)
	}
	v.names(field, len(x.Map), func(i int) string { return x.Map[i].Name }, false)
	for _, item := range x.Map {
		v.attr(field+"/"+escape(item.Name), item.Value)
	}
}

func (v *schemaVisitor) Ports(f ir.Field, ports *ir.Ports) {
	v.names(f.Name, ports.Len(), func(i int) string { return ports.At(i).Name }, true)
	for i := range ports.Len() {
		p := ports.At(i)
		if len(p.Sel) == 0 {
			v.report("TAP0114", f.Name+"/"+escape(p.Name), "a port selects nothing", "at least one selection", "none")
		}
		for j := range p.Sel {
			if err := p.Sel[j].Range().Validate(); err != nil {
				v.valid(f.Name+"/"+escape(p.Name)+"/"+strconv.Itoa(j)+"/range", "range", err)
			}
		}
	}
}

// PortMaps checks the maps only: the names of a signature need not be identifiers, as no schema says so; on an operation they
// are compared with the ports, which are.
func (v *schemaVisitor) PortMaps(f ir.Field, maps *ir.PortMaps) {
	v.names(f.Name, len(*maps), func(i int) string { return (*maps)[i].Name }, false)
	for i := range *maps {
		m := &(*maps)[i]
		for j := range m.Maps {
			if err := m.Maps[j].Validate(); err != nil {
				v.valid(f.Name+"/"+escape(m.Name)+"/"+strconv.Itoa(j), "projection", err)
			}
		}
	}
}

func (v *schemaVisitor) List(f ir.Field, length int, _ func(int), each func(int, ir.Fields)) {
	depth := len(v.path)
	for i := range length {
		v.path = append(v.path[:depth], "/"+f.Name+"/"+strconv.Itoa(i))
		each(i, v)
	}
	v.path = v.path[:depth]
}

// names checks that n names are sorted without repetition and, if asked, identifiers.
func (v *schemaVisitor) names(field string, n int, name func(int) string, identifiers bool) {
	for i := range n {
		if identifiers && !IsIdentifier(name(i)) {
			v.report("TAP0112", field+"/"+escape(name(i)), "a name is not an identifier",
				"a letter or _, then letters, digits or _", clip(name(i)))
		}
		if i > 0 && name(i-1) >= name(i) {
			v.report("TAP0113", field+"/"+escape(name(i)), "names are not sorted, or one is there twice",
				"a name after "+clip(name(i-1)), clip(name(i)))
		}
	}
}

// IsIdentifier says whether a name is a letter or _, then letters, digits or _, all ASCII.
func IsIdentifier(s string) bool {
	return s != "" && !('0' <= s[0] && s[0] <= '9') && !slices.ContainsFunc([]byte(s), func(b byte) bool {
		return b != '_' && !('0' <= b && b <= '9') && !('A' <= b && b <= 'Z') && !('a' <= b && b <= 'z')
	})
}

// clip quotes a name, cut short if it is long.
func clip(s string) string {
	if len(s) > 60 {
		s = s[:60] + "…"
	}
	return strconv.Quote(s)
}
