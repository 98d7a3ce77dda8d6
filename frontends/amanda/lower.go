package amanda

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tensortapestry.org/tapc/frontends/foreign"
	"tensortapestry.org/tapc/frontends/namespace"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/ir/scalar"
)

// level is a scope on its way into a flat graph: who feeds each input, and the scope around.
type level struct {
	scope
	parent   *level
	index    int // of the subgraph in the scope around
	children map[int]*level
	feeds    map[end]end
	controls [][2]int // pairs of ops, of which the first happens before the second
}

// spot names an output port of an op in a scope.
type spot struct {
	l        *level
	op, port int
}

// flattener makes a flat graph of values by name.
type flattener struct {
	g      *Graph
	known  namespace.Set
	ns     *namespace.Namespace
	dir    string
	out    *foreign.Graph
	names  map[spot]string
	unique Names
	inputs map[spot]bool // inputs of the graph that are there already
	flat   *Flat
	times  times
	bad    diag.List
}

// Flat is a foreign graph that an Amanda graph became, and what it comes from.
type Flat struct {
	Graph *foreign.Graph
	Ports map[string]ir.Attrs    // what is said about each input
	Of    map[*foreign.Op]Source // but for operations that Flatten adds
}

// Source is what a flat operation comes from: its op, and the port of each input and output.
type Source struct {
	Op      *Op
	In, Out []int
}

// Lower makes a flat foreign graph: subgraphs are taken apart, and values get the names of the ops (and ports) that give them; the
// names inside of a file's only subgraph need none of its own. What nothing feeds is an input; outputs are the
// ports of the only subgraph or else those of ops of which nothing is consumed. Ports are put in the order that the dictionary has
// them in. Data that attributes name lies in files in dir, dictionaries in known. Control edges say what happens before an operation. The graph
// must have passed Check. An output named as an input is, with another value, has OutputSuffix behind its name.
func Lower(g *Graph, dir string, known namespace.Set) (*foreign.Graph, error) {
	f, err := Flatten(g, dir, known)
	if err != nil {
		return nil, err
	}
	fg := f.Graph
	for i, p := range fg.Outputs {
		k := slices.IndexFunc(fg.Ops, func(op *foreign.Op) bool {
			return op.Domain == foreign.Added && op.Type == Output && op.Out[0] == p.Name
		})
		if _, taken := f.Ports[p.Name]; !taken || k < 0 {
			continue
		}
		name := p.Name + OutputSuffix
		named := func(p foreign.Port) bool { return p.Name == name }
		for name != fg.Ops[k].In[0] && (slices.ContainsFunc(fg.Inputs, named) || slices.ContainsFunc(fg.Ops, func(op *foreign.Op) bool { return slices.Contains(op.Out, name) })) {
			name += OutputSuffix
		}
		if fg.Outputs[i].Name, fg.Ops[k].Out[0] = name, name; name == fg.Ops[k].In[0] { // the value has it already
			fg.Ops = slices.Delete(fg.Ops, k, k+1)
		}
	}
	return fg, nil
}

// OutputSuffix is what Lower puts behind the name of an output that an input has too.
const OutputSuffix = ":out"

