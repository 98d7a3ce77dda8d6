package language

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tensortapestry.org/tapc/dialects/tensorops/kernels/declaration"
	"tensortapestry.org/tapc/ir/lang"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/zspace"
	"tensortapestry.org/tapc/passes/rewrite"
)

// resultExpr is a value that a rule builds: a variable, a new operation or a number. Its type is like's or, at the root, that of the
// matched operation's result.
type resultExpr struct {
	slot   int // -1 for none
	kind   varKind
	op     *opExpr
	number *float64
	like   likeness // of a number
}

// likeness is the type that a new value says it has: the shape of the value in a slot, -1 for none, and its dtype or, if there
// is one, another.
type likeness struct {
	slot  int
	dtype string
}

// none is what a value says that has the type of the matched operation's result.
var none = likeness{slot: -1}

// opExpr is an operation that a rule builds.
type opExpr struct {
	kernel string
	decl   *declaration.Kernel
	ports  []resultPort
	attrs  []attrExpr
	out    string
	like   likeness
}

type resultPort struct {
	name string
	args []resultExpr
}

// attrExpr is a parameter to set or, when value is nil, the parameters in slot rest.
type attrExpr struct {
	name  string
	value valueExpr
	rest  int
}

// result reads what a rule builds.
func (p *parser) result() (resultExpr, error) {
	e := resultExpr{slot: -1, like: none}
	if err := p.Enter(maxNest); err != nil {
		return e, err
	}
	defer p.Leave()
	t := p.Peek()
	after := p.Second().Text
	var err error
	switch {
	case t.Kind == lang.Number:
		var f float64
		f, err = strconv.ParseFloat(p.Next().Text, 64)
		e.number = &f
		if err == nil {
			e.like, err = p.like()
		}
	case t.Kind == lang.String || t.Kind == lang.Name && after == "(":
		e.op, err = p.resultOp()
	case t.Kind == lang.Name:
		p.Next()
		if p.Accept("...") {
			e.kind = sequenceVar
		} else if p.Accept("?") {
			e.kind = optionalVar
		}
		e.slot, err = p.names.find(t.Text, e.kind)
	default:
		err = fmt.Errorf("expected a name, a number or a kernel, found %v", t)
	}
	return e, err
}

// like reads "like NAME" or "like NAME as DTYPE", if it is there.
func (p *parser) like() (likeness, error) {
	l := none
	if !p.Accept("like") {
		return l, nil
	}
	name, err := p.Want("a name", lang.Name)
	if err != nil {
		return l, err
	}
	if l.slot, err = p.names.find(name, selectionVar); err != nil || !p.Accept("as") {
		return l, err
	}
	if l.dtype, err = p.Want("an element type", lang.Name); err != nil {
		return l, err
	}
	_, err = scalar.ParseDType(l.dtype)
	return l, err
}

func (p *parser) resultOp() (*opExpr, error) {
	e := &opExpr{like: none, out: "result"}
	var err error
	t := p.Peek()
	if e.kernel, e.decl, err = p.kernel(); err != nil {
		return nil, err
	}
	if t.Kind == lang.String {
		e.kernel = t.Text // with its namespace
	}
	if e.decl != nil {
		for _, o := range e.decl.Operands {
			if o.Out {
				e.out = o.Name()
			}
		}
	}
	if err := p.resultArgs(e); err != nil {
		return nil, err
	}
	slices.SortFunc(e.ports, func(a, b resultPort) int { return strings.Compare(a.name, b.name) })
	if err := p.resultAttrs(e); err != nil {
		return nil, err
	}
	e.like, err = p.like()
	return e, err
}

func (p *parser) resultArgs(e *opExpr) error {
	if err := p.Expect("("); err != nil {
		return err
	}
	place := placer{decl: e.decl}
	return p.List(")", func() error {
		names, err := p.portName(&place)
		if err != nil {
			return err
		}
		arg, err := p.result()
		if err != nil {
			return err
		}
		if arg.op != nil && arg.op.like == none && arg.op.decl == nil {
			return fmt.Errorf("an inner value of a kernel that is not known needs a type: \"like NAME\" before %v", p.Peek())
		}
		i := slices.IndexFunc(e.ports, func(q resultPort) bool { return q.name == names[0] })
		if i < 0 {
			e.ports = append(e.ports, resultPort{name: names[0]})
			i = len(e.ports) - 1
		}
		e.ports[i].args = append(e.ports[i].args, arg)
		return nil
	})
}

