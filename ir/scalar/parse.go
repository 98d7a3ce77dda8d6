package scalar

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Scope tells what the names in an expression's text stand for.
type Scope interface {
	// Lookup gives the leaf a name stands for: a Load, Local, Loop or Attr expression.
	Lookup(name string) (*Expr, bool)
	// Axes gives the loops that a name stands for between the parentheses of a reduction.
	Axes(name string) ([]int, bool)
}

// Caller is a Scope with functions of its own, whose arguments are names.
type Caller interface {
	// Call gives what a function stands for; ok is false if the scope has no function of that name.
	Call(name string, args []string) (e *Expr, ok bool, err error)
}

// Typer is a Scope with names of types, which cast like the dtypes' own names.
type Typer interface {
	TypeNamed(name string) (DType, bool)
}

// Grouper is a Scope in which one name may stand for several loops, a group: at(group, index, body) then has an index for each.
type Grouper interface {
	// Element gives the scope of the index of loop number i of a group: there, names of groups stand for their loop number i.
	Element(group string, i int) Scope
}

// maxDepth bounds how deep an expression's text may nest.
const maxDepth = 200

// Parse reads expression text. Infix operators bind as in Go; a reduction such as sum(k) binds like a product on its left,
// so that "sum(k) a * b + c" adds c once. Errors name the column, counted from 1.
func Parse(text string, scope Scope) (*Expr, error) {
	p := &parser{text: text, scope: scope}
	p.next()
	e, err := p.expr(0)
	if err == nil && p.tok != "" {
		err = fmt.Errorf("unexpected %q", p.tok)
	}
	if err != nil {
		return nil, fmt.Errorf("column %d: %w", p.at+1, err)
	}
	return e, nil
}

type parser struct {
	text  string
	scope Scope
	at    int // start of tok
	end   int // end of tok
	tok   string
	depth int
}

const symbolBytes = "+-*/%&|^<>=!(),"

func (p *parser) next() {
	for p.end < len(p.text) && strings.IndexByte(" \t\r\n", p.text[p.end]) >= 0 {
		p.end++
	}
	p.at = p.end
	if p.at == len(p.text) {
		p.tok = ""
		return
	}
	rest := p.text[p.at:]
	n := wordLength(rest)
	if n == 0 {
		_, n = utf8.DecodeRuneInString(rest)
		for _, two := range []string{"<<", ">>", "==", "!=", "<=", ">="} {
			if strings.HasPrefix(rest, two) {
				n = 2
			}
		}
	}
	p.end += n
	p.tok = rest[:n]
}

// wordLength measures a name or a number at the start of s.
func wordLength(s string) int {
	number := s[0] >= '0' && s[0] <= '9'
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c >= 0x80, strings.IndexByte(" \t\r\n", c) >= 0:
			return i
		case number && (c == '+' || c == '-') && i > 0 && (s[i-1] == 'e' || s[i-1] == 'E'):
		case strings.IndexByte(symbolBytes, c) >= 0:
			return i
		}
	}
	return len(s)
}

func (p *parser) expr(strength int) (*Expr, error) {
	if p.depth++; p.depth > maxDepth {
		return nil, fmt.Errorf("nested deeper than %d", maxDepth)
	}
	defer func() { p.depth-- }()
	left, err := p.prefix()
	for err == nil {
		op, ok := opByInfix[p.tok]
		if !ok || ops[op].prec <= strength {
			return left, nil
		}
		p.next()
		var right *Expr
		if right, err = p.expr(ops[op].prec); err == nil {
			left, err = New(op, left, right)
		}
	}
	return nil, err
}

func (p *parser) prefix() (*Expr, error) {
	tok := p.tok
	switch {
	case tok == "":
		return nil, fmt.Errorf("expected an expression, found the end")
	case tok == "-":
		p.next()
		return p.negative()
	case tok == "(":
		p.next()
		e, err := p.expr(0)
		if err != nil {
			return nil, err
		}
		return e, p.expect(")")
	case tok[0] >= '0' && tok[0] <= '9' || tok[0] == '.':
		return p.number(1)
	case strings.IndexByte(symbolBytes, tok[0]) >= 0 || tok[0] >= 0x80:
		return nil, fmt.Errorf("expected an expression, found %q", tok)
	}
	p.next()
	if p.tok == "(" {
		return p.call(tok)
	}
	return p.name(tok)
}

func (p *parser) negative() (*Expr, error) {
	if c := p.tok; c != "" && (c[0] >= '0' && c[0] <= '9' || c == "inf") {
		return p.number(-1)
	}
	e, err := p.expr(8)
	if err != nil {
		return nil, err
	}
	return New(Neg, e)
}