// Flatten is Lower, and says what the parts of the result come from.
func Flatten(g *Graph, dir string, known namespace.Set) (*Flat, error) {
	ns, err := known.Find(g.Namespace)
	if err != nil {
		at := diag.Location{File: g.File, Line: g.Line, Column: g.Column}
		d := diag.Errorf(CodeForm, "namespace", at, "the graph's namespace: %v", err)
		if g.Namespace == "" {
			d = diag.Errorf(CodeForm, "namespace", at, "the graph names no namespace").Want("a name such as tensorflow/1.13.1", "none")
			d.Hint = "tapc build, run and translate take one with --namespace"
		}
		return nil, d
	}
	f := &flattener{g: g, known: known, ns: &ns, dir: dir, names: map[spot]string{}, unique: Names{map[string]bool{}, map[string]int{}}, inputs: map[spot]bool{}, times: times{ops: map[spot]*foreign.Op{}, bounds: map[spot]*foreign.Op{}}}
	framework, domain, _ := strings.Cut(ns.Name, "/")
	f.out = &foreign.Graph{File: g.File, Namespace: framework, Versions: map[string]int64{domain: ns.Version}, Consts: map[string]*foreign.Data{}}
	f.flat = &Flat{Graph: f.out, Ports: map[string]ir.Attrs{}, Of: map[*foreign.Op]Source{}}
	f.versions()
	path := ""
	top := f.level(newScope(g.Ops, g.Edges, nil, path), nil, 0)
	if only := top.only(); only != nil {
		f.out.Name = only.Name
		f.claim(top, only)
	}
	f.flatten(top)
	f.order(top)
	f.outputs(top)
	return f.flat, f.bad.Err()
}

// claim gives the inputs of the graph, and the values that are its outputs, the names of those, before any other value can have them. An output whose value has
// a name already, as an input or as another output, only keeps its name free.
func (f *flattener) claim(top *level, only *Op) {
	for k, p := range only.Inputs {
		inside := top.children[0]
		f.input(spot{inside, selfOp, k}, portName(only.Inputs, k), p, only)
	}
	for k := range only.Outputs {
		name := portName(only.Outputs, k)
		at, ok := f.origin(top, end{0, k})
		if _, named := f.names[at]; ok && !named && at.op != selfOp && !f.unique.taken[name] {
			f.names[at] = name
		}
		f.unique.taken[name] = true
	}
}

// only gives the op of a graph that is one subgraph and nothing else.
func (l *level) only() *Op {
	if len(l.ops) == 1 && l.ops[0].Sub {
		return l.ops[0]
	}
	return nil
}

// isProgram says whether a scope is the inside of a graph that is one subgraph.
func (l *level) isProgram() bool {
	return l.parent != nil && l.parent.parent == nil && l.parent.only() != nil
}

// versions reads the versions of the other domains, an attribute of the graph.
func (f *flattener) versions() {
	v, _ := f.g.Attrs.Get(domainVersions)
	for _, a := range v.Map {
		f.out.Versions[a.Name] = a.Value.Int
	}
}

// domainVersions is the graph's attribute with the versions of domains other than the namespace's own.
const domainVersions = "opset_import"

func (f *flattener) fault(at Place, format string, args ...any) {
	f.bad = append(f.bad, diag.Errorf(CodePorts, constraint, diag.Location{File: f.g.File, Line: at.Line, Column: at.Column}, format, args...))
}

func (f *flattener) level(s scope, parent *level, index int) *level {
	l := &level{scope: s, parent: parent, index: index, children: map[int]*level{}, feeds: map[end]end{}}
	c := &checker{}
	for _, e := range s.edges {
		from, okFrom := c.find(s, e, e.From, true)
		to, okTo := c.find(s, e, e.To, false)
		switch {
		case !okFrom || !okTo:
		case to.port == Control:
			l.controls = append(l.controls, [2]int{from.op, to.op})
		default:
			l.feeds[to] = from
		}
	}
	for i, o := range s.ops {
		if !o.Sub {
			continue
		}
		path := s.path + o.path(i) + "/"
		if parent == nil && l.only() != nil {
			path = ""
		}
		l.children[i] = f.level(newScope(o.Ops, o.Edges, o, path), l, i)
	}
	return l
}

// path names an op inside its scope.
func (o *Op) path(index int) string {
	if o.Name != "" {
		return o.Name
	}
	return fmt.Sprintf("%s_%d", o.Type, index)
}

