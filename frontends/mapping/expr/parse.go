package expr

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tensortapestry.org/tapc/frontends/foreign"
	"tensortapestry.org/tapc/ir/lang"
)

// Parser reads expressions, and what else is said with their tokens.
type Parser struct {
	lang.Cursor
	Scope []string        // names that are bound
	Defs  map[string]*Def // functions that are known
	Calls []*Expr         // of kernels, all that were read
}

// NewParser begins to read a text.
func NewParser(text string) (Parser, error) {
	c, err := lexicon.Cursor(text)
	return Parser{Cursor: c, Defs: map[string]*Def{}}, err
}

// lexicon is what the language of tables is made of.
var lexicon = lang.Lexicon{Single: true, Symbols: []string{"...", "->", "==", "!=", "<=", ">=", "//", "..", "(", ")", "[", "]", "{", "}", ",",
	":", "=", "<", ">", "+", "-", "*", "/", "%", "?", "@", "~"}}

// Name reads a name that is no word of the language.
func (p *Parser) Name() (string, error) {
	if t := p.Peek(); keywords[t.Text] {
		return "", fmt.Errorf("expected a name, found %v", t)
	}
	return p.Want("a name", lang.Name)
}

var keywords = map[string]bool{"rule": true, "def": true, "let": true, "need": true, "attrs": true, "ignore": true, "refuse": true, "if": true,
	"then": true, "else": true, "and": true, "or": true, "not": true, "in": true, "for": true, "fold": true, "with": true, "do": true, "table": true,
	"fuse": true, "back": true, "exact": true, "near": true, "match": true, "carry": true, "commutes": true}

// maxNest bounds how deep an expression may nest.
const maxNest = 100

// Expr reads an expression, whose names must be bound.
func (p *Parser) Expr() (*Expr, error) {
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
	e := &Expr{Kind: KindIf, Line: p.Peek().Line}
	for i, word := range []string{"then", "else", ""} {
		part, err := p.Expr()
		if err != nil {
			return nil, err
		}
		e.Args = append(e.Args, part)
		if i < 2 {
			if err := p.Expect(word); err != nil {
				return nil, err
			}
		}
	}
	return e, nil
}

// with reads the rest of "with NAME = VALUE do BODY".
func (p *Parser) with() (*Expr, error) {
	e := &Expr{Kind: KindWith, Args: make([]*Expr, 2), Line: p.Peek().Line}
	var err error
	if e.Text, err = p.Name(); err != nil {
		return nil, err
	}
	if err = p.Expect("="); err != nil {
		return nil, err
	}
	if e.Args[0], err = p.Expr(); err != nil {
		return nil, err
	}
	if err = p.Expect("do"); err != nil {
		return nil, err
	}
	defer func(n int) { p.Scope = p.Scope[:n] }(len(p.Scope))
	p.Scope = append(p.Scope, e.Text)
	e.Args[1], err = p.Expr()
	return e, err
}

// fold reads the rest of "fold ACC = FIRST for NAME in LIST do NEXT": NEXT is computed for every entry, with ACC standing for
// the result so far.
func (p *Parser) fold() (*Expr, error) {
	e := &Expr{Kind: KindFold, Args: make([]*Expr, 3), Ports: make([]string, 1), Line: p.Peek().Line}
	var err error
	if e.Ports[0], err = p.Name(); err != nil {
		return nil, err
	}
	if err = p.Expect("="); err != nil {
		return nil, err
	}
	if e.Args[0], err = p.Expr(); err != nil {
		return nil, err
	}
	if err = p.Expect("for"); err != nil {
		return nil, err
	}
	if e.Text, err = p.Name(); err != nil {
		return nil, err
	}
	if err = p.Expect("in"); err != nil {
		return nil, err
	}
	if e.Args[1], err = p.Expr(); err != nil {
		return nil, err
	}
	if err = p.Expect("do"); err != nil {
		return nil, err
	}
	defer func(n int) { p.Scope = p.Scope[:n] }(len(p.Scope))
	p.Scope = append(p.Scope, e.Ports[0], e.Text)
	e.Args[2], err = p.Expr()
	return e, err
}

// levels are the infix operators by rising strength.
var levels = [][]string{{"or"}, {"and"}, {"==", "!=", "<", "<=", ">", ">=", "in"}, {"+", "-"}, {"*", "/", "//", "%"}}