func (p *parser) number(sign float64) (*Expr, error) {
	f, err := strconv.ParseFloat(p.tok, 64)
	if err != nil {
		return nil, fmt.Errorf("%q is not a number", p.tok)
	}
	p.next()
	return untypedLiteral(sign * f), nil
}

func untypedLiteral(f float64) *Expr { return &Expr{Op: Const, Value: Value{F: f}} }

func (p *parser) name(name string) (*Expr, error) {
	switch name {
	case "true", "false":
		return NewConst(BoolValue(name == "true")), nil
	case "inf":
		return untypedLiteral(math.Inf(1)), nil
	case "nan":
		return untypedLiteral(math.NaN()), nil
	}
	if e, ok := p.scope.Lookup(name); ok {
		return e, nil
	}
	return nil, fmt.Errorf("unknown name %q", name)
}

func (p *parser) expect(tok string) error {
	if p.tok != tok {
		return fmt.Errorf("expected %q, found %q", tok, p.tok)
	}
	p.next()
	return nil
}

// call reads what follows a name and an opening parenthesis: a cast, a reduction or an operator by name.
func (p *parser) call(name string) (*Expr, error) {
	if c, ok := p.scope.(Caller); ok {
		if e, done, err := p.scopeCall(c, name); done {
			return e, err
		}
	}
	if d, ok := p.typeNamed(name); ok {
		return p.castCall(d)
	}
	switch name {
	case "at":
		return p.atCall()
	case "bitcast":
		return p.bitcastCall()
	}
	if op, ok := elementwise[name]; ok {
		return p.elementwise(op)
	}
	if monoid, ok := monoids[name]; ok {
		if e, done, err := p.reduction(monoid); done {
			return e, err
		}
	}
	op, ok := opByName[name]
	if !ok {
		return nil, fmt.Errorf("unknown function %q", name)
	}
	args, err := p.args()
	if err != nil {
		return nil, err
	}
	return New(op, args...)
}

func (p *parser) typeNamed(name string) (DType, bool) {
	if t, ok := p.scope.(Typer); ok {
		if d, ok := t.TypeNamed(name); ok {
			return d, true
		}
	}
	d, err := ParseDType(name)
	return d, err == nil
}

// scopeCall tries the call as one of the scope's own functions.
func (p *parser) scopeCall(c Caller, name string) (e *Expr, done bool, err error) {
	mark := *p
	var args []string
	for p.next(); p.tok != ")" && p.tok != ""; p.next() {
		if p.tok != "," {
			args = append(args, p.tok)
		}
	}
	e, ok, err := c.Call(name, args)
	if !ok {
		*p = mark
		return nil, false, nil
	}
	if err == nil {
		err = p.expect(")")
	}
	return e, true, err
}

func (p *parser) args() ([]*Expr, error) {
	p.next() // "("
	var args []*Expr
	for {
		e, err := p.expr(0)
		if err != nil {
			return nil, err
		}
		args = append(args, e)
		if p.tok != "," {
			return args, p.expect(")")
		}
		p.next()
	}
}

func (p *parser) castCall(d DType) (*Expr, error) {
	mark := *p
	if e, ok := p.exactLiteral(d); ok {
		return e, nil
	}
	*p = mark
	args, err := p.args()
	if err != nil {
		return nil, err
	}
	if d.IsComplex() && len(args) == 2 && args[0].untyped() && args[1].untyped() {
		return NewConst(Value{DType: d, F: round(d, args[0].Value.F), Im: round(d, args[1].Value.F)}), nil
	}
	if len(args) != 1 {
		return nil, fmt.Errorf("%v takes 1 argument, not %d", d, len(args))
	}
	if !args[0].untyped() {
		return NewCast(d, args[0]), nil
	}
	return infer(&Expr{Op: Cast, Type: d, Args: args})
}

// bitcastCall reads "(expression, type)" after "bitcast".
func (p *parser) bitcastCall() (*Expr, error) {
	p.next() // "("
	e, err := p.expr(0)
	if err == nil {
		err = p.expect(",")
	}
	if err != nil {
		return nil, err
	}
	d, ok := p.typeNamed(p.tok)
	if !ok {
		return nil, fmt.Errorf("bitcast takes an element type, not %q", p.tok)
	}
	p.next()
	if err := p.expect(")"); err != nil {
		return nil, err
	}
	return NewBitcast(d, e)
}

