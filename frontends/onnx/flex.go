package onnx

import (
	"tensortapestry.org/tapc/frontends/foreign"
	"tensortapestry.org/tapc/frontends/mapping"
)

// flex maps attention whose scores and weights are changed by graphs of the operation: each takes one tensor and gives one.
func flex(r *mapping.Region, op *foreign.Op) ([]foreign.Value, error) {
	in, err := inputs(r, op)
	if err != nil {
		return nil, err
	}
	if len(in) != 3 || in[0].Tensor == nil || in[1].Tensor == nil || in[2].Tensor == nil {
		return nil, refuse("it needs queries, keys and values")
	}
	scale, _ := op.Attr("scale")
	precision, _ := op.Attr("softmax_precision")
	x, err := r.Eval("flex_scores", in[0], in[1], scale, precision)
	for _, step := range []struct{ graph, then string }{{"score_mod", "flex_weights"}, {"prob_mod", ""}} {
		if err != nil {
			return nil, err
		}
		if v, ok := op.Attr(step.graph); ok && v.Graph != nil {
			out, err := r.Call(v.Graph, []foreign.Value{x}, op.Title())
			if err != nil {
				return nil, err
			}
			if len(out) != 1 || out[0].Tensor == nil {
				return nil, refuse("the graph %s gives %d values, expected one tensor", step.graph, len(out))
			}
			x = out[0]
		}
		if step.then != "" {
			x, err = r.Eval(step.then, x)
		}
	}
	if err == nil {
		x, err = r.Eval("flex_values", x, in[2])
	}
	return []foreign.Value{x}, err
}
