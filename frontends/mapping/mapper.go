package mapping

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/scalar"
)

// Native maps an operation that no rule can say: control flow. It gives the values of the operation's outputs.
type Native func(r *Region, op *Op) ([]Value, error)

// Options are what a mapping is given besides the graph.
type Options struct {
	Tables  []*Table
	Library *kernels.Library
	Dims    map[string]int64  // sizes of symbolic dimensions; "input:0" names a dimension without a name
	Bind    map[string]*Data  // inputs that become constants
	Natives map[string]Native // by domain:type, or type
	Bodies  func(domain, op string) *Function
	// Unchecked leaves out the checks of indices that standards ask for.
	Unchecked bool
	// Open lets inputs lack a type or a shape: what needs them waits, and if an output does, the error is ErrOpen.
	Open bool
}

// Function is an operation that is defined by a graph: formal inputs and outputs are the graph's, attributes are bound by name.
type Function struct {
	Graph    *Graph
	Defaults []Attr
}

// mapper is one run.
type mapper struct {
	ctx    context.Context
	opt    Options
	rules  map[string][]*Rule
	nodes  []*node
	report *Report
	depth  int
	steps  int
	applied
	inferred map[use][]kernels.PortSel // outputs by the use of a kernel; see infer
	foreign  int                       // operations that the rules for one stand for
	key      []byte                    // room for the text of a use
	spare    []map[string]Value        // of rules that are done, empty
	ordinals int64                     // given out so far
	calls    int                       // of graphs inside of others
}

// applied is the rule that is being applied.
type applied struct {
	rule    string // and those that stand for the operation, first
	chain   string // the latter
	pos     ir.Pos
	params  []string // outputs of the rule
	outputs []string // of the operation; "" for one that nothing takes
	hop     int64    // the version that the rule's table leads to
	at      origin
}

// Map makes an Operation Expression of a foreign graph. The report says what was mapped by which rule, and everything that was
// not; if there is any, the error lists it and the graph is nil.
func Map(ctx context.Context, fg *Graph, opt Options) (*ir.Graph, *Report, error) {
	if opt.Library == nil {
		opt.Library = kernels.Builtin()
	}
	m := &mapper{ctx: ctx, opt: opt, rules: rulesByOperator(opt.Tables), report: newReport(fg)}
	r := &Region{m: m, graph: fg, values: map[string]Value{}}
	inputs, err := m.graphInputs(fg, r)
	if err != nil {
		return nil, m.report, err
	}
	if err := r.run(); err != nil {
		return nil, m.report, err
	}
	outputs, err := r.outputs()
	if err != nil {
		return nil, m.report, err
	}
	if err := m.report.err(); err != nil {
		return nil, m.report, err
	}
	if opt.Open && slices.ContainsFunc(outputs, Value.isUnknown) {
		return nil, m.report, ErrOpen
	}
	g, err := m.build(fg, inputs, outputs)
	return g, m.report, err
}

// rulesByOperator gives the rules for one operator, by domain and type.
func rulesByOperator(tables []*Table) map[string][]*Rule {
	out := map[string][]*Rule{}
	for _, t := range tables {
		for _, r := range t.Rules {
			key := r.Domain + ":" + r.Op
			out[key] = append(out[key], r)
		}
	}
	return out
}

// ErrOpen ends the mapping of a graph whose outputs wait for the shape of an input.
var ErrOpen = errors.New("the shape of an input is not known")

// Region is a graph that is being mapped: the program itself, or the body of control flow or a function inside it.
type Region struct {
	m      *mapper
	graph  *Graph
	outer  *Region
	values map[string]Value
	attrs  []Attr // of the function that the region is the body of
	inside string
}

// find gives a value by name, also of an outer graph; ok is false for one that is not there.
func (r *Region) find(name string) (Value, bool, error) {
	for s := r; s != nil; s = s.outer {
		if v, ok := s.values[name]; ok {
			return v, true, nil
		}
		if d := s.graph.Consts[name]; d != nil {
			t, err := r.m.constant(d)
			if err != nil {
				return Value{}, true, err
			}
			t.Label = name
			s.values[name] = tensorValue(t)
			return s.values[name], true, nil
		}
	}
	return Value{}, false, nil
}

