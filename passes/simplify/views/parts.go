package views

import (
	"slices"

	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/zspace"
	"tensortapestry.org/tapc/passes/rewrite"
)

// concatPart reads a part of a concatenation, or of a stack, from the part.
var concatPart = rewrite.Rule{
	Name: "concat-part", Source: "Go", Roots: []string{"slice", "select"},
	Text:    "A slice or select of a concat or stack that only reads one of its tensors becomes one of that tensor.",
	Because: "the cells of a part of a concatenation are those of the tensor that it is made of there",
	Match:   readPart,
}

func readPart(s *rewrite.Site) (rewrite.Result, bool) {
	v, ok := viewOf(s, s.Node.ID)
	if !ok {
		return rewrite.Result{}, false
	}
	tensor := v.source.Tensor
	d, ok := s.Def(ir.Select(tensor, s.Tensor(tensor).Range))
	if !ok || d.Kernel != "concat" && d.Kernel != "stack" || d.Inputs.Len() != 1 {
		return rewrite.Result{}, false
	}
	axis, ok := axisOf(d.Op.Params, len(v.rows))
	if !ok {
		return rewrite.Result{}, false
	}
	for i := range v.rows {
		v.rows[i].start += v.source.Range().Start[i] - s.Tensor(tensor).Range.Start[i]
	}
	if d.Kernel == "stack" {
		v, ok = v.stacked(d.Inputs.At(0).Sel, axis)
	} else {
		v, ok = v.concatenated(d.Inputs.At(0).Sel, axis)
	}
	list, good := v.selectors()
	if !ok || !good || len(list) > 1 && !s.Once(tensor) {
		return rewrite.Result{}, false
	}
	return rewrite.One(built(s, v.source, list), d.Node.ID), true
}

// concatBox reads a box of a concatenation from the part.
var concatBox = rewrite.Rule{
	Name: "concat-box", Source: "Go",
	Text:    "An operation that reads a box of a concat, which is in one of its tensors, reads that tensor.",
	Because: "the cells of a part of a concatenation are those of the tensor that it is made of there",
	Match:   readBox,
}

func readBox(s *rewrite.Site) (rewrite.Result, bool) {
	if _, ok := s.Result(); !ok || s.Decl() == nil {
		return rewrite.Result{}, false
	}
	in, from := s.Op.Inputs, []ir.NodeID(nil)
	for p, port := range s.Op.Inputs.Each() {
		for e, x := range port.Sel {
			if x.Range().Empty() || x.Range().Equal(s.Tensor(x.Tensor).Range) {
				continue
			}
			d, ok := s.Def(ir.Select(x.Tensor, s.Tensor(x.Tensor).Range))
			if !ok || d.Kernel != "concat" || d.Inputs.Len() != 1 {
				continue
			}
			part, ok := partWith(d, s.Tensor(x.Tensor).Range.Start, x.Range())
			if !ok {
				continue
			}
			if from == nil {
				in = in.Clone()
			}
			in.At(p).Sel[e], from = part, append(from, d.Node.ID)
		}
	}
	if from == nil {
		return rewrite.Result{}, false
	}
	out, _ := s.Result()
	return rewrite.One(again(s, rewrite.Def{Op: s.Op, Inputs: in}, out.Range()), from...), true
}

// partWith gives the box of a tensor of a concat, whose result begins at a point, that a box of the result is.
func partWith(d rewrite.Def, origin zspace.Point, box zspace.Range) (part ir.Selection, ok bool) {
	axis, ok := axisOf(d.Op.Params, box.Rank())
	if !ok {
		return part, false
	}
	at := slices.Clone(origin)
	for _, p := range d.Inputs.At(0).Sel {
		end := at[axis] + p.Range().Shape()[axis]
		if box.Start[axis] >= at[axis] && box.End[axis] <= end {
			r := box.Clone()
			for k := range r.Start {
				by := p.Range().Start[k] - at[k]
				r.Start[k], r.End[k] = r.Start[k]+by, r.End[k]+by
			}
			return ir.Select(p.Tensor, r), true
		}
		at[axis] = end
	}
	return part, false
}

// axisOf gives the dimension that the parameter axis names.
func axisOf(p ir.Attrs, rank int) (int, bool) {
	axis := int64(0)
	if a, ok := p.Get("axis"); ok {
		axis = a.Int
	}
	if axis < 0 {
		axis += int64(rank)
	}
	return int(axis), axis >= 0 && axis < int64(rank)
}

// concatenated gives a view of a concatenation as one of the only tensor that it reads.
func (v view) concatenated(parts []ir.Selection, axis int) (view, bool) {
	r := v.rows[axis]
	first, last := r.start, r.start
	if r.dim >= 0 {
		last += r.step * (v.shape[r.dim] - 1)
	}
	at := int64(0)
	for _, p := range parts {
		n := p.Range().Shape()[axis]
		if min(first, last) >= at && max(first, last) < at+n {
			v.source, v.rows = p, slices.Clone(v.rows)
			v.rows[axis].start -= at
			return v, true
		}
		at += n
	}
	return v, false
}

