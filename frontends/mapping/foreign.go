package mapping

import (
	"fmt"
	"slices"
	"strings"

	"tensortapestry.org/tapc/frontends/foreign"
	"tensortapestry.org/tapc/frontends/mapping/calls"
	"tensortapestry.org/tapc/frontends/mapping/expr"
	"tensortapestry.org/tapc/frontends/mapping/rules"
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
	op := &foreign.Op{Name: m.now.at.op.Name, Pos: m.now.pos}
	op.Domain, op.Type = rules.Operator(x.Text)
	inner := &Region{m: m, graph: &foreign.Graph{Versions: map[string]int64{}}, outer: m.now.at.region, values: map[string]foreign.Value{}}
	if m.now.hop != 0 {
		inner.graph.Versions[""] = m.now.hop
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
		if a.Name == calls.Results && a.Value.Kind == foreign.Int {
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
	around, steps := m.now, m.steps
	m.now.chain = m.now.rule + " → "
	out, _, err := m.mapOp(r, op, in)
	m.now = around
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

// carried gives the version that a table leads an operation to as it is; 0 if none does.
func (m *mapper) carried(op *foreign.Op, version int64) int64 {
	for _, t := range m.opt.Tables {
		if t.Hop != 0 && t.From == version && op.Domain == "" && slices.Contains(t.Carries, op.Type) {
			return t.Hop
		}
	}
	return 0
}