func (p *Parser) binary(level int) (*Expr, error) {
	if level == len(levels) {
		return p.unary()
	}
	if level == 2 && p.Is("not") {
		line := p.Next().Line
		x, err := p.binary(2)
		return &Expr{Kind: KindUnary, Text: "not", Args: []*Expr{x}, Line: line}, err
	}
	left, err := p.binary(level + 1)
	for err == nil {
		t := p.Peek()
		if t.Kind == lang.String || !slices.Contains(levels[level], t.Text) {
			break
		}
		p.Next()
		var right *Expr
		if right, err = p.binary(level + 1); err == nil {
			left = &Expr{Kind: KindBinary, Text: t.Text, Args: []*Expr{left, right}, Line: t.Line}
		}
	}
	return left, err
}

func (p *Parser) unary() (*Expr, error) {
	if p.Is("-") {
		line := p.Next().Line
		x, err := p.unary()
		return &Expr{Kind: KindUnary, Text: "-", Args: []*Expr{x}, Line: line}, err
	}
	x, err := p.primary()
	for err == nil && p.Is("[") && p.Continues() {
		x, err = p.subscript(x)
	}
	return x, err
}

func (p *Parser) subscript(x *Expr) (*Expr, error) {
	line := p.Next().Line
	part := func(stop string) (*Expr, error) {
		if p.Is(stop) {
			return nil, nil
		}
		return p.Expr()
	}
	from, err := part(":")
	if err != nil {
		return nil, err
	}
	if p.Accept("]") {
		return &Expr{Kind: KindIndex, Args: []*Expr{x, from}, Line: line}, nil
	}
	if err := p.Expect(":"); err != nil {
		return nil, err
	}
	to, err := part("]")
	if err != nil {
		return nil, err
	}
	return &Expr{Kind: KindSlice, Args: []*Expr{x, from, to}, Line: line}, p.Expect("]")
}