func (f *flattener) flatten(l *level) {
	for i, o := range l.ops {
		domain, typ := f.splitType(o.Type)
		formal := f.formal(domain, typ)
		switch {
		case o.Sub:
			f.flatten(l.children[i])
			continue
		case formal != nil && formal.Is("source"):
			f.source(l, i, o)
			continue
		case o.Type == initializer:
			f.initializer(l, i, o)
			continue
		}
		op := &foreign.Op{Name: l.scope.path + o.path(i), Domain: domain, Type: typ, Pos: ir.Pos{Line: int32(o.Line), Col: int32(o.Column)}}
		from := Source{Op: o, In: inOrder(o.Inputs), Out: inOrder(o.Outputs)}
		if formal != nil {
			from.In = f.arrange(o, i, "input", formal.In, o.Inputs)
			from.Out = f.arrange(o, i, "output", formal.Out, o.Outputs)
		}
		for _, k := range from.In {
			op.In = append(op.In, f.value(l, i, k))
		}
		for _, k := range from.Out {
			name := ""
			if k >= 0 {
				name = f.result(l, i, k)
			}
			op.Out = append(op.Out, name)
		}
		for _, a := range o.Attrs {
			if a.Name != "name" && a.Name != "type" && !strings.HasPrefix(a.Name, "_") { // those are remarks, in TensorFlow too
				op.Attrs = append(op.Attrs, foreign.Attr{Name: a.Name, Value: f.attribute(o, formal, a)})
			}
		}
		f.flat.Of[op] = from
		f.times.ops[spot{l, i, 0}] = op
		f.out.Ops = append(f.out.Ops, op)
	}
}

// domain is that of ops whose type names none.
func (f *flattener) domain() string {
	_, domain, _ := strings.Cut(f.ns.Name, "/")
	return domain
}

// splitType splits the domain from an op's type, in a namespace that has domains.
func (f *flattener) splitType(t string) (domain, typ string) {
	if i := strings.LastIndexByte(t, ':'); i >= 0 && f.out.Namespace == "onnx" {
		return t[:i], t[i+1:]
	}
	return f.domain(), t
}

func (f *flattener) formal(domain, typ string) *namespace.Op {
	if domain == f.domain() {
		return f.ns.Op(typ)
	}
	if ns, ok := f.known.Domain(f.out.Namespace, domain, f.out.Versions[domain]); ok {
		return ns.Op(typ)
	}
	return nil
}

func inOrder(ports []Port) []int {
	out := make([]int, len(ports))
	for i := range out {
		out[i] = i
	}
	return out
}

// arrange puts ports in the order of the dictionary: by name, or by position for those without one (or with their number as a name).
// The ports of a variadic one are named NAME/0, NAME/1 and so on. A port that is left out is -1.
func (f *flattener) arrange(o *Op, index int, side string, formal []namespace.Port, ports []Port) []int {
	var out []int
	used := make([]bool, len(ports))
	for _, want := range formal {
		found := false
		for k, p := range ports {
			unnamed := p.Name == "" || p.Name == strconv.Itoa(k)
			if used[k] || !(unnamed && k >= len(out)) && !names(want, p.Name) {
				continue
			}
			out, used[k], found = append(out, k), true, true
			if !want.Variadic {
				break
			}
		}
		if !found && !want.Variadic {
			out = append(out, -1)
		}
	}
	for k, p := range ports {
		if !used[k] {
			var list []string
			for _, want := range formal {
				list = append(list, want.String())
			}
			f.fault(p.Place, "op %s (%s) has no %s port %q: its %ss are (%s)", o.title(index), o.Type, side, p.Name, side, strings.Join(list, ", "))
		}
	}
	for len(out) > 0 && out[len(out)-1] < 0 {
		out = out[:len(out)-1]
	}
	return out
}

// names says whether a port's name is that of a formal port.
func names(formal namespace.Port, name string) bool {
	for _, n := range append([]string{formal.Name}, formal.Aliases...) {
		if name == n || formal.Variadic && strings.HasPrefix(name, n+"/") {
			return true
		}
	}
	return false
}

