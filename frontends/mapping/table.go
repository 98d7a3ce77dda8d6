package mapping

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"tensortapestry.org/tapc/ir/lang"
)

// Table is a file of rules from one namespace to tapc's kernels.
type Table struct {
	Name      string
	Namespace string
	From, Hop int64 // rules from one version to another; 0 for tables to tapc's kernels
	Rules     []*Rule
	Fuses     []*Rule // that stand for several operations
	Backs     []*Rule // operations for kernels; see backrule.go
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
	same    string  // of a rule back: why other kernels than the one that it is for give the same values; "" where they are that kernel
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
	c, err := lexicon.Cursor(text)
	if err != nil {
		return nil, fmt.Errorf("%s:%w", file, err)
	}
	p := &parser{Cursor: c, earlier: earlier, table: &Table{file: file, defs: map[string]*def{}}}
	if err := p.file(); err != nil {
		return nil, p.At(file, err)
	}
	return p.table, nil
}

// lexicon is what the language of tables is made of.
var lexicon = lang.Lexicon{Single: true, Symbols: []string{"...", "->", "==", "!=", "<=", ">=", "//", "..", "(", ")", "[", "]", "{", "}", ",",
	":", "=", "<", ">", "+", "-", "*", "/", "%", "?", "@", "~"}}

type parser struct {
	lang.Cursor
	table   *Table
	earlier []*Table
	scope   []string
}

func (p *parser) name() (string, error) {
	if t := p.Peek(); keywords[t.Text] {
		return "", fmt.Errorf("expected a name, found %v", t)
	}
	return p.Want("a name", lang.Name)
}

var keywords = map[string]bool{"rule": true, "def": true, "let": true, "need": true, "attrs": true, "ignore": true, "refuse": true, "if": true,
	"then": true, "else": true, "and": true, "or": true, "not": true, "in": true, "for": true, "fold": true, "with": true, "do": true, "table": true,
	"fuse": true, "back": true, "exact": true, "match": true, "carry": true, "commutes": true}

func (p *parser) file() error {
	if err := p.Expect("table"); err != nil {
		return err
	}
	var err error
	if p.table.Name, err = p.name(); err != nil {
		return err
	}
	if err = p.Expect(":"); err != nil {
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
		case p.Accept("def"):
			err = p.def()
		case p.Accept("rule"):
			err = p.rule()
		case p.Accept("fuse"):
			err = p.fuse()
		case p.Accept("back"):
			err = backRule(p)
		case p.table.Hop == 0 && p.Is("carry"):
			err = fmt.Errorf("carry is for tables from one version to another")
		case p.Accept("carry"):
			err = p.operations(&p.table.carries)
		case p.Accept("commutes"):
			err = p.operations(&p.table.commutes)
		case p.Peek().Kind == lang.End:
			return nil
		default:
			err = fmt.Errorf("expected rule or def, found %v", p.Peek())
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
	if err = p.Expect("="); err != nil {
		return err
	}
	p.scope = slices.Clone(d.params)
	if d.body, err = p.expr(); err == nil {
		p.table.defs[d.name] = d
	}
	return err
}

func (p *parser) nameList() ([]string, error) {
	if err := p.Expect("("); err != nil {
		return nil, err
	}
	var out []string
	err := p.List(")", func() error {
		n, err := p.name()
		out = append(out, n)
		return err
	})
	return out, err
}

// rule reads "rule Op 7..12 (a, b?, rest...) -> (y)" and its clauses, or "rule Op refuse "reason"".
func (p *parser) rule() error {
	r := &Rule{Table: p.table.Name, Subject: Subject{To: -1}, Line: p.Peek().Line}
	name, err := p.operation()
	if err != nil {
		return err
	}
	r.Domain, r.Op = splitType(name)
	r.Name = p.table.Name + "." + name
	if err := p.versions(r); err != nil {
		return err
	}
	if r.hop = p.table.Hop; r.hop != 0 {
		r.From, r.To = p.table.From, p.table.From
	}
	if p.Accept("refuse") {
		r.Refuses, err = p.reason()
		p.table.Rules = append(p.table.Rules, r)
		return err
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

// operation reads the name of an operation of the source, in quotes where it is no name of this language.
func (p *parser) operation() (string, error) {
	return p.Want("an operation's name", lang.Name, lang.String)
}

func (p *parser) reason() (string, error) { return p.Want("a reason", lang.String) }

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
	if p.Peek().Kind != lang.Number {
		return nil
	}
	var err error
	if r.From, err = strconv.ParseInt(p.Next().Text, 10, 32); err != nil {
		return err
	}
	r.Name += fmt.Sprintf("@%d", r.From)
	if !p.Accept("..") {
		r.To = r.From
		return nil
	}
	if p.Peek().Kind != lang.Number {
		return nil
	}
	r.To, err = strconv.ParseInt(p.Next().Text, 10, 32)
	return err
}

func (p *parser) ruleHead(r *Rule) error {
	if err := p.Expect("("); err != nil {
		return err
	}
	err := p.List(")", func() error {
		n, err := p.name()
		r.In = append(r.In, Param{Name: n, Optional: p.Accept("?"), Variadic: p.Accept("...")})
		return err
	})
	if err != nil {
		return err
	}
	if err := p.Expect("->"); err != nil {
		return err
	}
	r.Out, err = p.nameList()
	return err
}

func (p *parser) clause(r *Rule) (bool, error) {
	switch {
	case p.Accept("attrs"):
		return true, p.attrs(r, false)
	case p.Accept("ignore"):
		return true, p.attrs(r, true)
	case p.Accept("need"):
		c := clause{}
		var err error
		if c.value, err = p.expr(); err != nil {
			return false, err
		}
		if err = p.Expect(","); err != nil {
			return false, err
		}
		c.reason, err = p.reason()
		r.clauses = append(r.clauses, c)
		return true, err
	case p.Accept("let"):
		c := clause{}
		var err error
		if p.Is("(") {
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
			err = p.Expect("=")
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
		if p.Accept("=") {
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
		if !p.Accept(",") {
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
