// Package pattern finds where rules for several operations match in a foreign graph.
//
// It maps nothing, and must not import frontends/mapping, which maps a match at its last operation. Read next:
// frontends/mapping/rules/pattern.go.
package pattern

import (
	"math"
	"slices"

	"tensortapestry.org/tapc/frontends/foreign"
	"tensortapestry.org/tapc/frontends/mapping/expr"
	"tensortapestry.org/tapc/frontends/mapping/ordered"
	"tensortapestry.org/tapc/frontends/mapping/rules"
	"tensortapestry.org/tapc/ir/scalar"
)

// Match is a place where a pattern matches: its operations by step, the values of its inputs, and the attributes.
type Match struct {
	Rule  *rules.Rule
	Ops   []*foreign.Op
	set   []int // steps in the order in which their operations were found
	names []named
	Attrs []foreign.Attr
}

// named is a value that a name of a pattern stands for.
type named struct{ name, value string }

// Value gives what a name stands for.
func (f *Match) Value(name string) (string, bool) {
	for _, n := range f.names {
		if n.name == name {
			return n.value, true
		}
	}
	return "", false
}

// attr gives what the name of an attribute stands for.
func (f *Match) attr(name string) (foreign.Value, bool) {
	for _, a := range f.Attrs {
		if a.Name == name {
			return a.Value, true
		}
	}
	return foreign.Value{}, false
}

// back takes everything back that was found since there were so many steps, names and attributes.
func (f *Match) back(set, names, attrs int) {
	for _, k := range f.set[set:] {
		f.Ops[k] = nil
	}
	f.set, f.names, f.Attrs = f.set[:set], f.names[:names], f.Attrs[:attrs]
}

// matcher looks for patterns in a graph.
type matcher struct {
	graph    *foreign.Graph
	producer map[string]*foreign.Op
	uses     map[string]int
	commutes map[string]bool
	tries    int
	try      Match // what is being matched
}

// maxTries bounds the work of one pattern at one operation.
const maxTries = 1 << 12

// Find gives where the patterns of tables match in a graph whose operations are given in order: the ones with more operations first, later
// operations first, no operation in two, and none that is to be left alone. Version gives that of a domain's vocabulary. The result
// says what each operation that belongs to a match belongs to.
func Find(g *foreign.Graph, order []*foreign.Op, tables []*rules.Table, version func(domain string) int64, alone map[*foreign.Op]bool) map[*foreign.Op]*Match {
	var list []*rules.Rule
	c := &matcher{graph: g, producer: make(map[string]*foreign.Op, len(order)), uses: make(map[string]int, len(order)), commutes: map[string]bool{}}
	for _, t := range tables {
		list = append(list, t.Fuses...)
		for _, n := range t.Commutes {
			c.commutes[n] = true
		}
	}
	if len(list) == 0 {
		return nil
	}
	slices.SortStableFunc(list, func(a, b *rules.Rule) int { return len(b.Steps) - len(a.Steps) })
	c.count(order)
	claimed := map[*foreign.Op]*Match{}
	taken := func(op *foreign.Op) bool { return claimed[op] != nil || alone[op] }
	for _, rule := range list {
		for _, root := range slices.Backward(order) {
			if claimed[root] != nil || !may(rule.Steps[len(rule.Steps)-1], root) || !rule.At(version(root.Domain)) {
				continue
			}
			if f := c.find(rule, root); f != nil && !slices.ContainsFunc(f.Ops, taken) {
				for _, op := range f.Ops {
					claimed[op] = f
				}
			}
		}
	}
	return claimed
}

// count notes what gives each value, and how many take it.
func (c *matcher) count(order []*foreign.Op) {
	for _, op := range order {
		for _, o := range op.Out {
			c.producer[o] = op
		}
		for _, name := range ordered.Needs(op) {
			c.uses[name]++
		}
	}
	for _, p := range c.graph.Outputs {
		c.uses[p.Name]++
	}
}

// find matches a pattern whose last operation is root.
func (c *matcher) find(rule *rules.Rule, root *foreign.Op) *Match {
	f := &c.try
	f.back(0, 0, 0)
	f.Rule, f.Ops = rule, append(f.Ops[:0], make([]*foreign.Op, len(rule.Steps))...)
	c.tries = 0
	if !c.step(f, len(rule.Steps)-1, root) || slices.Contains(f.Ops, nil) || !c.closed(f) {
		return nil
	}
	kept := *f
	c.try = Match{}
	return &kept
}

// may says whether an operation is of a type that the step allows.
func may(s *rules.Step, op *foreign.Op) bool {
	return slices.ContainsFunc(s.Alts, func(alt rules.Shape) bool {
		return isOf(op, alt)
	})
}