// atCall reads "(loop, index, body)" after "at". For a group of loops the index is read once for each of them.
func (p *parser) atCall() (*Expr, error) {
	p.next() // "("
	name := p.tok
	loops, ok := p.scope.Axes(name)
	if _, grouped := p.scope.(Grouper); !ok || len(loops) != 1 && !grouped {
		return nil, fmt.Errorf("at takes a loop, not %q", name)
	}
	p.next()
	if err := p.expect(","); err != nil {
		return nil, err
	}
	index, err := p.elements(name, loops)
	if err != nil {
		return nil, err
	}
	if err := p.expect(","); err != nil {
		return nil, err
	}
	body, err := p.expr(0)
	if err != nil {
		return nil, err
	}
	for i := len(loops) - 1; i >= 0; i-- {
		if body, err = infer(NewAt(loops[i], index[i], body)); err != nil {
			return nil, err
		}
	}
	return body, p.expect(")")
}

// exactLiteral reads dtype(integer) without going through float64, so that 64-bit values keep every bit.
func (p *parser) exactLiteral(d DType) (*Expr, bool) {
	p.next()
	text := ""
	if p.tok == "-" {
		text = "-"
		p.next()
	}
	text += p.tok
	p.next()
	if !d.IsInt() || p.tok != ")" {
		return nil, false
	}
	var i int64
	var err error
	if d.IsSigned() {
		i, err = strconv.ParseInt(text, 10, dtypes[d].bits)
	} else {
		var u uint64
		u, err = strconv.ParseUint(text, 10, dtypes[d].bits)
		i = int64(u)
	}
	if err != nil {
		return nil, false
	}
	p.next()
	return NewConst(Value{DType: d, I: i}), true
}

// reduction reads "(axes) body" after a monoid's name. done is false where the text is a plain call such as max(a, b).
func (p *parser) reduction(monoid Op) (e *Expr, done bool, err error) {
	mark := *p
	p.next() // "("
	var over []int
	for {
		axes, ok := p.scope.Axes(p.tok)
		if !ok {
			*p = mark
			return nil, false, nil
		}
		over = append(over, axes...)
		p.next()
		if p.tok != "," {
			break
		}
		p.next()
	}
	if p.tok != ")" {
		*p = mark
		return nil, false, nil
	}
	p.next()
	if p.tok == "" || p.tok != "(" && strings.IndexByte(symbolBytes, p.tok[0]) >= 0 {
		*p = mark
		return nil, false, nil
	}
	body, err := p.expr(ops[Mul].prec - 1)
	if err != nil {
		return nil, true, err
	}
	e, err = infer(NewReduce(monoid, over, body))
	return e, true, err
}

// elements reads an expression once for each of a group's loops; if there are none, it is read all the same.
func (p *parser) elements(group string, loops []int) ([]*Expr, error) {
	g, grouped := p.scope.(Grouper)
	mark, outer := *p, p.scope
	list := make([]*Expr, len(loops))
	for i := range max(1, len(loops)) {
		*p = mark
		if grouped {
			p.scope = g.Element(group, i)
		}
		e, err := p.expr(0)
		if p.scope = outer; err != nil {
			return nil, err
		}
		if i < len(loops) {
			list[i] = e
		}
	}
	return list, nil
}

// elementwise are the functions that join what an expression gives for each loop of a group: every(group, condition),
// added(group, term) and multiplied(group, factor).
var elementwise = map[string]Op{"every": And, "added": Add, "multiplied": Mul}

func (p *parser) elementwise(op Op) (*Expr, error) {
	p.next() // "("
	name := p.tok
	loops, ok := p.scope.Axes(name)
	if _, grouped := p.scope.(Grouper); !ok || !grouped {
		return nil, fmt.Errorf("expected a group of loops, found %q", name)
	}
	p.next()
	if err := p.expect(","); err != nil {
		return nil, err
	}
	list, err := p.elements(name, loops)
	if err != nil {
		return nil, err
	}
	e := map[Op]*Expr{And: NewConst(BoolValue(true)), Add: untypedLiteral(0), Mul: untypedLiteral(1)}[op]
	for i, x := range list {
		if i == 0 {
			e = x
		} else if e, err = New(op, e, x); err != nil {
			return nil, err
		}
	}
	return e, p.expect(")")
}

// IsFunction says whether a name followed by "(" is an operator, a reduction, at or bitcast.
func IsFunction(name string) bool {
	_, isOp := opByName[name]
	_, isMonoid := monoids[name]
	return isOp || isMonoid || elementwise[name] != NoOp || name == "at" || name == "bitcast"
}

// IsElementwise says whether a function joins what an expression gives for each loop of a group.
func IsElementwise(name string) bool {
	return elementwise[name] != NoOp || name == "at" || name == "bitcast"
}
