package mapping

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tensortapestry.org/tapc/frontends/foreign"
	"tensortapestry.org/tapc/frontends/mapping/expr"
	"tensortapestry.org/tapc/ir/lang"
)

// maxForeign bounds the operations that the rules for one operation may stand for, each through others.
const maxForeign = 1 << 12

// Foreign maps an operation that a rule stands for: at the version that the rule's table leads to, or else at the model's own.
func (m *mapper) Foreign(e *expr.Env, x *expr.Expr) (foreign.Value, error) {
	_, _, out, err := mapForeign(m, e, x)
	return out, err
}

// mapForeign gives the operation too, and what it takes.
func mapForeign(m *mapper, e *expr.Env, x *expr.Expr) (*foreign.Op, []foreign.Value, foreign.Value, error) {
	if m.derived++; m.derived > maxForeign {
		return nil, nil, foreign.Value{}, expr.Refuse("it stands for more than %d other operations", maxForeign)
	}
	if m.depth++; m.depth > maxRegions {
		return nil, nil, foreign.Value{}, expr.Refuse("rules stand for each other more than %d deep", maxRegions)
	}
	defer func() { m.depth-- }()
	args, err := e.All(x.Args)
	if err != nil {
		return nil, nil, foreign.Value{}, err
	}
	args = spread(args)
	op := &foreign.Op{Name: m.at.op.Name, Pos: m.pos}
	op.Domain, op.Type = splitType(x.Text)
	inner := &Region{m: m, graph: &foreign.Graph{Versions: map[string]int64{}}, outer: m.at.region, values: map[string]foreign.Value{}}
	if m.hop != 0 {
		inner.graph.Versions[""] = m.hop
	}
	for i, v := range args {
		name := ""
		if v.Kind != foreign.None {
			name = fmt.Sprintf("@%d", i)
			inner.values[name] = v
		}
		op.In = append(op.In, name)
	}
	results := int64(1)
	attrs, err := e.Attributes(x)
	if err != nil {
		return nil, nil, foreign.Value{}, err
	}
	for _, a := range attrs {
		if a.Name == resultsParam && a.Value.Kind == foreign.Int {
			results = a.Value.Int
		} else {
			op.Attrs = append(op.Attrs, a)
		}
	}
	slices.SortFunc(op.Attrs, func(a, b foreign.Attr) int { return strings.Compare(a.Name, b.Name) })
	if results < 1 || results > 1<<12 {
		return nil, nil, foreign.Value{}, expr.Refuse("@%s with %d results", x.Text, results)
	}
	for i := range results {
		op.Out = append(op.Out, fmt.Sprintf("@out%d", i))
	}
	out, err := m.standFor(inner, op, args)
	return op, args, out, err
}

// spread puts the values of lists in their places.
func spread(args []foreign.Value) []foreign.Value {
	var out []foreign.Value
	for _, v := range args {
		if v.Kind == foreign.List {
			out = append(out, v.List...)
		} else {
			out = append(out, v)
		}
	}
	return out
}

// standFor maps an operation in the place of another; what the rule around knows is kept meanwhile, and the names of both rules are in
// what is made.
func (m *mapper) standFor(r *Region, op *foreign.Op, in []foreign.Value) (foreign.Value, error) {
	around, steps := m.applied, m.steps
	m.chain = m.rule + " → "
	out, _, err := m.mapOp(r, op, in)
	m.applied = around
	m.steps += steps
	switch {
	case err != nil:
		return foreign.Value{}, err
	case len(op.Out) == 1:
		return out[0], nil
	}
	return foreign.Value{Kind: foreign.List, List: out}, nil
}

// origin is where a rule is applied.
type origin struct {
	region *Region
	op     *foreign.Op
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

// carried gives the version that a table leads an operation to as it is; 0 if none does.
func (m *mapper) carried(op *foreign.Op, version int64) int64 {
	for _, t := range m.opt.Tables {
		if t.Hop != 0 && t.From == version && op.Domain == "" && slices.Contains(t.carries, op.Type) {
			return t.Hop
		}
	}
	return 0
}
