package mapping

import (
	"slices"

	"tensortapestry.org/tapc/dialects/tensorops/kernels/declaration"
	"tensortapestry.org/tapc/frontends/foreign"
	"tensortapestry.org/tapc/frontends/mapping/expr"
	"tensortapestry.org/tapc/frontends/mapping/rules"
)

// recorder notes the operations of the vocabulary that a rule back writes. Results are those of the kernel; nil for one that is left out.
type recorder struct {
	ops     []*recorded
	results []*foreign.Tensor
}

// recorded is an operation with its values; nil is one that is left out.
type recorded struct {
	op      *foreign.Op
	in, out []*foreign.Tensor
}

func (r *recorder) note(op *foreign.Op, in []foreign.Value, out foreign.Value) {
	x := &recorded{op: op}
	for _, v := range in {
		x.in = append(x.in, v.Tensor)
	}
	if len(op.Out) == 1 {
		x.out = []*foreign.Tensor{out.Tensor}
	} else {
		for _, v := range out.List {
			x.out = append(x.out, v.Tensor)
		}
	}
	r.ops = append(r.ops, x)
}

// byRule tries a rule back on an operation of the program.
func (b *backer) byRule(r *rules.Rule, decl *declaration.Kernel, w *wanted) ([]*foreign.Op, error) {
	m := b.m
	m.made.Nodes, m.now.chain, m.derived = nil, "", 0
	record := &recorder{results: w.results(decl, len(r.Out))}
	e := m.begin(r, recording{m, record}, origin{b.region, &foreign.Op{}}, b.opt.Version)
	defer m.done(e)
	if err := bindOperands(r, e, decl, w); err != nil {
		return nil, err
	}
	for _, a := range r.Attrs {
		e.Vars[a.Name] = foreign.Value{}
		if v, ok := w.params.Get(a.Name); ok && !a.Ignored {
			e.Vars[a.Name] = attrOf(v, false)
		}
	}
	m.now.params, m.now.outputs = r.Out, make([]string, len(r.Out))
	for i, name := range r.Out {
		if record.results[i] != nil {
			m.now.outputs[i] = name
		}
	}
	given, err := resultsBack(r, e, record.results)
	if err != nil {
		return nil, err
	}
	if r.Back.Same == "" {
		if len(m.made.Nodes) != 1 {
			return nil, expr.Refuse("it gives %d operations", len(m.made.Nodes))
		}
		if err := b.same(decl, m.made.Nodes[0], w); err != nil {
			return nil, err
		}
	}
	return b.named(record, given, w)
}

// bindOperands gives the inputs of a rule back what an operation takes.
func bindOperands(r *rules.Rule, e *expr.Env, decl *declaration.Kernel, w *wanted) error {
	for i, at := range rules.Side(decl, false) {
		var list []foreign.Value
		for j, t := range w.in {
			if w.at[j] == at {
				list = append(list, foreign.TensorValue(t))
			}
		}
		switch {
		case i >= len(r.In) && len(list) > 0:
			return expr.Refuse("it does not take %s", decl.Operands[at].Name())
		case i >= len(r.In):
		case r.In[i].Variadic:
			e.Vars[r.In[i].Name] = foreign.ListValue(list...)
		case len(list) > 0:
			e.Vars[r.In[i].Name] = list[0]
		default:
			e.Vars[r.In[i].Name] = foreign.Value{}
		}
	}
	return nil
}

// results gives the tensors of the outputs that an operation has, by the outputs of a rule; nil where it leaves one out. A list of results
// belongs to the last one, from its first on.
func (w *wanted) results(decl *declaration.Kernel, named int) []*foreign.Tensor {
	var out []*foreign.Tensor
	for _, at := range rules.Side(decl, true) {
		before := len(out)
		for j, t := range w.out {
			if w.outAt[j] == at {
				out = append(out, t)
			}
		}
		if len(out) == before {
			out = append(out, nil)
		}
	}
	for len(out) < named {
		out = append(out, nil)
	}
	return out
}

// resultsBack works the clauses of a rule back off, and gives a tensor for each that is wanted.
func resultsBack(r *rules.Rule, e *expr.Env, want []*foreign.Tensor) ([]*foreign.Tensor, error) {
	for i := range r.Clauses {
		e.Lets = r.Clauses[:i+1]
		if c := &r.Clauses[i]; len(c.Names) == 0 {
			if err := e.Need(c); err != nil {
				return nil, err
			}
		}
	}
	out := make([]*foreign.Tensor, len(want))
	for i, t := range want {
		if t == nil {
			continue
		}
		v, err := e.Name(r.Out[min(i, len(r.Out)-1)])
		if err != nil {
			return nil, err
		}
		if v.Kind == foreign.List && i-len(r.Out)+1 < len(v.List) && i >= len(r.Out)-1 {
			v = v.List[i-len(r.Out)+1]
		}
		if v.Tensor == nil || i >= len(r.Out) && len(want) == len(r.Out) {
			return nil, expr.Refuse("it does not give output %d", i)
		}
		if v.Tensor.DType != t.DType || !slices.Equal(v.Tensor.Shape, t.Shape) {
			return nil, expr.Refuse("its result is another: %v %s, and %v %s is wanted", v.Tensor.DType, foreign.ShapeText(v.Tensor.Shape), t.DType, foreign.ShapeText(t.Shape))
		}
		out[i] = v.Tensor
	}
	return out, nil
}

