package mapping

import (
	"fmt"
	"slices"
	"strconv"

	"tensortapestry.org/tapc/ir/lang"
)

// foreign reads the rest of "@Op(inputs){attributes}": an operation of the source's own vocabulary, which other rules map. An attribute
// of the value none is left out; {results: n} says how many results there are.
func (p *parser) foreign(line int) (*expr, error) {
	name, err := p.operation()
	if err != nil {
		return nil, err
	}
	e := &expr{kind: exprForeign, text: name, line: line}
	if err := p.Expect("("); err != nil {
		return nil, err
	}
	if err := p.exprs(e, ")"); err != nil {
		return nil, err
	}
	p.table.foreign = append(p.table.foreign, e)
	return e, p.kernelAttrs(e)
}

// maxForeign bounds the operations that the rules for one operation may stand for, each through others.
const maxForeign = 1 << 12

// foreign maps an operation that a rule stands for: at the version that the rule's table leads to, or else at the model's own.
func (e *env) foreign(x *expr) (Value, error) {
	m := e.m
	if m.foreign++; m.foreign > maxForeign {
		return Value{}, refuse("it stands for more than %d other operations", maxForeign)
	}
	if m.depth++; m.depth > maxRegions {
		return Value{}, refuse("rules stand for each other more than %d deep", maxRegions)
	}
	defer func() { m.depth-- }()
	args, err := e.all(x.args)
	if err != nil {
		return Value{}, err
	}
	args = spread(args)
	op := &Op{Name: m.at.op.Name, Pos: m.pos}
	op.Domain, op.Type = splitType(x.text)
	inner := &Region{m: m, graph: &Graph{Versions: map[string]int64{}}, outer: m.at.region, values: map[string]Value{}}
	if m.hop != 0 {
		inner.graph.Versions[""] = m.hop
	}
	for i, v := range args {
		name := ""
		if v.Kind != None {
			name = fmt.Sprintf("@%d", i)
			inner.values[name] = v
		}
		op.In = append(op.In, name)
	}
	results := int64(1)
	for _, a := range x.attrs {
		v, err := e.eval(a.value)
		if err == nil {
			err = e.weigh(v)
		}
		switch {
		case err != nil:
			return Value{}, err
		case a.name == resultsParam && v.Kind == Int:
			results = v.Int
		case v.Kind != None:
			op.Attrs = append(op.Attrs, Attr{a.name, v})
		}
	}
	slices.SortFunc(op.Attrs, func(a, b Attr) int { return compareNames(a.Name, b.Name) })
	if results < 1 || results > 1<<12 {
		return Value{}, refuse("@%s with %d results", x.text, results)
	}
	for i := range results {
		op.Out = append(op.Out, fmt.Sprintf("@out%d", i))
	}
	out, err := m.standFor(inner, op, args)
	if err == nil && e.record != nil {
		e.record.note(op, args, out)
	}
	return out, err
}

// spread puts the values of lists in their places.
func spread(args []Value) []Value {
	var out []Value
	for _, v := range args {
		if v.Kind == List {
			out = append(out, v.List...)
		} else {
			out = append(out, v)
		}
	}
	return out
}

// standFor maps an operation in the place of another; what the rule around knows is kept meanwhile, and the names of both rules are in
// what is made.
func (m *mapper) standFor(r *Region, op *Op, in []Value) (Value, error) {
	around, steps := m.applied, m.steps
	m.chain = m.rule + " → "
	out, _, err := m.mapOp(r, op, in)
	m.applied = around
	m.steps += steps
	switch {
	case err != nil:
		return Value{}, err
	case len(op.Out) == 1:
		return out[0], nil
	}
	return Value{Kind: List, List: out}, nil
}

// origin is where a rule is applied.
type origin struct {
	region *Region
	op     *Op
}

func compareNames(a, b string) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
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
		n, err := p.name()
		if err != nil {
			return err
		}
		*into = append(*into, n)
		if !p.Accept(",") {
			return nil
		}
	}
}

// carried gives the version that a table leads an operation to as it is; 0 if none does.
func (m *mapper) carried(op *Op, version int64) int64 {
	for _, t := range m.opt.Tables {
		if t.Hop != 0 && t.From == version && op.Domain == "" && slices.Contains(t.carries, op.Type) {
			return t.Hop
		}
	}
	return 0
}