func (p *Parser) primary() (*Expr, error) {
	t := p.Next()
	e := &Expr{Kind: KindLit, Line: t.Line}
	switch {
	case t.Kind == lang.Number:
		if strings.ContainsAny(t.Text, ".eE") {
			f, err := strconv.ParseFloat(t.Text, 64)
			e.Lit = foreign.FloatValue(f)
			return e, err
		}
		i, err := strconv.ParseInt(t.Text, 10, 64)
		e.Lit = foreign.IntValue(i)
		return e, err
	case t.Kind == lang.String && p.Is("("):
		return p.call(t)
	case t.Kind == lang.String:
		e.Lit = foreign.StringValue(t.Text)
		return e, nil
	case t.Text == "(":
		x, err := p.Expr()
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

func (p *Parser) named(t lang.Token) (*Expr, error) {
	switch t.Text {
	case "true", "false":
		return &Expr{Kind: KindLit, Lit: foreign.BoolValue(t.Text == "true"), Line: t.Line}, nil
	case "none":
		return &Expr{Kind: KindLit, Line: t.Line}, nil
	}
	if p.Is("(") {
		return p.call(t)
	}
	if !slices.Contains(p.Scope, t.Text) {
		p.Back()
		return nil, fmt.Errorf("%q is not bound here", t.Text)
	}
	return &Expr{Kind: KindName, Text: t.Text, Line: t.Line}, nil
}

// list reads the rest of [a, b] or of [e for x in list if condition]. Names bound by "for" are seen in e, which comes first.
func (p *Parser) list(line int) (*Expr, error) {
	if p.Accept("]") {
		return &Expr{Kind: KindList, Line: line}, nil
	}
	defer func(n int) { p.Scope = p.Scope[:n] }(len(p.Scope))
	if name, ok := p.forName(); ok {
		p.Scope = append(p.Scope, name)
	}
	first, err := p.Expr()
	if err != nil {
		return nil, err
	}
	if p.Accept("for") {
		e := &Expr{Kind: KindFor, Args: []*Expr{first, nil, nil}, Line: line}
		if e.Text, err = p.Name(); err != nil {
			return nil, err
		}
		if err = p.Expect("in"); err != nil {
			return nil, err
		}
		if e.Args[1], err = p.binary(0); err != nil {
			return nil, err
		}
		if p.Accept("if") {
			if e.Args[2], err = p.binary(0); err != nil {
				return nil, err
			}
		}
		return e, p.Expect("]")
	}
	e := &Expr{Kind: KindList, Args: []*Expr{first}, Line: line}
	if p.Accept("]") {
		return e, nil
	}
	if err := p.Expect(","); err != nil {
		return nil, err
	}
	return e, p.exprs(e, "]")
}

// exprs reads expressions up to a closing symbol.
func (p *Parser) exprs(e *Expr, closing string) error {
	return p.List(closing, func() error {
		x, err := p.Expr()
		e.Args = append(e.Args, x)
		return err
	})
}

// forName looks ahead in a list for "for NAME", outside of inner brackets.
func (p *Parser) forName() (string, bool) {
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
func (p *Parser) call(t lang.Token) (*Expr, error) {
	e := &Expr{Text: t.Text, Line: t.Line}
	f, builtin := functions[t.Text]
	switch {
	case t.Kind == lang.String:
		e.Kind = KindKernel
		p.Calls = append(p.Calls, e)
	case builtin:
		e.Kind = KindCall
	case p.Defs[t.Text] != nil:
		e.Kind, e.Def = KindDef, p.Defs[t.Text]
	default:
		e.Kind = KindKernel
		p.Calls = append(p.Calls, e)
	}
	p.Next()
	err := p.List(")", func() error {
		port := ""
		if e.Kind == KindKernel && p.Peek().Kind == lang.Name && p.Second().Text == ":" {
			port = p.Next().Text
			p.Next()
		}
		x, err := p.Expr()
		e.Args, e.Ports = append(e.Args, x), append(e.Ports, port)
		return err
	})
	switch {
	case err != nil:
		return nil, err
	case e.Kind == KindCall && (len(e.Args) < f.least || len(e.Args) > f.most):
		return nil, fmt.Errorf("%s takes %d to %d arguments, found %d", t.Text, f.least, f.most, len(e.Args))
	case e.Kind == KindDef && len(e.Args) != len(e.Def.Params):
		return nil, fmt.Errorf("%s takes %d arguments, found %d", t.Text, len(e.Def.Params), len(e.Args))
	case e.Kind == KindKernel:
		return e, p.kernelAttrs(e)
	}
	return e, nil
}

func (p *Parser) kernelAttrs(e *Expr) error {
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
		x, err := p.Expr()
		e.Attrs = append(e.Attrs, NamedExpr{name, x})
		return err
	})
}

// foreign reads the rest of "@Op(inputs){attributes}": an operation of the source's own vocabulary, which other rules map. An attribute
// of the value none is left out; {results: n} says how many results there are.
func (p *Parser) foreign(line int) (*Expr, error) {
	name, err := p.Operation()
	if err != nil {
		return nil, err
	}
	e := &Expr{Kind: KindForeign, Text: name, Line: line}
	if err := p.Expect("("); err != nil {
		return nil, err
	}
	if err := p.exprs(e, ")"); err != nil {
		return nil, err
	}
	return e, p.kernelAttrs(e)
}

// ReadDef reads the rest of "def NAME(PARAMETERS) = EXPRESSION": a function, which may only use those before it.
func (p *Parser) ReadDef() error {
	d := &Def{}
	var err error
	if d.Name, err = p.Name(); err != nil {
		return err
	}
	if p.Defs[d.Name] != nil || functions[d.Name].call != nil {
		return fmt.Errorf("%s is defined already", d.Name)
	}
	if d.Params, err = p.Names(); err != nil {
		return err
	}
	if err = p.Expect("="); err != nil {
		return err
	}
	p.Scope = slices.Clone(d.Params)
	if d.Body, err = p.Expr(); err == nil {
		p.Defs[d.Name] = d
	}
	return err
}

// Names reads "(name, name)".
func (p *Parser) Names() ([]string, error) {
	if err := p.Expect("("); err != nil {
		return nil, err
	}
	var out []string
	err := p.List(")", func() error {
		n, err := p.Name()
		out = append(out, n)
		return err
	})
	return out, err
}

// Operation reads the name of an operation of the source, in quotes where it is no name of this language.
func (p *Parser) Operation() (string, error) {
	return p.Want("an operation's name", lang.Name, lang.String)
}
