package namespace

import (
	"container/heap"
	"fmt"
	"slices"
	"sort"
	"strings"

	"tensortapestry.org/tapc/frontends/foreign"
	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/ir/scalar"
)

// Codes of what is wrong with a graph in its namespace.
const (
	CodeOp        = "TAP1431" // an operator that the namespace does not have, or not at this version
	CodePorts     = "TAP1432" // more or fewer inputs or outputs than the operator has
	CodeAttribute = "TAP1433" // an attribute that the operator does not have, is missing, or has another type
	CodeTypes     = "TAP1434" // an element type that the operator does not take
)

const constraint = "namespace"

// Check holds a foreign graph to the dictionaries of its namespaces: every operator is there at its version, with as many ports,
// with the attributes and of the types that it has. Element types go from the inputs and constants through the graph as far as the
// dictionaries tell them. Operators that local says are defined in the graph's file are not looked up. A namespace without a
// dictionary is a warning. Graphs in attributes are checked too.
func (s Set) Check(g *foreign.Graph, local func(domain, op string) bool) diag.List {
	c := &checker{known: s, file: g.File, framework: g.Namespace, local: local, unknown: map[string]bool{}}
	c.graph(g, nil)
	return c.bad
}

type checker struct {
	known           Set
	file, framework string
	local           func(domain, op string) bool
	unknown         map[string]bool // namespaces without a dictionary that are reported
	bad             diag.List
	depth           int
}

// scope is the types of the values of a graph, and the graph around.
type scope struct {
	types    map[string]string
	outer    *scope
	versions map[string]int64
}

func (s *scope) typeOf(name string) string {
	for ; s != nil; s = s.outer {
		if t, ok := s.types[name]; ok {
			return t
		}
	}
	return ""
}

func (s *scope) version(domain string) (int64, bool) {
	for ; s != nil; s = s.outer {
		if v, ok := s.versions[domain]; ok {
			return v, true
		}
	}
	return 0, false
}

// maxNest bounds how deep graphs in attributes may nest.
const maxNest = 64

func (c *checker) graph(g *foreign.Graph, outer *scope) {
	if c.depth++; c.depth > maxNest {
		return
	}
	defer func() { c.depth-- }()
	s := c.scopeOf(g, outer)
	for _, op := range Order(g.Ops) {
		c.op(s, op)
		for _, a := range op.Attrs {
			for _, v := range append([]foreign.Value{a.Value}, a.Value.List...) {
				if v.Graph != nil {
					c.graph(v.Graph, s)
				}
			}
		}
	}
}

// scopeOf gives the scope of a graph, with the types of its inputs and constants.
func (c *checker) scopeOf(g *foreign.Graph, outer *scope) *scope {
	s := &scope{types: map[string]string{}, outer: outer, versions: g.Versions}
	for _, p := range g.Inputs {
		s.types[p.Name] = ""
		if p.DType != scalar.Invalid {
			s.types[p.Name] = TypeName(p.DType)
		}
	}
	for name, d := range g.Consts {
		s.types[name] = ""
		if d.DType != scalar.Invalid {
			s.types[name] = TypeName(d.DType)
		}
	}
	return s
}

// Order sorts operations so that values are there before they are used, in their own order where there is a choice. Those of a cycle
// come last.
func Order(ops []*foreign.Op) []*foreign.Op {
	producer := map[string]int{}
	for i, op := range ops {
		for _, o := range op.Out {
			producer[o] = i
		}
	}
	wait := make([]int, len(ops))
	users := make([][]int, len(ops))
	number := map[*foreign.Op]int{}
	for i, op := range ops {
		number[op] = i
	}
	ready := &firstOf{}
	for i, op := range ops {
		for _, in := range op.In {
			if p, ok := producer[in]; ok && in != "" && p != i {
				wait[i]++
				users[p] = append(users[p], i)
			}
		}
		for _, x := range op.After {
			wait[i]++
			users[number[x]] = append(users[number[x]], i)
		}
		if wait[i] == 0 {
			heap.Push(ready, i)
		}
	}
	var out []*foreign.Op
	for ready.Len() > 0 {
		i := heap.Pop(ready).(int)
		out = append(out, ops[i])
		for _, u := range users[i] {
			if wait[u]--; wait[u] == 0 {
				heap.Push(ready, u)
			}
		}
	}
	for i, op := range ops {
		if wait[i] > 0 {
			out = append(out, op)
		}
	}
	return out
}

// firstOf is a heap of positions.
type firstOf struct{ sort.IntSlice }

// Push adds a position.
func (h *firstOf) Push(x any) { h.IntSlice = append(h.IntSlice, x.(int)) }

// Pop takes the last one away.
func (h *firstOf) Pop() any {
	n := len(h.IntSlice) - 1
	x := h.IntSlice[n]
	h.IntSlice = h.IntSlice[:n]
	return x
}

