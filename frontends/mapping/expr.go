package mapping

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
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
	if p.depth++; p.depth > maxNest {
		return nil, fmt.Errorf("nested deeper than %d", maxNest)
	}
	defer func() { p.depth-- }()
	if p.accept("fold") {
		return p.fold()
	}
	if p.accept("with") {
		return p.with()
	}
	if !p.accept("if") {
		return p.binary(0)
	}
	e := &expr{kind: exprIf, line: p.peek().line}
	for i, word := range []string{"then", "else", ""} {
		part, err := p.expr()
		if err != nil {
			return nil, err
		}
		e.args = append(e.args, part)
		if i < 2 {
			if err := p.expect(word); err != nil {
				return nil, err
			}
		}
	}
	return e, nil
}

// with reads the rest of "with NAME = VALUE do BODY".
func (p *parser) with() (*expr, error) {
	e := &expr{kind: exprWith, args: make([]*expr, 2), line: p.peek().line}
	var err error
	if e.text, err = p.name(); err != nil {
		return nil, err
	}
	if err = p.expect("="); err != nil {
		return nil, err
	}
	if e.args[0], err = p.expr(); err != nil {
		return nil, err
	}
	if err = p.expect("do"); err != nil {
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
	e := &expr{kind: exprFold, args: make([]*expr, 3), ports: make([]string, 1), line: p.peek().line}
	var err error
	if e.ports[0], err = p.name(); err != nil {
		return nil, err
	}
	if err = p.expect("="); err != nil {
		return nil, err
	}
	if e.args[0], err = p.expr(); err != nil {
		return nil, err
	}
	if err = p.expect("for"); err != nil {
		return nil, err
	}
	if e.text, err = p.name(); err != nil {
		return nil, err
	}
	if err = p.expect("in"); err != nil {
		return nil, err
	}
	if e.args[1], err = p.expr(); err != nil {
		return nil, err
	}
	if err = p.expect("do"); err != nil {
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
	if level == 2 && p.is("not") {
		line := p.next().line
		x, err := p.binary(2)
		return &expr{kind: exprUnary, text: "not", args: []*expr{x}, line: line}, err
	}
	left, err := p.binary(level + 1)
	for err == nil {
		t := p.peek()
		if t.kind == tokString || !slices.Contains(levels[level], t.text) {
			break
		}
		p.next()
		var right *expr
		if right, err = p.binary(level + 1); err == nil {
			left = &expr{kind: exprBinary, text: t.text, args: []*expr{left, right}, line: t.line}
		}
	}
	return left, err
}

func (p *parser) unary() (*expr, error) {
	if p.is("-") {
		line := p.next().line
		x, err := p.unary()
		return &expr{kind: exprUnary, text: "-", args: []*expr{x}, line: line}, err
	}
	x, err := p.primary()
	for err == nil && p.is("[") && p.peek().line == p.tokens[p.at-1].line {
		x, err = p.subscript(x)
	}
	return x, err
}

func (p *parser) subscript(x *expr) (*expr, error) {
	line := p.next().line
	part := func(stop string) (*expr, error) {
		if p.is(stop) {
			return nil, nil
		}
		return p.expr()
	}
	from, err := part(":")
	if err != nil {
		return nil, err
	}
	if p.accept("]") {
		return &expr{kind: exprIndex, args: []*expr{x, from}, line: line}, nil
	}
	if err := p.expect(":"); err != nil {
		return nil, err
	}
	to, err := part("]")
	if err != nil {
		return nil, err
	}
	return &expr{kind: exprSlice, args: []*expr{x, from, to}, line: line}, p.expect("]")
}

func (p *parser) primary() (*expr, error) {
	t := p.next()
	e := &expr{kind: exprLit, line: t.line}
	switch {
	case t.kind == tokNumber:
		if strings.ContainsAny(t.text, ".e") {
			f, err := strconv.ParseFloat(t.text, 64)
			e.lit = FloatValue(f)
			return e, err
		}
		i, err := strconv.ParseInt(t.text, 10, 64)
		e.lit = IntValue(i)
		return e, err
	case t.kind == tokString && p.is("("):
		return p.call(t)
	case t.kind == tokString:
		e.lit = StringValue(t.text)
		return e, nil
	case t.text == "(":
		x, err := p.expr()
		if err != nil {
			return nil, err
		}
		return x, p.expect(")")
	case t.text == "@":
		return p.foreign(t.line)
	case t.text == "[":
		return p.list(t.line)
	case t.kind == tokName:
		return p.named(t)
	}
	return nil, fmt.Errorf("expected an expression, found %v", t)
}

func (p *parser) named(t token) (*expr, error) {
	switch t.text {
	case "true", "false":
		return &expr{kind: exprLit, lit: BoolValue(t.text == "true"), line: t.line}, nil
	case "none":
		return &expr{kind: exprLit, line: t.line}, nil
	}
	if p.is("(") {
		return p.call(t)
	}
	if !slices.Contains(p.scope, t.text) {
		p.at--
		return nil, fmt.Errorf("%q is not bound here", t.text)
	}
	return &expr{kind: exprName, text: t.text, line: t.line}, nil
}

// list reads the rest of [a, b] or of [e for x in list if condition]. Names bound by "for" are seen in e, which comes first.
func (p *parser) list(line int) (*expr, error) {
	if p.accept("]") {
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
	if p.accept("for") {
		e := &expr{kind: exprFor, args: []*expr{first, nil, nil}, line: line}
		if e.text, err = p.name(); err != nil {
			return nil, err
		}
		if err = p.expect("in"); err != nil {
			return nil, err
		}
		if e.args[1], err = p.binary(0); err != nil {
			return nil, err
		}
		if p.accept("if") {
			if e.args[2], err = p.binary(0); err != nil {
				return nil, err
			}
		}
		return e, p.expect("]")
	}
	e := &expr{kind: exprList, args: []*expr{first}, line: line}
	for !p.accept("]") {
		if err := p.expect(","); err != nil {
			return nil, err
		}
		x, err := p.expr()
		if err != nil {
			return nil, err
		}
		e.args = append(e.args, x)
	}
	return e, nil
}

// forName looks ahead in a list for "for NAME", outside of inner brackets.
func (p *parser) forName() (string, bool) {
	depth := 0
	for i := p.at; i+1 < len(p.tokens); i++ {
		t := p.tokens[i]
		if t.kind == tokString {
			continue
		}
		switch t.text {
		case "[", "(", "{":
			depth++
		case "]", ")", "}":
			if depth--; depth < 0 {
				return "", false
			}
		case "for":
			if depth == 0 {
				return p.tokens[i+1].text, true
			}
		}
	}
	return "", false
}

// call reads the arguments of a function, a definition or a kernel. What stands in quotes is a kernel that is none of tapc's.
func (p *parser) call(t token) (*expr, error) {
	e := &expr{text: t.text, line: t.line}
	f, builtin := functions[t.text]
	switch {
	case t.kind == tokString:
		e.kind = exprKernel
		p.table.calls = append(p.table.calls, e)
	case builtin:
		e.kind = exprCall
	case p.table.defs[t.text] != nil:
		e.kind, e.def = exprDef, p.table.defs[t.text]
	default:
		e.kind = exprKernel
		p.table.calls = append(p.table.calls, e)
	}
	p.next()
	for !p.accept(")") {
		port := ""
		if e.kind == exprKernel && p.peek().kind == tokName && p.tokens[p.at+1].text == ":" {
			port = p.next().text
			p.next()
		}
		x, err := p.expr()
		if err != nil {
			return nil, err
		}
		e.args, e.ports = append(e.args, x), append(e.ports, port)
		if !p.accept(",") && !p.is(")") {
			return nil, fmt.Errorf("expected \",\" or \")\", found %v", p.peek())
		}
	}
	switch {
	case e.kind == exprCall && (len(e.args) < f.least || len(e.args) > f.most):
		return nil, fmt.Errorf("%s takes %d to %d arguments, found %d", t.text, f.least, f.most, len(e.args))
	case e.kind == exprDef && len(e.args) != len(e.def.params):
		return nil, fmt.Errorf("%s takes %d arguments, found %d", t.text, len(e.def.params), len(e.args))
	case e.kind == exprKernel:
		return e, p.kernelAttrs(e)
	}
	return e, nil
}

func (p *parser) kernelAttrs(e *expr) error {
	if !p.accept("{") {
		return nil
	}
	for !p.accept("}") {
		n := p.next()
		if n.kind != tokName {
			return fmt.Errorf("expected a parameter's name, found %v", n)
		}
		if err := p.expect(":"); err != nil {
			return err
		}
		x, err := p.expr()
		if err != nil {
			return err
		}
		e.attrs = append(e.attrs, namedExpr{n.text, x})
		if !p.accept(",") && !p.is("}") {
			return fmt.Errorf("expected \",\" or \"}\", found %v", p.peek())
		}
	}
	return nil
}
