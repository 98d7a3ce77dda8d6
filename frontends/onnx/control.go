package onnx

import (
	"fmt"
	"slices"

	"tensortapestry.org/tapc/frontends/foreign"
	"tensortapestry.org/tapc/frontends/mapping"
	"tensortapestry.org/tapc/frontends/mapping/expr"
)

// control are the operators that hold graphs. They are resolved when importing: a branch that is known is chosen, a loop is unrolled.
var control = map[string]mapping.Native{":If": branch, ":Loop": loop, ":Scan": scan, "ai.onnx.preview:FlexAttention": flex}

// maxUnrolled bounds the iterations of a loop that is unrolled.
const maxUnrolled = 1024

func refuse(format string, args ...any) error {
	r := &expr.Refusal{Reason: fmt.Sprintf(format, args...)}
	for _, a := range args {
		if why, ok := a.(error); ok {
			r.Input = expr.WantedBy(why)
		}
	}
	return r
}

func graphAttr(op *foreign.Op, name string) (*foreign.Graph, error) {
	v, _ := op.Attr(name)
	if v.Graph == nil {
		return nil, refuse("it has no graph %s", name)
	}
	return v.Graph, nil
}

// inputs gives the values of an operation's inputs.
func inputs(r *mapping.Region, op *foreign.Op) ([]foreign.Value, error) {
	out := make([]foreign.Value, len(op.In))
	for i, name := range op.In {
		var err error
		if out[i], err = r.Value(name); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// loop unrolls a loop whose number of iterations, and whose condition in each, are known when compiling.
func loop(r *mapping.Region, op *foreign.Op) ([]foreign.Value, error) {
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
	if in[0].Kind != foreign.None {
		v, err := r.Known(in[0])
		if err != nil {
			return nil, err
		}
		trips = v.Int
	}
	if in[1].Kind != foreign.None {
		v, err := r.Known(in[1])
		if err != nil {
			return nil, err
		}
		cond = v.Int != 0
	}
	carried := in[2:]
	scans := make([][]foreign.Value, len(body.Outputs)-1-len(carried))
	for i := int64(0); cond && (trips < 0 || i < trips); i++ {
		if i == maxUnrolled {
			return nil, refuse("the loop has more than %d iterations, too many to be unrolled", maxUnrolled)
		}
		at, err := r.Constant(foreign.IntValue(i), "int64")
		if err != nil {
			return nil, err
		}
		now, err := r.Constant(foreign.BoolValue(true), "boolean")
		if err != nil {
			return nil, err
		}
		out, err := r.Call(body, append([]foreign.Value{at, now}, carried...), op.Title())
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
func collect(r *mapping.Region, op *foreign.Op, carried []foreign.Value, scans [][]foreign.Value, axes, reverse []int64) ([]foreign.Value, error) {
	out := append([]foreign.Value{}, carried...)
	for k, list := range scans {
		if at := len(out); at >= len(op.Out) || op.Out[at] == "" {
			out = append(out, foreign.Value{})
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
		v, err := r.Eval("stacked", foreign.ListValue(list...), foreign.IntValue(axis))
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, nil
}

// scanned is a scan: its body, how many states it carries, and the axes and directions of what it goes through.
type scanned struct {
	op             *foreign.Op
	body           *foreign.Graph
	states         int
	axes, reverse  []int64 // of the inputs
	outAxes, outTo []int64
}

// scan unrolls a scan along axes of known extent. Before version 9 everything has a batch as its first dimension, and each entry of it
// is scanned on its own.
func scan(r *mapping.Region, op *foreign.Op) ([]foreign.Value, error) {
	in, err := inputs(r, op)
	if err != nil {
		return nil, err
	}
	s := scanned{op: op}
	if s.body, err = graphAttr(op, "body"); err != nil {
		return nil, err
	}
	count, _ := op.Attr("num_scan_inputs")
	n := int(count.Int)
	batched := r.Version("") < 9
	var lengths foreign.Value
	if batched && len(in) > 0 {
		lengths, in = in[0], in[1:]
	}
	s.states = len(in) - n
	if n < 1 || s.states < 0 || len(s.body.Inputs) != len(in) || len(s.body.Outputs) < s.states {
		return nil, refuse("the body takes %d values and gives %d, with %d inputs", len(s.body.Inputs), len(s.body.Outputs), len(in))
	}
	outs := len(s.body.Outputs) - s.states
	if batched {
		s.axes, s.reverse, s.outAxes, s.outTo = make([]int64, n), intsOf(op, "directions", n), make([]int64, outs), nil
		return s.batch(r, lengths, in)
	}
	s.axes, s.reverse = intsOf(op, "scan_input_axes", n), intsOf(op, "scan_input_directions", n)
	s.outAxes, s.outTo = intsOf(op, "scan_output_axes", outs), intsOf(op, "scan_output_directions", outs)
	return s.run(r, in)
}

// batch scans every entry of a batch, and stacks the results. All sequences must be whole.
func (s scanned) batch(r *mapping.Region, lengths foreign.Value, in []foreign.Value) ([]foreign.Value, error) {
	var n, steps int64
	for i, v := range in {
		if v.Tensor == nil || len(v.Tensor.Shape) < 1 || i >= s.states && len(v.Tensor.Shape) < 2 {
			return nil, refuse("input %d has no batch", i)
		}
		if n = v.Tensor.Shape[0]; i >= s.states {
			steps = v.Tensor.Shape[1]
		}
	}
	if lengths.Kind != foreign.None {
		known, err := r.KnownList(lengths)
		if err != nil {
			return nil, err
		}
		for _, x := range known {
			if x != steps {
				return nil, refuse("sequences of %d and of %d steps: what stands behind the end of the shorter is not defined", steps, x)
			}
		}
	}
	if n < 1 || n*steps > maxUnrolled {
		return nil, refuse("the scan has %d steps in each of %d entries, too many to be unrolled or none", steps, n)
	}
	lists := make([][]foreign.Value, len(s.op.Out))
	for b := range n {
		part := make([]foreign.Value, len(in))
		for i, v := range in {
			var err error
			if part[i], err = r.Eval("take_one", v, foreign.IntValue(b), foreign.IntValue(0)); err != nil {
				return nil, err
			}
		}
		got, err := s.run(r, part)
		if err != nil {
			return nil, err
		}
		for k := range min(len(lists), len(got)) {
			lists[k] = append(lists[k], got[k])
		}
	}
	return collect(r, s.op, nil, lists, make([]int64, len(lists)), nil)
}

// run unrolls one scan.
func (s scanned) run(r *mapping.Region, in []foreign.Value) ([]foreign.Value, error) {
	carried, length := in[:s.states], int64(-1)
	axes := slices.Clone(s.axes)
	for i, v := range in[s.states:] {
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
	scans := make([][]foreign.Value, len(s.body.Outputs)-s.states)
	for i := range length {
		args := append([]foreign.Value{}, carried...)
		for k, v := range in[s.states:] {
			at := i
			if s.reverse[k] != 0 {
				at = length - 1 - i
			}
			x, err := r.Eval("take_one", v, foreign.IntValue(at), foreign.IntValue(axes[k]))
			if err != nil {
				return nil, err
			}
			args = append(args, x)
		}
		out, err := r.Call(s.body, args, s.op.Title())
		if err != nil {
			return nil, err
		}
		carried = out[:s.states]
		for k := range scans {
			scans[k] = append(scans[k], out[s.states+k])
		}
	}
	return collect(r, s.op, carried, scans, s.outAxes, s.outTo)
}

// intsOf gives a list attribute of n integers, zeros without it.
func intsOf(op *foreign.Op, name string, n int) []int64 {
	out := make([]int64, n)
	v, _ := op.Attr(name)
	for i, x := range v.List {
		if i < n {
			out[i] = x.Int
		}
	}
	return out
}
