package rules

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"tensortapestry.org/tapc/frontends/foreign"
	"tensortapestry.org/tapc/frontends/mapping/calls"
	"tensortapestry.org/tapc/frontends/mapping/expr"
	"tensortapestry.org/tapc/ir/lang"
)

// Table is a file of rules from one namespace to tapc's kernels.
type Table struct {
	Name      string
	Namespace string
	From, Hop int64 // rules from one version to another; 0 for tables to tapc's kernels
	Rules     []*Rule
	Fuses     []*Rule // that stand for several operations
	Backs     []*Rule // operations for kernels; see back.go
	file      string
	Carries   []string // operations that are the same at both versions
	Commutes  []string // operations whose inputs may be exchanged
	Defs      map[string]*expr.Def
	calls     []*expr.Expr // of kernels
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
	Clauses []expr.Clause
	Steps   []*Step // of a rule for several operations, the last one first found
	Hop     int64   // the version that its table leads to
	Back    Backing
}

// Backing is what mapping back knows of a rule.
type Backing struct {
	Same  string      // of a rule back: why other kernels than the one that it is for give the same values; "" where they are that kernel
	Near  bool        // and that these values are rounded elsewhere
	Calls calls.Known // of a rule forward: the kernels that it calls
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
	Default *foreign.Value
	Ignored bool
}

// ParseWith reads a table, which may use the functions of earlier ones of its namespace. Names that a rule uses must be bound;
// functions may only use functions defined before them, so every rule ends. What is called and is no function is a kernel.
func ParseWith(file, text string, earlier []*Table) (*Table, error) {
	e, err := expr.NewParser(text)
	if err != nil {
		return nil, fmt.Errorf("%s:%w", file, err)
	}
	p := &parser{Parser: e, earlier: earlier, table: &Table{file: file}}
	if err := p.file(); err != nil {
		return nil, p.At(file, err)
	}
	p.table.calls, p.table.Defs = p.Calls, p.Defs
	return p.table, nil
}

// parser reads a table.
type parser struct {
	expr.Parser
	table   *Table
	earlier []*Table
}

func (p *parser) file() error {
	if err := p.Expect("table"); err != nil {
		return err
	}
	var err error
	if p.table.Name, err = p.Name(); err != nil {
		return err
	}
	if err = p.Expect(":"); err != nil {
		return err
	}
	if p.table.Namespace, err = p.Name(); err != nil {
		return err
	}
	if err = p.hopHead(); err != nil {
		return err
	}
	for _, t := range p.earlier {
		if t.Namespace == p.table.Namespace {
			maps.Copy(p.Defs, t.Defs)
		}
	}
	for err == nil {
		switch {
		case p.Accept("def"):
			err = p.ReadDef()
		case p.Accept("rule"):
			err = p.rule()
		case p.Accept("fuse"):
			err = p.fuse()
		case p.Accept("back"):
			err = backRule(p)
		case p.table.Hop == 0 && p.Is("carry"):
			err = fmt.Errorf("carry is for tables from one version to another")
		case p.Accept("carry"):
			err = p.operations(&p.table.Carries)
		case p.Accept("commutes"):
			err = p.operations(&p.table.Commutes)
		case p.Peek().Kind == lang.End:
			return nil
		default:
			err = fmt.Errorf("expected rule or def, found %v", p.Peek())
		}
	}
	return err
}

// rule reads "rule Op 7..12 (a, b?, rest...) -> (y)" and its clauses, or "rule Op refuse "reason"".
func (p *parser) rule() error {
	r := &Rule{Table: p.table.Name, Subject: Subject{To: -1}, Line: p.Peek().Line}
	name, err := p.Operation()
	if err != nil {
		return err
	}
	r.Domain, r.Op = Operator(name)
	r.Name = p.table.Name + "." + name
	if err := p.versions(r); err != nil {
		return err
	}
	if r.Hop = p.table.Hop; r.Hop != 0 {
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
	p.Scope = nil
	for _, in := range r.In {
		p.Scope = append(p.Scope, in.Name)
	}
	p.Scope = append(p.Scope, "opset")
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

func (p *parser) reason() (string, error) { return p.Want("a reason", lang.String) }

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
		n, err := p.Name()
		r.In = append(r.In, Param{Name: n, Optional: p.Accept("?"), Variadic: p.Accept("...")})
		return err
	})
	if err != nil {
		return err
	}
	if err := p.Expect("->"); err != nil {
		return err
	}
	r.Out, err = p.Names()
	return err
}

