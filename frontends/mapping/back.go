package mapping

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"tensortapestry.org/tapc/backends/reference"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/dialects/tensorops/definition"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/dialects/tensorops/kernels/declaration"
	"tensortapestry.org/tapc/dialects/tensorops/kernels/infer"
	"tensortapestry.org/tapc/frontends/foreign"
	"tensortapestry.org/tapc/frontends/mapping/calls"
	"tensortapestry.org/tapc/frontends/mapping/emit"
	"tensortapestry.org/tapc/frontends/mapping/expr"
	"tensortapestry.org/tapc/frontends/mapping/ordered"
	"tensortapestry.org/tapc/frontends/mapping/plain"
	"tensortapestry.org/tapc/frontends/mapping/rules"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/ir/scalar"
)

// BackOptions are what a mapping back is given besides the program.
type BackOptions struct {
	Namespace string
	Version   int64
	Tables    []*rules.Table
	Library   *kernels.Library             // nil for the built-in kernels
	Constants reference.Constants          // loads what the program names
	Has       func(domain, op string) bool // whether the vocabulary has an operator; nil for all that rules are for
}

// Back makes a foreign graph of an Operation Expression by the rules that lead from one operation to one kernel. A rule is tried on
// the kernel's own inputs, with the parameters that it hands on from attributes, and holds if what it gives is that kernel with
// the same inputs and parameters: so mapping the result gives the program back. Everything that no rule can give is in the report,
// and the graph is nil then.
func Back(ctx context.Context, g *ir.Graph, opt BackOptions) (*foreign.Graph, *Report, error) {
	if opt.Library == nil {
		opt.Library = kernels.Builtin()
	}
	g, err := plain.WithoutChecks(ctx, g, opt.Library)
	if err != nil {
		return nil, nil, err
	}
	g = plain.WholeTensors(g)
	p, err := tensorops.ProgramOf(g)
	if err != nil {
		return nil, nil, err
	}
	if len(p.Sources)+len(p.Sinks) > 0 {
		return nil, nil, diag.Errorf(CodeFiles, "mapping", diag.Location{File: g.File}, "the program reads or writes files, and the vocabulary %s has nothing for that", opt.Namespace).
			Want("imports and exports without a uri", fmt.Sprintf("%d that are read and %d that are written", len(p.Sources), len(p.Sinks)))
	}
	fg := &foreign.Graph{File: g.File, Namespace: opt.Namespace, Versions: map[string]int64{"": opt.Version}, Consts: map[string]*foreign.Data{}}
	b := &backer{g: g, opt: opt, fg: fg, tensors: map[ir.NodeID]*foreign.Tensor{}, taken: map[string]bool{}, names: map[*foreign.Tensor]string{}, rules: rulesByKernel(opt), made: map[ir.NodeID][2]int{}, definitions: definition.Of(g), backs: map[string][]*rules.Rule{}, refused: map[string]string{}}
	for _, t := range opt.Tables {
		for _, r := range t.Backs {
			switch {
			case !r.At(opt.Version):
			case r.Refuses != "":
				b.refused[r.Op] = r.Refuses
			default:
				b.backs[r.Op] = append(b.backs[r.Op], r)
			}
		}
	}
	b.m = newMapper(ctx, Options{Tables: opt.Tables, Library: opt.Library, Unchecked: true}, fg)
	b.region = &Region{m: b.m, graph: fg, values: map[string]foreign.Value{}}
	b.shown = &Region{m: b.m, graph: &foreign.Graph{}}
	b.claim(p.Inputs)
	b.claim(p.Outputs)
	for _, x := range p.Inputs {
		fg.Inputs = append(fg.Inputs, portOf(b.tensor(x.Tensor), b.names[b.tensor(x.Tensor)]))
	}
	if err := b.constants(p); err != nil {
		return nil, b.m.report, err
	}
	for _, id := range p.Compute {
		if err := ctx.Err(); err != nil {
			return nil, b.m.report, context.Cause(ctx)
		}
		from := len(fg.Ops)
		b.operation(g.Node(id))
		b.made[id] = [2]int{from, len(fg.Ops)}
	}
	added, bad := ordered.Back(g, func(id ir.NodeID) []*foreign.Op { return fg.Ops[b.made[id][0]:b.made[id][1]] })
	fg.Ops, b.bad = append(fg.Ops, added...), append(b.bad, bad...)
	for _, x := range p.Outputs {
		name := b.names[b.tensor(x.Tensor)]
		if name != x.Name && name != x.Own {
			at := diag.Location{File: g.File, Node: x.Name}
			b.bad = append(b.bad, diag.Errorf(CodeInput, "mapping", at, "output %q is also %q, and a value has one name", x.Name, name))
		}
		fg.Outputs = append(fg.Outputs, portOf(b.tensor(x.Tensor), name))
	}
	if err := append(b.bad, diag.FromError(b.m.report.Err())...).Err(); err != nil {
		return nil, b.m.report, err
	}
	return fg, b.m.report, nil
}

