package mapping

import (
	"fmt"
	"math"
	"slices"
	"strconv"

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
	r := &Rule{Table: p.table.Name, Subject: Subject{To: -1}, Line: p.peek().line}
	var err error
	if r.Op, err = p.name(); err != nil {
		return err
	}
	r.Name = p.table.Name + "." + r.Op
	if err = p.versions(r); err != nil {
		return err
	}
	if err = p.ruleHead(r); err != nil {
		return err
	}
	p.scope = []string{"opset"}
	for _, in := range r.In {
		if in.Variadic {
			return fmt.Errorf("a pattern has no variadic inputs")
		}
		p.scope = append(p.scope, in.Name)
	}
	for p.accept("match") {
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
	if p.is("(") {
		s.names, err = p.nameList()
	} else {
		s.names = make([]string, 1)
		s.names[0], err = p.name()
	}
	if err == nil {
		err = p.expect("=")
	}
	for err == nil {
		var alt shapeOf
		if alt, err = p.shape(); err != nil {
			break
		}
		s.alts = append(s.alts, alt)
		if !p.accept("or") {
			break
		}
	}
	r.steps = append(r.steps, s)
	return err
}

func (p *parser) shape() (shapeOf, error) {
	t := p.next()
	alt := shapeOf{op: t.text}
	if t.kind != tokName && t.kind != tokString {
		return alt, fmt.Errorf("expected an operation's name, found %v", t)
	}
	if err := p.expect("("); err != nil {
		return alt, err
	}
	for !p.accept(")") {
		a, err := p.patternArg()
		if err != nil {
			return alt, err
		}
		alt.args = append(alt.args, a)
		if !p.accept(",") && !p.is(")") {
			return alt, fmt.Errorf("expected \",\" or \")\", found %v", p.peek())
		}
	}
	if !p.accept("{") {
		return alt, nil
	}
	holder := &Rule{}
	if err := p.attrs(holder, false); err != nil {
		return alt, err
	}
	alt.attrs = holder.Attrs
	return alt, p.expect("}")
}

func (p *parser) patternArg() (patternArg, error) {
	sign := 1.0
	if p.accept("-") {
		sign = -1
	}
	if p.peek().kind != tokNumber {
		n, err := p.name()
		return patternArg{name: n}, err
	}
	a := patternArg{constant: true}
	var err error
	if a.value, err = strconv.ParseFloat(p.next().text, 64); err != nil {
		return a, err
	}
	a.value *= sign
	if p.accept("~") {
		a.within, err = strconv.ParseFloat(p.next().text, 64)
	}
	return a, err
}

// commutes reads "commutes Op, Op": operations whose two inputs may be exchanged in patterns.
func (p *parser) commutes() error {
	for {
		n, err := p.name()
		if err != nil {
			return err
		}
		p.table.commutes = append(p.table.commutes, n)
		if !p.accept(",") {
			return nil
		}
	}
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
	ops   []*Op
	names map[string]string
	attrs map[string]Value
}

// matcher looks for patterns in a region's graph.
type matcher struct {
	r        *Region
	producer map[string]*Op
	uses     map[string]int
	commutes map[string]bool
	tries    int
}

// maxTries bounds the work of one pattern at one operation.
const maxTries = 1 << 12

// fusions finds where patterns stand in a graph: the ones with more operations first, later operations first, no operation in two. It
// gives what each operation that belongs to one belongs to.
func (r *Region) fusions(order []*Op) map[*Op]*found {
	var rules []*Rule
	c := &matcher{r: r, producer: map[string]*Op{}, uses: map[string]int{}, commutes: map[string]bool{}}
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
		for _, name := range op.needs() {
			c.uses[name]++
		}
	}
	for _, p := range r.graph.Outputs {
		c.uses[p.Name]++
	}
	claimed := map[*Op]*found{}
	for _, rule := range rules {
		for _, root := range slices.Backward(order) {
			version := r.version(root.Domain)
			if claimed[root] != nil || version < rule.From || rule.To >= 0 && version > rule.To {
				continue
			}
			if f := c.find(rule, root); f != nil && !slices.ContainsFunc(f.ops, func(op *Op) bool { return claimed[op] != nil }) {
				for _, op := range f.ops {
					claimed[op] = f
				}
			}
		}
	}
	return claimed
}

