package mapping

import (
	"slices"

	"tensortapestry.org/tapc/frontends/foreign"
	"tensortapestry.org/tapc/frontends/mapping/expr"
	"tensortapestry.org/tapc/frontends/mapping/pattern"
)

// fused maps the operations of a match at its last one. If that can not be, they are mapped one by one, in the order of positions.
func (r *Region) fused(f *pattern.Match, position map[*foreign.Op]int) error {
	m := r.m
	root := f.Ops[len(f.Ops)-1]
	mark := len(m.made.Nodes)
	out, err := m.applyFused(r, f, root)
	if err == nil {
		for _, op := range f.Ops {
			m.report.Ok(r.opVersion(op), f.Rule.Name)
		}
		r.give(root, out)
		return nil
	}
	drop(m, mark)
	slices.SortFunc(f.Ops, func(a, b *foreign.Op) int { return position[a] - position[b] })
	for _, op := range f.Ops {
		if err := r.op(op); err != nil {
			return err
		}
	}
	return nil
}

func (m *mapper) applyFused(r *Region, f *pattern.Match, root *foreign.Op) ([]foreign.Value, error) {
	e := m.begin(f.Rule, m, origin{r, root}, r.version(root.Domain))
	for _, in := range f.Rule.In {
		name, _ := f.Value(in.Name)
		v, err := r.Value(name)
		if err != nil {
			return nil, err
		}
		if v.Kind != foreign.TensorKind {
			return nil, expr.Refuse("input %s is not a tensor", in.Name)
		}
		e.Vars[in.Name] = v
	}
	for _, a := range f.Attrs {
		e.Vars[a.Name] = a.Value
	}
	return m.conclude(f.Rule, e, root)
}
