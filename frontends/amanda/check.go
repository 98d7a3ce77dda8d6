package amanda

import (
	"fmt"
	"slices"
	"strings"

	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/diag"
)

const constraint = "amanda-graph"

// scope is a graph, or the inside of a subgraph.
type scope struct {
	ops    []*Op
	edges  []Edge
	self   *Op // nil for the graph itself
	path   string
	byName map[string]int
}

func newScope(ops []*Op, edges []Edge, self *Op, path string) scope {
	s := scope{ops, edges, self, path, make(map[string]int, len(ops))}
	for i, o := range ops {
		if _, dup := s.byName[o.Name]; !dup {
			s.byName[o.Name] = i
		}
	}
	return s
}

// end is an end of an edge, found: an op of the scope by index, or the subgraph around as -1, and a port by index or Control.
type end struct{ op, port int }

const selfOp = -1

type checker struct {
	file string
	bad  diag.List
}

// Check holds a graph to the invariants: names are unique, edges end at ports that are there, data inputs have one producer, data and
// control ports do not mix, element types agree, and no ops wait for each other. Every fault is reported, with its place. A graph
// edge that is there twice is one edge and a warning.
func Check(g *Graph) diag.List {
	c := &checker{file: g.File}
	c.scope(newScope(g.Ops, g.Edges, nil, ""))
	return c.bad
}

func (c *checker) report(code string, at Place, expected, found, format string, args ...any) {
	d := diag.Errorf(code, constraint, diag.Location{File: c.file, Line: at.Line, Column: at.Column}, format, args...)
	c.bad = append(c.bad, d.Want(expected, found))
}

func (c *checker) scope(s scope) {
	names := map[string]bool{}
	for i, o := range s.ops {
		if o.Name != "" && names[o.Name] {
			c.report(CodeName, o.Place, "a name of its own", fmt.Sprintf("%q again", o.Name), "two ops have one name")
		}
		if o.Name == Self {
			c.report(CodeName, o.Place, "another name", `"."`, "an op has the name that stands for the subgraph around")
		}
		if s.self != nil && o.Name != "" && o.Name == s.self.Name {
			c.report(CodeName, o.Place, "another name than that of the subgraph around", fmt.Sprintf("%q", o.Name), "an op has the name of its subgraph")
		}
		names[o.Name] = true
		c.ports(o.Inputs, "input", o, i)
		c.ports(o.Outputs, "output", o, i)
		if o.Sub {
			c.scope(newScope(o.Ops, o.Edges, o, s.path+o.Name+"/"))
		}
	}
	c.edges(s)
}

func (c *checker) ports(list []Port, side string, o *Op, index int) {
	names := map[string]bool{}
	for _, p := range list {
		if p.Name != "" && names[p.Name] {
			c.report(CodeName, p.Place, "a name of its own", fmt.Sprintf("%q again", p.Name), "op %s has two %s ports of one name", o.title(index), side)
		}
		names[p.Name] = true
	}
}

func (c *checker) edges(s scope) {
	producer := map[end]Edge{}
	seen := map[[2]end]bool{}
	after := make([][]int, len(s.ops))
	for _, e := range s.edges {
		from, okFrom := c.find(s, e, e.From, true)
		to, okTo := c.find(s, e, e.To, false)
		if !okFrom || !okTo {
			continue
		}
		if (from.port == Control) != (to.port == Control) {
			c.report(CodeKinds, e.Place, "two data ports or two control ports", "one of each", "an edge joins a data port and a control port")
			continue
		}
		if seen[[2]end{from, to}] {
			d := diag.Errorf(CodeTwice, constraint, diag.Location{File: c.file, Line: e.Line, Column: e.Column}, "an edge is there twice")
			d.Severity = diag.Warning
			c.bad = append(c.bad, d)
			continue
		}
		seen[[2]end{from, to}] = true
		if old, dup := producer[to]; dup && to.port != Control {
			c.report(CodeFanIn, e.Place, "one edge into a data input", fmt.Sprintf("another at line %d", old.Line), "two edges end at port %v of op %v", e.To.Port, e.To.Op)
		}
		producer[to] = e
		c.types(s, e, from, to)
		if from.op != selfOp && to.op != selfOp {
			after[from.op] = append(after[from.op], to.op)
		}
	}
	c.cycles(s, after)
	c.open(s, producer)
}

// open finds ports without an edge. An op of which no input has one stands at the graph's border, and its inputs are the graph's;
// where some have one, the others are forgotten, unless they are optional.
func (c *checker) open(s scope, producer map[end]Edge) {
	for i, o := range s.ops {
		var missing []Port
		some := false
		for k, p := range o.Inputs {
			_, ok := producer[end{i, k}]
			some = some || ok
			if !ok && !Optional(p) {
				missing = append(missing, p)
			}
		}
		if some {
			for _, p := range missing {
				c.report(CodeOpen, p.Place, "an edge to every input, or to none", "none to "+fmt.Sprintf("%q", p.Name), "op %s has an open input", o.title(i))
			}
		}
	}
	if s.self == nil {
		return
	}
	for k, p := range s.self.Outputs {
		if _, ok := producer[end{selfOp, k}]; !ok && !Optional(p) {
			c.report(CodeOpen, p.Place, "an edge to every output of a subgraph, from inside", "none to "+fmt.Sprintf("%q", p.Name), "an output of a subgraph comes from nowhere")
		}
	}
}

// Optional says whether nothing needs to be joined to a port.
func Optional(p Port) bool {
	v, ok := p.Attrs.Get("optional")
	return ok && v.Kind == ir.AttrBool && v.Int != 0
}

