package mapping

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tensortapestry.org/tapc/ir/lang"
)

type exprKind uint8

const (
	exprLit exprKind = iota
	exprName
	exprIf
	exprBinary
	exprUnary
	exprList
	exprFor     // [body for name in list if cond]
	exprWith    // with name = value do body
	exprForeign // of an operation of the source
	exprFold    // fold acc = init for name in list do body
	exprIndex
	exprSlice
	exprCall   // of a built-in function
	exprDef    // of a function of the table
	exprKernel // of a kernel
)

// expr is one node of an expression. Args hold its parts in reading order; nil parts are left out.
type expr struct {
	kind  exprKind
	text  string // name or operator
	lit   Value
	args  []*expr
	ports []string // of a kernel call: the port of each argument, "" by position
	attrs []namedExpr
	def   *def
	line  int
}

type namedExpr struct {
	name  string
	value *expr
}

// maxNest bounds how deep an expression may nest.
const maxNest = 100

func (p *parser) expr() (*expr, error) {
	if err := p.Enter(maxNest); err != nil {
		return nil, err
	}
	defer p.Leave()
	if p.Accept("fold") {
		return p.fold()
	}
	if p.Accept("with") {
		return p.with()
	}
	if !p.Accept("if") {
		return p.binary(0)
	}
	e := &expr{kind: exprIf, line: p.Peek().Line}
	for i, word := range []string{"then", "else", ""} {
		part, err := p.expr()
		if err != nil {
			return nil, err
		}
		e.args = append(e.args, part)
		if i < 2 {
			if err := p.Expect(word); err != nil {
				return nil, err
			}
		}
	}
	return e, nil
}

// with reads the rest of "with NAME = VALUE do BODY".
func (p *parser) with() (*expr, error) {
	e := &expr{kind: exprWith, args: make([]*expr, 2), line: p.Peek().Line}
	var err error
	if e.text, err = p.name(); err != nil {
		return nil, err
	}
	if err = p.Expect("="); err != nil {
		return nil, err
	}
	if e.args[0], err = p.expr(); err != nil {
		return nil, err
	}
	if err = p.Expect("do"); err != nil {
		return nil, err
	}
	defer func(n int) { p.scope = p.scope[:n] }(len(p.scope))
	p.scope = append(p.scope, e.text)
	e.args[1], err = p.expr()
	return e, err
}

// fold reads the rest of "fold ACC = FIRST for NAME in LIST do NEXT": NEXT is computed for every entry, with ACC standing for
// the result so far.
func (p *parser) fold() (*expr, error) {
	e := &expr{kind: exprFold, args: make([]*expr, 3), ports: make([]string, 1), line: p.Peek().Line}
	var err error
	if e.ports[0], err = p.name(); err != nil {
		return nil, err
	}
	if err = p.Expect("="); err != nil {
		return nil, err
	}
	if e.args[0], err = p.expr(); err != nil {
		return nil, err
	}
	if err = p.Expect("for"); err != nil {
		return nil, err
	}
	if e.text, err = p.name(); err != nil {
		return nil, err
	}
	if err = p.Expect("in"); err != nil {
		return nil, err
	}
	if e.args[1], err = p.expr(); err != nil {
		return nil, err
	}
	if err = p.Expect("do"); err != nil {
		return nil, err
	}
	defer func(n int) { p.scope = p.scope[:n] }(len(p.scope))
	p.scope = append(p.scope, e.ports[0], e.text)
	e.args[2], err = p.expr()
	return e, err
}

// levels are the infix operators by rising strength.
var levels = [][]string{{"or"}, {"and"}, {"==", "!=", "<", "<=", ">", ">=", "in"}, {"+", "-"}, {"*", "/", "//", "%"}}

func (p *parser) binary(level int) (*expr, error) {
	if level == len(levels) {
		return p.unary()
	}
	if level == 2 && p.Is("not") {
		line := p.Next().Line
		x, err := p.binary(2)
		return &expr{kind: exprUnary, text: "not", args: []*expr{x}, line: line}, err
	}
	left, err := p.binary(level + 1)
	for err == nil {
		t := p.Peek()
		if t.Kind == lang.String || !slices.Contains(levels[level], t.Text) {
			break
		}
		p.Next()
		var right *expr
		if right, err = p.binary(level + 1); err == nil {
			left = &expr{kind: exprBinary, text: t.Text, args: []*expr{left, right}, line: t.Line}
		}
	}
	return left, err
}

func (p *parser) unary() (*expr, error) {
	if p.Is("-") {
		line := p.Next().Line
		x, err := p.unary()
		return &expr{kind: exprUnary, text: "-", args: []*expr{x}, line: line}, err
	}
	x, err := p.primary()
	for err == nil && p.Is("[") && p.Continues() {
		x, err = p.subscript(x)
	}
	return x, err
}

func (p *parser) subscript(x *expr) (*expr, error) {
	line := p.Next().Line
	part := func(stop string) (*expr, error) {
		if p.Is(stop) {
			return nil, nil
		}
		return p.expr()
	}
	from, err := part(":")
	if err != nil {
		return nil, err
	}
	if p.Accept("]") {
		return &expr{kind: exprIndex, args: []*expr{x, from}, line: line}, nil
	}
	if err := p.Expect(":"); err != nil {
		return nil, err
	}
	to, err := part("]")
	if err != nil {
		return nil, err
	}
	return &expr{kind: exprSlice, args: []*expr{x, from, to}, line: line}, p.Expect("]")
}