// isOf says whether an operation is of the type that an alternative has.
func isOf(op *foreign.Op, alt rules.Shape) bool {
	domain, typ := rules.Operator(alt.Op)
	return op.Type == typ && op.Domain == domain
}

// step matches one operation, and those that give its inputs. What it bound is taken back if it does not match.
func (c *matcher) step(f *Match, k int, op *foreign.Op) bool {
	if f.Ops[k] != nil {
		return f.Ops[k] == op
	}
	if c.tries++; c.tries > maxTries || slices.Contains(f.Ops, op) {
		return false
	}
	for _, alt := range f.Rule.Steps[k].Alts {
		if !isOf(op, alt) {
			continue
		}
		for _, in := range c.orders(op, alt) {
			set, names, attrs := len(f.set), len(f.names), len(f.Attrs)
			f.Ops[k], f.set = op, append(f.set, k)
			if c.attrs(f, alt, op) && c.inputs(f, alt, in) {
				return true
			}
			f.back(set, names, attrs)
		}
	}
	return false
}

// orders gives the orders in which an operation's inputs can stand.
func (c *matcher) orders(op *foreign.Op, alt rules.Shape) [][]string {
	in := op.In
	for len(in) > len(alt.Args) && in[len(in)-1] == "" {
		in = in[:len(in)-1]
	}
	if len(in) != len(alt.Args) {
		return nil
	}
	if len(in) == 2 && c.commutes[op.Type] {
		return [][]string{in, {in[1], in[0]}}
	}
	return [][]string{in}
}

// attrs binds the attributes that a pattern names, those of one name to one value. An operation with others is none of the pattern's.
func (c *matcher) attrs(f *Match, alt rules.Shape, op *foreign.Op) bool {
	for _, a := range op.Attrs {
		if _, ref := a.Value.Referred(); ref || !slices.ContainsFunc(alt.Attrs, func(p rules.AttrParam) bool { return p.Name == a.Name }) {
			return false
		}
	}
	for _, a := range alt.Attrs {
		v, ok := op.Attr(a.Name)
		if !ok && a.Default != nil {
			v = *a.Default
		}
		old, bound := f.attr(a.Name)
		if bound && !old.Equal(v) {
			return false
		}
		if !bound {
			f.Attrs = append(f.Attrs, foreign.Attr{Name: a.Name, Value: v})
		}
	}
	return true
}

func (c *matcher) inputs(f *Match, alt rules.Shape, in []string) bool {
	for i, a := range alt.Args {
		if a.Constant {
			v, ok := c.constant(in[i])
			if !ok || math.Abs(v-a.Value) > a.Within*math.Abs(a.Value) {
				return false
			}
			continue
		}
		if old, ok := f.Value(a.Name); ok {
			if old != in[i] {
				return false
			}
			continue
		}
		f.names = append(f.names, named{a.Name, in[i]})
		k := slices.IndexFunc(f.Rule.Steps, func(s *rules.Step) bool { return slices.Contains(s.Names, a.Name) })
		if k < 0 {
			if in[i] == "" {
				return false
			}
			continue
		}
		op := c.producer[in[i]]
		if op == nil || slices.Index(op.Out, in[i]) != slices.Index(f.Rule.Steps[k].Names, a.Name) || !c.step(f, k, op) {
			return false
		}
	}
	return true
}

// constant gives a constant with one element, whether it stands in the graph or in an operation without inputs.
func (c *matcher) constant(name string) (float64, bool) {
	d := c.graph.Consts[name]
	if op := c.producer[name]; d == nil && op != nil && len(op.In) == 0 && len(op.Attrs) == 1 {
		v := op.Attrs[0].Value
		if x, ok := v.Number(); ok {
			return x, true
		}
		d = v.Data
	}
	if d == nil || d.Reason != "" || d.Len() != 1 {
		return 0, false
	}
	b, err := d.Read()
	if err != nil || len(b) < d.DType.Size() {
		return 0, false
	}
	x, ok := expr.NumberOf(scalar.Decode(d.DType, b)).Number()
	return x, ok
}

// closed says whether nothing outside of a match takes a value that is inside.
func (c *matcher) closed(f *Match) bool {
	inside := map[string]int{}
	for _, op := range f.Ops {
		for _, name := range ordered.Needs(op) {
			inside[name]++
		}
	}
	for _, op := range f.Ops[:len(f.Ops)-1] {
		for _, o := range op.Out {
			if o != "" && c.uses[o] != inside[o] {
				return false
			}
		}
	}
	return true
}
