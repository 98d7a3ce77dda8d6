package views

import (
	"slices"

	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/zspace"
	"tensortapestry.org/tapc/passes/rewrite"
)

// gatherSlices reads what constant indices name by slices, whose signatures say what they read.
var gatherSlices = rewrite.Rule{
	Name: "gather-slices", Source: "Go", Roots: []string{"gather"},
	Text: "A gather by constant indices inside the tensor, which are one run of numbers with one distance, or a few of at least 4 neighbours or 16 others, becomes a slice for each " +
		"run, joined by a concat, and a reshape where there is not one dimension of indices.",
	Because: "the cells at start, start + step, start + 2·step and so on are a slice's",
	Match:   gathered,
}

const (
	mostIndices = 1 << 16
	mostRuns    = 8 // that are joined: each is a tensor to choose from
)

// run is indices with one distance.
type run struct{ start, step, length int64 }

func gathered(s *rewrite.Site) (rewrite.Result, bool) {
	out, ok := s.Result()
	from, by := s.Op.Inputs.Get("tensor"), s.Op.Inputs.Get("indices")
	if !ok || s.Decl() == nil || from == nil || by == nil || len(from.Sel) != 1 || len(by.Sel) != 1 {
		return rewrite.Result{}, false
	}
	x := from.Sel[0]
	axis, ok := axisOf(s.Op.Params, x.Range().Rank())
	if !ok || x.Range().Empty() || out.Range().Empty() {
		return rewrite.Result{}, false
	}
	shape := x.Range().Shape()
	runs, ok := runsOf(s, by.Sel[0], shape[axis])
	if !ok {
		return rewrite.Result{}, false
	}
	op := func(kernel, port string, params ir.Attrs, shape []int64, args ...rewrite.Operand) rewrite.Operand {
		return rewrite.Operand{New: &rewrite.Op{Kernel: s.Name(kernel), Params: params, Inputs: []rewrite.Input{{Port: port, Args: args}},
			Outputs: []rewrite.Output{{Port: "result", DType: s.Tensor(x.Tensor).DType, Range: zspace.MustShape(shape...)}}}}
	}
	var parts []rewrite.Operand
	total := int64(0)
	for _, r := range runs {
		starts, steps := make([]int64, len(shape)), slices.Repeat([]int64{1}, len(shape))
		starts[axis], steps[axis], shape[axis] = r.start, r.step, r.length
		params := ir.Attrs{}.With("lengths", ir.IntsAttr(shape...)).With("starts", ir.IntsAttr(starts...)).With("steps", ir.IntsAttr(steps...))
		parts, total = append(parts, op("slice", "tensor", params, shape, rewrite.Operand{Sel: x})), total+r.length
	}
	all := parts[0]
	if shape[axis] = total; len(parts) > 1 {
		all = op("concat", "tensors", ir.Attrs{}.With("axis", ir.IntAttr(int64(axis))), shape, parts...)
	}
	if want := out.Range().Shape(); !slices.Equal(shape, want) {
		all = op("reshape", "tensor", ir.Attrs{}.With("shape", ir.IntsAttr(want...)), want, all)
	}
	all.New.Outputs[0].Range = out.Range()
	return rewrite.One(all), true
}

// runsOf gives the runs of constant indices into so many cells, if these are few and no index is outside.
func runsOf(s *rewrite.Site, indices ir.Selection, extent int64) (runs []run, ok bool) {
	size, err := indices.Range().Size()
	if err != nil || size > mostIndices || !indices.Range().Equal(s.Tensor(indices.Tensor).Range) {
		return nil, false
	}
	v, ok := s.Value(indices)
	if !ok {
		return nil, false
	}
	for i := range size {
		at := scalar.Decode(v.DType, v.Data[i*int64(v.DType.Size()):]).I
		if at < 0 {
			at += extent
		}
		if at < 0 || at >= extent {
			return nil, false
		}
		if n := len(runs) - 1; n >= 0 && runs[n].takes(at) {
			runs[n].step, runs[n].length = (at-runs[n].start)/runs[n].length, runs[n].length+1
			continue
		}
		if runs = append(runs, run{at, 1, 1}); len(runs) > mostRuns {
			return nil, false
		}
	}
	return runs, len(runs) == 1 || len(runs) > 0 && !slices.ContainsFunc(runs, run.short)
}

// short says whether joining a run with others would take longer than to look its indices up.
func (r run) short() bool { return r.length < 4 || r.step != 1 && r.length < 16 }

// takes says whether an index goes on with a run: the second one says what the distance is.
func (r run) takes(at int64) bool { return r.length == 1 || at == r.start+r.length*r.step }
