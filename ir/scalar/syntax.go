package scalar

import (
	"fmt"
	"strings"
)

// Syntax says what keeps a text from being an expression whatever its names stand for; nil if nothing does. Every text that
// Parse reads passes.
func Syntax(text string) error {
	p := &parser{text: text}
	p.next()
	err := p.skipExpr(0)
	if err == nil && p.tok != "" {
		err = fmt.Errorf("expected an operator or the end, found %q", p.tok)
	}
	if err != nil {
		return fmt.Errorf("column %d: %w", p.at+1, err)
	}
	return nil
}

// skipExpr goes over what expr reads.
func (p *parser) skipExpr(strength int) error {
	if p.depth++; p.depth > maxDepth {
		return fmt.Errorf("nested deeper than %d", maxDepth)
	}
	defer func() { p.depth-- }()
	err := p.skipPrefix()
	for err == nil {
		op, ok := opByInfix[p.tok]
		if !ok || ops[op].prec <= strength {
			return nil
		}
		p.next()
		err = p.skipExpr(ops[op].prec)
	}
	return err
}

func (p *parser) skipPrefix() error {
	tok := p.tok
	switch {
	case tok == "":
		return fmt.Errorf("expected an expression, found the end")
	case tok == "-":
		p.next()
		return p.skipExpr(8)
	case tok == "(":
		p.next()
		if err := p.skipExpr(0); err != nil {
			return err
		}
		return p.expect(")")
	case tok[0] >= '0' && tok[0] <= '9' || tok[0] == '.':
		_, err := p.number(1)
		return err
	case strings.IndexByte(symbolBytes, tok[0]) >= 0 || tok[0] >= 0x80:
		return fmt.Errorf("expected an expression, found %q", tok)
	}
	if p.next(); p.tok != "(" {
		return nil
	}
	return p.skipCall(tok)
}

// skipCall goes over the arguments behind a name and, where it may be a reduction's, over what is reduced.
func (p *parser) skipCall(name string) error {
	count := 0
	for p.next(); p.tok != ")"; p.next() {
		if err := p.skipExpr(0); err != nil {
			return err
		}
		if count++; p.tok != "," {
			break
		}
	}
	if err := p.expect(")"); err != nil {
		return err
	}
	_, monoid := monoids[name]
	if op, ok := opByName[name]; ok && !monoid && ops[op].arity > 0 && count != ops[op].arity {
		return fmt.Errorf("%s takes %d arguments, found %d", name, ops[op].arity, count)
	}
	begins := p.tok == "(" || p.tok != "" && strings.IndexByte(symbolBytes, p.tok[0]) < 0
	if monoid && begins && count > 0 {
		return p.skipExpr(ops[Mul].prec - 1)
	}
	return nil
}