// value gives the name of what comes in at an input port, "" for none. What comes from nowhere is an input of the graph.
func (f *flattener) value(l *level, op, port int) string {
	if port < 0 {
		return ""
	}
	from, ok := l.feeds[end{op, port}]
	if ok {
		return f.from(l, from)
	}
	p := l.ops[op].Inputs[port]
	if Optional(p) {
		return ""
	}
	return f.input(spot{l, op, -2 - port}, l.scope.path+l.ops[op].path(op)+":"+portName(l.ops[op].Inputs, port), p, l.ops[op])
}

// from names the value that an edge brings, "" if it comes from nowhere.
func (f *flattener) from(l *level, from end) string {
	at, ok := f.origin(l, from)
	switch {
	case !ok:
		return ""
	case at.op == selfOp && !at.l.isProgram() && Optional(at.l.self.Inputs[at.port]):
		return "" // of a subgraph, and left out
	case at.op == selfOp:
		p := at.l.self.Inputs[at.port]
		return f.input(at, at.l.scope.path+portName(at.l.self.Inputs, at.port), p, at.l.self)
	}
	return f.result(at.l, at.op, at.port)
}

// origin follows edges through the borders of subgraphs to the op that gives a value, or to an input of a subgraph that nothing feeds.
func (f *flattener) origin(l *level, from end) (spot, bool) {
	for {
		if from.op != selfOp {
			child := l.children[from.op]
			if child == nil {
				return spot{l, from.op, from.port}, true
			}
			inner, ok := child.feeds[end{selfOp, from.port}]
			if !ok {
				return spot{}, false // an output that is optional and comes from nowhere
			}
			l, from = child, inner
			continue
		}
		outer, ok := l.parent.feeds[end{l.index, from.port}]
		if !ok {
			return spot{l, selfOp, from.port}, true
		}
		l, from = l.parent, outer
	}
}

func portName(list []Port, i int) string {
	if list[i].Name != "" {
		return list[i].Name
	}
	return fmt.Sprint(i)
}

// result names an output of an op: by the op, and by the port too where it has several.
func (f *flattener) result(l *level, op, port int) string {
	o := l.ops[op]
	name := l.scope.path + o.path(op)
	if len(o.Outputs) > 1 {
		name += ":" + portName(o.Outputs, port)
	}
	if v, ok := o.Outputs[port].Attrs.Get(ValueName); ok && v.Str != "" {
		name = v.Str
	}
	return f.named(spot{l, op, port}, name)
}

// named gives a value a name that no other has.
func (f *flattener) named(at spot, name string) string {
	if old, ok := f.names[at]; ok {
		return old
	}
	f.names[at] = f.unique.Unique(name)
	return f.names[at]
}

// input adds an input of the graph, once.
func (f *flattener) input(at spot, name string, p Port, owner *Op) string {
	name = f.named(at, name)
	if f.inputs[at] {
		return name
	}
	f.inputs[at] = true
	dtype, _ := p.Attrs.Get("dtype")
	if by, ok := p.Attrs.Get("type_attr"); ok && dtype.Str == "" {
		dtype, _ = owner.Attrs.Get(by.Str)
	}
	shape, _ := p.Attrs.Get("shape")
	if dtype.Str == "" && at.op == selfOp {
		dtype, shape = at.l.consumer(at.port, shape)
	}
	f.port(name, dtype, shape)
	f.flat.Ports[name] = p.Attrs
	return name
}

// consumer gives the element type, and a shape unless there is one, of an input of a subgraph as the first port inside that takes it
// says them.
func (l *level) consumer(port int, shape ir.AttrValue) (dtype, _ ir.AttrValue) {
	c := &checker{}
	for _, e := range l.edges {
		from, okFrom := c.find(l.scope, e, e.From, true)
		to, okTo := c.find(l.scope, e, e.To, false)
		if !okFrom || !okTo || from != (end{selfOp, port}) || to.port == Control {
			continue
		}
		if t, ok := l.dtype(to, false); ok && dtype.Str == "" {
			dtype = ir.StringAttr(t)
		}
		if s, ok := l.scope.shape(to, false); ok && shape.Kind != ir.AttrList {
			shape = s
		}
	}
	return dtype, shape
}

