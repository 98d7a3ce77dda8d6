package rewrite

import (
	"fmt"
	"math"
	"slices"

	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/lang"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/passes/rewrite/casts"
)

// condition is a guard; valueExpr is a value in a guard or of a parameter, false where it has none.
type (
	condition func(*Site) bool
	valueExpr func(*Site) (ir.AttrValue, bool)
)

// selOf gives a variable's selection: a bound one, or the result of the matched operation.
type selOf func(*Site) ir.Selection

// guard reads CONDITION {or CONDITION}; "and" binds stronger, "not" strongest.
func (p *parser) guard() (condition, error) {
	return p.joined("or", func() (condition, error) { return p.joined("and", p.factor) })
}

// joined reads conditions that a word joins.
func (p *parser) joined(word string, part func() (condition, error)) (condition, error) {
	c, err := part()
	if err != nil || p.Peek().Text != word {
		return c, err
	}
	all := []condition{c}
	for p.Accept(word) {
		if c, err = part(); err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	stop := word == "or"
	return func(s *Site) bool {
		for _, c := range all {
			if c(s) == stop {
				return stop
			}
		}
		return !stop
	}, nil
}

func (p *parser) factor() (condition, error) {
	if err := p.Enter(maxNest); err != nil {
		return nil, err
	}
	defer p.Leave()
	switch {
	case p.Accept("not"):
		c, err := p.factor()
		return func(s *Site) bool { return !c(s) }, err
	case p.Accept("("):
		c, err := p.guard()
		if err != nil {
			return nil, err
		}
		return c, p.Expect(")")
	}
	if f, ok := predicates[p.Peek().Text]; ok {
		p.Next()
		args, err := p.selections(f.args)
		return func(s *Site) bool { return f.holds(s, args) }, err
	}
	return p.comparison()
}

func (p *parser) comparison() (condition, error) {
	a, err := p.value()
	if err != nil {
		return nil, err
	}
	op := p.Peek().Text
	if !slices.Contains([]string{"=", "!=", "<", "<=", ">", ">="}, op) {
		return nil, fmt.Errorf("expected a comparison, found %v", p.Peek())
	}
	p.Next()
	b, err := p.value()
	if err != nil {
		return nil, err
	}
	return func(s *Site) bool {
		x, ok := a(s)
		y, ok2 := b(s)
		return ok && ok2 && compareValues(op, x, y)
	}, nil
}

func compareValues(op string, x, y ir.AttrValue) bool {
	switch op {
	case "=":
		return x.Equal(y)
	case "!=":
		return !x.Equal(y)
	}
	if x.Kind != ir.AttrInt || y.Kind != ir.AttrInt {
		return false
	}
	switch op {
	case "<":
		return x.Int < y.Int
	case "<=":
		return x.Int <= y.Int
	case ">":
		return x.Int > y.Int
	}
	return x.Int >= y.Int
}

// selections reads (NAME, …), n of them; "result" is the matched operation's result.
func (p *parser) selections(n int) ([]selOf, error) {
	if err := p.Expect("("); err != nil {
		return nil, err
	}
	var out []selOf
	for i := range n {
		if i > 0 {
			if err := p.Expect(","); err != nil {
				return nil, err
			}
		}
		name, err := p.Want("a name", lang.Name)
		if err != nil {
			return nil, err
		}
		if name == "result" {
			out = append(out, func(s *Site) ir.Selection { return s.state.result })
			continue
		}
		slot, err := p.names.find(name, selectionVar)
		if err != nil {
			return nil, err
		}
		out = append(out, func(s *Site) ir.Selection { return s.state.slots[slot].sel })
	}
	return out, p.Expect(")")
}

// value reads a literal, a parameter's variable or a function of values.
func (p *parser) value() (valueExpr, error) {
	if err := p.Enter(maxNest); err != nil {
		return nil, err
	}
	defer p.Leave()
	t := p.Peek()
	if t.Kind != lang.Name || t.Text == "true" || t.Text == "false" {
		v, err := p.literal()
		return func(*Site) (ir.AttrValue, bool) { return v, true }, err
	}
	p.Next()
	if f, ok := facts[t.Text]; ok {
		args, err := p.selections(f.args)
		return func(s *Site) (ir.AttrValue, bool) { return f.value(s, args), true }, err
	}
	if f, ok := functions[t.Text]; ok {
		return p.function(f)
	}
	slot, err := p.names.find(t.Text, attributeVar)
	return func(s *Site) (ir.AttrValue, bool) { return s.state.slots[slot].attr, true }, err
}

func (p *parser) function(f function) (valueExpr, error) {
	if err := p.Expect("("); err != nil {
		return nil, err
	}
	var args []valueExpr
	for i := range f.args {
		if i > 0 {
			if err := p.Expect(","); err != nil {
				return nil, err
			}
		}
		a, err := p.value()
		if err != nil {
			return nil, err
		}
		args = append(args, a)
	}
	return func(s *Site) (ir.AttrValue, bool) {
		values := make([]ir.AttrValue, len(args))
		for i, a := range args {
			var ok bool
			if values[i], ok = a(s); !ok {
				return ir.AttrValue{}, false
			}
		}
		return f.value(values)
	}, p.Expect(")")
}

// predicate is a condition on selections.
type predicate struct {
	args  int
	doc   string
	holds func(s *Site, args []selOf) bool
}

// ofType is a predicate on an element type.
func ofType(doc string, is func(scalar.DType) bool) predicate {
	return predicate{1, doc, func(s *Site, args []selOf) bool { return is(s.Type(args[0](s))) }}
}

func hasNaN(d scalar.DType) bool {
	return d.IsFraction() && math.IsNaN(scalar.FloatValue(d, math.NaN()).F)
}

// predicates are the conditions of the language by name.
var predicates = map[string]predicate{
	"boolean": ofType("its elements are booleans", scalar.DType.IsBool),
	"integer": ofType("its elements are integers", scalar.DType.IsInt),
	"float":   ofType("its elements are real floats", scalar.DType.IsFraction),
	"real":    ofType("its elements are integers or real floats", scalar.DType.IsReal),
	"nan":     ofType("its elements are real floats of a type that has NaN", hasNaN),
	"once": {1, "the matched use is its only one, and it is not observed", func(s *Site, args []selOf) bool {
		return s.Once(args[0](s).Tensor)
	}},
	"through": {3, "a cast from the first's type to the second's and on to the third's gives what one from first to third gives",
		func(s *Site, args []selOf) bool {
			return casts.Through(s.Type(args[0](s)), s.Type(args[1](s)), s.Type(args[2](s)))
		}},
}

// fact is a value that selections have.
type fact struct {
	args  int
	doc   string
	value func(s *Site, args []selOf) ir.AttrValue
}

// facts are the values of selections by name.
var facts = map[string]fact{
	"dtype": {1, "the element type's name", func(s *Site, args []selOf) ir.AttrValue {
		return ir.StringAttr(s.Tensor(args[0](s).Tensor).DType)
	}},
	"shape": {1, "the list of extents", func(s *Site, args []selOf) ir.AttrValue {
		return ir.IntsAttr(args[0](s).Range().Shape()...)
	}},
	"rank": {1, "the number of dimensions", func(s *Site, args []selOf) ir.AttrValue {
		return ir.IntAttr(int64(args[0](s).Range().Rank()))
	}},
	"last": {1, "the extent of the last dimension, -1 without dimensions", func(s *Site, args []selOf) ir.AttrValue {
		r := args[0](s).Range()
		if r.Rank() == 0 {
			return ir.IntAttr(-1)
		}
		return ir.IntAttr(r.Shape()[r.Rank()-1])
	}},
}

// function computes a value from values.
type function struct {
	args  int
	doc   string
	value func(args []ir.AttrValue) (ir.AttrValue, bool)
}

// functions are the functions of the language by name.
var functions = map[string]function{
	"compose": {2, "the permutation that is p and then q: dimension i of the result is dimension p[q[i]] of the tensor",
		func(args []ir.AttrValue) (ir.AttrValue, bool) {
			p, ok := permOf(args[0])
			q, ok2 := permOf(args[1])
			if !ok || !ok2 || len(p) != len(q) {
				return ir.AttrValue{}, false
			}
			for i, x := range q {
				q[i] = p[x]
			}
			return ir.IntsAttr(q...), true
		}},
	"unmoved": {1, "true if the permutation p leaves every dimension where it is",
		func(args []ir.AttrValue) (ir.AttrValue, bool) {
			p, ok := permOf(args[0])
			for i, x := range p {
				if int(x) != i {
					return ir.BoolAttr(false), ok
				}
			}
			return ir.BoolAttr(true), ok
		}},
}

// permOf reads a permutation; negative entries count from the end.
func permOf(v ir.AttrValue) ([]int64, bool) {
	p, ok := v.Ints()
	seen := make([]bool, len(p))
	for i, x := range p {
		if x < 0 {
			x += int64(len(p))
		}
		if x < 0 || x >= int64(len(p)) || seen[x] {
			return nil, false
		}
		seen[x] = true
		p[i] = x
	}
	return p, ok
}