// claim gives inputs or outputs their names before any other value can have them: those that the graph has or, where another value has that, those of the
// command line.
func (b *backer) claim(list []tensorops.Named) {
	for _, x := range list {
		t := b.tensor(x.Tensor)
		if b.names[t] != "" {
			continue
		}
		name := x.Own
		if name == "" || b.taken[name] {
			name = x.Name
		}
		b.taken[name], b.names[t] = true, name
	}
}

// backer is one mapping back.
type backer struct {
	g       *ir.Graph
	opt     BackOptions
	fg      *foreign.Graph
	m       *mapper // that tries rules
	region  *Region
	shown   *Region // of the program, for the report
	rules   map[string][]*candidate
	backs   map[string][]*rules.Rule
	refused map[string]string // why nothing is equal to a kernel
	tensors map[ir.NodeID]*foreign.Tensor
	taken   map[string]bool
	names   map[*foreign.Tensor]string
	made    map[ir.NodeID][2]int // what each operation became, of fg.Ops

	definitions map[string]*definition.Definition
	bad         diag.List
}

// candidate is a rule that may give a kernel, and the attributes that it hands on as they are, by the parameter that they become.
type candidate struct {
	rule   *rules.Rule
	hand   []calls.Handed
	direct bool // it is nothing but a call of the kernel
}

// rulesByKernel finds for every kernel the rules that call it.
func rulesByKernel(opt BackOptions) map[string][]*candidate {
	out := map[string][]*candidate{}
	for _, t := range opt.Tables {
		for _, r := range t.Rules {
			if t.Hop != 0 || r.Refuses != "" || !r.At(opt.Version) {
				continue
			}
			for kernel, hand := range r.Back.Calls.Of(opt.Library, r.Clauses) {
				direct := len(r.Clauses) == 1 && r.Clauses[0].Value.Kind == expr.KindKernel && r.Clauses[0].Value.Text == kernel
				out[kernel] = append(out[kernel], &candidate{r, hand, direct})
			}
		}
	}
	for _, list := range out {
		slices.SortStableFunc(list, func(a, b *candidate) int { return indirect(a) - indirect(b) })
	}
	return out
}

// indirect orders rules: those of the vocabulary's own domain before others, and what says less before what says more.
func indirect(c *candidate) int {
	n := 0
	if c.rule.Domain != "" {
		n = 1 << 16
	}
	if !c.direct {
		n += len(c.rule.Clauses)
	}
	return n
}

// tensor gives the foreign tensor of one of the program.
func (b *backer) tensor(id ir.NodeID) *foreign.Tensor {
	if t := b.tensors[id]; t != nil {
		return t
	}
	n := tensorops.TensorOf(b.g, id)
	t := &foreign.Tensor{DType: n.Type(), Shape: n.Range.Shape(), Label: b.g.Node(id).Label}
	b.tensors[id] = t
	return t
}

// name gives a value a name that no other has: its own, with a number if need be.
func (b *backer) name(t *foreign.Tensor) string {
	if name, ok := b.names[t]; ok {
		return name
	}
	base, try := t.Label, t.Label
	if base == "" {
		base = "v"
	}
	for n := len(b.names); try == "" || b.taken[try]; n++ {
		try = fmt.Sprintf("%s_%d", base, n)
	}
	b.taken[try], b.names[t] = true, try
	return try
}