func (p *parser) clause(r *Rule) (bool, error) {
	switch {
	case p.Accept("attrs"):
		return true, p.attrs(r, false)
	case p.Accept("ignore"):
		return true, p.attrs(r, true)
	case p.Accept("need"):
		c := expr.Clause{}
		var err error
		if c.Value, err = p.Expr(); err != nil {
			return false, err
		}
		if err = p.Expect(","); err != nil {
			return false, err
		}
		c.Reason, err = p.reason()
		r.Clauses = append(r.Clauses, c)
		return true, err
	case p.Accept("let"):
		c := expr.Clause{}
		var err error
		if p.Is("(") {
			c.Names, err = p.Names()
		} else {
			c.Names = make([]string, 1)
			c.Names[0], err = p.Name()
		}
		for _, name := range c.Names {
			if err == nil && slices.Contains(p.Scope, name) {
				err = fmt.Errorf("%s is bound already", name)
			}
		}
		if err == nil {
			err = p.Expect("=")
		}
		if err == nil {
			c.Value, err = p.Expr()
		}
		p.Scope = append(p.Scope, c.Names...)
		r.Clauses = append(r.Clauses, c)
		return true, err
	}
	return false, nil
}

func (p *parser) attrs(r *Rule, ignored bool) error {
	for {
		n, err := p.Name()
		if err != nil {
			return err
		}
		a := AttrParam{Name: n, Ignored: ignored}
		if p.Accept("=") {
			e, err := p.Expr()
			if err != nil {
				return err
			}
			v, err := e.Literal()
			if err != nil {
				return err
			}
			a.Default = &v
		}
		r.Attrs = append(r.Attrs, a)
		p.Scope = append(p.Scope, n)
		if !p.Accept(",") {
			return nil
		}
	}
}

// check looks for outputs that no clause gives. Trailing ones may be left out: a model that uses them is refused.
func (r *Rule) check() error {
	for i, o := range r.Out {
		given := slices.ContainsFunc(r.Clauses, func(c expr.Clause) bool { return slices.Contains(c.Names, o) })
		if !given && i == 0 {
			return fmt.Errorf("rule %s gives no %s", r.Name, o)
		}
	}
	return nil
}

// hopHead reads the rest of "table NAME : NAMESPACE 6 -> 7": rules from one version of a vocabulary to the next.
func (p *parser) hopHead() error {
	if p.Peek().Kind != lang.Number || p.Second().Text != "->" {
		return nil
	}
	var err error
	if p.table.From, err = p.version(); err != nil {
		return err
	}
	if err = p.Expect("->"); err != nil {
		return err
	}
	if p.table.Hop, err = p.version(); err == nil && p.table.Hop <= p.table.From {
		p.Back()
		err = fmt.Errorf("expected a version after %d, found %d", p.table.From, p.table.Hop)
	}
	return err
}

func (p *parser) version() (int64, error) {
	t := p.Peek()
	n, err := strconv.ParseInt(t.Text, 10, 64)
	if t.Kind != lang.Number || err != nil || n < 1 || n > 1<<20 {
		return 0, fmt.Errorf("expected a version, found %v", t)
	}
	p.Next()
	return n, nil
}

// operations reads "Op, Op": behind carry, those that are the same at both versions of a table; behind commutes, those whose two inputs may
// be exchanged in patterns.
func (p *parser) operations(into *[]string) error {
	for {
		n, err := p.Name()
		if err != nil {
			return err
		}
		*into = append(*into, n)
		if !p.Accept(",") {
			return nil
		}
	}
}