// find resolves one end of an edge.
func (c *checker) find(s scope, e Edge, x End, source bool) (end, bool) {
	op := s.opIndex(x.Op)
	if op == noOp {
		c.report(CodeReference, e.Place, "an op of this graph", x.Op.String(), "an edge names an op that is not there")
		return end{}, false
	}
	if x.Port.Name == "" && x.Port.Index == Control {
		return end{op, Control}, true
	}
	list, side := s.ports(op, source)
	port := portIndex(list, x.Port)
	if port < 0 {
		c.report(CodeReference, e.Place, fmt.Sprintf("one of the %s ports %s", side, portNames(list)), x.Port.String(), "an edge names a port that op %v does not have", x.Op)
		return end{}, false
	}
	return end{op, port}, true
}

const noOp = -2

// opIndex finds an op: selfOp for the subgraph around, noOp for one that is not there.
func (s scope) opIndex(r Ref) int {
	switch {
	case r.Name == "" && r.Index >= 0 && r.Index < len(s.ops):
		return r.Index
	case r.Name == "":
		return noOp
	case s.self != nil && (r.Name == Self || r.Name == s.self.Name):
		return selfOp
	}
	if i, ok := s.byName[r.Name]; ok {
		return i
	}
	return noOp
}

// ports gives the ports that an edge may start from, or end at; those of the subgraph around have turned roles.
func (s scope) ports(op int, source bool) ([]Port, string) {
	o := s.self
	if op != selfOp {
		o = s.ops[op]
	}
	if source != (op == selfOp) {
		return o.Outputs, "output"
	}
	return o.Inputs, "input"
}

func portIndex(list []Port, r Ref) int {
	if r.Name != "" {
		return slices.IndexFunc(list, func(p Port) bool { return p.Name == r.Name })
	}
	if r.Index < 0 || r.Index >= len(list) {
		return -1
	}
	return r.Index
}

func portNames(list []Port) string {
	var names []string
	for _, p := range list {
		names = append(names, fmt.Sprintf("%q", p.Name))
	}
	if len(names) == 0 {
		return "(there are none)"
	}
	return strings.Join(names, ", ")
}

// types compares the element types of both ends, where both say them.
func (c *checker) types(s scope, e Edge, from, to end) {
	if from.port == Control {
		return
	}
	a, okA := s.dtype(from, true)
	b, okB := s.dtype(to, false)
	if okA && okB && a != b {
		c.report(CodeType, e.Place, a, b, "an edge joins ports of different element types")
	}
	p, okP := s.shape(from, true)
	q, okQ := s.shape(to, false)
	if okP && okQ && !agree(p, q) {
		c.report(CodeType, e.Place, Flow(p), Flow(q), "an edge joins ports of different shapes")
	}
}

// shape gives the shape that a port has as an attribute.
func (s scope) shape(x end, source bool) (ir.AttrValue, bool) {
	list, _ := s.ports(x.op, source)
	v, ok := list[x.port].Attrs.Get("shape")
	return v, ok && v.Kind == ir.AttrList
}

// agree says whether two shapes can be one: as many sizes, and those that are numbers are equal.
func agree(p, q ir.AttrValue) bool {
	return slices.EqualFunc(p.List, q.List, func(a, b ir.AttrValue) bool {
		known := a.Kind == ir.AttrInt && b.Kind == ir.AttrInt && a.Int >= 0 && b.Int >= 0
		return !known || a.Int == b.Int
	})
}

// dtype gives a port's element type: that of its own attribute dtype, or of the op's attribute that type_attr names.
func (s scope) dtype(x end, source bool) (string, bool) {
	list, _ := s.ports(x.op, source)
	if v, ok := list[x.port].Attrs.Get("dtype"); ok && v.Kind == ir.AttrString {
		return v.Str, true
	}
	o := s.self
	if x.op != selfOp {
		o = s.ops[x.op]
	}
	name, ok := list[x.port].Attrs.Get("type_attr")
	if !ok {
		return "", false
	}
	v, ok := o.Attrs.Get(name.Str)
	return v.Str, ok && v.Kind == ir.AttrString
}

// cycles reports one cycle of a scope, with the ops on it: what is left when ops without predecessors are taken away leads back
// to itself.
func (c *checker) cycles(s scope, after [][]int) {
	wait := make([]int, len(s.ops))
	before := make([][]int, len(s.ops))
	for from, list := range after {
		for _, to := range list {
			wait[to]++
			before[to] = append(before[to], from)
		}
	}
	var ready []int
	for i := range s.ops {
		if wait[i] == 0 {
			ready = append(ready, i)
		}
	}
	for len(ready) > 0 {
		i := ready[0]
		ready = ready[1:]
		for _, to := range after[i] {
			if wait[to]--; wait[to] == 0 {
				ready = append(ready, to)
			}
		}
	}
	at := slices.IndexFunc(wait, func(n int) bool { return n > 0 })
	if at < 0 {
		return
	}
	var path []int
	for !slices.Contains(path, at) {
		path = append(path, at)
		at = before[at][slices.IndexFunc(before[at], func(i int) bool { return wait[i] > 0 })]
	}
	path = path[slices.Index(path, at):]
	slices.Reverse(path)
	c.cycle(s, path)
}

func (c *checker) cycle(s scope, ops []int) {
	var names []string
	for _, i := range append(slices.Clone(ops), ops[0]) {
		names = append(names, s.ops[i].title(i))
	}
	c.report(CodeCycle, s.ops[ops[0]].Place, "an order in which the ops can run", strings.Join(names, " → "), "ops wait for each other")
}