func portOf(t *foreign.Tensor, name string) foreign.Port {
	p := foreign.Port{Name: name, DType: t.DType, Ranked: true}
	for _, n := range t.Shape {
		p.Shape = append(p.Shape, foreign.Size{Value: n})
	}
	return p
}

func (b *backer) constants(p *tensorops.Program) error {
	for _, c := range p.Constants {
		t := b.tensor(c.Tensor)
		d := &foreign.Data{DType: t.DType, Shape: t.Shape}
		if c.Raw && c.File != "" && c.View == nil {
			d.File, d.Offset = c.File, c.Offset
			d.Load = func() ([]byte, error) {
				v, err := b.opt.Constants(c, tensorops.TensorOf(b.g, c.Tensor))
				return v.Data, err
			}
		} else {
			v, err := b.opt.Constants(c, tensorops.TensorOf(b.g, c.Tensor))
			if err != nil {
				return err
			}
			d.Bytes = v.Data
		}
		b.fg.Consts[b.name(t)] = d
	}
	return nil
}

// use writes an operation that uses a definition: its inputs and outputs are in the order of the definition.
func (b *backer) use(n *ir.Node, o *tensorops.Operation, d *definition.Definition) {
	op := &foreign.Op{Name: n.Label, Pos: n.Pos}
	op.Domain, op.Type = foreign.FunctionOf(d.Name)
	name := func(p *ir.Port) string { return b.name(b.tensor(p.Sel[0].Tensor)) }
	for _, f := range d.Inputs {
		op.In = append(op.In, name(o.Inputs.Get(f.Port)))
	}
	for _, f := range d.Outputs {
		op.Out = append(op.Out, name(o.Outputs.Get(f.Port)))
	}
	b.fg.Ops = append(b.fg.Ops, op)
}

// operation maps one operation of the program back.
func (b *backer) operation(n *ir.Node) {
	o := n.Body.(*tensorops.Operation)
	if name, used := definition.Used(o.Kernel); used && b.definitions[name] != nil {
		b.use(n, o, b.definitions[name])
		return
	}
	kernel := kernels.Bare(o.Kernel)
	shown := &foreign.Op{Name: n.Label, Type: kernel, Pos: n.Pos}
	decl, ok := b.opt.Library.Find(kernel)
	if !ok {
		b.shown.fail(shown, "no-rule", expr.Refuse("it is no kernel of tapc"))
		return
	}
	want, err := b.call(decl, o)
	if err != nil {
		b.shown.fail(shown, "guard", err)
		return
	}
	reason := b.refused[kernel]
	for _, try := range b.ways(decl) {
		ops, by, err := try(want)
		if err == nil {
			err = b.admits(ops, want)
		}
		if err == nil {
			for _, op := range ops {
				op.Pos = n.Pos
			}
			ops[len(ops)-1].Name = n.Label // a name belongs to one
			b.fg.Ops = append(b.fg.Ops, ops...)
			b.m.report.Ok(b.shown.opVersion(shown), by)
			return
		}
		if reason == "" {
			reason = fmt.Sprintf("no rule leads to it alone; %s: %v", by, err)
		}
	}
	if reason == "" {
		reason = "no rule leads to it"
	}
	b.shown.fail(shown, "no-rule", expr.Refuse("%s", reason))
}

// admits refuses operations that the vocabulary lacks, and attributes that lose something there: a number of an attribute is a float32.
func (b *backer) admits(ops []*foreign.Op, w *wanted) error {
	for _, op := range ops {
		if b.opt.Has != nil && !b.opt.Has(op.Domain, op.Type) {
			return expr.Refuse("the vocabulary has no operator %s at this version", op.Type)
		}
		for i, a := range op.Attrs {
			if a.Value.Kind != foreign.Float {
				continue
			}
			op.Attrs[i].Value.Float = float64(float32(a.Value.Float))
			if !w.narrow && op.Attrs[i].Value.Float != a.Value.Float && !math.IsNaN(a.Value.Float) {
				return expr.Refuse("its attribute %s is a float32, and %v is wanted", a.Name, a.Value.Float)
			}
		}
	}
	return nil
}