// Value gives the value of a name that an operation takes; "" is none.
func (r *Region) Value(name string) (Value, error) {
	if name == "" {
		return Value{}, nil
	}
	v, ok, err := r.find(name)
	if err == nil && !ok {
		err = refuse("%q is not there", name)
	}
	return v, err
}

// Call maps a graph inside of the region with values for its inputs, in order, and gives the values of its outputs.
func (r *Region) Call(body *Graph, args []Value, where string) ([]Value, error) {
	return r.enter(&Region{m: r.m, graph: body, outer: r, values: map[string]Value{}, attrs: r.attrs, inside: where}, args)
}

// maxRegions bounds how deep graphs may nest, functions included.
const maxRegions = 64

// maxCalls bounds how many graphs are mapped inside of others, for functions and loops multiply when they nest.
const maxCalls = 1 << 15

func (r *Region) enter(inner *Region, args []Value) ([]Value, error) {
	defer func() { r.m.depth-- }()
	if r.m.depth++; r.m.depth > maxRegions {
		return nil, refuse("graphs are nested deeper than %d", maxRegions)
	}
	if r.m.calls++; r.m.calls > maxCalls {
		return nil, refuse("more than %d graphs, iterations included, are unrolled", maxCalls)
	}
	for i, p := range inner.graph.Inputs {
		if i < len(args) {
			inner.values[p.Name] = args[i]
		}
	}
	before := len(r.m.report.Unmapped)
	if err := inner.run(); err != nil {
		return nil, err
	}
	if len(r.m.report.Unmapped) > before {
		return nil, errListed
	}
	return inner.outputs()
}

// errListed ends an operation whose parts are in the report already.
var errListed = errors.New("listed")

// unknown stands for what an operation would have given that could not be mapped.
var unknown = Value{Kind: OpaqueKind, Str: "unmapped"}

func (v Value) isUnknown() bool { return v.Kind == OpaqueKind && v.Str == unknown.Str }

