package language

import (
	"fmt"
	"slices"

	"tensortapestry.org/tapc/dialects/application"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/lang"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/passes/rewrite/casts"
	"tensortapestry.org/tapc/passes/rewrite/values"
)

// condition is a guard; valueExpr is a value in a guard or of a parameter, false where it has none.
type (
	condition func(*match) bool
	valueExpr func(*match) (ir.AttrValue, bool)
)

// selOf gives a variable's selection: a bound one, or the result of the matched operation.
type selOf func(*match) ir.Selection

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
	return func(m *match) bool {
		for _, c := range all {
			if c(m) == stop {
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
		return func(m *match) bool { return !c(m) }, err
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
		return func(m *match) bool { return f.holds(m, args) }, err
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
	return func(m *match) bool {
		x, ok := a(m)
		y, ok2 := b(m)
		return ok && ok2 && values.Compare(op, x, y)
	}, nil
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
			out = append(out, func(m *match) ir.Selection { return m.result })
			continue
		}
		slot, err := p.names.find(name, selectionVar)
		if err != nil {
			return nil, err
		}
		out = append(out, func(m *match) ir.Selection { return m.slots[slot].sel })
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
	if p.Accept("[") {
		var list []valueExpr
		err := p.List("]", func() error {
			v, err := p.value()
			list = append(list, v)
			return err
		})
		return func(m *match) (ir.AttrValue, bool) {
			v, ok := allOf(m, list)
			return ir.AttrValue{Kind: ir.AttrList, List: v}, ok
		}, err
	}
	if t.Kind != lang.Name || t.Text == "true" || t.Text == "false" {
		v, err := p.literal()
		return func(*match) (ir.AttrValue, bool) { return v, true }, err
	}
	p.Next()
	if f, ok := facts[t.Text]; ok && p.Is("(") {
		args, err := p.selections(f.args)
		return func(m *match) (ir.AttrValue, bool) { return f.value(m, args), true }, err
	}
	if f, ok := values.Functions[t.Text]; ok && p.Is("(") {
		return p.function(f)
	}
	slot, err := p.names.find(t.Text, attributeVar)
	return func(m *match) (ir.AttrValue, bool) { return m.slots[slot].attr, true }, err
}

// allOf gives the values of expressions, if all have one.
func allOf(m *match, list []valueExpr) ([]ir.AttrValue, bool) {
	out := make([]ir.AttrValue, len(list))
	for i, e := range list {
		var ok bool
		if out[i], ok = e(m); !ok {
			return nil, false
		}
	}
	return out, true
}

func (p *parser) function(f values.Function) (valueExpr, error) {
	if err := p.Expect("("); err != nil {
		return nil, err
	}
	var args []valueExpr
	for i := range f.Args {
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
	return func(m *match) (ir.AttrValue, bool) {
		list, ok := allOf(m, args)
		if !ok {
			return ir.AttrValue{}, false
		}
		return f.Of(list)
	}, p.Expect(")")
}

// predicate is a condition on selections.
type predicate struct {
	args  int
	doc   string
	holds func(m *match, args []selOf) bool
}

// ofType is a predicate on an element type.
func ofType(doc string, is func(scalar.DType) bool) predicate {
	return predicate{1, doc, func(m *match, args []selOf) bool { return is(m.Type(args[0](m))) }}
}

// predicates are the conditions of the language by name.
var predicates = map[string]predicate{
	"boolean": ofType("its elements are booleans", scalar.DType.IsBool),
	"integer": ofType("its elements are integers", scalar.DType.IsInt),
	"float":   ofType("its elements are real floats", scalar.DType.IsFraction),
	"real":    ofType("its elements are integers or real floats", scalar.DType.IsReal),
	"nan":     ofType("its elements are real floats of a type that has NaN", casts.HasNaN),
	"once": {1, "the matched use is its only one, and it is not observed", func(m *match, args []selOf) bool {
		return m.Once(args[0](m).Tensor)
	}},
	"through": {3, "a cast from the first's type to the second's and on to the third's gives what one from first to third gives",
		func(m *match, args []selOf) bool {
			return casts.Through(m.Type(args[0](m)), m.Type(args[1](m)), m.Type(args[2](m)))
		}},
}

// fact is a value that selections have.
type fact struct {
	args  int
	doc   string
	value func(m *match, args []selOf) ir.AttrValue
}

// facts are the values of selections by name.
var facts = map[string]fact{
	"cost": {1, "how many scalar operations the operation that computes the value does, as its kernel counts them; 0 of an input, of an import and of a foreign kernel",
		func(m *match, args []selOf) ir.AttrValue { return ir.IntAttr(m.Work(args[0](m).Tensor)) }},
	"shards": {1, "how many applications the operation that computes the value is cut into, 0 where it is not cut",
		func(m *match, args []selOf) ir.AttrValue { return ir.IntAttr(int64(len(m.Shards(args[0](m).Tensor)))) }},
	"devices": {1, "the numbers of the devices that these applications are computed on, in order; none where it is not cut",
		func(m *match, args []selOf) ir.AttrValue {
			var on []int64
			for _, a := range m.Shards(args[0](m).Tensor) {
				on = append(on, application.PlacementOf(m.Graph.Node(a))...)
			}
			slices.Sort(on)
			return ir.IntsAttr(slices.Compact(on)...)
		}},
	"dtype": {1, "the element type's name", func(m *match, args []selOf) ir.AttrValue {
		return ir.StringAttr(m.Tensor(args[0](m).Tensor).DType)
	}},
	"shape": {1, "the list of extents", func(m *match, args []selOf) ir.AttrValue {
		return ir.IntsAttr(args[0](m).Range().Shape()...)
	}},
	"rank": {1, "the number of dimensions", func(m *match, args []selOf) ir.AttrValue {
		return ir.IntAttr(int64(args[0](m).Range().Rank()))
	}},
	"last": {1, "the extent of the last dimension, -1 without dimensions", func(m *match, args []selOf) ir.AttrValue {
		r := args[0](m).Range()
		if r.Rank() == 0 {
			return ir.IntAttr(-1)
		}
		return ir.IntAttr(r.Shape()[r.Rank()-1])
	}},
}