// way tries a rule on an operation of the program. It gives operations for it, and the rule's name.
type way func(w *wanted) ([]*foreign.Op, string, error)

// ways are the rules for a kernel: those back first, in the order of their tables, then those that lead to it.
func (b *backer) ways(decl *declaration.Kernel) []way {
	var out []way
	for _, r := range b.backs[decl.Name] {
		out = append(out, func(w *wanted) ([]*foreign.Op, string, error) {
			ops, err := b.byRule(r, decl, w)
			return ops, r.Name, err
		})
	}
	for _, c := range b.rules[decl.Name] {
		out = append(out, func(w *wanted) ([]*foreign.Op, string, error) {
			op, err := b.try(c, decl, w)
			return []*foreign.Op{op}, c.rule.Name, err
		})
	}
	return out
}

// wanted is an operation of the program: its tensors by operand, in the order of the declaration, and all its parameters.
type wanted struct {
	in, out   []*foreign.Tensor
	at, outAt []int // the operand of each tensor
	params    ir.Attrs
	narrow    bool // no tensor has more precision than float32, in which foreign attributes are
}

func (b *backer) call(decl *declaration.Kernel, o *tensorops.Operation) (*wanted, error) {
	w := &wanted{narrow: true}
	c := infer.Call{Params: o.Params}
	for i := range decl.Operands {
		operand := &decl.Operands[i]
		list, ports := o.Inputs, &c.Inputs
		if operand.Out {
			list, ports = o.Outputs, &c.Outputs
		}
		for _, p := range list.Each() {
			if !slices.Contains(operand.Names, p.Name) {
				continue
			}
			port := infer.Port{Name: p.Name}
			for _, s := range p.Sel {
				n := tensorops.TensorOf(b.g, s.Tensor)
				if !s.Range().Equal(n.Range) {
					return nil, expr.Refuse("it takes or gives a part of a tensor")
				}
				t := b.tensor(s.Tensor)
				w.narrow = w.narrow && t.DType != scalar.Float64 && t.DType != scalar.Complex128
				port.Sel = append(port.Sel, infer.Selected{Sel: s, Type: t.DType})
				if operand.Out {
					w.out, w.outAt = append(w.out, t), append(w.outAt, i)
				} else {
					w.in, w.at = append(w.in, t), append(w.at, i)
				}
			}
			*ports = append(*ports, port)
		}
	}
	var err error
	w.params, err = plain.Parameters(decl, c)
	return w, emit.Refused(err)
}

// try runs a rule forward on the inputs of an operation, and says how its result differs from that.
func (b *backer) try(c *candidate, decl *declaration.Kernel, w *wanted) (*foreign.Op, error) {
	if len(w.in) == 0 {
		return nil, expr.Refuse("it has no inputs")
	}
	op := &foreign.Op{Domain: c.rule.Domain, Type: c.rule.Op}
	var in []foreign.Value
	for _, t := range w.in {
		op.In = append(op.In, b.name(t))
		in = append(in, foreign.TensorValue(t))
	}
	for _, t := range w.out {
		op.Out = append(op.Out, b.name(t))
	}
	for _, a := range c.rule.Attrs {
		i := slices.IndexFunc(c.hand, func(h calls.Handed) bool { return h.Attr == a.Name })
		if i < 0 || a.Ignored {
			continue
		}
		if v, ok := w.params.Get(c.hand[i].Param); ok {
			x := attrOf(v, c.hand[i].Flag)
			if c.hand[i].One && len(x.List) == 1 {
				x = x.List[0]
			}
			op.Attrs = append(op.Attrs, foreign.Attr{Name: a.Name, Value: x})
		}
	}
	slices.SortFunc(op.Attrs, func(x, y foreign.Attr) int { return strings.Compare(x.Name, y.Name) })
	b.m.made.Nodes = nil
	out, err := b.m.apply1(c.rule, b.region, op, in, b.opt.Version)
	if err != nil {
		return nil, err
	}
	if len(b.m.made.Nodes) != 1 {
		return nil, expr.Refuse("it gives %d operations", len(b.m.made.Nodes))
	}
	if len(out) != len(w.out) {
		return nil, expr.Refuse("it gives another number of tensors")
	}
	for i, v := range out {
		if v.Tensor == nil || emit.Maker(v.Tensor) != b.m.made.Nodes[0] || v.Tensor.DType != w.out[i].DType || !slices.Equal(v.Tensor.Shape, w.out[i].Shape) {
			return nil, expr.Refuse("its result is another")
		}
	}
	return op, b.same(decl, b.m.made.Nodes[0], w)
}