func (p *parser) primary() (*expr, error) {
	t := p.Next()
	e := &expr{kind: exprLit, line: t.Line}
	switch {
	case t.Kind == lang.Number:
		if strings.ContainsAny(t.Text, ".eE") {
			f, err := strconv.ParseFloat(t.Text, 64)
			e.lit = FloatValue(f)
			return e, err
		}
		i, err := strconv.ParseInt(t.Text, 10, 64)
		e.lit = IntValue(i)
		return e, err
	case t.Kind == lang.String && p.Is("("):
		return p.call(t)
	case t.Kind == lang.String:
		e.lit = StringValue(t.Text)
		return e, nil
	case t.Text == "(":
		x, err := p.expr()
		if err != nil {
			return nil, err
		}
		return x, p.Expect(")")
	case t.Text == "@":
		return p.foreign(t.Line)
	case t.Text == "[":
		return p.list(t.Line)
	case t.Kind == lang.Name:
		return p.named(t)
	}
	if t.Kind != lang.End {
		p.Back()
	}
	return nil, fmt.Errorf("expected an expression, found %v", t)
}

func (p *parser) named(t lang.Token) (*expr, error) {
	switch t.Text {
	case "true", "false":
		return &expr{kind: exprLit, lit: BoolValue(t.Text == "true"), line: t.Line}, nil
	case "none":
		return &expr{kind: exprLit, line: t.Line}, nil
	}
	if p.Is("(") {
		return p.call(t)
	}
	if !slices.Contains(p.scope, t.Text) {
		p.Back()
		return nil, fmt.Errorf("%q is not bound here", t.Text)
	}
	return &expr{kind: exprName, text: t.Text, line: t.Line}, nil
}

// list reads the rest of [a, b] or of [e for x in list if condition]. Names bound by "for" are seen in e, which comes first.
func (p *parser) list(line int) (*expr, error) {
	if p.Accept("]") {
		return &expr{kind: exprList, line: line}, nil
	}
	defer func(n int) { p.scope = p.scope[:n] }(len(p.scope))
	if name, ok := p.forName(); ok {
		p.scope = append(p.scope, name)
	}
	first, err := p.expr()
	if err != nil {
		return nil, err
	}
	if p.Accept("for") {
		e := &expr{kind: exprFor, args: []*expr{first, nil, nil}, line: line}
		if e.text, err = p.name(); err != nil {
			return nil, err
		}
		if err = p.Expect("in"); err != nil {
			return nil, err
		}
		if e.args[1], err = p.binary(0); err != nil {
			return nil, err
		}
		if p.Accept("if") {
			if e.args[2], err = p.binary(0); err != nil {
				return nil, err
			}
		}
		return e, p.Expect("]")
	}
	e := &expr{kind: exprList, args: []*expr{first}, line: line}
	if p.Accept("]") {
		return e, nil
	}
	if err := p.Expect(","); err != nil {
		return nil, err
	}
	return e, p.exprs(e, "]")
}

// exprs reads expressions up to a closing symbol.
func (p *parser) exprs(e *expr, closing string) error {
	return p.List(closing, func() error {
		x, err := p.expr()
		e.args = append(e.args, x)
		return err
	})
}

// forName looks ahead in a list for "for NAME", outside of inner brackets.
func (p *parser) forName() (string, bool) {
	depth := 0
	rest := p.Rest()
	for i, t := range rest[:len(rest)-1] {
		if t.Kind == lang.String {
			continue
		}
		switch t.Text {
		case "[", "(", "{":
			depth++
		case "]", ")", "}":
			if depth--; depth < 0 {
				return "", false
			}
		case "for":
			if depth == 0 {
				return rest[i+1].Text, true
			}
		}
	}
	return "", false
}

// call reads the arguments of a function, a definition or a kernel. What stands in quotes is a kernel that is none of tapc's.
func (p *parser) call(t lang.Token) (*expr, error) {
	e := &expr{text: t.Text, line: t.Line}
	f, builtin := functions[t.Text]
	switch {
	case t.Kind == lang.String:
		e.kind = exprKernel
		p.table.calls = append(p.table.calls, e)
	case builtin:
		e.kind = exprCall
	case p.table.defs[t.Text] != nil:
		e.kind, e.def = exprDef, p.table.defs[t.Text]
	default:
		e.kind = exprKernel
		p.table.calls = append(p.table.calls, e)
	}
	p.Next()
	err := p.List(")", func() error {
		port := ""
		if e.kind == exprKernel && p.Peek().Kind == lang.Name && p.Second().Text == ":" {
			port = p.Next().Text
			p.Next()
		}
		x, err := p.expr()
		e.args, e.ports = append(e.args, x), append(e.ports, port)
		return err
	})
	switch {
	case err != nil:
		return nil, err
	case e.kind == exprCall && (len(e.args) < f.least || len(e.args) > f.most):
		return nil, fmt.Errorf("%s takes %d to %d arguments, found %d", t.Text, f.least, f.most, len(e.args))
	case e.kind == exprDef && len(e.args) != len(e.def.params):
		return nil, fmt.Errorf("%s takes %d arguments, found %d", t.Text, len(e.def.params), len(e.args))
	case e.kind == exprKernel:
		return e, p.kernelAttrs(e)
	}
	return e, nil
}

func (p *parser) kernelAttrs(e *expr) error {
	if !p.Accept("{") {
		return nil
	}
	return p.List("}", func() error {
		name, err := p.Want("a parameter's name", lang.Name)
		if err != nil {
			return err
		}
		if err := p.Expect(":"); err != nil {
			return err
		}
		x, err := p.expr()
		e.attrs = append(e.attrs, namedExpr{name, x})
		return err
	})
}
