package mapping

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/frontends/foreign"
	"tensortapestry.org/tapc/frontends/mapping/emit"
	"tensortapestry.org/tapc/frontends/mapping/expr"
	"tensortapestry.org/tapc/frontends/mapping/ordered"
	"tensortapestry.org/tapc/frontends/mapping/outcome"
	"tensortapestry.org/tapc/frontends/mapping/pattern"
	"tensortapestry.org/tapc/frontends/mapping/rules"
	"tensortapestry.org/tapc/ir"
)

// Native maps an operation that no rule can say: control flow. It gives the values of the operation's outputs.
type Native func(r *Region, op *foreign.Op) ([]foreign.Value, error)

// Options are what a mapping is given besides the graph.
type Options struct {
	Tables  []*rules.Table
	Library *kernels.Library
	Dims    map[string]int64         // sizes of symbolic dimensions; "input:0" names a dimension without a name
	Bind    map[string]*foreign.Data // inputs that become constants
	Natives map[string]Native        // by domain:type, or type
	Bodies  func(domain, op string) *foreign.Graph
	// Functions makes definitions of the functions that Bodies gives, and operations that use them of their calls, which else are the operations of the bodies.
	Functions bool
	// Unchecked leaves out the checks of indices that standards ask for.
	Unchecked bool
	// Open lets inputs lack a type or a shape: what needs them waits, and if an output does, the error is ErrOpen.
	Open bool
}