func (c *checker) report(op *foreign.Op, code, expected, found, format string, args ...any) {
	at := diag.Location{File: c.file, Line: int(op.Pos.Line), Column: int(op.Pos.Col), Node: op.Name}
	c.bad = append(c.bad, diag.Errorf(code, constraint, at, format, args...).Want(expected, found))
}

func (c *checker) op(s *scope, op *foreign.Op) {
	if c.local != nil && c.local(op.Domain, op.Type) {
		return
	}
	version, ok := s.version(op.Domain)
	n, found := c.known.Domain(c.framework, op.Domain, version)
	if !ok || !found {
		key := fmt.Sprintf("%s/%s/%d", c.framework, op.Domain, version)
		if !c.unknown[key] {
			c.unknown[key] = true
			d := diag.Errorf(CodeOp, constraint, diag.Location{File: c.file}, "no dictionary has %s: its operators are not checked", strings.ReplaceAll(key, "//", "/"))
			d.Severity = diag.Warning
			c.bad = append(c.bad, d)
		}
		return
	}
	formal := n.Op(op.Type)
	if formal == nil {
		c.missing(n, op)
		return
	}
	c.ports(op, formal, "input", formal.In, op.In)
	c.ports(op, formal, "output", formal.Out, op.Out)
	c.attrs(op, formal)
	c.types(s, op, formal)
}

// missing says why an operator is not there: it never was, it comes later, or it is not there any more.
func (c *checker) missing(n Namespace, op *foreign.Op) {
	found := "none"
	if old := n.newest(op.Type); old != nil {
		found = "not any more since version " + n.label(old.Since)
	} else if h := n.History(op.Type); len(h) > 0 {
		found = "only since version " + n.label(h[0].Since)
	} else if near := n.similar(op.Type); near != "" {
		found = fmt.Sprintf("none; %s is similar", near)
	}
	c.report(op, CodeOp, "an operator of "+n.String(), found, "%s is not an operator of %s", op.Title(), n)
}

// similar finds an operator whose name differs in case only.
func (n Namespace) similar(name string) string {
	for _, o := range n.Ops() {
		if strings.EqualFold(o.Name, name) {
			return o.Name
		}
	}
	return ""
}

func (c *checker) ports(op *foreign.Op, formal *Op, side string, want []Port, have []string) {
	least, most := 0, len(want)
	for i, p := range want {
		if p.Variadic {
			most = 1 << 30
			if p.Least > 0 {
				least = i + p.Least
			}
		} else if !p.Optional && side == "input" {
			least = i + 1
		}
	}
	if len(have) < least || len(have) > most {
		c.report(op, CodePorts, portsText(want), fmt.Sprintf("%d", len(have)), "%s has another number of %ss", op.Title(), side)
		return
	}
	if side == "output" {
		return // one that is not used may be left out
	}
	for i, name := range have {
		if name == "" && i < len(want) && !want[i].Optional && !want[i].Variadic {
			c.report(op, CodePorts, want[i].String(), "nothing", "%s needs its input %s", op.Title(), want[i].Name)
		}
	}
}

func (c *checker) attrs(op *foreign.Op, formal *Op) {
	for _, a := range op.Attrs {
		f := formal.Attr(a.Name)
		switch {
		case f == nil && strings.HasPrefix(a.Name, "_"): // TensorFlow's own remarks, and those of tools
		case f == nil:
			var names []string
			for _, x := range formal.Attrs {
				names = append(names, x.Name)
			}
			c.report(op, CodeAttribute, "one of "+strings.Join(names, ", "), a.Name, "%s has an attribute that %s does not have", op.Title(), formal.Name)
		case !fits(f.Type, a.Value):
			c.report(op, CodeAttribute, f.String(), a.Value.Kind.String(), "%s has an attribute of another type", op.Title())
		case len(f.Words) > 0 && a.Value.Kind == foreign.String && !slices.Contains(f.Words, a.Value.Str):
			c.report(op, CodeAttribute, f.String(), fmt.Sprintf("%q", a.Value.Str), "%s has an attribute with a value that is not allowed", op.Title())
		}
	}
	for _, f := range formal.Attrs {
		if _, ok := op.Attr(f.Name); f.Required && !ok {
			c.report(op, CodeAttribute, f.String(), "none", "%s needs an attribute", op.Title())
		}
	}
}

// kinds are the kinds of values that an attribute of each type may have.
var kinds = map[string][]foreign.Kind{
	"float": {foreign.Float, foreign.Int}, "int": {foreign.Int}, "string": {foreign.String}, "bool": {foreign.Bool},
	"type": {foreign.String}, "shape": {foreign.List, foreign.None}, "graph": {foreign.GraphKind}, "tensor": {foreign.DataKind, foreign.List, foreign.Int, foreign.Float, foreign.Bool},
}

