package language

import (
	"fmt"
	"slices"
	"strconv"

	"tensortapestry.org/tapc/dialects/tensorops/kernels/declaration"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/lang"
)

// varKind is what a name in a rule stands for.
type varKind uint8

const (
	selectionVar varKind = iota // a box of a tensor
	sequenceVar                 // xs...: any number of them
	optionalVar                 // b?: one or none
	attributeVar                // the value of a parameter
	restVar                     // ..ps: the parameters not named
)

var varKindNames = [...]string{"a value", "a sequence", "an optional value", "a parameter's value", "other parameters"}

// variable is a name of a rule. Every alternative pattern must bind it.
type variable struct {
	name  string
	kind  varKind
	bound bool // in the present alternative
}

// scope holds a rule's variables, by slot.
type scope struct {
	vars   []variable
	closed bool // no new names
}

func (s *scope) next() {
	for i := range s.vars {
		s.vars[i].bound = false
	}
}

// same checks that an alternative binds what the first one binds.
func (s *scope) same(first bool) error {
	for _, v := range s.vars {
		if !v.bound {
			return fmt.Errorf("alternatives bind different names: %q is not in all of them", v.name)
		}
	}
	s.closed = s.closed || first
	return nil
}

// bind gives the slot of a name that a pattern binds.
func (s *scope) bind(name string, kind varKind) (int, error) {
	i := slices.IndexFunc(s.vars, func(v variable) bool { return v.name == name })
	switch {
	case i < 0 && s.closed:
		return 0, fmt.Errorf("alternatives bind different names: %q is not in all of them", name)
	case i < 0:
		s.vars = append(s.vars, variable{name, kind, true})
		return len(s.vars) - 1, nil
	case s.vars[i].kind != kind:
		return 0, fmt.Errorf("%q is %s and %s", name, varKindNames[s.vars[i].kind], varKindNames[kind])
	case s.vars[i].bound && kind != selectionVar && kind != attributeVar:
		return 0, fmt.Errorf("%q is bound twice", name)
	}
	s.vars[i].bound = true
	return i, nil
}

// find gives the slot of a bound name of a kind.
func (s *scope) find(name string, kinds ...varKind) (int, error) {
	i := slices.IndexFunc(s.vars, func(v variable) bool { return v.name == name })
	if i < 0 {
		return 0, fmt.Errorf("%q is not bound by the pattern", name)
	}
	if !slices.Contains(kinds, s.vars[i].kind) {
		return 0, fmt.Errorf("%q is %s; expected %s", name, varKindNames[s.vars[i].kind], varKindNames[kinds[0]])
	}
	return i, nil
}

// pattern is an operation that a rule looks for.
type pattern struct {
	kernel string
	decl   *declaration.Kernel // nil for a foreign kernel
	as     int                 // slot of its result, or -1
	ports  []portPattern
	attrs  []attrPattern
	rest   int // slot of the parameters not named; -1: they must have their defaults
}

type portPattern struct {
	names []string
	items []item
}

// item is one entry of a port: exactly one of a variable, an operation and a number.
type item struct {
	slot   int // -1 for none
	kind   varKind
	sub    *pattern
	number *float64
}

type attrPattern struct {
	name  string
	slot  int // -1: compare
	value ir.AttrValue
}

func (p *pattern) depth() int {
	d := 0
	for _, port := range p.ports {
		for _, it := range port.items {
			if it.sub != nil {
				d = max(d, it.sub.depth())
			}
		}
	}
	return d + 1
}

// needs gives the kernels that a match finds among the producers of the inputs.
func (p *pattern) needs() []string {
	var names []string
	for _, port := range p.ports {
		for _, it := range port.items {
			if it.sub != nil {
				names = append(names, it.sub.kernel)
			} else if it.number != nil {
				names = append(names, "constant")
			}
		}
	}
	return names
}

// common gives the names in both lists, or the second one if it is the first to come.
func common(a, b []string, first bool) []string {
	if first {
		return b
	}
	return slices.DeleteFunc(slices.Clone(a), func(n string) bool { return !slices.Contains(b, n) })
}

// pattern reads [NAME@]KERNEL(ARGS){ATTRS}.
func (p *parser) pattern() (*pattern, error) {
	if err := p.Enter(maxNest); err != nil {
		return nil, err
	}
	defer p.Leave()
	pat := &pattern{as: -1, rest: -1}
	if p.Second().Text == "@" {
		name, err := p.Want("a name", lang.Name)
		if err != nil {
			return nil, err
		}
		p.Next()
		if pat.as, err = p.names.bind(name, selectionVar); err != nil {
			return nil, err
		}
	}
	var err error
	if pat.kernel, pat.decl, err = p.kernel(); err != nil {
		return nil, err
	}
	if err := p.patternArgs(pat); err != nil {
		return nil, err
	}
	return pat, p.patternAttrs(pat)
}

// kernel reads a kernel's name: one of the library, or any name in quotes.
func (p *parser) kernel() (string, *declaration.Kernel, error) {
	quoted := p.Peek().Kind == lang.String
	name, err := p.Want("a kernel", lang.Name, lang.String)
	if err != nil {
		return "", nil, err
	}
	if decl, ok := p.lib.Find(name); ok {
		return decl.Name, decl, nil
	}
	if !quoted && name != "constant" {
		p.Back()
		return "", nil, fmt.Errorf("unknown kernel %q; a foreign one stands in quotes", name)
	}
	return name, nil, nil
}

