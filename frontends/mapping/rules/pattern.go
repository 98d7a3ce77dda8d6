package rules

import (
	"fmt"
	"slices"
	"strconv"

	"tensortapestry.org/tapc/ir/lang"
)

// Step is one operation of a pattern: the names of its results, and what it may be.
type Step struct {
	Names []string
	Alts  []Shape
}

// Shape is one way in which an operation of a pattern may look.
type Shape struct {
	Op    string
	Args  []Argument
	Attrs []AttrParam
}

// Argument is an input of an operation of a pattern: a value, or a constant with one element, known up to a relative tolerance.
type Argument struct {
	Name     string
	Constant bool
	Value    float64
	Within   float64
}

// fuse reads "fuse NAME (inputs) -> (outputs)", the operations that it matches, the last one first found, and its clauses. It stands for
// all of them.
func (p *parser) fuse() error {
	r := &Rule{Table: p.table.Name, Subject: Subject{To: -1}, Line: p.Peek().Line}
	var err error
	if r.Op, err = p.Name(); err != nil {
		return err
	}
	r.Name = p.table.Name + "." + r.Op
	if err = p.versions(r); err != nil {
		return err
	}
	if err = p.ruleHead(r); err != nil {
		return err
	}
	p.Scope = []string{"opset"}
	for _, in := range r.In {
		if in.Variadic {
			return fmt.Errorf("a pattern has no variadic inputs")
		}
		p.Scope = append(p.Scope, in.Name)
	}
	for p.Accept("match") {
		if err = p.match(r); err != nil {
			return err
		}
	}
	if len(r.Steps) < 2 {
		return fmt.Errorf("expected at least two match clauses, found %d", len(r.Steps))
	}
	if err = r.checkPattern(); err != nil {
		return err
	}
	for {
		more, err := p.clause(r)
		if err != nil {
			return err
		}
		if !more {
			break
		}
	}
	if len(r.Attrs) > 0 {
		return fmt.Errorf("attributes of a pattern stand in braces behind its operations")
	}
	p.table.Fuses = append(p.table.Fuses, r)
	return r.check()
}

// match reads "match y = Op(a, 0.5 ~ 1e-3){axis = 1} or Op(…)".
func (p *parser) match(r *Rule) error {
	s := &Step{}
	var err error
	if p.Is("(") {
		s.Names, err = p.Names()
	} else {
		s.Names = make([]string, 1)
		s.Names[0], err = p.Name()
	}
	if err == nil {
		err = p.Expect("=")
	}
	for err == nil {
		var alt Shape
		if alt, err = p.shape(); err != nil {
			break
		}
		s.Alts = append(s.Alts, alt)
		if !p.Accept("or") {
			break
		}
	}
	r.Steps = append(r.Steps, s)
	return err
}

func (p *parser) shape() (Shape, error) {
	var alt Shape
	var err error
	if alt.Op, err = p.Operation(); err != nil {
		return alt, err
	}
	if err := p.Expect("("); err != nil {
		return alt, err
	}
	err = p.List(")", func() error {
		a, err := p.patternArg()
		alt.Args = append(alt.Args, a)
		return err
	})
	if err != nil || !p.Accept("{") {
		return alt, err
	}
	holder := &Rule{}
	if err := p.attrs(holder, false); err != nil {
		return alt, err
	}
	alt.Attrs = holder.Attrs
	return alt, p.Expect("}")
}

func (p *parser) patternArg() (Argument, error) {
	sign := 1.0
	if p.Accept("-") {
		sign = -1
	}
	if p.Peek().Kind != lang.Number {
		n, err := p.Name()
		return Argument{Name: n}, err
	}
	a := Argument{Constant: true}
	var err error
	if a.Value, err = strconv.ParseFloat(p.Next().Text, 64); err != nil {
		return a, err
	}
	a.Value *= sign
	if p.Accept("~") {
		a.Within, err = strconv.ParseFloat(p.Next().Text, 64)
	}
	return a, err
}

// checkPattern holds a pattern to its form: a name is an input or the result of one operation, results are used later, and inputs all stand in the
// pattern.
func (r *Rule) checkPattern() error {
	made := map[string]bool{}
	used := map[string]bool{}
	for _, s := range r.Steps {
		for _, alt := range s.Alts {
			for _, a := range alt.Args {
				isInput := slices.ContainsFunc(r.In, func(p Param) bool { return p.Name == a.Name })
				if !a.Constant && !isInput && !made[a.Name] {
					return fmt.Errorf("%q is neither an input of the pattern nor a result above", a.Name)
				}
				used[a.Name] = true
			}
		}
		for _, n := range s.Names {
			if made[n] || slices.ContainsFunc(r.In, func(p Param) bool { return p.Name == n }) {
				return fmt.Errorf("%q is bound already", n)
			}
			made[n] = true
		}
	}
	for _, s := range r.Steps[:len(r.Steps)-1] {
		if !slices.ContainsFunc(s.Names, func(n string) bool { return used[n] }) {
			return fmt.Errorf("nothing takes %q", s.Names[0])
		}
	}
	for _, in := range r.In {
		if !used[in.Name] {
			return fmt.Errorf("the input %q does not stand in the pattern", in.Name)
		}
	}
	return nil
}