// fits says whether a value is of an attribute's type. Values of other kinds, such as references and maps, are not judged.
func fits(typ string, v foreign.Value) bool {
	if v.Kind == foreign.OpaqueKind || typ == "any" {
		return true
	}
	if allowed, ok := kinds[typ]; ok {
		return slices.Contains(allowed, v.Kind)
	}
	part, ok := strings.CutSuffix(typ, "s")
	if _, known := kinds[part]; !ok || !known {
		return true
	}
	return v.Kind == foreign.List && !slices.ContainsFunc(v.List, func(x foreign.Value) bool { return !fits(part, x) })
}

// types binds the operator's type variables by what is known of its inputs and attributes, gives its outputs their types, and returns what
// the variables stand for.
func (c *checker) types(s *scope, op *foreign.Op, formal *Op) map[string]string {
	bound := map[string]string{}
	by := map[string]string{}
	bind := func(typ, found, what string) {
		if found == "" {
			return
		}
		if allowed := formal.Allowed(typ); !slices.Contains(allowed, found) && (len(allowed) > 1 || formal.knows(typ)) {
			c.report(op, CodeTypes, typ+": "+unionText(allowed), found, "%s does not take the type of %s", op.Title(), what)
			return
		}
		if old := bound[typ]; old != "" && old != found {
			c.report(op, CodeTypes, fmt.Sprintf("%s, the type %s of %s", old, typ, by[typ]), found, "%s has a different type in %s", op.Title(), what)
			return
		}
		bound[typ], by[typ] = found, what
	}
	for _, f := range formal.Attrs {
		if v, ok := op.Attr(f.Name); ok && f.Type == "type" && v.Kind == foreign.String {
			bind(f.Name, canonical(v.Str), "attribute "+f.Name)
		}
	}
	for i, name := range op.In {
		if p := at(formal.In, i, len(op.In)); p != nil && !p.Mixed {
			bind(plain(p.Type), s.typeOf(name), fmt.Sprintf("input %s", p.Name))
		}
	}
	for i, name := range op.Out {
		p := at(formal.Out, i, len(op.Out))
		if p == nil || name == "" || p.Mixed {
			continue
		}
		t := bound[plain(p.Type)]
		if allowed := formal.Allowed(plain(p.Type)); t == "" && len(allowed) == 1 && formal.knows(plain(p.Type)) {
			t = allowed[0]
		}
		s.types[name] = t
	}
	return bound
}

// knows says whether a type is a variable with a set, or a type that is none at all; a variable without a set may be anything.
func (o *Op) knows(typ string) bool {
	return slices.ContainsFunc(o.Types, func(t Types) bool { return t.Var == typ }) || DType(typ) != scalar.Invalid || strings.Contains(typ, "(")
}

// canonical gives the name that dictionaries use for a type that a graph names.
func canonical(name string) string {
	if d := DType(name); d != scalar.Invalid {
		return TypeName(d)
	}
	return name
}

// at gives the formal port of the i-th of n: a variadic one takes those that others leave. With two variadic ones nothing is known from the first on.
func at(list []Port, i, n int) *Port {
	many := func(p Port) bool { return p.Variadic }
	k := slices.IndexFunc(list, many)
	switch {
	case k < 0 || i < k:
	case slices.ContainsFunc(list[k+1:], many):
		return nil
	case i < n-(len(list)-1-k):
		i = k
	default:
		i += len(list) - n
	}
	if i >= len(list) {
		return nil
	}
	return &list[i]
}

// plain gives the type that a reference to a variable is to.
func plain(typ string) string {
	if inner, ok := strings.CutPrefix(typ, "ref("); ok {
		return strings.TrimSuffix(inner, ")")
	}
	return typ
}

// Complete sets the attributes that only repeat the type of an operator's values, such as TensorFlow's T, where an operation leaves them
// out, the types are known and are not the default, and the numbers of variadic inputs, such as N.
func (s Set) Complete(g *foreign.Graph) {
	c := &checker{known: s, file: g.File, framework: g.Namespace, unknown: map[string]bool{}}
	top := c.scopeOf(g, nil)
	for _, op := range Order(g.Ops) {
		version, _ := top.version(op.Domain)
		n, ok := s.Domain(g.Namespace, op.Domain, version)
		if !ok || n.Op(op.Type) == nil {
			continue
		}
		formal := n.Op(op.Type)
		bound := c.types(top, op, formal)
		for _, f := range formal.Attrs {
			_, given := op.Attr(f.Name)
			if t := bound[f.Name]; f.Type == "type" && t != "" && !given && (f.Default == nil || f.Default.Str != t) {
				op.Attrs = append(op.Attrs, foreign.Attr{Name: f.Name, Value: foreign.StringValue(t)})
			}
			if f.Name == "N" && f.Type == "int" && !given {
				op.Attrs = append(op.Attrs, foreign.Attr{Name: f.Name, Value: foreign.IntValue(int64(len(op.In) - len(formal.In) + 1))})
			}
		}
		slices.SortFunc(op.Attrs, func(a, b foreign.Attr) int { return strings.Compare(a.Name, b.Name) })
	}
}