func (p *parser) patternArgs(pat *pattern) error {
	if err := p.Expect("("); err != nil {
		return err
	}
	place := placer{decl: pat.decl}
	return p.List(")", func() error {
		names, err := p.portName(&place)
		if err != nil {
			return err
		}
		it, err := p.item()
		if err != nil {
			return err
		}
		i := slices.IndexFunc(pat.ports, func(q portPattern) bool { return q.names[0] == names[0] })
		if i < 0 {
			pat.ports = append(pat.ports, portPattern{names: names})
			i = len(pat.ports) - 1
		}
		pat.ports[i].items = append(pat.ports[i].items, it)
		return nil
	})
}

// placer gives arguments without a port to a kernel's declared inputs, in order.
type placer struct {
	decl *declaration.Kernel
	at   int
}

func (pl *placer) next() ([]string, error) {
	if pl.decl == nil {
		return nil, fmt.Errorf("the ports of a kernel that is not in the library need names: PORT: VALUE")
	}
	for ; pl.at < len(pl.decl.Operands); pl.at++ {
		if o := &pl.decl.Operands[pl.at]; !o.Out {
			if !o.Variadic {
				pl.at++
			}
			return o.Names, nil
		}
	}
	return nil, fmt.Errorf("kernel %s has fewer inputs", pl.decl.Name)
}

// portName reads "PORT:", or takes the next declared input.
func (p *parser) portName(place *placer) ([]string, error) {
	if p.Peek().Kind != lang.Name || p.Second().Text != ":" {
		return place.next()
	}
	name := p.Next().Text
	p.Next()
	if place.decl == nil {
		return []string{name}, nil
	}
	for i := range place.decl.Operands {
		if o := &place.decl.Operands[i]; !o.Out && slices.Contains(o.Names, name) {
			return o.Names, nil
		}
	}
	return nil, fmt.Errorf("kernel %s has no input %q", place.decl.Name, name)
}

// item reads a variable, a number or a nested pattern.
func (p *parser) item() (item, error) {
	it := item{slot: -1}
	t := p.Peek()
	after := p.Second().Text
	var err error
	switch {
	case t.Kind == lang.Number:
		var f float64
		f, err = strconv.ParseFloat(p.Next().Text, 64)
		it.number = &f
	case t.Kind == lang.String || t.Kind == lang.Name && (after == "(" || after == "@"):
		it.sub, err = p.pattern()
	case t.Kind == lang.Name:
		p.Next()
		if p.Accept("...") {
			it.kind = sequenceVar
		} else if p.Accept("?") {
			it.kind = optionalVar
		}
		it.slot, err = p.names.bind(t.Text, it.kind)
	default:
		err = fmt.Errorf("expected a name, a number or a kernel, found %v", t)
	}
	return it, err
}

// patternAttrs reads {NAME: VALUE, ..REST}, if it is there.
func (p *parser) patternAttrs(pat *pattern) error {
	if !p.Accept("{") {
		return nil
	}
	return p.List("}", func() error {
		if !p.Accept("..") {
			return p.patternAttr(pat)
		}
		name, err := p.Want("a name", lang.Name)
		if err == nil {
			pat.rest, err = p.names.bind(name, restVar)
		}
		return err
	})
}

func (p *parser) patternAttr(pat *pattern) error {
	name, err := p.attrName(pat.decl)
	if err != nil {
		return err
	}
	a := attrPattern{name: name, slot: -1}
	if t := p.Peek(); t.Kind == lang.Name && t.Text != "true" && t.Text != "false" {
		a.slot, err = p.names.bind(p.Next().Text, attributeVar)
	} else {
		a.value, err = p.literal()
	}
	pat.attrs = append(pat.attrs, a)
	return err
}

func (p *parser) attrName(decl *declaration.Kernel) (string, error) {
	name, err := p.Want("a parameter's name", lang.Name)
	if err != nil {
		return "", err
	}
	if decl != nil {
		if _, ok := decl.Attr(name); !ok {
			return "", fmt.Errorf("kernel %s has no parameter %q", decl.Name, name)
		}
	}
	return name, p.Expect(":")
}

// literal reads a number, a text in quotes, true or false.
func (p *parser) literal() (ir.AttrValue, error) {
	if p.Accept("[") {
		list := ir.AttrValue{Kind: ir.AttrList}
		err := p.List("]", func() error {
			if p.Is("[") {
				return fmt.Errorf("expected a value that is no list, found %v", p.Peek())
			}
			v, err := p.literal()
			list.List = append(list.List, v)
			return err
		})
		return list, err
	}
	t := p.Peek()
	if t.Kind == lang.End || t.Kind == lang.Symbol || t.Kind == lang.Name && t.Text != "true" && t.Text != "false" {
		return ir.AttrValue{}, fmt.Errorf("expected a value, found %v", t)
	}
	switch p.Next(); t.Kind {
	case lang.String:
		return ir.StringAttr(t.Text), nil
	case lang.Name:
		return ir.BoolAttr(t.Text == "true"), nil
	}
	if i, err := strconv.ParseInt(t.Text, 10, 64); err == nil {
		return ir.IntAttr(i), nil
	}
	f, err := strconv.ParseFloat(t.Text, 64)
	return ir.FloatAttr(f), err
}