func (f *flattener) port(name string, dtype, shape ir.AttrValue) {
	in := foreign.Port{Name: name, DType: namespace.DType(dtype.Str)}
	in.Shape, in.Ranked = sizes(shape)
	if in.DType == scalar.Invalid && dtype.Str != "" {
		in.Reason = fmt.Sprintf("has the element type %s, which tapc does not have", dtype.Str)
	}
	f.out.Inputs = append(f.out.Inputs, in)
}

// source adds an op that brings a value in from outside as an input of the graph.
func (f *flattener) source(l *level, i int, o *Op) {
	if len(o.Outputs) == 0 {
		return
	}
	name := f.result(l, i, 0)
	dtype, _ := o.Attrs.Get("dtype")
	shape, _ := o.Attrs.Get("shape")
	f.port(name, dtype, shape)
	f.flat.Ports[name] = o.Attrs
}

// sizes reads a list of sizes; a negative one, null or a name is to be bound later.
func sizes(v ir.AttrValue) ([]foreign.Size, bool) {
	if v.Kind != ir.AttrList {
		return nil, false
	}
	out := []foreign.Size{}
	for _, x := range v.List {
		switch {
		case x.Kind == ir.AttrInt && x.Int >= 0:
			out = append(out, foreign.Size{Value: x.Int})
		case x.Kind == ir.AttrString:
			out = append(out, foreign.Size{Value: -1, Name: x.Str})
		default:
			out = append(out, foreign.Size{Value: -1})
		}
	}
	return out, true
}

// Output is the type, in the domain tapc, of operations that give a value the name of an output.
const Output = "Output"

// outputs adds the graph's outputs: the ports of its only subgraph under their own names, or else what nothing consumes of ops
// of which nothing at all is consumed.
func (f *flattener) outputs(top *level) {
	if o := top.only(); o != nil {
		for k := range o.Outputs {
			if name := f.from(top, end{0, k}); name != "" {
				port := portName(o.Outputs, k)
				f.out.Outputs = append(f.out.Outputs, foreign.Port{Name: port})
				if name == port {
					continue
				}
				f.out.Ops = append(f.out.Ops, &foreign.Op{Domain: "tapc", Type: Output, In: []string{name}, Out: []string{port},
					Pos: ir.Pos{Line: int32(o.Outputs[k].Line), Col: int32(o.Outputs[k].Column)}})
			}
		}
		return
	}
	used := map[int]bool{}
	for _, from := range top.feeds {
		used[from.op] = true
	}
	for i, o := range top.ops {
		formal := f.formal(f.splitType(o.Type))
		if used[i] || o.Type == initializer || formal != nil && formal.Is("source") {
			continue
		}
		for k := range o.Outputs {
			if name := f.from(top, end{i, k}); name != "" && !slices.ContainsFunc(f.out.Outputs, func(p foreign.Port) bool { return p.Name == name }) {
				f.out.Outputs = append(f.out.Outputs, foreign.Port{Name: name})
			}
		}
	}
}

// CodeOrder is the code of a control edge that no run could keep to.
const CodeOrder = "TAP0857"

// times says of ops what is done when they are, and what waits for what they wait for.
type times struct {
	ops    map[spot]*foreign.Op // by op, whose port is 0
	bounds map[spot]*foreign.Op // of subgraphs; the port is that of a side
}

// The sides of an op in time.
const (
	opening = iota
	closing
)