// find matches a pattern whose last operation is root.
func (c *matcher) find(rule *Rule, root *Op) *found {
	f := &found{rule: rule, ops: make([]*Op, len(rule.steps)), names: map[string]string{}, attrs: map[string]Value{}}
	c.tries = 0
	if !c.step(f, len(rule.steps)-1, root) || slices.Contains(f.ops, nil) || !c.closed(f) {
		return nil
	}
	return f
}

// step matches one operation, and those that give its inputs. What it bound is taken back if it does not match.
func (c *matcher) step(f *found, k int, op *Op) bool {
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
			saved := f.clone()
			f.ops[k] = op
			if c.attrs(f, alt, op) && c.inputs(f, alt, in) {
				return true
			}
			*f = *saved
		}
	}
	return false
}

func (f *found) clone() *found {
	g := &found{rule: f.rule, ops: slices.Clone(f.ops), names: map[string]string{}, attrs: map[string]Value{}}
	for k, v := range f.names {
		g.names[k] = v
	}
	for k, v := range f.attrs {
		g.attrs[k] = v
	}
	return g
}

// orders gives the orders in which an operation's inputs can stand.
func (c *matcher) orders(op *Op, alt shapeOf) [][]string {
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
func (c *matcher) attrs(f *found, alt shapeOf, op *Op) bool {
	for _, a := range op.Attrs {
		if _, ref := a.Value.reference(); ref || !slices.ContainsFunc(alt.attrs, func(p AttrParam) bool { return p.Name == a.Name }) {
			return false
		}
	}
	for _, a := range alt.attrs {
		v, ok := op.Attr(a.Name)
		if !ok && a.Default != nil {
			v = *a.Default
		}
		if old, bound := f.attrs[a.Name]; bound && !old.equal(v) {
			return false
		}
		f.attrs[a.Name] = v
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
		if old, ok := f.names[a.name]; ok {
			if old != in[i] {
				return false
			}
			continue
		}
		f.names[a.name] = in[i]
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
		if x, ok := v.number(); ok {
			return x, true
		}
		d = v.Data
	}
	if d == nil || d.Reason != "" || d.Len() != 1 {
		return 0, false
	}
	b, err := d.bytes()
	if err != nil || len(b) < d.DType.Size() {
		return 0, false
	}
	x, ok := numberOf(scalar.Decode(d.DType, b)).number()
	return x, ok
}

// closed says whether nothing outside of a match takes a value that is inside.
func (c *matcher) closed(f *found) bool {
	inside := map[string]int{}
	for _, op := range f.ops {
		for _, name := range op.needs() {
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
func (r *Region) fused(f *found, position map[*Op]int) error {
	m := r.m
	root := f.ops[len(f.ops)-1]
	mark := len(m.nodes)
	out, err := m.applyFused(r, f, root)
	if err == nil {
		for _, op := range f.ops {
			m.report.ok(r, op, f.rule.Name)
		}
		r.give(root, out)
		return nil
	}
	m.nodes = m.nodes[:mark]
	slices.SortFunc(f.ops, func(a, b *Op) int { return position[a] - position[b] })
	for _, op := range f.ops {
		if err := r.op(op); err != nil {
			return err
		}
	}
	return nil
}

func (m *mapper) applyFused(r *Region, f *found, root *Op) ([]Value, error) {
	e := m.begin(f.rule, r, root, r.version(root.Domain))
	for _, in := range f.rule.In {
		v, err := r.Value(f.names[in.Name])
		if err != nil {
			return nil, err
		}
		if v.Kind != TensorKind {
			return nil, refuse("input %s is not a tensor", in.Name)
		}
		e.vars[in.Name] = v
	}
	for name, v := range f.attrs {
		e.vars[name] = v
	}
	return m.conclude(f.rule, e, root)
}
