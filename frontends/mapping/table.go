package mapping

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
)

// Table is a file of rules from one namespace to tapc's kernels.
type Table struct {
	Name      string
	Namespace string
	From, Hop int64 // rules from one version to another; 0 for tables to tapc's kernels
	Rules     []*Rule
	Fuses     []*Rule // that stand for several operations
	file      string
	calls     []*expr  // of kernels
	foreign   []*expr  // operations of the source that rules stand for
	carries   []string // operations that are the same at both versions
	commutes  []string // operations whose inputs may be exchanged
	defs      map[string]*def
}

// Rule says what stands for one foreign operation.
type Rule struct {
	Name, Table string
	Subject
	Line    int
	In      []Param
	Out     []string
	Attrs   []AttrParam
	Refuses string // why the operation is never mapped; "" for a rule that maps
	clauses []clause
	steps   []*step // of a rule for several operations
	hop     int64   // the version that its table leads to
}

// Subject is the foreign operation that a rule is for.
type Subject struct {
	Domain, Op string
	From, To   int64 // versions of the vocabulary; To is -1 without an end
}

// Param is an input of a rule.
type Param struct {
	Name     string
	Optional bool
	Variadic bool
}

// AttrParam is an attribute that a rule reads, with its default; or one that it leaves out on purpose.
type AttrParam struct {
	Name    string
	Default *Value
	Ignored bool
}

// clause is "let names = expr" or, without names, "need expr, reason".
type clause struct {
	names  []string
	value  *expr
	reason string
}

// def is a function of a table.
type def struct {
	name   string
	params []string
	body   *expr
}