// stacked does the same with a stack.
func (v view) stacked(parts []ir.Selection, axis int) (view, bool) {
	r := v.rows[axis]
	if r.dim >= 0 && v.shape[r.dim] > 1 || r.start < 0 || r.start >= int64(len(parts)) {
		return v, false
	}
	v.source, v.rows = parts[r.start], slices.Delete(slices.Clone(v.rows), axis, axis+1)
	return v, true
}

// concatSlices joins slices that were cut where they are joined.
var concatSlices = rewrite.Rule{
	Name: "concat-slices", Source: "Go", Roots: []string{"concat"},
	Text:    "A concat of slices of one tensor, each of which begins where the one before ends, becomes one slice, or the tensor.",
	Because: "the parts are next to each other in the tensor as they are in the result",
	Match:   joinSlices,
}

func joinSlices(s *rewrite.Site) (rewrite.Result, bool) {
	out, ok := s.Result()
	if !ok || s.Decl() == nil || s.Op.Inputs.Len() != 1 || len(s.Op.Inputs.At(0).Sel) < 2 {
		return rewrite.Result{}, false
	}
	var all view
	var from []ir.NodeID
	axis, ok := axisOf(s.Op.Params, out.Range().Rank())
	for i, sel := range s.Op.Inputs.At(0).Sel {
		v := wholeView(sel)
		if d, found := s.Def(ir.Select(sel.Tensor, s.Tensor(sel.Tensor).Range)); found && d.Kernel == "slice" {
			inner, good := viewOf(s, d.Node.ID)
			if !good {
				return rewrite.Result{}, false
			}
			v, _ = v.after(inner, s.Tensor(sel.Tensor).Range)
			from = append(from, d.Node.ID)
		}
		if v = v.ofTensor(s); i == 0 {
			all = v
		} else if ok = ok && all.extend(v, axis); !ok {
			return rewrite.Result{}, false
		}
	}
	list, good := all.selectors()
	if !ok || !good || len(list) > 1 {
		return rewrite.Result{}, false
	}
	return rewrite.One(built(s, all.source, list), from...), true
}

// wholeView is the view of all of a selection.
func wholeView(sel ir.Selection) view {
	v := view{source: sel, shape: sel.Range().Shape()}
	for d := range v.shape {
		v.rows = append(v.rows, along{dim: d, step: 1})
	}
	return v
}

// ofTensor gives a view of a box as one of the whole tensor.
func (v view) ofTensor(s *rewrite.Site) view {
	whole := s.Tensor(v.source.Tensor).Range
	for d := range v.rows {
		v.rows[d].start += v.source.Range().Start[d] - whole.Start[d]
	}
	v.source = ir.Select(v.source.Tensor, whole)
	v.shape = slices.Clone(v.shape)
	return v
}

// extend makes a view one that goes on with another of the same tensor along a dimension, where that begins, and says whether it could.
func (v *view) extend(next view, axis int) bool {
	if v.source.Tensor != next.source.Tensor || len(v.rows) != len(next.rows) || len(v.rows) != len(v.shape) {
		return false
	}
	for d, r := range v.rows {
		n := next.rows[d]
		r.dim, r.step = evenly(r, v.shape[d], d)
		if n.dim, n.step = evenly(n, next.shape[d], d); r.dim != d || n.dim != d || r.step != 1 || n.step != 1 {
			return false
		}
		v.rows[d] = r
		if d == axis {
			r.start += r.step * v.shape[d]
		}
		if r.start != n.start || d != axis && v.shape[d] != next.shape[d] {
			return false
		}
	}
	v.shape[axis] += next.shape[axis]
	return true
}

// evenly gives the dimension and step of a coordinate: where there is one, it is as good as a coordinate of the dimension itself.
func evenly(r along, extent int64, d int) (dim int, step int64) {
	if extent == 1 {
		return d, 1
	}
	return r.dim, r.step
}

// sliceOfResult computes the part of a result that is read.
var sliceOfResult = rewrite.Rule{
	Name: "slice-of-result", Source: "Go", Roots: []string{"slice", "split"},
	Text:    "A slice without steps, or a split, of what an operation without reductions gives becomes that operation on slices of its inputs, if nothing else reads its result.",
	Because: "each cell of the result depends on its own cells of the inputs, which the kernel's declaration names",
	Match:   computePart,
}

