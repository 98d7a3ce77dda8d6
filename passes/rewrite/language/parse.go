// Package language reads rewrite rules that are text (docs/rewrites.md): a pattern of operations, what stands for them, a guard, and the
// identity that they rest on. It makes of each a rule that passes/rewrite applies, and small random graphs that a rule matches, for tests. Read next: match.go.
package language

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/ir/lang"
	"tensortapestry.org/tapc/ir/permission"
	"tensortapestry.org/tapc/passes/rewrite"
)

// Parse reads rules from a text and resolves the kernels that they name in a library. The language is described in
// docs/rewrites.md; in short:
//
//	rule NAME [must] [allow PERMISSION]: PATTERN {| PATTERN} => RESULT {| RESULT} [if GUARD] because "IDENTITY"
//
// An error has the code TAP0864, the file and the place, and says what was expected and found.
func Parse(file, text string, lib *kernels.Library) ([]rewrite.Rule, error) {
	c, err := lexicon.Cursor(text)
	if err != nil {
		at, says := lang.PlaceOf(err)
		return nil, diag.Errorf(CodeRules, "rules", diag.Location{File: file, Line: at.Line, Column: at.Column}, "%s", says)
	}
	p := &parser{Cursor: c, lib: lib}
	var rules []rewrite.Rule
	seen := map[string]bool{}
	for p.Peek().Kind != lang.End {
		line := p.Peek().Line
		r, err := p.rule()
		if err == nil && seen[r.Name] {
			err = fmt.Errorf("rule %s is there twice", r.Name)
		}
		if err != nil {
			at := p.Peek()
			return nil, diag.Errorf(CodeRules, "rules", diag.Location{File: file, Line: at.Line, Column: at.Column}, "%v", err)
		}
		seen[r.Name] = true
		r.Source = fmt.Sprintf("%s:%d", file, line)
		rules = append(rules, r)
	}
	return rules, nil
}

// CodeRules is the code of what is wrong with a text of rules.
const CodeRules = "TAP0864"

// Distinct refuses rules that have the name of one of some others.
func Distinct(rules, others []rewrite.Rule) error {
	for _, r := range rules {
		if slices.ContainsFunc(others, func(o rewrite.Rule) bool { return o.Name == r.Name }) {
			file, line, _ := strings.Cut(r.Source, ":")
			n, _ := strconv.Atoi(line)
			return diag.Errorf(CodeRules, "rules", diag.Location{File: file, Line: n}, "a built-in rule has the name %s already", r.Name)
		}
	}
	return nil
}

// lexicon is what the rule language is made of.
var lexicon = lang.Lexicon{Dashes: true, Signed: true, Symbols: []string{"...", "..", "=>", "!=", "<=", ">=", "(", ")", "{", "}", "[", "]", ":", ",", "|",
	"@", "=", "?", "<", ">"}}

// parser reads tokens. Its methods give the first thing that is wrong as an error.
type parser struct {
	lang.Cursor
	lib   *kernels.Library
	names *scope
}

// maxNest bounds how deep patterns, results and guards may nest.
const maxNest = 50

// rule reads one rule.
func (p *parser) rule() (rewrite.Rule, error) {
	var r rewrite.Rule
	if err := p.Expect("rule"); err != nil {
		return r, err
	}
	p.names = &scope{}
	var err error
	if r.Name, err = p.Want("the rule's name", lang.Name); err != nil {
		return r, err
	}
	if p.Accept("must") {
		r.Class = rewrite.Semantic
	}
	if p.Accept("allow") {
		word, err := p.Want("a permission", lang.Name)
		if err == nil {
			r.Allow, err = permission.Parse(word)
		}
		if err != nil {
			return r, err
		}
	}
	if err := p.Expect(":"); err != nil {
		return r, err
	}
	from := p.Rest()
	c, err := p.body()
	if err != nil {
		return r, fmt.Errorf("rule %s: %w", r.Name, err)
	}
	r.Text = textOf(from[:len(from)-len(p.Rest())])
	if err := p.Expect("because"); err != nil {
		return r, fmt.Errorf("rule %s: %w", r.Name, err)
	}
	if r.Because, err = p.Want("the identity in quotes", lang.String); err != nil {
		return r, fmt.Errorf("rule %s: %w", r.Name, err)
	}
	for i, alt := range c.patterns {
		r.Needs = common(r.Needs, alt.needs(), i == 0)
		r.Roots = append(r.Roots, alt.kernel)
		r.Depth = max(r.Depth, alt.depth())
	}
	c.slots = len(p.names.vars)
	r.Match, r.Instance = c.match, c.instance
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
		if !p.Accept("|") {
			break
		}
	}
	if err := p.Expect("=>"); err != nil {
		return nil, err
	}
	p.names.closed = true
	var err error
	for more := true; more; more = p.Accept("|") {
		r, err := p.result()
		if err != nil {
			return nil, err
		}
		if r.op != nil && r.op.like != none || r.like != none {
			return nil, fmt.Errorf("the result has the type of the matched operation's: it takes no \"like\"")
		}
		c.results = append(c.results, r)
	}
	if p.Accept("if") {
		c.guard, err = p.guard()
	}
	return c, err
}

// textOf writes tokens as a rule's text.
func textOf(tokens []lang.Token) string {
	var b strings.Builder
	for i, t := range tokens {
		if i > 0 && spaced(tokens[i-1], t) {
			b.WriteByte(' ')
		}
		if t.Kind == lang.String {
			b.WriteString(t.String())
		} else {
			b.WriteString(t.Text)
		}
	}
	return b.String()
}

// The symbols without a space after them, and without one before them.
var opening, tight = []string{"(", "{", "[", "@", ".."}, []string{")", "}", "]", ",", ":", "@", "?", "..."}

// spaced says whether a space stands between two tokens.
func spaced(a, b lang.Token) bool {
	if a.Kind == lang.Symbol && slices.Contains(opening, a.Text) || b.Kind == lang.Symbol && slices.Contains(tight, b.Text) {
		return false
	}
	call := b.Text == "(" || b.Text == "{"
	word := a.Kind == lang.Name && (a.Text == "if" || a.Text == "and" || a.Text == "or" || a.Text == "not")
	return b.Kind != lang.Symbol || !call || word || a.Kind == lang.Symbol && a.Text != ")"
}