func (r *Region) run() error {
	order, err := r.order()
	if err != nil {
		return err
	}
	fused := r.fusions(order)
	position := map[*Op]int{}
	for i, op := range order {
		if err := r.m.ctx.Err(); err != nil {
			return context.Cause(r.m.ctx)
		}
		var err error
		switch f := fused[op]; {
		case f == nil:
			err = r.op(op)
		case f.ops[len(f.ops)-1] == op:
			position[op] = i
			err = r.fused(f, position)
		default: // mapped with the last one of its pattern
			position[op] = i
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// op maps one operation. What can not be mapped goes to the report.
func (r *Region) op(op *Op) error {
	m := r.m
	if m.depth == 0 {
		m.foreign = 0
	}
	in := make([]Value, len(op.In))
	blocked := false
	for i, name := range op.In {
		v, err := r.Value(name)
		if err != nil && !isRefusal(err) {
			return err
		}
		if err != nil {
			m.report.fail(r, op, "graph", err.Error())
			r.give(op, nil)
			return nil
		}
		blocked = blocked || v.isUnknown()
		in[i] = v
	}
	if blocked {
		if cause, reason := m.hopeless(r, op); reason != "" {
			m.report.fail(r, op, cause, reason)
		} else {
			m.report.wait(r, op)
		}
		r.give(op, nil)
		return nil
	}
	mark := len(m.nodes)
	out, by, err := m.mapOp(r, op, in)
	switch {
	case err == nil:
		m.report.ok(r, op, by)
		guard(m.nodes[mark:], out)
		r.give(op, out)
		return nil
	case errors.Is(err, errListed):
		r.give(op, nil)
	case isRefusal(err):
		m.report.fail(r, op, by, err.Error())
		r.give(op, nil)
	case m.ctx.Err() != nil:
		return context.Cause(m.ctx)
	default:
		m.report.fail(r, op, by, err.Error())
		r.give(op, nil)
	}
	m.nodes = m.nodes[:mark]
	return nil
}

// give names the outputs of an operation; nil stands for one that could not be mapped.
func (r *Region) give(op *Op, out []Value) {
	for i, name := range op.Out {
		switch {
		case name == "":
		case i < len(out):
			r.values[name] = out[i]
			if t := out[i].Tensor; t != nil && t.Label == "" {
				t.Label = name
			}
		default:
			r.values[name] = unknown
		}
	}
}

// mapOp tries natives, rules and function bodies in this order. It gives the outputs and, for the report, what made them or
// why nothing did.
func (m *mapper) mapOp(r *Region, op *Op, in []Value) (out []Value, by string, err error) {
	m.pos = op.Pos
	m.at = origin{r, op}
	key := op.Domain + ":" + op.Type
	if native := m.opt.Natives[key]; native != nil {
		m.rule = key
		out, err = native(r, op)
		return out, "native", err
	}
	version := r.version(op.Domain)
	by = "no-rule"
	mark := len(m.nodes)
	for _, rule := range m.rules[key] {
		if version < rule.From || rule.To >= 0 && version > rule.To {
			continue
		}
		if rule.Refuses != "" {
			return nil, "unsupported", refuse("%s", rule.Refuses)
		}
		if out, err = m.apply1(rule, r, op, in, version); err == nil {
			return out, rule.Name, nil
		}
		by = "guard"
		m.nodes = m.nodes[:mark]
	}
	if to := m.carried(op, version); to != 0 && by == "no-rule" {
		return m.mapOp(&Region{m: m, graph: &Graph{Versions: map[string]int64{"": to}}, outer: r, values: map[string]Value{}}, op, in)
	}
	if m.opt.Bodies != nil && by == "no-rule" {
		if f := m.opt.Bodies(op.Domain, op.Type); f != nil {
			out, err = m.function(r, op, f, in)
			return out, "function", err
		}
	}
	if err == nil {
		err = refuse("no rule maps it")
	}
	return nil, by, err
}

func (m *mapper) function(r *Region, op *Op, f *Function, in []Value) ([]Value, error) {
	inner := &Region{m: m, graph: f.Graph, values: map[string]Value{}, inside: op.Title()}
	for _, d := range f.Defaults {
		if _, ok := op.Attr(d.Name); !ok {
			inner.attrs = append(inner.attrs, d)
		}
	}
	inner.attrs = append(inner.attrs, op.Attrs...)
	return r.enter(inner, in)
}

// version gives the version of a domain's vocabulary in the region's graph, or that of an outer one.
func (r *Region) version(domain string) int64 {
	for s := r; s != nil; s = s.outer {
		if v, ok := s.graph.Versions[domain]; ok {
			return v
		}
	}
	return 0
}

// hopeless says why an operation can not be mapped whatever its inputs are, or "".
func (m *mapper) hopeless(r *Region, op *Op) (cause, reason string) {
	key := op.Domain + ":" + op.Type
	if m.opt.Natives[key] != nil || m.opt.Bodies != nil && m.opt.Bodies(op.Domain, op.Type) != nil {
		return "", ""
	}
	version := r.version(op.Domain)
	for _, rule := range m.rules[key] {
		if version < rule.From || rule.To >= 0 && version > rule.To {
			continue
		}
		if rule.Refuses != "" {
			return "unsupported", rule.Refuses
		}
		return "", ""
	}
	return "no-rule", "no rule maps it"
}

// apply1 runs one rule on one operation.
func (m *mapper) apply1(rule *Rule, r *Region, op *Op, in []Value, version int64) ([]Value, error) {
	e := m.begin(rule, r, op, version)
	if err := bindInputs(rule, e, in); err != nil {
		return nil, err
	}
	if err := bindAttrs(rule, e, r, op); err != nil {
		return nil, err
	}
	return m.conclude(rule, e, op)
}

// begin makes the names that a rule for an operation starts with.
func (m *mapper) begin(rule *Rule, r *Region, op *Op, version int64) *env {
	m.rule, m.pos, m.hop, m.at, m.steps = m.chain+rule.Name, op.Pos, rule.hop, origin{r, op}, 0
	e := &env{vars: m.names(), m: m, steps: &m.steps}
	e.vars["opset"] = IntValue(version)
	e.root = e
	return e
}

// names gives an empty map, one of a rule that is done if there is one.
func (m *mapper) names() map[string]Value {
	if n := len(m.spare) - 1; n >= 0 {
		vars := m.spare[n]
		m.spare = m.spare[:n]
		return vars
	}
	return map[string]Value{}
}

// done ends the use of a rule's names.
func (m *mapper) done(e *env) {
	clear(e.vars)
	m.spare = append(m.spare, e.vars)
}

// conclude works a rule's clauses off and gives its results.
func (m *mapper) conclude(rule *Rule, e *env, op *Op) ([]Value, error) {
	defer m.done(e)
	m.params, m.outputs = rule.Out, op.Out
	for i := range rule.clauses {
		c := &rule.clauses[i]
		e.lets = rule.clauses[:i+1]
		if len(c.names) == 0 {
			if err := e.need(c); err != nil {
				return nil, err
			}
		}
	}
	return rule.results(e, op)
}

// used says whether the model takes an output of the rule.
func (a *applied) used(name string) bool {
	i := slices.Index(a.params, name)
	return i >= 0 && i < len(a.outputs) && a.outputs[i] != ""
}

func (e *env) need(c *clause) error {
	v, err := e.eval(c.value)
	switch {
	case err != nil:
		return err
	case v.Kind != Bool:
		return fmt.Errorf("need: expected a truth value, found %v", v.Kind)
	case v.Int == 0:
		return &Refusal{c.reason}
	}
	return nil
}

// let binds the names of a clause.
func (e *env) let(c *clause) error {
	v, err := e.eval(c.value)
	switch {
	case err != nil:
		return err
	case len(c.names) == 1:
		e.vars[c.names[0]] = v
	default:
		if v.Kind != List || len(v.List) < len(c.names) {
			return fmt.Errorf("expected %d values, found %v", len(c.names), v.Kind)
		}
		for i, name := range c.names {
			e.vars[name] = v.List[i]
		}
	}
	return nil
}

func bindInputs(rule *Rule, e *env, in []Value) error {
	n := 0
	for _, p := range rule.In {
		if p.Variadic {
			rest := Value{Kind: List, List: []Value{}}
			for ; n < len(in); n++ {
				rest.List = append(rest.List, in[n])
			}
			e.vars[p.Name] = rest
			continue
		}
		v := Value{}
		if n < len(in) {
			v = in[n]
		}
		n++
		if v.Kind == None && !p.Optional {
			return refuse("input %s is missing", p.Name)
		}
		if v.Kind != None && v.Kind != TensorKind {
			return refuse("input %s is not a tensor", p.Name)
		}
		e.vars[p.Name] = v
	}
	if n < len(in) && slices.ContainsFunc(in[n:], func(v Value) bool { return v.Kind != None }) {
		return refuse("it has %d inputs, and the rule takes %d", len(in), n)
	}
	return nil
}

// bindAttrs gives the attributes that a rule reads; one that no clause names refuses the rule, so none is ignored silently.
func bindAttrs(rule *Rule, e *env, r *Region, op *Op) error {
	for _, a := range rule.Attrs {
		if a.Default != nil {
			e.vars[a.Name] = *a.Default
		}
	}
	for _, a := range op.Attrs {
		i := slices.IndexFunc(rule.Attrs, func(p AttrParam) bool { return p.Name == a.Name })
		if i < 0 {
			return refuse("attribute %s is not supported", a.Name)
		}
		v := a.Value
		if ref, ok := v.reference(); ok {
			j := slices.IndexFunc(r.attrs, func(x Attr) bool { return x.Name == ref })
			if j < 0 {
				continue
			}
			v = r.attrs[j].Value
		}
		e.vars[a.Name] = v
	}
	return nil
}

// Reference makes an attribute value that stands for an attribute of the function around it.
func Reference(name string) Value { return Value{Kind: OpaqueKind, Str: "ref:" + name} }

func (v Value) reference() (string, bool) {
	if v.Kind == OpaqueKind && len(v.Str) > 4 && v.Str[:4] == "ref:" {
		return v.Str[4:], true
	}
	return "", false
}

func (rule *Rule) results(e *env, op *Op) ([]Value, error) {
	out := make([]Value, len(op.Out))
	for i, name := range op.Out {
		if name == "" {
			continue
		}
		if i >= len(rule.Out) {
			return nil, refuse("output %d is not supported", i)
		}
		v, err := e.name(rule.Out[i])
		if err != nil {
			return nil, err
		}
		if v.Kind == List && i == len(rule.Out)-1 && len(op.Out) >= len(rule.Out) { // the last one takes the rest
			for j, x := range v.List {
				if i+j < len(out) {
					out[i+j] = x
				}
			}
			break
		}
		if v.Kind != TensorKind {
			return nil, refuse("output %s is not supported", rule.Out[i])
		}
		out[i] = v
	}
	for i, name := range op.Out {
		if name != "" && out[i].Kind != TensorKind {
			return nil, refuse("output %d is not there", i)
		}
	}
	return out, nil
}

// constant makes a tensor of a constant.
func (m *mapper) constant(d *Data) (*Tensor, error) {
	if d.Reason != "" {
		return nil, refuse("%s", d.Reason)
	}
	if d.DType == scalar.Invalid || d.Len() < 0 {
		return nil, refuse("a constant of type %v and shape %s", d.DType, describeShape(d.Shape))
	}
	return &Tensor{DType: d.DType, Shape: d.Shape, Data: d, id: ir.NoNode}, nil
}

// origin names the inputs that a value is computed from.
func (m *mapper) origin(t *Tensor) string {
	seen := map[*node]bool{}
	for t.from != nil && !seen[t.from] {
		seen[t.from] = true
		next := (*Tensor)(nil)
		for _, p := range t.from.in {
			for _, x := range p.tensors {
				if next == nil && x.Data == nil {
					next = x
				}
			}
		}
		if next == nil {
			break
		}
		t = next
	}
	if t.from == nil && t.Data == nil {
		return fmt.Sprintf("the input %s, whose value --known %s=FILE gives, or %s=1,2 with numbers", t.title(), t.Label, t.Label)
	}
	return t.title()
}

// Known gives the only element of a constant; a value that is computed from inputs is refused with their name.
func (r *Region) Known(v Value) (Value, error) {
	return value(&env{m: r.m}, []Value{v})
}

// KnownList gives the elements of a constant tensor of integers, flat.
func (r *Region) KnownList(v Value) ([]int64, error) {
	list, err := values(&env{m: r.m}, []Value{v})
	if err != nil {
		return nil, err
	}
	out, ok := list.ints()
	if !ok {
		return nil, refuse("expected integers")
	}
	return out, nil
}

// Constant makes a tensor with one element and no dimensions.
func (r *Region) Constant(v Value, dtype string) (Value, error) {
	return makeTensor(&env{m: r.m}, []Value{v, StringValue(dtype), IntsValue(nil)})
}

// Version gives the version of a domain's vocabulary.
func (r *Region) Version(domain string) int64 { return r.version(domain) }

// Eval calls a function of the tables with values.
func (r *Region) Eval(name string, args ...Value) (Value, error) {
	for _, t := range r.m.opt.Tables {
		d := t.defs[name]
		if d == nil || len(d.params) != len(args) {
			continue
		}
		r.m.steps = 0
		e := &env{vars: map[string]Value{}, m: r.m, steps: &r.m.steps}
		for i, p := range d.params {
			e.vars[p] = args[i]
		}
		return e.eval(d.body)
	}
	return Value{}, refuse("no table has the function %s", name)
}