// order tells operations what happens before them, besides those whose values they take: a control edge of a subgraph is one of all that is in it. So edges
// between a subgraph and its own ops say nothing new, but that what happens before the end of the graph is observed.
func (f *flattener) order(l *level) {
	observed := &foreign.Op{Domain: foreign.Added, Type: foreign.Order}
	seen := map[[2]int]bool{}
	for _, c := range l.controls {
		from, to := c[0], c[1]
		if seen[c] || from == selfOp || to == selfOp && !l.isProgram() {
			continue
		}
		seen[c] = true
		before := f.bound(l, from, closing)
		if to == selfOp {
			observed.After = append(observed.After, before...)
			continue
		}
		for _, op := range f.bound(l, to, opening) {
			op.After = append(op.After, before...)
		}
		if !f.takesTime(l, to) {
			o := l.ops[to]
			f.late(o, "an op that waits for others, and computes", "what is there when a run begins", "a control edge leads to %s, an input or a constant", o.title(to))
		}
	}
	if len(observed.After) > 0 {
		f.out.Ops = append(f.out.Ops, observed)
	}
	for i := range l.ops {
		if c := l.children[i]; c != nil {
			f.order(c)
		}
	}
}

func (f *flattener) late(o *Op, expected, found, format string, args ...any) {
	d := diag.Errorf(CodeOrder, constraint, diag.Location{File: f.g.File, Line: o.Line, Column: o.Column}, format, args...)
	f.bad = append(f.bad, d.Want(expected, found))
}

// takesTime says whether an op takes place at a time: neither inputs nor constants do.
func (f *flattener) takesTime(l *level, i int) bool {
	return l.children[i] != nil || f.times.ops[spot{l, i, 0}] != nil
}

// bound gives the operation at one end of an op in time: itself or, of a subgraph, the only one that begins or ends it, or else one between these and
// others. There is none of what is there from the beginning.
func (f *flattener) bound(l *level, i, side int) []*foreign.Op {
	c, o := l.children[i], l.ops[i]
	if c == nil {
		if op := f.times.ops[spot{l, i, 0}]; op != nil {
			return []*foreign.Op{op}
		}
		return nil
	}
	at := spot{l, i, side}
	if op := f.times.bounds[at]; op != nil {
		return []*foreign.Op{op}
	}
	var inside []*foreign.Op
	for _, k := range f.border(c, side) {
		inside = append(inside, f.bound(c, k, side)...)
	}
	for to, from := range c.feeds {
		if to.op == selfOp && from.op == selfOp {
			f.late(o, "an op that takes the value and gives it", "a port joined to a port", "control edges lead to or from subgraph %s, through which a value passes as it is", o.title(i))
			break
		}
	}
	if len(inside) == 1 {
		f.times.bounds[at] = inside[0]
		return inside
	}
	op := &foreign.Op{Name: l.scope.path + o.path(i), Domain: foreign.Added, Type: foreign.Order, Pos: ir.Pos{Line: int32(o.Line), Col: int32(o.Column)}}
	f.out.Ops = append(f.out.Ops, op)
	f.times.bounds[at] = op
	switch {
	case len(inside) == 0:
		f.times.bounds[spot{l, i, opening + closing - side}] = op // it begins and ends at once
	case side == opening:
		for _, x := range inside {
			x.After = append(x.After, op)
		}
	default:
		op.After = inside
	}
	return []*foreign.Op{op}
}

// border gives the ops of a subgraph that wait for no other of it, or for which none waits.
func (f *flattener) border(l *level, side int) (list []int) {
	inner := map[int]bool{}
	note := func(from, to int) {
		if from == selfOp || to == selfOp || !f.takesTime(l, from) || !f.takesTime(l, to) {
			return
		}
		inner[[...]int{opening: to, closing: from}[side]] = true
	}
	for to, from := range l.feeds {
		note(from.op, to.op)
	}
	for _, c := range l.controls {
		note(c[0], c[1])
	}
	for i := range l.ops {
		if !inner[i] && f.takesTime(l, i) {
			list = append(list, i)
		}
	}
	return list
}