func computePart(s *rewrite.Site) (rewrite.Result, bool) {
	if s.Decl() == nil || s.Op.Inputs.Len() != 1 || len(s.Op.Inputs.At(0).Sel) != 1 {
		return rewrite.Result{}, false
	}
	sel := s.Op.Inputs.At(0).Sel[0]
	d, ok := s.Def(ir.Select(sel.Tensor, s.Tensor(sel.Tensor).Range))
	if !ok || !s.Once(sel.Tensor) || d.Op.Inputs.Len() == 0 || slices.Contains(viewKernels, d.Kernel) {
		return rewrite.Result{}, false
	}
	if whole, err := s.Library().BindOperation(s.Graph, d.Node.ID); err != nil || folds(whole) {
		return rewrite.Result{}, false
	}
	boxes, ok := cutsOf(s, sel)
	result := rewrite.Result{From: []ir.NodeID{d.Node.ID}}
	for i := 0; ok && i < len(boxes); i++ {
		part, found := s.Def(ir.Select(sel.Tensor, boxes[i]))
		if !found || boxes[i].Empty() {
			return rewrite.Result{}, false
		}
		result.Outputs = append(result.Outputs, again(s, part, s.Op.Outputs.At(0).Sel[i].Range()))
	}
	return result, ok
}

// splitSlices reads each part of a split by itself.
var splitSlices = rewrite.Rule{
	Name: "split-slices", Source: "Go", Roots: []string{"split"},
	Text:    "A split, some part of which another operation reads, becomes a slice for each part.",
	Because: "the cells of a part are those of the tensor between two coordinates of the axis",
	Match:   slicesOfSplit,
}

func slicesOfSplit(s *rewrite.Site) (rewrite.Result, bool) {
	if s.Decl() == nil || s.Op.Inputs.Len() != 1 || len(s.Op.Inputs.At(0).Sel) != 1 || s.Op.Outputs.Len() != 1 {
		return rewrite.Result{}, false
	}
	sel, read := s.Op.Inputs.At(0).Sel[0], false
	boxes, ok := cutsOf(s, sel)
	result := rewrite.Result{}
	for i := 0; ok && i < len(boxes); i++ {
		out := s.Op.Outputs.At(0).Sel[i]
		read = read || s.Once(out.Tensor) || s.Uses(out.Tensor) > 1 // by more than the outside
		starts := slices.Clone(boxes[i].Start)
		for d := range starts {
			starts[d] -= sel.Range().Start[d]
		}
		params := ir.Attrs{}.With("lengths", ir.IntsAttr(boxes[i].Shape()...)).With("starts", ir.IntsAttr(starts...))
		result.Outputs = append(result.Outputs, rewrite.Operand{New: &rewrite.Op{Kernel: s.Name("slice"), Params: params,
			Inputs:  []rewrite.Input{{Port: "tensor", Args: []rewrite.Operand{{Sel: sel}}}},
			Outputs: []rewrite.Output{{Port: "result", DType: s.Tensor(sel.Tensor).DType, Range: out.Range()}}}})
	}
	return result, ok && read
}

// cutsOf gives the boxes of a selection that the outputs of a slice or split are, if they are boxes.
func cutsOf(s *rewrite.Site, of ir.Selection) ([]zspace.Range, bool) {
	if s.Op.Outputs.Len() != 1 {
		return nil, false
	}
	if s.Kernel() == "split" {
		axis, ok := axisOf(s.Op.Params, of.Range().Rank())
		at := of.Range().Clone()
		var boxes []zspace.Range
		for _, sel := range s.Op.Outputs.At(0).Sel {
			at.End[axis] = at.Start[axis] + sel.Range().Shape()[axis]
			boxes = append(boxes, at.Clone())
			at.Start[axis] = at.End[axis]
		}
		return boxes, ok
	}
	v, ok := viewOf(s, s.Node.ID)
	box := of.Range().Clone()
	for d, r := range v.rows {
		if r.dim >= 0 && r.step != 1 {
			return nil, false
		}
		box.Start[d] += r.start
		box.End[d] = box.Start[d] + 1
		if r.dim >= 0 {
			box.End[d] = box.Start[d] + v.shape[r.dim]
		}
	}
	// A step of 0 reads one cell several times.
	return []zspace.Range{box}, ok && box.Shape().Equal(s.Op.Outputs.At(0).Sel[0].Range().Shape())
}

// again makes an operation that computes a part of what another does.
func again(s *rewrite.Site, part rewrite.Def, box zspace.Range) rewrite.Operand {
	op := &rewrite.Op{Kernel: part.Op.Kernel, Params: part.Op.Params}
	for i := range part.Inputs.Len() {
		p := part.Inputs.At(i)
		in := rewrite.Input{Port: p.Name}
		for _, sel := range p.Sel {
			in.Args = append(in.Args, rewrite.Operand{Sel: sel})
		}
		op.Inputs = append(op.Inputs, in)
	}
	out := part.Op.Outputs.At(0)
	op.Outputs = []rewrite.Output{{Port: out.Name, DType: s.Tensor(out.Sel[0].Tensor).DType, Range: box}}
	return rewrite.Operand{New: op}
}