// named writes the operations that were recorded with names for their values: those of the program for what it has, new ones for others.
func (b *backer) named(record *recorder, given []*foreign.Tensor, w *wanted) ([]*foreign.Op, error) {
	results := map[*foreign.Tensor]string{}
	for i, t := range given {
		if t == nil {
			continue
		}
		if _, twice := results[t]; twice || slices.Contains(w.in, t) || !record.gives(t) {
			return nil, expr.Refuse("it gives a value that has another name already")
		}
		results[t] = b.name(record.results[i])
	}
	used := map[*foreign.Tensor]bool{}
	for _, x := range record.ops {
		for _, t := range x.in {
			used[t] = true
		}
	}
	var ops []*foreign.Op
	for _, x := range record.ops {
		x.op.In, x.op.Out = nil, nil
		for _, t := range x.out {
			name := ""
			if results[t] != "" || used[t] && t.Data == nil { // what is known is a constant where it is used
				name = b.value(t, results)
			}
			x.op.Out = append(x.op.Out, name)
		}
		if x.op.Out = withoutLast(x.op.Out); len(x.op.Out) == 0 {
			continue
		}
		for _, t := range x.in {
			x.op.In = append(x.op.In, b.value(t, results))
		}
		x.op.In = withoutLast(x.op.In)
		ops = append(ops, x.op)
	}
	return ops, nil
}

// withoutLast leaves empty names at the end out.
func withoutLast(names []string) []string {
	for len(names) > 0 && names[len(names)-1] == "" {
		names = names[:len(names)-1]
	}
	return names
}

// value names a value; a constant that a rule made becomes one of the graph.
func (b *backer) value(t *foreign.Tensor, results map[*foreign.Tensor]string) string {
	switch {
	case t == nil:
		return ""
	case results[t] != "":
		return results[t]
	}
	name := b.name(t)
	if t.Data != nil {
		b.fg.Consts[name] = t.Data
	}
	return name
}

// recording is the run of a rule back.
type recording struct {
	m      *mapper
	record *recorder
}

// Kernel makes an operation of tapc.
func (r recording) Kernel(c expr.Call) (foreign.Value, error) { return r.m.Kernel(c) }

// Origin says what a value is computed from.
func (r recording) Origin(t *foreign.Tensor) (what, input string) { return r.m.Origin(t) }

// Foreign maps an operation, and notes it.
func (r recording) Foreign(e *expr.Env, x *expr.Expr) (foreign.Value, error) {
	op, args, out, err := mapForeign(r.m, e, x)
	if err == nil {
		out = r.record.own(out, args)
		r.record.note(op, args, out)
	}
	return out, err
}

// own gives an operation results of its own, where mapping it gave a value that it takes or that another one gave: an Identity does.
func (r *recorder) own(v foreign.Value, in []foreign.Value) foreign.Value {
	if v.Kind == foreign.List {
		out := foreign.Value{Kind: foreign.List}
		for _, x := range v.List {
			out.List = append(out.List, r.own(x, in))
		}
		return out
	}
	takes := slices.ContainsFunc(in, func(x foreign.Value) bool { return x.Tensor == v.Tensor })
	if v.Tensor != nil && (takes || r.gives(v.Tensor)) {
		t := *v.Tensor
		v.Tensor = &t
	}
	return v
}

func (r *recorder) gives(t *foreign.Tensor) bool {
	return slices.ContainsFunc(r.ops, func(x *recorded) bool { return slices.Contains(x.out, t) })
}

// Function knows what a rule back must give, beside what every run knows.
func (r recording) Function(name string, args []foreign.Value) (foreign.Value, error) {
	if name != "result_shape" && name != "result_dtype" {
		return r.m.Function(name, args)
	}
	i := slices.Index(r.m.now.params, args[0].Str)
	if i < 0 || i >= len(r.record.results) || r.record.results[i] == nil {
		return foreign.Value{}, notBack(args[0].Str)
	}
	t := r.record.results[i]
	if name == "result_shape" {
		return foreign.IntsValue(t.Shape), nil
	}
	return foreign.StringValue(t.DType.String()), nil
}

func notBack(output string) error {
	return expr.Refuse("%q is no output of a kernel that is written back", output)
}
