package rewrite

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/zspace"
)

// resultExpr is a value that a rule builds: a variable, a new operation or a number. Its type is that of the variable in
// slot like or, at the root, of the matched operation's result.
type resultExpr struct {
	slot   int // -1 for none
	kind   varKind
	op     *opExpr
	number *float64
	like   int // of a number
}

// opExpr is an operation that a rule builds.
type opExpr struct {
	kernel string
	decl   *kernels.Decl
	ports  []resultPort
	attrs  []attrExpr
	out    string
	like   int // slot of the value whose dtype and shape the result has; -1 at the root
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
	e := resultExpr{slot: -1, like: -1}
	if err := p.deeper(); err != nil {
		return e, err
	}
	defer func() { p.nest-- }()
	t := p.peek()
	after := p.tokens[min(p.at+1, len(p.tokens)-1)].text
	var err error
	switch {
	case t.kind == tokNumber:
		var f float64
		f, err = strconv.ParseFloat(p.next().text, 64)
		e.number = &f
		if err == nil {
			e.like, err = p.like()
		}
	case t.kind == tokString || t.kind == tokName && after == "(":
		e.op, err = p.resultOp()
	case t.kind == tokName:
		p.next()
		if p.accept("...") {
			e.kind = sequenceVar
		} else if p.accept("?") {
			e.kind = optionalVar
		}
		e.slot, err = p.names.find(t.text, e.kind)
	default:
		err = fmt.Errorf("expected a name, a number or a kernel, found %v", t)
	}
	return e, err
}

// like reads "like NAME", if it is there.
func (p *parser) like() (int, error) {
	if !p.accept("like") {
		return -1, nil
	}
	name, err := p.want(tokName, "a name")
	if err != nil {
		return -1, err
	}
	return p.names.find(name, selectionVar)
}