// mapper is one run.
type mapper struct {
	ctx      context.Context
	opt      Options
	rules    map[string][]*rules.Rule
	made     *emit.Program
	report   *Report
	depth    int
	steps    int
	now      applied
	derived  int // operations that the rules for one stand for
	trace    trace
	spare    []map[string]foreign.Value // of rules that are done, empty
	ordinals int64                      // given out so far
	calls    int                        // of graphs inside of others
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
func Map(ctx context.Context, fg *foreign.Graph, opt Options) (*ir.Graph, *Report, error) {
	if opt.Library == nil {
		opt.Library = kernels.Builtin()
	}
	m := newMapper(ctx, opt, fg)
	m.trace.timed = ordered.Asked(fg.Ops)
	r := &Region{m: m, graph: fg, values: map[string]foreign.Value{}}
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
	if err := m.report.Err(); err != nil {
		return nil, m.report, err
	}
	if opt.Open && slices.ContainsFunc(outputs, isUnknown) {
		return nil, m.report, ErrOpen
	}
	g, err := m.build(r, inputs, outputs)
	return g, m.report, err
}

func newMapper(ctx context.Context, opt Options, fg *foreign.Graph) *mapper {
	made := emit.New(ctx, opt.Library)
	made.Unchecked = opt.Unchecked
	return &mapper{ctx: ctx, opt: opt, rules: rulesByOperator(opt.Tables), made: made, report: outcome.New(fg)}
}

// rulesByOperator gives the rules for one operator, by domain and type.
func rulesByOperator(tables []*rules.Table) map[string][]*rules.Rule {
	out := map[string][]*rules.Rule{}
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
	graph  *foreign.Graph
	outer  *Region
	values map[string]foreign.Value
	attrs  []foreign.Attr // of the function that the region is the body of
	inside string
}

// find gives a value by name, also of an outer graph; ok is false for one that is not there.
func (r *Region) find(name string) (foreign.Value, bool, error) {
	for s := r; s != nil; s = s.outer {
		if v, ok := s.values[name]; ok {
			return v, true, nil
		}
		if d := s.graph.Consts[name]; d != nil {
			t, err := expr.ConstantTensor(d)
			if err != nil {
				return foreign.Value{}, true, err
			}
			t.Label = name
			s.values[name] = foreign.TensorValue(t)
			return s.values[name], true, nil
		}
	}
	return foreign.Value{}, false, nil
}

// Value gives the value of a name that an operation takes; "" is none.
func (r *Region) Value(name string) (foreign.Value, error) {
	if name == "" {
		return foreign.Value{}, nil
	}
	v, ok, err := r.find(name)
	if err == nil && !ok {
		err = expr.Refuse("%q is not there", name)
	}
	return v, err
}

// Call maps a graph inside of the region with values for its inputs, in order, and gives the values of its outputs.
func (r *Region) Call(body *foreign.Graph, args []foreign.Value, where string) ([]foreign.Value, error) {
	return r.enter(&Region{m: r.m, graph: body, outer: r, values: map[string]foreign.Value{}, attrs: r.attrs, inside: where}, args)
}

// maxRegions bounds how deep graphs may nest, functions included.
const maxRegions = 64

// maxCalls bounds how many graphs are mapped inside of others, for functions and loops multiply when they nest.
const maxCalls = 1 << 15

func (r *Region) enter(inner *Region, args []foreign.Value) ([]foreign.Value, error) {
	defer func() { r.m.depth-- }()
	if r.m.depth++; r.m.depth > maxRegions {
		return nil, expr.Refuse("graphs are nested deeper than %d", maxRegions)
	}
	if r.m.calls++; r.m.calls > maxCalls {
		return nil, expr.Refuse("more than %d graphs, iterations included, are unrolled", maxCalls)
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
var unknown = foreign.Value{Kind: foreign.OpaqueKind, Str: "unmapped"}

func isUnknown(v foreign.Value) bool { return v.Kind == foreign.OpaqueKind && v.Str == unknown.Str }

func (r *Region) run() error {
	order, err := ordered.Sort(r.graph)
	if err != nil {
		return r.fault("%v", err)
	}
	fused := pattern.Find(r.graph, order, r.m.opt.Tables, r.version, r.m.trace.timed)
	position := map[*foreign.Op]int{}
	for i, op := range order {
		if err := r.m.ctx.Err(); err != nil {
			return context.Cause(r.m.ctx)
		}
		var err error
		mark := len(r.m.made.Nodes)
		switch f := fused[op]; {
		case f == nil:
			err = r.op(op)
			r.m.note(mark, op)
		case f.Ops[len(f.Ops)-1] == op:
			position[op] = i
			err = r.fused(f, position)
			r.m.note(mark, f.Ops...)
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
func (r *Region) op(op *foreign.Op) error {
	m := r.m
	if m.depth == 0 {
		m.derived = 0
	}
	in := make([]foreign.Value, len(op.In))
	blocked := false
	for i, name := range op.In {
		v, err := r.Value(name)
		if err != nil && !expr.IsRefusal(err) {
			return err
		}
		if err != nil {
			r.fail(op, "graph", err)
			r.give(op, nil)
			return nil
		}
		blocked = blocked || isUnknown(v)
		in[i] = v
	}
	if blocked {
		if cause, reason := m.hopeless(r, op); reason != "" {
			r.fail(op, cause, expr.Refuse("%s", reason))
		} else {
			m.report.Wait(r.opVersion(op))
		}
		r.give(op, nil)
		return nil
	}
	mark := len(m.made.Nodes)
	out, by, err := m.mapOp(r, op, in)
	switch {
	case err == nil:
		m.report.Ok(r.opVersion(op), by)
		emit.Guard(m.made.Nodes[mark:], out)
		r.give(op, out)
		return nil
	case errors.Is(err, errListed):
		r.give(op, nil)
	case expr.IsRefusal(err):
		r.fail(op, by, err)
		r.give(op, nil)
	case m.ctx.Err() != nil:
		return context.Cause(m.ctx)
	default:
		r.fail(op, by, err)
		r.give(op, nil)
	}
	drop(m, mark)
	return nil
}

// give names the outputs of an operation; nil stands for one that could not be mapped.
func (r *Region) give(op *foreign.Op, out []foreign.Value) {
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
func (m *mapper) mapOp(r *Region, op *foreign.Op, in []foreign.Value) (out []foreign.Value, by string, err error) {
	m.now.pos = op.Pos
	m.now.at = origin{r, op}
	key := op.Domain + ":" + op.Type
	if native := m.opt.Natives[key]; native != nil {
		m.now.rule = key
		out, err = native(r, op)
		return out, "native", err
	}
	version := r.version(op.Domain)
	by = "no-rule"
	mark := len(m.made.Nodes)
	for _, rule := range m.rules[key] {
		if !rule.At(version) {
			continue
		}
		if rule.Refuses != "" {
			return nil, "unsupported", expr.Refuse("%s", rule.Refuses)
		}
		if out, err = m.apply1(rule, r, op, in, version); err == nil {
			return out, rule.Name, nil
		}
		by = "guard"
		drop(m, mark)
	}
	if to := m.carried(op, version); to != 0 && by == "no-rule" {
		return m.mapOp(&Region{m: m, graph: &foreign.Graph{Versions: map[string]int64{"": to}}, outer: r, values: map[string]foreign.Value{}}, op, in)
	}
	if m.opt.Bodies != nil && by == "no-rule" {
		if f := m.opt.Bodies(op.Domain, op.Type); f != nil {
			out, err = m.function(r, op, f, in)
			return out, "function", err
		}
	}
	if err == nil {
		err = expr.Refuse("no rule maps it")
	}
	return nil, by, err
}

func (m *mapper) function(r *Region, op *foreign.Op, f *foreign.Graph, in []foreign.Value) ([]foreign.Value, error) {
	if len(in) > len(f.Inputs) {
		return nil, expr.Refuse("it has %d inputs, and the function takes %d", len(in), len(f.Inputs))
	}
	in = append(slices.Clone(in), make([]foreign.Value, len(f.Inputs)-len(in))...) // others are left out
	inner := &Region{m: m, graph: f, values: map[string]foreign.Value{}, inside: op.Title()}
	for _, d := range f.Defaults {
		if _, ok := op.Attr(d.Name); !ok {
			inner.attrs = append(inner.attrs, d)
		}
	}
	for _, a := range op.Attrs {
		if v, there := r.resolve(a.Value); there {
			inner.attrs = append(inner.attrs, foreign.Attr{Name: a.Name, Value: v})
		}
	}
	if m.opt.Functions {
		return r.kept(inner, op, in)
	}
	return r.enter(inner, in)
}

// trace is what became of the operations of a graph whose order is given, and of calls of functions that are kept.
type trace struct {
	timed map[*foreign.Op]bool // those that happen before or after others; nil if there are none
	spans []span
	calls []call
}

// span is operations that were mapped together, and what they became: a part of the mapper's nodes.
type span struct {
	ops      []*foreign.Op
	from, to int
}

// note keeps what became of operations of the program's own graph, where its order is given.
func (m *mapper) note(mark int, ops ...*foreign.Op) {
	if m.trace.timed != nil && m.depth == 0 {
		m.trace.spans = append(m.trace.spans, span{ops, mark, len(m.made.Nodes)})
	}
}

// call is a call of a function that is kept, and what it became: a part of the mapper's nodes.
type call struct {
	op       *foreign.Op
	body     *foreign.Graph
	copies   []*emit.Node // of what is given for each formal input; nil for what is known when compiling or left out
	out      []foreign.Value
	from, to int
	inner    []call
}

// maxKept bounds how deep calls are kept in others: each may be mapped twice.
const maxKept = 8

// kept maps a call of a function whose body is in a region. Numbers that are constants outside are none inside, as they differ from call to call, unless the body can not be
// mapped then; integers, as shapes are, are known.
func (r *Region) kept(inner *Region, op *foreign.Op, in []foreign.Value) ([]foreign.Value, error) {
	if r.m.depth > maxKept {
		return r.enter(inner, in)
	}
	m, mark, report := r.m, len(r.m.made.Nodes), r.m.report.Clone()
	out, hidden, err := r.keep(inner, op, in, true)
	if err != nil && hidden && m.ctx.Err() == nil {
		drop(m, mark)
		*m.report = *report
		inner.values = map[string]foreign.Value{}
		out, _, err = r.keep(inner, op, in, false)
	}
	return out, err
}

// keep maps the body once, and says whether a constant was hidden from it.
func (r *Region) keep(inner *Region, op *foreign.Op, in []foreign.Value, hide bool) (out []foreign.Value, hidden bool, err error) {
	m, c := r.m, call{op: op, body: inner.graph, copies: make([]*emit.Node, len(in)), from: len(r.m.made.Nodes)}
	args := slices.Clone(in)
	for i, v := range in {
		t := v.Tensor
		if v.Kind != foreign.TensorKind || i >= len(c.body.Inputs) || t.Data != nil && !(hide && t.DType.IsFloat()) {
			continue
		}
		hidden = hidden || t.Data != nil
		n, copied := m.made.Copy(t, c.body.Inputs[i].Name, emit.Origin{Rule: "function", Pos: op.Pos})
		c.copies[i], args[i] = n, foreign.TensorValue(copied)
	}
	start := len(m.trace.calls)
	if out, err = r.enter(inner, args); err != nil {
		return nil, hidden, err
	}
	for i, v := range out {
		if v.Kind == foreign.TensorKind && emit.Maker(v.Tensor) != nil {
			if k := slices.Index(c.copies, emit.Maker(v.Tensor)); k >= 0 {
				out[i] = in[k] // it is given as it was taken
			} else if i < len(op.Out) && op.Out[i] != "" {
				v.Tensor.Label = op.Out[i]
			}
		}
	}
	c.out, c.to, c.inner = out, len(m.made.Nodes), slices.Clone(m.trace.calls[start:])
	m.trace.calls = append(m.trace.calls[:start], c)
	return out, hidden, nil
}

// drop takes nodes back, and the calls that they came of.
func drop(m *mapper, mark int) {
	m.made.Nodes = m.made.Nodes[:mark]
	m.trace.calls = slices.DeleteFunc(m.trace.calls, func(c call) bool { return c.to > mark })
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
func (m *mapper) hopeless(r *Region, op *foreign.Op) (cause, reason string) {
	key := op.Domain + ":" + op.Type
	if m.opt.Natives[key] != nil || m.opt.Bodies != nil && m.opt.Bodies(op.Domain, op.Type) != nil {
		return "", ""
	}
	version := r.version(op.Domain)
	for _, rule := range m.rules[key] {
		if !rule.At(version) {
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
func (m *mapper) apply1(rule *rules.Rule, r *Region, op *foreign.Op, in []foreign.Value, version int64) ([]foreign.Value, error) {
	e := m.begin(rule, m, origin{r, op}, version)
	if err := bindInputs(rule, e, in); err != nil {
		return nil, err
	}
	if err := bindAttrs(rule, e, r, op); err != nil {
		return nil, err
	}
	return m.conclude(rule, e, op)
}

// begin makes the names that a rule for an operation starts with.
func (m *mapper) begin(rule *rules.Rule, run expr.Run, at origin, version int64) *expr.Env {
	m.now.rule, m.now.pos, m.now.hop, m.now.at, m.steps = m.now.chain+rule.Name, at.op.Pos, rule.Hop, at, 0
	e := expr.NewEnv(m.ctx, run, &m.steps, m.names())
	e.Vars["opset"] = foreign.IntValue(version)
	e.Root = e
	return e
}

// names gives an empty map, one of a rule that is done if there is one.
func (m *mapper) names() map[string]foreign.Value {
	if n := len(m.spare) - 1; n >= 0 {
		vars := m.spare[n]
		m.spare = m.spare[:n]
		return vars
	}
	return map[string]foreign.Value{}
}

// done ends the use of a rule's names.
func (m *mapper) done(e *expr.Env) {
	clear(e.Vars)
	m.spare = append(m.spare, e.Vars)
}

// conclude works a rule's clauses off and gives its results.
func (m *mapper) conclude(rule *rules.Rule, e *expr.Env, op *foreign.Op) ([]foreign.Value, error) {
	defer m.done(e)
	m.now.params, m.now.outputs = rule.Out, op.Out
	for i := range rule.Clauses {
		c := &rule.Clauses[i]
		e.Lets = rule.Clauses[:i+1]
		if len(c.Names) == 0 {
			if err := e.Need(c); err != nil {
				return nil, err
			}
		}
	}
	return results(rule, e, op)
}

// Kernel makes an operation of tapc.
func (m *mapper) Kernel(c expr.Call) (foreign.Value, error) { return m.made.Call(c, m.now.origin()) }

// origin is what the rule's operations are made for.
func (a *applied) origin() emit.Origin { return emit.Origin{Rule: a.rule, Pos: a.pos} }

// used says whether the model takes an output of the rule.
func (a *applied) used(name string) bool {
	i := slices.Index(a.params, name)
	return i >= 0 && i < len(a.outputs) && a.outputs[i] != ""
}

func bindInputs(rule *rules.Rule, e *expr.Env, in []foreign.Value) error {
	n := 0
	for _, p := range rule.In {
		if p.Variadic {
			rest := foreign.Value{Kind: foreign.List, List: []foreign.Value{}}
			for ; n < len(in); n++ {
				rest.List = append(rest.List, in[n])
			}
			e.Vars[p.Name] = rest
			continue
		}
		v := foreign.Value{}
		if n < len(in) {
			v = in[n]
		}
		n++
		if v.Kind == foreign.None && !p.Optional {
			return expr.Refuse("input %s is missing", p.Name)
		}
		if v.Kind != foreign.None && v.Kind != foreign.TensorKind {
			return expr.Refuse("input %s is not a tensor", p.Name)
		}
		e.Vars[p.Name] = v
	}
	if n < len(in) && slices.ContainsFunc(in[n:], func(v foreign.Value) bool { return v.Kind != foreign.None }) {
		return expr.Refuse("it has %d inputs, and the rule takes %d", len(in), n)
	}
	return nil
}

// bindAttrs gives the attributes that a rule reads; one that no clause names refuses the rule, so none is ignored silently.
func bindAttrs(rule *rules.Rule, e *expr.Env, r *Region, op *foreign.Op) error {
	for _, a := range rule.Attrs {
		if a.Default != nil {
			e.Vars[a.Name] = *a.Default
		}
	}
	for _, a := range op.Attrs {
		i := slices.IndexFunc(rule.Attrs, func(p rules.AttrParam) bool { return p.Name == a.Name })
		if i < 0 {
			return expr.Refuse("attribute %s is not supported", a.Name)
		}
		if v, there := r.resolve(a.Value); there {
			e.Vars[a.Name] = v
		}
	}
	return nil
}

// resolve gives the value of an attribute, which may be that of the function around; false if that has none.
func (r *Region) resolve(v foreign.Value) (foreign.Value, bool) {
	ref, ok := v.Referred()
	if !ok {
		return v, true
	}
	i := slices.IndexFunc(r.attrs, func(x foreign.Attr) bool { return x.Name == ref })
	if i < 0 {
		return v, false
	}
	return r.attrs[i].Value, true
}

func results(rule *rules.Rule, e *expr.Env, op *foreign.Op) ([]foreign.Value, error) {
	out := make([]foreign.Value, len(op.Out))
	for i, name := range op.Out {
		if name == "" {
			continue
		}
		if i >= len(rule.Out) {
			return nil, expr.Refuse("output %d is not supported", i)
		}
		v, err := e.Name(rule.Out[i])
		if err != nil {
			return nil, err
		}
		if v.Kind == foreign.List && i == len(rule.Out)-1 && len(op.Out) >= len(rule.Out) { // the last one takes the rest
			for j, x := range v.List {
				if i+j < len(out) {
					out[i+j] = x
				}
			}
			break
		}
		if v.Kind != foreign.TensorKind {
			return nil, expr.Refuse("output %s is not supported", rule.Out[i])
		}
		out[i] = v
	}
	for i, name := range op.Out {
		if name != "" && out[i].Kind != foreign.TensorKind {
			return nil, expr.Refuse("output %d is not there", i)
		}
	}
	return out, nil
}

// Origin says what a value is computed from, and which input that is, or "".
func (m *mapper) Origin(t *foreign.Tensor) (what, input string) {
	seen := map[*emit.Node]bool{}
	for t.Source != nil && !seen[emit.Maker(t)] {
		seen[emit.Maker(t)] = true
		next := (*foreign.Tensor)(nil)
		for _, p := range emit.Maker(t).In {
			for _, x := range p.Tensors {
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
	if t.Source == nil && t.Data == nil {
		return fmt.Sprintf("the input %s, whose value --known %s=FILE gives, or %s=1,2 with numbers", t.Title(), t.Label, t.Label), t.Label
	}
	return t.Title(), ""
}

// Known gives the only element of a constant; a value that is computed from inputs is refused with their name.
func (r *Region) Known(v foreign.Value) (foreign.Value, error) {
	return expr.ElementOf(r.m, v)
}

// KnownList gives the elements of a constant tensor of integers, flat.
func (r *Region) KnownList(v foreign.Value) ([]int64, error) {
	list, err := expr.ElementsOf(r.m, v)
	if err != nil {
		return nil, err
	}
	out, ok := list.Ints()
	if !ok {
		return nil, expr.Refuse("expected integers")
	}
	return out, nil
}

// Constant makes a tensor with one element and no dimensions.
func (r *Region) Constant(v foreign.Value, dtype string) (foreign.Value, error) {
	return expr.MakeTensor(v, foreign.StringValue(dtype), foreign.IntsValue(nil))
}

// Version gives the version of a domain's vocabulary.
func (r *Region) Version(domain string) int64 { return r.version(domain) }

// Checks counts what has been mapped so far that runs are held to.
func (r *Region) Checks() int {
	n := 0
	for _, x := range r.m.made.Nodes {
		if x.Check {
			n++
		}
	}
	return n
}

// Eval calls a function of the tables with values.
func (r *Region) Eval(name string, args ...foreign.Value) (foreign.Value, error) {
	for _, t := range r.m.opt.Tables {
		d := t.Defs[name]
		if d == nil || len(d.Params) != len(args) {
			continue
		}
		r.m.steps = 0
		return expr.NewEnv(r.m.ctx, r.m, &r.m.steps, map[string]foreign.Value{}).Apply(d, args)
	}
	return foreign.Value{}, expr.Refuse("no table has the function %s", name)
}

// Function calls a function of the language that is about the run.
func (m *mapper) Function(name string, args []foreign.Value) (foreign.Value, error) {
	switch name {
	case "ordinal": // another number each time, the same ones in every run
		m.ordinals++
		return foreign.IntValue(m.ordinals), nil
	case "in_range":
		return m.made.InRange(args, m.now.at.op.Title(), m.now.origin())
	case "outputs":
		return foreign.IntValue(int64(len(m.now.outputs))), nil
	case "used":
		return foreign.BoolValue(m.now.used(args[0].Str)), nil
	}
	return foreign.Value{}, notBack(args[0].Str)
}