// ParseWith reads a table, which may use the functions of earlier ones of its namespace. Names that a rule uses must be bound;
// functions may only use functions defined before them, so every rule ends. What is called and is no function is a kernel.
func ParseWith(file, text string, earlier []*Table) (*Table, error) {
	tokens, err := lex(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	p := &parser{tokens: tokens, earlier: earlier, table: &Table{file: file, defs: map[string]*def{}}}
	if err := p.file(); err != nil {
		return nil, fmt.Errorf("%s:%d: %w", file, p.peek().line, err)
	}
	return p.table, nil
}

type parser struct {
	tokens  []token
	at      int
	depth   int
	table   *Table
	earlier []*Table
	scope   []string
}

func (p *parser) peek() token { return p.tokens[p.at] }

func (p *parser) next() token {
	t := p.tokens[p.at]
	if t.kind != tokEnd {
		p.at++
	}
	return t
}

func (p *parser) is(text string) bool {
	t := p.peek()
	return t.text == text && (t.kind == tokName || t.kind == tokSymbol)
}

func (p *parser) accept(text string) bool {
	if p.is(text) {
		p.at++
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

func (p *parser) name() (string, error) {
	t := p.peek()
	if t.kind != tokName || keywords[t.text] {
		return "", fmt.Errorf("expected a name, found %v", t)
	}
	p.at++
	return t.text, nil
}

var keywords = map[string]bool{"rule": true, "def": true, "let": true, "need": true, "attrs": true, "ignore": true, "refuse": true, "if": true,
	"then": true, "else": true, "and": true, "or": true, "not": true, "in": true, "for": true, "fold": true, "with": true, "do": true, "table": true,
	"fuse": true, "match": true, "carry": true, "commutes": true}

func (p *parser) file() error {
	if err := p.expect("table"); err != nil {
		return err
	}
	var err error
	if p.table.Name, err = p.name(); err != nil {
		return err
	}
	if err = p.expect(":"); err != nil {
		return err
	}
	if p.table.Namespace, err = p.name(); err != nil {
		return err
	}
	if err = p.hopHead(); err != nil {
		return err
	}
	for _, t := range p.earlier {
		if t.Namespace == p.table.Namespace {
			maps.Copy(p.table.defs, t.defs)
		}
	}
	for err == nil {
		switch {
		case p.accept("def"):
			err = p.def()
		case p.accept("rule"):
			err = p.rule()
		case p.accept("fuse"):
			err = p.fuse()
		case p.accept("carry"):
			err = p.carry()
		case p.accept("commutes"):
			err = p.commutes()
		case p.peek().kind == tokEnd:
			return nil
		default:
			err = fmt.Errorf("expected rule or def, found %v", p.peek())
		}
	}
	return err
}

func (p *parser) def() error {
	d := &def{}
	var err error
	if d.name, err = p.name(); err != nil {
		return err
	}
	if p.table.defs[d.name] != nil || functions[d.name].call != nil {
		return fmt.Errorf("%s is defined already", d.name)
	}
	if d.params, err = p.nameList(); err != nil {
		return err
	}
	if err = p.expect("="); err != nil {
		return err
	}
	p.scope = slices.Clone(d.params)
	if d.body, err = p.expr(); err == nil {
		p.table.defs[d.name] = d
	}
	return err
}

func (p *parser) nameList() ([]string, error) {
	if err := p.expect("("); err != nil {
		return nil, err
	}
	var out []string
	for !p.accept(")") {
		n, err := p.name()
		if err != nil {
			return nil, err
		}
		out = append(out, n)
		if !p.accept(",") && !p.is(")") {
			return nil, fmt.Errorf("expected \",\" or \")\", found %v", p.peek())
		}
	}
	return out, nil
}

// rule reads "rule Op 7..12 (a, b?, rest...) -> (y)" and its clauses, or "rule Op refuse "reason"".
func (p *parser) rule() error {
	r := &Rule{Table: p.table.Name, Subject: Subject{To: -1}, Line: p.peek().line}
	t := p.next()
	if t.kind != tokName && t.kind != tokString {
		return fmt.Errorf("expected an operation's name, found %v", t)
	}
	r.Domain, r.Op = splitType(t.text)
	r.Name = p.table.Name + "." + t.text
	if err := p.versions(r); err != nil {
		return err
	}
	if r.hop = p.table.Hop; r.hop != 0 {
		r.From, r.To = p.table.From, p.table.From
	}
	if p.accept("refuse") {
		reason := p.next()
		if reason.kind != tokString {
			return fmt.Errorf("expected a reason, found %v", reason)
		}
		r.Refuses = reason.text
		p.table.Rules = append(p.table.Rules, r)
		return nil
	}
	if err := p.ruleHead(r); err != nil {
		return err
	}
	p.scope = nil
	for _, in := range r.In {
		p.scope = append(p.scope, in.Name)
	}
	p.scope = append(p.scope, "opset")
	for {
		more, err := p.clause(r)
		if err != nil {
			return err
		}
		if !more {
			break
		}
	}
	p.table.Rules = append(p.table.Rules, r)
	return r.check()
}

// splitType splits "domain:Type".
func splitType(s string) (domain, op string) {
	for i := len(s) - 1; i >= 0; i-- {
		if s[i] == ':' {
			return s[:i], s[i+1:]
		}
	}
	return "", s
}

func (p *parser) versions(r *Rule) error {
	if p.peek().kind != tokNumber {
		return nil
	}
	var err error
	if r.From, err = strconv.ParseInt(p.next().text, 10, 32); err != nil {
		return err
	}
	r.Name += fmt.Sprintf("@%d", r.From)
	if !p.accept("..") {
		r.To = r.From
		return nil
	}
	if p.peek().kind != tokNumber {
		return nil
	}
	r.To, err = strconv.ParseInt(p.next().text, 10, 32)
	return err
}

func (p *parser) ruleHead(r *Rule) error {
	if err := p.expect("("); err != nil {
		return err
	}
	for !p.accept(")") {
		n, err := p.name()
		if err != nil {
			return err
		}
		in := Param{Name: n}
		in.Optional = p.accept("?")
		in.Variadic = p.accept("...")
		r.In = append(r.In, in)
		if !p.accept(",") && !p.is(")") {
			return fmt.Errorf("expected \",\" or \")\", found %v", p.peek())
		}
	}
	if err := p.expect("->"); err != nil {
		return err
	}
	var err error
	r.Out, err = p.nameList()
	return err
}

func (p *parser) clause(r *Rule) (bool, error) {
	switch {
	case p.accept("attrs"):
		return true, p.attrs(r, false)
	case p.accept("ignore"):
		return true, p.attrs(r, true)
	case p.accept("need"):
		c := clause{}
		var err error
		if c.value, err = p.expr(); err != nil {
			return false, err
		}
		if err = p.expect(","); err != nil {
			return false, err
		}
		t := p.next()
		if t.kind != tokString {
			return false, fmt.Errorf("expected a reason, found %v", t)
		}
		c.reason = t.text
		r.clauses = append(r.clauses, c)
		return true, nil
	case p.accept("let"):
		c := clause{}
		var err error
		if p.is("(") {
			c.names, err = p.nameList()
		} else {
			c.names = make([]string, 1)
			c.names[0], err = p.name()
		}
		for _, name := range c.names {
			if err == nil && slices.Contains(p.scope, name) {
				err = fmt.Errorf("%s is bound already", name)
			}
		}
		if err == nil {
			err = p.expect("=")
		}
		if err == nil {
			c.value, err = p.expr()
		}
		p.scope = append(p.scope, c.names...)
		r.clauses = append(r.clauses, c)
		return true, err
	}
	return false, nil
}

func (p *parser) attrs(r *Rule, ignored bool) error {
	for {
		n, err := p.name()
		if err != nil {
			return err
		}
		a := AttrParam{Name: n, Ignored: ignored}
		if p.accept("=") {
			e, err := p.expr()
			if err != nil {
				return err
			}
			v, err := (&env{}).eval(e)
			if err != nil {
				return err
			}
			a.Default = &v
		}
		r.Attrs = append(r.Attrs, a)
		p.scope = append(p.scope, n)
		if !p.accept(",") {
			return nil
		}
	}
}

// check looks for outputs that no clause gives. Trailing ones may be left out: a model that uses them is refused.
func (r *Rule) check() error {
	for i, o := range r.Out {
		given := slices.ContainsFunc(r.clauses, func(c clause) bool { return slices.Contains(c.names, o) })
		if !given && i == 0 {
			return fmt.Errorf("rule %s gives no %s", r.Name, o)
		}
	}
	return nil
}
