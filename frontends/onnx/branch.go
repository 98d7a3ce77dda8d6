package onnx

import (
	"slices"

	"tensortapestry.org/tapc/frontends/foreign"
	"tensortapestry.org/tapc/frontends/mapping"
)

// branch maps the branch that a condition chooses. Where the condition is not known when compiling, both are computed, and it chooses results.
func branch(r *mapping.Region, op *foreign.Op) ([]foreign.Value, error) {
	in, err := inputs(r, op)
	if err != nil {
		return nil, err
	}
	if len(in) != 1 {
		return nil, refuse("expected 1 input, found %d", len(in))
	}
	if t := in[0].Tensor; t != nil && t.Data == nil {
		return chosen(r, op, in[0])
	}
	c, err := r.Known(in[0])
	if err != nil {
		return nil, err
	}
	if c.Int != 0 {
		return taken(r, op, "then_branch")
	}
	return taken(r, op, "else_branch")
}

func taken(r *mapping.Region, op *foreign.Op, name string) ([]foreign.Value, error) {
	g, err := graphAttr(op, name)
	if err != nil {
		return nil, err
	}
	return r.Call(g, nil, op.Title())
}

// chosen maps both branches. What a run is held to in one of them must not end a run that takes the other, so that such branches are refused;
// and tensors have one type and shape.
func chosen(r *mapping.Region, op *foreign.Op, condition foreign.Value) ([]foreign.Value, error) {
	before := r.Checks()
	yes, err := taken(r, op, "then_branch")
	if err != nil {
		return nil, err
	}
	no, err := taken(r, op, "else_branch")
	if err != nil {
		return nil, err
	}
	_, why := r.Known(condition)
	switch {
	case r.Checks() > before:
		return nil, refuse("a branch has indices that each run checks, as --unchecked-indices forgoes, and for its condition %v", why)
	case len(yes) != len(no):
		return nil, refuse("its branches give %d and %d values", len(yes), len(no))
	}
	out := make([]foreign.Value, len(yes))
	for i, y := range yes {
		a, b := y.Tensor, no[i].Tensor
		if a == nil || b == nil || a.DType != b.DType || !slices.Equal(a.Shape, b.Shape) {
			return nil, refuse("its branches give values of different types or shapes, and for its condition %v", why)
		}
		if out[i], err = r.Eval("either", condition, y, no[i]); err != nil {
			return nil, err
		}
	}
	return out, nil
}
