package rewrite

import (
	"fmt"
	"slices"
	"strings"

	"tensortapestry.org/tapc/dialects/tensorops/kernels"
)

// Parse reads rules from a text and resolves the kernels that they name in a library. The language is described in
// docs/rewrites.md; in short:
//
//	rule NAME [must]: PATTERN {| PATTERN} => RESULT [if GUARD] because "IDENTITY"
//
// An error names the file and the line, and what was expected and found.
func Parse(file, text string, lib *kernels.Library) ([]Rule, error) {
	tokens, err := scan(text)
	if err != nil {
		return nil, fmt.Errorf("%s:%w", file, err)
	}
	p := &parser{tokens: tokens, lib: lib}
	var rules []Rule
	seen := map[string]bool{}
	for p.peek().kind != tokEnd {
		line := p.peek().line
		r, err := p.rule()
		if err == nil && seen[r.Name] {
			err = fmt.Errorf("rule %s is there twice", r.Name)
		}
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", file, p.peek().line, err)
		}
		seen[r.Name] = true
		r.Source = fmt.Sprintf("%s:%d", file, line)
		rules = append(rules, r)
	}
	return rules, nil
}

// parser reads tokens. Its methods give the first thing that is wrong as an error.
type parser struct {
	tokens []token
	at     int
	lib    *kernels.Library
	names  *scope
	nest   int
}

// maxNest bounds how deep patterns, results and guards may nest.
const maxNest = 50

func (p *parser) peek() token { return p.tokens[p.at] }

func (p *parser) next() token {
	t := p.tokens[p.at]
	if t.kind != tokEnd {
		p.at++
	}
	return t
}

func (p *parser) accept(text string) bool {
	if t := p.peek(); t.text == text && (t.kind == tokSymbol || t.kind == tokName) {
		p.next()
		return true
	}
	return false
}

func (p *parser) expect(text string) error {
	if !p.accept(text) {
		return fmt.Errorf("expected %q, found %v", text, p.peek())
	}
	return nil
}

func (p *parser) want(k tokenKind, what string) (string, error) {
	if t := p.peek(); t.kind != k {
		return "", fmt.Errorf("expected %s, found %v", what, t)
	}
	return p.next().text, nil
}

func (p *parser) deeper() error {
	if p.nest++; p.nest > maxNest {
		return fmt.Errorf("nested deeper than %d", maxNest)
	}
	return nil
}

// rule reads one rule.
func (p *parser) rule() (Rule, error) {
	var r Rule
	if err := p.expect("rule"); err != nil {
		return r, err
	}
	p.names = &scope{}
	var err error
	if r.Name, err = p.want(tokName, "the rule's name"); err != nil {
		return r, err
	}
	if p.accept("must") {
		r.Class = Semantic
	}
	if err := p.expect(":"); err != nil {
		return r, err
	}
	from := p.at
	c, err := p.body()
	if err != nil {
		return r, fmt.Errorf("rule %s: %w", r.Name, err)
	}
	r.Text = textOf(p.tokens[from:p.at])
	if err := p.expect("because"); err != nil {
		return r, fmt.Errorf("rule %s: %w", r.Name, err)
	}
	if r.Because, err = p.want(tokString, "the identity in quotes"); err != nil {
		return r, fmt.Errorf("rule %s: %w", r.Name, err)
	}
	for i, alt := range c.patterns {
		r.Needs = common(r.Needs, alt.needs(), i == 0)
		r.Roots = append(r.Roots, alt.kernel)
		r.Depth = max(r.Depth, alt.depth())
	}
	c.slots = len(p.names.vars)
	r.Match, r.text = c.match, c
	return r, nil
}

// body reads patterns, result and guard.
func (p *parser) body() (*compiled, error) {
	c := &compiled{}
	for {
		p.names.next()
		pat, err := p.pattern()
		if err != nil {
			return nil, err
		}
		c.patterns = append(c.patterns, pat)
		if err := p.names.same(len(c.patterns) == 1); err != nil {
			return nil, err
		}
		if !p.accept("|") {
			break
		}
	}
	if err := p.expect("=>"); err != nil {
		return nil, err
	}
	p.names.closed = true
	var err error
	if c.result, err = p.result(); err != nil {
		return nil, err
	}
	if c.result.op != nil && c.result.op.like >= 0 || c.result.like >= 0 {
		return nil, fmt.Errorf("the result has the type of the matched operation's: it takes no \"like\"")
	}
	if p.accept("if") {
		c.guard, err = p.guard()
	}
	return c, err
}

// textOf writes tokens as a rule's text.
func textOf(tokens []token) string {
	var b strings.Builder
	for i, t := range tokens {
		if i > 0 && spaced(tokens[i-1], t) {
			b.WriteByte(' ')
		}
		if t.kind == tokString {
			b.WriteString(t.String())
		} else {
			b.WriteString(t.text)
		}
	}
	return b.String()
}

// The symbols without a space after them, and without one before them.
var opening, tight = []string{"(", "{", "@", ".."}, []string{")", "}", ",", ":", "@", "?", "..."}

// spaced says whether a space stands between two tokens.
func spaced(a, b token) bool {
	if a.kind == tokSymbol && slices.Contains(opening, a.text) || b.kind == tokSymbol && slices.Contains(tight, b.text) {
		return false
	}
	call := b.text == "(" || b.text == "{"
	word := a.kind == tokName && (a.text == "if" || a.text == "and" || a.text == "or" || a.text == "not")
	return b.kind != tokSymbol || !call || word || a.kind == tokSymbol && a.text != ")"
}
