package onnx

import (
	"slices"

	"tensortapestry.org/tapc/frontends/foreign"
	"tensortapestry.org/tapc/frontends/mapping"
)

// sequences are the operators on sequences and optional values. A sequence is a list that is known when compiling, of tensors that may be
// computed; it never becomes a part of the program.
var sequences = map[string]mapping.Native{":SequenceConstruct": construct, ":SequenceEmpty": empty, ":SequenceAt": at, ":SequenceInsert": insert,
	":SequenceErase": erase, ":SequenceLength": length, ":SequenceMap": each, ":SplitToSequence": split, ":ConcatFromSequence": concat,
	":Optional": optional, ":OptionalGetElement": element, ":OptionalHasElement": hasElement}

// listed gives the inputs of an operation, of which the first must be a sequence.
func listed(r *mapping.Region, op *foreign.Op, least int) ([]foreign.Value, error) {
	in, err := inputs(r, op)
	if err != nil {
		return nil, err
	}
	if len(in) < least || in[0].Kind != foreign.List {
		return nil, refuse("it needs a sequence and %d more inputs", least-1)
	}
	return in, nil
}

func construct(r *mapping.Region, op *foreign.Op) ([]foreign.Value, error) {
	in, err := inputs(r, op)
	return []foreign.Value{foreign.ListValue(in...)}, err
}

func empty(*mapping.Region, *foreign.Op) ([]foreign.Value, error) {
	return []foreign.Value{{Kind: foreign.List, List: []foreign.Value{}}}, nil
}

// position gives a place in a sequence of n entries; without an input it is that behind the last one, or the last one.
func position(r *mapping.Region, in []foreign.Value, i, n, missing int) (int, error) {
	if i >= len(in) || in[i].Kind == foreign.None {
		return missing, nil
	}
	v, err := r.Known(in[i])
	if err != nil {
		return 0, err
	}
	at := v.Int
	if at < 0 {
		at += int64(n)
	}
	if at < 0 || at > int64(missing) {
		return 0, refuse("position %d of a sequence of %d", v.Int, n)
	}
	return int(at), nil
}

// entry gives the inputs of an operation on a sequence, and the place in it that one of them names: without that input the last
// entry's, or with behind the one behind it.
func entry(r *mapping.Region, op *foreign.Op, least, at, behind int) ([]foreign.Value, int, error) {
	in, err := listed(r, op, least)
	if err != nil {
		return nil, 0, err
	}
	n := len(in[0].List)
	i, err := position(r, in, at, n, n-1+behind)
	if err == nil && i < 0 {
		err = refuse("an entry of a sequence of 0")
	}
	return in, i, err
}

func at(r *mapping.Region, op *foreign.Op) ([]foreign.Value, error) {
	in, i, err := entry(r, op, 2, 1, 0)
	if err != nil {
		return nil, err
	}
	return []foreign.Value{in[0].List[i]}, nil
}

func insert(r *mapping.Region, op *foreign.Op) ([]foreign.Value, error) {
	in, i, err := entry(r, op, 2, 2, 1)
	if err != nil {
		return nil, err
	}
	return []foreign.Value{foreign.ListValue(slices.Insert(slices.Clone(in[0].List), i, in[1])...)}, nil
}

func erase(r *mapping.Region, op *foreign.Op) ([]foreign.Value, error) {
	in, i, err := entry(r, op, 1, 1, 0)
	if err != nil {
		return nil, err
	}
	return []foreign.Value{foreign.ListValue(slices.Delete(slices.Clone(in[0].List), i, i+1)...)}, nil
}

func length(r *mapping.Region, op *foreign.Op) ([]foreign.Value, error) {
	in, err := listed(r, op, 1)
	if err != nil {
		return nil, err
	}
	n, err := r.Constant(foreign.IntValue(int64(len(in[0].List))), "int64")
	return []foreign.Value{n}, err
}

// each maps the body once for every entry.
func each(r *mapping.Region, op *foreign.Op) ([]foreign.Value, error) {
	in, err := listed(r, op, 1)
	if err != nil {
		return nil, err
	}
	body, err := graphAttr(op, "body")
	if err != nil {
		return nil, err
	}
	if len(body.Inputs) != len(in) || len(in[0].List) > maxUnrolled {
		return nil, refuse("the body takes %d values, with %d inputs and %d entries", len(body.Inputs), len(in), len(in[0].List))
	}
	out := make([]foreign.Value, len(body.Outputs))
	for k := range out {
		out[k] = foreign.Value{Kind: foreign.List, List: []foreign.Value{}}
	}
	for i := range in[0].List {
		args := make([]foreign.Value, len(in))
		for k, v := range in {
			if args[k] = v; v.Kind == foreign.List {
				if i >= len(v.List) {
					return nil, refuse("sequences of %d and %d entries", len(in[0].List), len(v.List))
				}
				args[k] = v.List[i]
			}
		}
		got, err := r.Call(body, args, op.Title())
		if err != nil {
			return nil, err
		}
		for k := range out {
			out[k].List = append(out[k].List, got[k])
		}
	}
	return out, nil
}

