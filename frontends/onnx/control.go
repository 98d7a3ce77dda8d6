package onnx

import (
	"fmt"

	"tensortapestry.org/tapc/frontends/mapping"
)

// control are the operators that hold graphs. They are resolved when importing: the branch is chosen, the loop is unrolled.
var control = map[string]mapping.Native{":If": branch, ":Loop": loop, ":Scan": scan, "ai.onnx.preview:FlexAttention": flex}

// maxUnrolled bounds the iterations of a loop that is unrolled.
const maxUnrolled = 1024

func refuse(format string, args ...any) error {
	return &mapping.Refusal{Reason: fmt.Sprintf(format, args...)}
}

func graphAttr(op *mapping.Op, name string) (*mapping.Graph, error) {
	v, _ := op.Attr(name)
	if v.Graph == nil {
		return nil, refuse("it has no graph %s", name)
	}
	return v.Graph, nil
}

// inputs gives the values of an operation's inputs.
func inputs(r *mapping.Region, op *mapping.Op) ([]mapping.Value, error) {
	out := make([]mapping.Value, len(op.In))
	for i, name := range op.In {
		var err error
		if out[i], err = r.Value(name); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// branch maps the branch that a condition chooses, which must be known when compiling.
func branch(r *mapping.Region, op *mapping.Op) ([]mapping.Value, error) {
	in, err := inputs(r, op)
	if err != nil {
		return nil, err
	}
	if len(in) != 1 {
		return nil, refuse("expected 1 input, found %d", len(in))
	}
	c, err := r.Known(in[0])
	if err != nil {
		return nil, err
	}
	name := "else_branch"
	if c.Int != 0 {
		name = "then_branch"
	}
	g, err := graphAttr(op, name)
	if err != nil {
		return nil, err
	}
	return r.Call(g, nil, op.Title())
}

// loop unrolls a loop whose number of iterations, and whose condition in each, are known when compiling.
func loop(r *mapping.Region, op *mapping.Op) ([]mapping.Value, error) {
	in, err := inputs(r, op)
	if err != nil {
		return nil, err
	}
	body, err := graphAttr(op, "body")
	if err != nil {
		return nil, err
	}
	if len(in) < 2 || len(body.Inputs) != len(in) || len(body.Outputs) < len(in)-1 {
		return nil, refuse("the body takes %d values and gives %d, with %d inputs of the loop", len(body.Inputs), len(body.Outputs), len(in))
	}
	trips, cond := int64(-1), true
	if in[0].Kind != mapping.None {
		v, err := r.Known(in[0])
		if err != nil {
			return nil, err
		}
		trips = v.Int
	}
	if in[1].Kind != mapping.None {
		v, err := r.Known(in[1])
		if err != nil {
			return nil, err
		}
		cond = v.Int != 0
	}
	carried := in[2:]
	scans := make([][]mapping.Value, len(body.Outputs)-1-len(carried))
	for i := int64(0); cond && (trips < 0 || i < trips); i++ {
		if i == maxUnrolled {
			return nil, refuse("the loop has more than %d iterations, too many to be unrolled", maxUnrolled)
		}
		at, err := r.Constant(mapping.IntValue(i), "int64")
		if err != nil {
			return nil, err
		}
		now, err := r.Constant(mapping.BoolValue(true), "boolean")
		if err != nil {
			return nil, err
		}
		out, err := r.Call(body, append([]mapping.Value{at, now}, carried...), op.Title())
		if err != nil {
			return nil, err
		}
		c, err := r.Known(out[0])
		if err != nil {
			return nil, err
		}
		cond = c.Int != 0
		carried = out[1 : 1+len(carried)]
		for k := range scans {
			scans[k] = append(scans[k], out[1+len(carried)+k])
		}
	}
	return collect(r, op, carried, scans, nil, nil)
}

// collect gives the final values and the scan outputs, stacked.
func collect(r *mapping.Region, op *mapping.Op, carried []mapping.Value, scans [][]mapping.Value, axes, reverse []int64) ([]mapping.Value, error) {
	out := append([]mapping.Value{}, carried...)
	for k, list := range scans {
		if at := len(out); at >= len(op.Out) || op.Out[at] == "" {
			out = append(out, mapping.Value{})
			continue
		}
		if len(list) == 0 {
			return nil, refuse("a loop without iterations gives an empty scan output, whose shape is not known")
		}
		if k < len(reverse) && reverse[k] != 0 {
			for i, j := 0, len(list)-1; i < j; i, j = i+1, j-1 {
				list[i], list[j] = list[j], list[i]
			}
		}
		axis := int64(0)
		if k < len(axes) {
			axis = axes[k]
		}
		v, err := r.Eval("stacked", mapping.ListValue(list...), mapping.IntValue(axis))
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, nil
}

// scan unrolls a scan along axes of known extent.
func scan(r *mapping.Region, op *mapping.Op) ([]mapping.Value, error) {
	in, err := inputs(r, op)
	if err != nil {
		return nil, err
	}
	body, err := graphAttr(op, "body")
	if err != nil {
		return nil, err
	}
	count, _ := op.Attr("num_scan_inputs")
	n := int(count.Int)
	states := len(in) - n
	if r.Version("") < 9 {
		return nil, refuse("Scan before version 9 has a batch, which tapc does not unroll")
	}
	if n < 1 || states < 0 || len(body.Inputs) != len(in) || len(body.Outputs) < states {
		return nil, refuse("the body takes %d values and gives %d, with %d inputs", len(body.Inputs), len(body.Outputs), len(in))
	}
	axes, reverse := intsOf(op, "scan_input_axes", n), intsOf(op, "scan_input_directions", n)
	carried, length := in[:states], int64(-1)
	for i, v := range in[states:] {
		if v.Tensor == nil {
			return nil, refuse("scan input %d is missing", i)
		}
		rank := int64(len(v.Tensor.Shape))
		if axes[i] < 0 {
			axes[i] += rank
		}
		if axes[i] < 0 || axes[i] >= rank {
			return nil, refuse("axis %d of a rank of %d", axes[i], rank)
		}
		if extent := v.Tensor.Shape[axes[i]]; length >= 0 && extent != length {
			return nil, refuse("scan inputs of %d and %d steps", length, extent)
		} else {
			length = extent
		}
	}
	if length > maxUnrolled {
		return nil, refuse("the scan has %d steps, too many to be unrolled", length)
	}
	scans := make([][]mapping.Value, len(body.Outputs)-states)
	for i := range length {
		args := append([]mapping.Value{}, carried...)
		for k, v := range in[states:] {
			at := i
			if reverse[k] != 0 {
				at = length - 1 - i
			}
			x, err := r.Eval("take_one", v, mapping.IntValue(at), mapping.IntValue(axes[k]))
			if err != nil {
				return nil, err
			}
			args = append(args, x)
		}
		out, err := r.Call(body, args, op.Title())
		if err != nil {
			return nil, err
		}
		carried = out[:states]
		for k := range scans {
			scans[k] = append(scans[k], out[states+k])
		}
	}
	return collect(r, op, carried, scans, intsOf(op, "scan_output_axes", len(scans)), intsOf(op, "scan_output_directions", len(scans)))
}

// intsOf gives a list attribute of n integers, zeros without it.
func intsOf(op *mapping.Op, name string, n int) []int64 {
	out := make([]int64, n)
	v, _ := op.Attr(name)
	for i, x := range v.List {
		if i < n {
			out[i] = x.Int
		}
	}
	return out
}