func attrOf(v ir.AttrValue, flag bool) foreign.Value {
	switch v.Kind {
	case ir.AttrBool:
		if flag {
			return foreign.IntValue(v.Int)
		}
		return foreign.BoolValue(v.Int != 0)
	case ir.AttrInt:
		return foreign.IntValue(v.Int)
	case ir.AttrFloat:
		return foreign.FloatValue(v.Num)
	case ir.AttrString:
		return foreign.StringValue(v.Str)
	case ir.AttrList:
		out := foreign.ListValue()
		for _, x := range v.List {
			out.List = append(out.List, attrOf(x, false))
		}
		return out
	}
	return foreign.Value{}
}

// same says whether a node that a rule gave is the operation that is wanted: the kernel, its inputs and its parameters.
func (b *backer) same(decl *declaration.Kernel, n *emit.Node, w *wanted) error {
	if d, ok := b.opt.Library.Find(n.Kernel); !ok || d != decl {
		return expr.Refuse("it gives %s", n.Kernel)
	}
	k := 0
	for i := range decl.Operands {
		for _, p := range n.In {
			if decl.Operands[i].Out || !slices.Contains(decl.Operands[i].Names, p.Name) {
				continue
			}
			for _, t := range p.Tensors {
				if k >= len(w.in) || w.in[k] != t || w.at[k] != i {
					return expr.Refuse("it takes other inputs")
				}
				k++
			}
		}
	}
	if k != len(w.in) {
		return expr.Refuse("it takes another number of tensors")
	}
	return w.sameParameters(decl, n)
}

func (w *wanted) sameParameters(decl *declaration.Kernel, n *emit.Node) error {
	c := infer.Call{Params: n.Params}
	var err error
	if c.Inputs, err = emit.Ports(n.In); err == nil {
		c.Outputs, err = emit.Ports(n.Out)
	}
	if err != nil {
		return err
	}
	params, err := plain.Parameters(decl, c)
	if err != nil {
		return emit.Refused(err)
	}
	for _, a := range decl.Attrs {
		x, y := w.parameter(params, a.Name), w.parameter(w.params, a.Name)
		if x != y {
			return expr.Refuse("its parameter %s is %s, and %s is wanted", a.Name, x, y)
		}
	}
	return nil
}

// parameter writes a parameter for comparison: numbers by value, and as a float32 where nothing is more precise.
func (w *wanted) parameter(params ir.Attrs, name string) string {
	v, ok := params.Get(name)
	if !ok {
		return "not given"
	}
	var write func(v ir.AttrValue) string
	write = func(v ir.AttrValue) string {
		switch v.Kind {
		case ir.AttrBool:
			return strconv.FormatBool(v.Int != 0)
		case ir.AttrInt:
			return strconv.FormatInt(v.Int, 10)
		case ir.AttrFloat:
			if w.narrow {
				return strconv.FormatFloat(float64(float32(v.Num)), 'g', -1, 32)
			}
			return strconv.FormatFloat(v.Num, 'g', -1, 64)
		case ir.AttrList:
			var parts []string
			for _, x := range v.List {
				parts = append(parts, write(x))
			}
			return strings.Join(parts, ",")
		}
		return v.Str
	}
	text := write(v)
	if d, err := scalar.ParseDType(text); err == nil {
		return d.String()
	}
	return text
}