// split cuts a tensor into a sequence: parts of one size (the last may be smaller), of sizes that are listed, or of one cell.
func split(r *mapping.Region, op *foreign.Op) ([]foreign.Value, error) {
	in, err := inputs(r, op)
	if err != nil {
		return nil, err
	}
	if len(in) == 0 || in[0].Tensor == nil {
		return nil, refuse("it needs a tensor")
	}
	shape := in[0].Tensor.Shape
	axisAttr, _ := op.Attr("axis")
	axis := axisAttr.Int
	if axis < 0 {
		axis += int64(len(shape))
	}
	if axis < 0 || axis >= int64(len(shape)) {
		return nil, refuse("axis %d of a rank of %d", axisAttr.Int, len(shape))
	}
	keep := true
	var sizes []int64
	if len(in) > 1 && in[1].Tensor != nil {
		if sizes, err = partSizes(r, in[1], shape[axis]); err != nil {
			return nil, err
		}
	} else {
		if v, ok := op.Attr("keepdims"); ok {
			keep = v.Int != 0
		}
		for range min(shape[axis], maxUnrolled+1) {
			sizes = append(sizes, 1)
		}
	}
	if len(sizes) > maxUnrolled {
		return nil, refuse("a sequence of more than %d entries", maxUnrolled)
	}
	list := foreign.Value{Kind: foreign.List, List: []foreign.Value{}}
	start := int64(0)
	for _, n := range sizes {
		x, err := r.Eval("part_along", in[0], foreign.IntValue(axis), foreign.IntValue(start), foreign.IntValue(n))
		if err == nil && !keep {
			x, err = r.Eval("squeeze_axes", x, foreign.IntsValue([]int64{axis}))
		}
		if err != nil {
			return nil, err
		}
		list.List = append(list.List, x)
		start += n
	}
	return []foreign.Value{list}, nil
}

// partSizes gives the sizes that an input says: all of them, or one for every part but the last.
func partSizes(r *mapping.Region, v foreign.Value, extent int64) ([]int64, error) {
	known, err := r.KnownList(v)
	if err != nil {
		return nil, err
	}
	var sizes []int64
	if len(v.Tensor.Shape) == 0 {
		n := known[0]
		if n < 1 || extent/n > maxUnrolled {
			return nil, refuse("parts of %d cells of %d", n, extent)
		}
		for rest := extent; rest > 0; rest -= n {
			sizes = append(sizes, min(n, rest))
		}
		return sizes, nil
	}
	total := int64(0)
	for _, n := range known {
		if n < 0 || n > extent-total {
			return nil, refuse("parts of %v cells of %d", known, extent)
		}
		total += n
	}
	if total != extent {
		return nil, refuse("parts of %v cells of %d", known, extent)
	}
	return known, nil
}

func concat(r *mapping.Region, op *foreign.Op) ([]foreign.Value, error) {
	in, err := listed(r, op, 1)
	if err != nil {
		return nil, err
	}
	if len(in[0].List) == 0 || in[0].List[0].Tensor == nil {
		return nil, refuse("the entries of a sequence of %d", len(in[0].List))
	}
	axis, _ := op.Attr("axis")
	fresh, _ := op.Attr("new_axis")
	name, rank := "joined", int64(len(in[0].List[0].Tensor.Shape))
	if fresh.Int != 0 {
		name, rank = "stacked", rank+1
	}
	if axis.Int < 0 {
		axis.Int += rank
	}
	v, err := r.Eval(name, in[0], foreign.IntValue(axis.Int))
	return []foreign.Value{v}, err
}

// optional gives its input, or nothing.
func optional(r *mapping.Region, op *foreign.Op) ([]foreign.Value, error) {
	in, err := inputs(r, op)
	if err != nil || len(in) == 0 {
		return []foreign.Value{{}}, err
	}
	return in[:1], nil
}

func element(r *mapping.Region, op *foreign.Op) ([]foreign.Value, error) {
	out, err := optional(r, op)
	if err == nil && out[0].Kind == foreign.None {
		err = refuse("the optional value is not there")
	}
	return out, err
}

func hasElement(r *mapping.Region, op *foreign.Op) ([]foreign.Value, error) {
	out, err := optional(r, op)
	if err != nil {
		return nil, err
	}
	v, err := r.Constant(foreign.BoolValue(out[0].Kind != foreign.None), "boolean")
	return []foreign.Value{v}, err
}
