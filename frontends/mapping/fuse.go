package mapping

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"tensortapestry.org/tapc/frontends/foreign"
	"tensortapestry.org/tapc/frontends/mapping/expr"
	"tensortapestry.org/tapc/frontends/mapping/ordered"
	"tensortapestry.org/tapc/ir/lang"
	"tensortapestry.org/tapc/ir/scalar"
)

// step is one operation of a pattern: the names of its results, and what it may be.
type step struct {
	names []string
	alts  []shapeOf
}

// shapeOf is one way in which an operation of a pattern may look.
type shapeOf struct {
	op    string
	args  []patternArg
	attrs []AttrParam
}

// patternArg is an input of an operation of a pattern: a value, or a constant with one element, known up to a relative tolerance.
type patternArg struct {
	name     string
	constant bool
	value    float64
	within   float64
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
	if len(r.steps) < 2 {
		return fmt.Errorf("expected at least two match clauses, found %d", len(r.steps))
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
	s := &step{}
	var err error
	if p.Is("(") {
		s.names, err = p.Names()
	} else {
		s.names = make([]string, 1)
		s.names[0], err = p.Name()
	}
	if err == nil {
		err = p.Expect("=")
	}
	for err == nil {
		var alt shapeOf
		if alt, err = p.shape(); err != nil {
			break
		}
		s.alts = append(s.alts, alt)
		if !p.Accept("or") {
			break
		}
	}
	r.steps = append(r.steps, s)
	return err
}

func (p *parser) shape() (shapeOf, error) {
	var alt shapeOf
	var err error
	if alt.op, err = p.Operation(); err != nil {
		return alt, err
	}
	if err := p.Expect("("); err != nil {
		return alt, err
	}
	err = p.List(")", func() error {
		a, err := p.patternArg()
		alt.args = append(alt.args, a)
		return err
	})
	if err != nil || !p.Accept("{") {
		return alt, err
	}
	holder := &Rule{}
	if err := p.attrs(holder, false); err != nil {
		return alt, err
	}
	alt.attrs = holder.Attrs
	return alt, p.Expect("}")
}

func (p *parser) patternArg() (patternArg, error) {
	sign := 1.0
	if p.Accept("-") {
		sign = -1
	}
	if p.Peek().Kind != lang.Number {
		n, err := p.Name()
		return patternArg{name: n}, err
	}
	a := patternArg{constant: true}
	var err error
	if a.value, err = strconv.ParseFloat(p.Next().Text, 64); err != nil {
		return a, err
	}
	a.value *= sign
	if p.Accept("~") {
		a.within, err = strconv.ParseFloat(p.Next().Text, 64)
	}
	return a, err
}

// checkPattern holds a pattern to its form: a name is an input or the result of one operation, results are used later, and inputs all stand in the
// pattern.
func (r *Rule) checkPattern() error {
	made := map[string]bool{}
	used := map[string]bool{}
	for _, s := range r.steps {
		for _, alt := range s.alts {
			for _, a := range alt.args {
				isInput := slices.ContainsFunc(r.In, func(p Param) bool { return p.Name == a.name })
				if !a.constant && !isInput && !made[a.name] {
					return fmt.Errorf("%q is neither an input of the pattern nor a result above", a.name)
				}
				used[a.name] = true
			}
		}
		for _, n := range s.names {
			if made[n] || slices.ContainsFunc(r.In, func(p Param) bool { return p.Name == n }) {
				return fmt.Errorf("%q is bound already", n)
			}
			made[n] = true
		}
	}
	for _, s := range r.steps[:len(r.steps)-1] {
		if !slices.ContainsFunc(s.names, func(n string) bool { return used[n] }) {
			return fmt.Errorf("nothing takes %q", s.names[0])
		}
	}
	for _, in := range r.In {
		if !used[in.Name] {
			return fmt.Errorf("the input %q does not stand in the pattern", in.Name)
		}
	}
	return nil
}

// found is a place where a pattern matches: its operations by step, the values of its inputs, and the attributes.
type found struct {
	rule  *Rule
	ops   []*foreign.Op
	set   []int // steps in the order in which their operations were found
	names []named
	attrs []foreign.Attr
}

// named is a value that a name of a pattern stands for.
type named struct{ name, value string }

// value gives what a name stands for.
func (f *found) value(name string) (string, bool) {
	for _, n := range f.names {
		if n.name == name {
			return n.value, true
		}
	}
	return "", false
}

// attr gives what the name of an attribute stands for.
func (f *found) attr(name string) (foreign.Value, bool) {
	for _, a := range f.attrs {
		if a.Name == name {
			return a.Value, true
		}
	}
	return foreign.Value{}, false
}

// back takes everything back that was found since there were so many steps, names and attributes.
func (f *found) back(set, names, attrs int) {
	for _, k := range f.set[set:] {
		f.ops[k] = nil
	}
	f.set, f.names, f.attrs = f.set[:set], f.names[:names], f.attrs[:attrs]
}

// matcher looks for patterns in a region's graph.
type matcher struct {
	r        *Region
	producer map[string]*foreign.Op
	uses     map[string]int
	commutes map[string]bool
	tries    int
	try      found // what is being matched
}

// maxTries bounds the work of one pattern at one operation.
const maxTries = 1 << 12

// fusions finds where patterns stand in a graph: the ones with more operations first, later operations first, no operation in two. It
// gives what each operation that belongs to one belongs to.
func (r *Region) fusions(order []*foreign.Op) map[*foreign.Op]*found {
	var rules []*Rule
	c := &matcher{r: r, producer: make(map[string]*foreign.Op, len(order)), uses: make(map[string]int, len(order)), commutes: map[string]bool{}}
	for _, t := range r.m.opt.Tables {
		rules = append(rules, t.Fuses...)
		for _, n := range t.commutes {
			c.commutes[n] = true
		}
	}
	if len(rules) == 0 {
		return nil
	}
	slices.SortStableFunc(rules, func(a, b *Rule) int { return len(b.steps) - len(a.steps) })
	for _, op := range order {
		for _, o := range op.Out {
			c.producer[o] = op
		}
		for _, name := range ordered.Needs(op) {
			c.uses[name]++
		}
	}
	for _, p := range r.graph.Outputs {
		c.uses[p.Name]++
	}
	claimed := map[*foreign.Op]*found{}
	for _, rule := range rules {
		for _, root := range slices.Backward(order) {
			if claimed[root] != nil || !rule.steps[len(rule.steps)-1].may(root) {
				continue
			}
			if version := r.version(root.Domain); version < rule.From || rule.To >= 0 && version > rule.To {
				continue
			}
			taken := func(op *foreign.Op) bool { return claimed[op] != nil || r.m.trace.timed[op] }
			if f := c.find(rule, root); f != nil && !slices.ContainsFunc(f.ops, taken) {
				for _, op := range f.ops {
					claimed[op] = f
				}
			}
		}
	}
	return claimed
}

// find matches a pattern whose last operation is root.
func (c *matcher) find(rule *Rule, root *foreign.Op) *found {
	f := &c.try
	f.back(0, 0, 0)
	f.rule, f.ops = rule, append(f.ops[:0], make([]*foreign.Op, len(rule.steps))...)
	c.tries = 0
	if !c.step(f, len(rule.steps)-1, root) || slices.Contains(f.ops, nil) || !c.closed(f) {
		return nil
	}
	kept := *f
	c.try = found{}
	return &kept
}

// may says whether an operation is of a type that the step allows.
func (s *step) may(op *foreign.Op) bool {
	return slices.ContainsFunc(s.alts, func(alt shapeOf) bool {
		domain, typ := splitType(alt.op)
		return op.Type == typ && op.Domain == domain
	})
}

// step matches one operation, and those that give its inputs. What it bound is taken back if it does not match.
func (c *matcher) step(f *found, k int, op *foreign.Op) bool {
	if f.ops[k] != nil {
		return f.ops[k] == op
	}
	if c.tries++; c.tries > maxTries || slices.Contains(f.ops, op) {
		return false
	}
	for _, alt := range f.rule.steps[k].alts {
		domain, typ := splitType(alt.op)
		if op.Type != typ || op.Domain != domain {
			continue
		}
		for _, in := range c.orders(op, alt) {
			set, names, attrs := len(f.set), len(f.names), len(f.attrs)
			f.ops[k], f.set = op, append(f.set, k)
			if c.attrs(f, alt, op) && c.inputs(f, alt, in) {
				return true
			}
			f.back(set, names, attrs)
		}
	}
	return false
}

// orders gives the orders in which an operation's inputs can stand.
func (c *matcher) orders(op *foreign.Op, alt shapeOf) [][]string {
	in := op.In
	for len(in) > len(alt.args) && in[len(in)-1] == "" {
		in = in[:len(in)-1]
	}
	if len(in) != len(alt.args) {
		return nil
	}
	if len(in) == 2 && c.commutes[op.Type] {
		return [][]string{in, {in[1], in[0]}}
	}
	return [][]string{in}
}

// attrs binds the attributes that a pattern names, those of one name to one value. An operation with others is none of the pattern's.
func (c *matcher) attrs(f *found, alt shapeOf, op *foreign.Op) bool {
	for _, a := range op.Attrs {
		if _, ref := a.Value.Referred(); ref || !slices.ContainsFunc(alt.attrs, func(p AttrParam) bool { return p.Name == a.Name }) {
			return false
		}
	}
	for _, a := range alt.attrs {
		v, ok := op.Attr(a.Name)
		if !ok && a.Default != nil {
			v = *a.Default
		}
		old, bound := f.attr(a.Name)
		if bound && !old.Equal(v) {
			return false
		}
		if !bound {
			f.attrs = append(f.attrs, foreign.Attr{Name: a.Name, Value: v})
		}
	}
	return true
}

func (c *matcher) inputs(f *found, alt shapeOf, in []string) bool {
	for i, a := range alt.args {
		if a.constant {
			v, ok := c.constant(in[i])
			if !ok || math.Abs(v-a.value) > a.within*math.Abs(a.value) {
				return false
			}
			continue
		}
		if old, ok := f.value(a.name); ok {
			if old != in[i] {
				return false
			}
			continue
		}
		f.names = append(f.names, named{a.name, in[i]})
		k := slices.IndexFunc(f.rule.steps, func(s *step) bool { return slices.Contains(s.names, a.name) })
		if k < 0 {
			if in[i] == "" {
				return false
			}
			continue
		}
		op := c.producer[in[i]]
		if op == nil || slices.Index(op.Out, in[i]) != slices.Index(f.rule.steps[k].names, a.name) || !c.step(f, k, op) {
			return false
		}
	}
	return true
}

// constant gives a constant with one element, whether it stands in the graph or in an operation without inputs.
func (c *matcher) constant(name string) (float64, bool) {
	d := c.r.graph.Consts[name]
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
func (c *matcher) closed(f *found) bool {
	inside := map[string]int{}
	for _, op := range f.ops {
		for _, name := range ordered.Needs(op) {
			inside[name]++
		}
	}
	for _, op := range f.ops[:len(f.ops)-1] {
		for _, o := range op.Out {
			if o != "" && c.uses[o] != inside[o] {
				return false
			}
		}
	}
	return true
}

// fused maps the operations of a match at its last one. If that can not be, they are mapped one by one, in the order of positions.
func (r *Region) fused(f *found, position map[*foreign.Op]int) error {
	m := r.m
	root := f.ops[len(f.ops)-1]
	mark := len(m.nodes)
	out, err := m.applyFused(r, f, root)
	if err == nil {
		for _, op := range f.ops {
			m.report.Ok(r.opVersion(op), f.rule.Name)
		}
		r.give(root, out)
		return nil
	}
	drop(m, mark)
	slices.SortFunc(f.ops, func(a, b *foreign.Op) int { return position[a] - position[b] })
	for _, op := range f.ops {
		if err := r.op(op); err != nil {
			return err
		}
	}
	return nil
}

func (m *mapper) applyFused(r *Region, f *found, root *foreign.Op) ([]foreign.Value, error) {
	e := m.begin(f.rule, m, origin{r, root}, r.version(root.Domain))
	for _, in := range f.rule.In {
		name, _ := f.value(in.Name)
		v, err := r.Value(name)
		if err != nil {
			return nil, err
		}
		if v.Kind != foreign.TensorKind {
			return nil, expr.Refuse("input %s is not a tensor", in.Name)
		}
		e.Vars[in.Name] = v
	}
	for _, a := range f.attrs {
		e.Vars[a.Name] = a.Value
	}
	return m.conclude(f.rule, e, root)
}