func (p *parser) resultOp() (*opExpr, error) {
	e := &opExpr{like: -1, out: "result"}
	var err error
	t := p.peek()
	if e.kernel, e.decl, err = p.kernel(); err != nil {
		return nil, err
	}
	if t.kind == tokString {
		e.kernel = t.text // with its namespace
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
	if err := p.resultAttrs(e); err != nil {
		return nil, err
	}
	e.like, err = p.like()
	return e, err
}

func (p *parser) resultArgs(e *opExpr) error {
	if err := p.expect("("); err != nil {
		return err
	}
	place := placer{decl: e.decl}
	for !p.accept(")") {
		names, err := p.portName(&place)
		if err != nil {
			return err
		}
		arg, err := p.result()
		if err != nil {
			return err
		}
		if arg.op != nil && arg.op.like < 0 || arg.number != nil && arg.like < 0 {
			return fmt.Errorf("an inner value needs a type: \"like NAME\" before %v", p.peek())
		}
		i := slices.IndexFunc(e.ports, func(q resultPort) bool { return q.name == names[0] })
		if i < 0 {
			e.ports = append(e.ports, resultPort{name: names[0]})
			i = len(e.ports) - 1
		}
		e.ports[i].args = append(e.ports[i].args, arg)
		if !p.accept(",") && p.peek().text != ")" {
			return fmt.Errorf("expected \",\" or \")\", found %v", p.peek())
		}
	}
	slices.SortFunc(e.ports, func(a, b resultPort) int { return strings.Compare(a.name, b.name) })
	return nil
}

func (p *parser) resultAttrs(e *opExpr) error {
	if !p.accept("{") {
		return nil
	}
	for !p.accept("}") {
		a := attrExpr{}
		var err error
		if p.accept("..") {
			var name string
			if name, err = p.want(tokName, "a name"); err == nil {
				a.rest, err = p.names.find(name, restVar)
			}
		} else if a.name, err = p.attrName(e.decl); err == nil {
			a.value, err = p.value()
		}
		if err != nil {
			return err
		}
		e.attrs = append(e.attrs, a)
		if !p.accept(",") && p.peek().text != "}" {
			return fmt.Errorf("expected \",\" or \"}\", found %v", p.peek())
		}
	}
	return nil
}

// build makes the value for the root of a site.
func (e *resultExpr) build(s *Site) (Operand, bool) {
	t := s.Tensor(s.state.result.Tensor)
	switch {
	case e.slot >= 0:
		b := &s.state.slots[e.slot]
		if e.kind != selectionVar {
			return Operand{}, false
		}
		x := s.Tensor(b.sel.Tensor)
		return Operand{Sel: b.sel}, x.DType == t.DType && sameShape(b.sel.Range(), t.Range)
	case e.number != nil:
		return s.constant(*e.number, t.DType, t.Range)
	}
	return e.op.build(s, t.DType, t.Range)
}

// constant makes an operation for a constant with one value.
func (s *Site) constant(number float64, dtype string, r zspace.Range) (Operand, bool) {
	d, err := scalar.ParseDType(dtype)
	if err != nil {
		return Operand{}, false
	}
	v, err := scalar.Literal(d, number)
	if err != nil {
		return Operand{}, false
	}
	a, ok := InlineOf(v)
	size, err := r.Size()
	return s.Constant(a, dtype, r), ok && err == nil && size <= MaxConstant
}

// MaxConstant bounds the elements of a constant that a rule makes, for a constant is data of the program.
const MaxConstant = 1 << 16

// Constant makes an operation for a constant with an inline value: one for every element, or lists nested as the shape.
func (s *Site) Constant(value ir.AttrValue, dtype string, r zspace.Range) Operand {
	return Operand{New: &Op{Kernel: s.Name("constant"), Params: ir.Attrs{{Name: "value", Value: value}},
		Outputs: []Output{{Port: "result", DType: dtype, Range: r}}}}
}

// Name puts the name of a kernel of tapc's into the namespace of the site's kernel, if tapc has that; one with a namespace stays.
func (s *Site) Name(kernel string) string {
	if strings.Contains(kernel, ":") || s.kernel.decl == nil {
		return kernel
	}
	if kernel == s.kernel.name {
		return s.Op.Kernel
	}
	if strings.Contains(s.kernel.name, ":") { // none of tapc's, whose namespace has no others
		return kernels.ID(kernel)
	}
	if space, _, ok := strings.Cut(s.Op.Kernel, ":"); ok {
		return space + ":" + kernel
	}
	return kernel
}

func (e *opExpr) build(s *Site, dtype string, r zspace.Range) (Operand, bool) {
	op := &Op{Kernel: s.Name(e.kernel), Outputs: []Output{{Port: e.out, DType: dtype, Range: r}}}
	for _, p := range e.ports {
		in := Input{Port: p.name}
		for i := range p.args {
			if !p.args[i].arg(s, &in) {
				return Operand{}, false
			}
		}
		if len(in.Args) > 0 {
			op.Inputs = append(op.Inputs, in)
		} else if e.needs(p.name) {
			return Operand{}, false
		}
	}
	for _, a := range e.attrs {
		if a.value == nil {
			for _, x := range s.state.slots[a.rest].rest {
				op.Params = op.Params.With(x.Name, x.Value)
			}
			continue
		}
		v, ok := a.value(s)
		if !ok {
			return Operand{}, false
		}
		op.Params = op.Params.With(a.name, v)
	}
	return Operand{New: op}, true
}

// needs says whether a port must have a selection.
func (e *opExpr) needs(port string) bool {
	if e.decl == nil {
		return false
	}
	i := slices.IndexFunc(e.decl.Operands, func(o kernels.OperandDecl) bool { return o.Name() == port })
	return i >= 0 && !e.decl.Operands[i].Optional
}

// arg appends an argument's selections to a port.
func (e *resultExpr) arg(s *Site, in *Input) bool {
	if e.slot >= 0 {
		b := &s.state.slots[e.slot]
		if e.kind == selectionVar {
			in.Args = append(in.Args, Operand{Sel: b.sel})
			return true
		}
		for _, sel := range b.seq {
			in.Args = append(in.Args, Operand{Sel: sel})
		}
		return true
	}
	like := e.like
	if e.op != nil {
		like = e.op.like
	}
	b := &s.state.slots[like]
	dtype := s.Tensor(b.sel.Tensor).DType
	r, err := zspace.FromShape(b.sel.Range().Shape()...)
	if err != nil {
		return false
	}
	var o Operand
	var ok bool
	if e.number != nil {
		o, ok = s.constant(*e.number, dtype, r)
	} else {
		o, ok = e.op.build(s, dtype, r)
	}
	in.Args = append(in.Args, o)
	return ok
}