func (p *parser) resultAttrs(e *opExpr) error {
	if !p.Accept("{") {
		return nil
	}
	return p.List("}", func() error {
		a := attrExpr{}
		var err error
		if p.Accept("..") {
			var name string
			if name, err = p.Want("a name", lang.Name); err == nil {
				a.rest, err = p.names.find(name, restVar)
			}
		} else if a.name, err = p.attrName(e.decl); err == nil {
			a.value, err = p.value()
		}
		e.attrs = append(e.attrs, a)
		return err
	})
}

// build makes the value for the root of a site.
func (e *resultExpr) build(m *match) (rewrite.Operand, bool) {
	t := m.Tensor(m.result.Tensor)
	switch {
	case e.slot >= 0:
		b := &m.slots[e.slot]
		if e.kind != selectionVar {
			return rewrite.Operand{}, false
		}
		x := m.Tensor(b.sel.Tensor)
		return rewrite.Operand{Sel: b.sel}, x.DType == t.DType && slices.Equal(b.sel.Range().Shape(), t.Range.Shape())
	case e.number != nil:
		return m.constant(*e.number, t.DType, t.Range)
	}
	return e.op.build(m, t.DType, t.Range)
}

// constant makes an operation for a constant with one value.
func (m *match) constant(number float64, dtype string, r zspace.Range) (rewrite.Operand, bool) {
	d, err := scalar.ParseDType(dtype)
	if err != nil {
		return rewrite.Operand{}, false
	}
	v, err := scalar.Literal(d, number)
	if err != nil {
		return rewrite.Operand{}, false
	}
	a, ok := rewrite.InlineOf(v)
	size, err := r.Size()
	return m.Constant(a, dtype, r), ok && err == nil && size <= rewrite.MaxConstant
}

func (e *opExpr) build(m *match, dtype string, r zspace.Range) (rewrite.Operand, bool) {
	op := &rewrite.Op{Kernel: m.Name(e.kernel), Outputs: []rewrite.Output{{Port: e.out, DType: dtype, Range: r}}}
	for _, p := range e.ports {
		in := rewrite.Input{Port: p.name}
		for i := range p.args {
			if !p.args[i].arg(m, &in) {
				return rewrite.Operand{}, false
			}
		}
		if len(in.Args) > 0 {
			op.Inputs = append(op.Inputs, in)
		} else if e.needs(p.name) {
			return rewrite.Operand{}, false
		}
	}
	for _, a := range e.attrs {
		if a.value == nil {
			for _, x := range m.slots[a.rest].rest {
				op.Params = op.Params.With(x.Name, x.Value)
			}
			continue
		}
		v, ok := a.value(m)
		if !ok {
			return rewrite.Operand{}, false
		}
		op.Params = op.Params.With(a.name, v)
	}
	if dtype == "" {
		return rewrite.Operand{New: op}, m.Infer(op)
	}
	return rewrite.Operand{New: op}, true
}

// needs says whether a port must have a selection.
func (e *opExpr) needs(port string) bool {
	if e.decl == nil {
		return false
	}
	i, ok := e.decl.Named(port)
	return ok && !e.decl.Operands[i].Optional
}

// arg appends an argument's selections to a port.
func (e *resultExpr) arg(m *match, in *rewrite.Input) bool {
	if e.slot >= 0 {
		b := &m.slots[e.slot]
		if e.kind == selectionVar {
			in.Args = append(in.Args, rewrite.Operand{Sel: b.sel})
			return true
		}
		for _, sel := range b.seq {
			in.Args = append(in.Args, rewrite.Operand{Sel: sel})
		}
		return true
	}
	like := e.like
	if e.op != nil {
		like = e.op.like
	}
	var o rewrite.Operand
	ok, r, dtype := true, zspace.MustShape(), ""
	if like.slot >= 0 {
		var err error
		b := &m.slots[like.slot]
		dtype = cmp.Or(like.dtype, m.Tensor(b.sel.Tensor).DType)
		if r, err = zspace.FromShape(b.sel.Range().Shape()...); err != nil {
			return false
		}
	}
	if e.number != nil {
		dtype = cmp.Or(dtype, m.Tensor(m.result.Tensor).DType)
		o, ok = m.constant(*e.number, dtype, r)
	} else {
		o, ok = e.op.build(m, dtype, r)
	}
	in.Args = append(in.Args, o)
	return ok
}
