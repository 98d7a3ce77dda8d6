// Package views has the rules about selectors: kernels that only move cells, as permute, slice and concat do. Any sequence of them becomes a short
// one, what is read of parts is read from the part, and parts of results are computed alone.
//
// A rule here moves cells and computes none. Read next: view, which says what a sequence of selectors gives.
package views

import (
	"slices"

	"tensortapestry.org/tapc/dialects/tensorops/kernels/instance"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/zspace"
	"tensortapestry.org/tapc/passes/rewrite"
)

// selectors makes sequences of selectors as short as they can be.
var selectors = rewrite.Rule{
	Name: "selectors", Source: "Go", Roots: viewKernels, Depth: mostViews,
	Text: "Several of permute, reverse, slice, select, squeeze, unsqueeze, broadcast, and reshape that only adds or drops sizes of 1, one behind the other, become the fewest that " +
		"give the same cells: a slice, a permute, a squeeze or unsqueeze, and a broadcast. More than one replaces only what nothing else reads.",
	Because: "each coordinate of the source is a constant, or a constant and a multiple of one coordinate of the result",
	Match:   shortenViews,
}

// Rules gives the rules of selectors, in the order in which they are tried.
func Rules() []rewrite.Rule {
	return []rewrite.Rule{selectors, concatPart, concatBox, concatSlices, concatConcat, sliceOfResult, splitSlices, gatherSlices, reshapeReshape, rollRoll, repeatRepeat, padPad}
}

// viewKernels are those of which selectors are made.
var viewKernels = []string{"permute", "reverse", "slice", "select", "squeeze", "unsqueeze", "broadcast", "reshape"}

// mostViews is how many are looked at in a row.
const mostViews = 12

// view is what a selector gives, or several: of a box of a tensor, the cell at the coordinates that the rows say, one for each dimension.
type view struct {
	source ir.Selection
	rows   []along
	shape  []int64 // of the result
}

// along is a coordinate, from the box's first: start, and step times a coordinate of the result; dim is -1 for none.
type along struct {
	dim         int
	start, step int64
}

func shortenViews(s *rewrite.Site) (rewrite.Result, bool) {
	v, ok := viewOf(s, s.Node.ID)
	if !ok {
		return rewrite.Result{}, false
	}
	var best []selector
	var from []ir.NodeID
	var shortest *view
	once := true
	for length := 2; length <= mostViews; length++ {
		tensor := v.source.Tensor
		d, found := s.Def(ir.Select(tensor, s.Tensor(tensor).Range))
		if !found || !slices.Contains(viewKernels, d.Kernel) {
			break
		}
		once = once && s.Once(tensor)
		inner, good := viewOf(s, d.Node.ID)
		if !good {
			break
		}
		if v, good = v.after(inner, s.Tensor(tensor).Range); !good {
			break
		}
		from = append(from, d.Node.ID)
		if list, good := v.selectors(); good && len(list) < length && (once || len(list) < 2) {
			best, shortest = list, &view{v.source, v.rows, v.shape}
		}
	}
	if shortest == nil {
		return rewrite.Result{}, false
	}
	return rewrite.One(built(s, shortest.source, best), from...), true
}

// viewOf gives an operation's result as a view of its input, if it is one.
func viewOf(s *rewrite.Site, op ir.NodeID) (view, bool) {
	in, err := s.Library().BindOperation(s.Graph, op)
	if err != nil || len(in.Operands) != 2 {
		return view{}, false
	}
	load, store := in.Operands[0], in.Operands[1]
	if load.Decl.Out {
		load, store = store, load
	}
	if v, ok := viewOfOnes(load.Sel, store.Sel); ok && slices.Contains([]string{"reshape", "squeeze", "unsqueeze"}, in.Decl.Name) {
		return v, true
	}
	if _, _, ok := Moved(in, load.Type, load.Type); !ok {
		return view{}, false
	}
	return viewAlong(in, load, store)
}

// viewOfOnes gives the view of a tensor in another shape, if the shapes differ in sizes of 1 only.
func viewOfOnes(from, to ir.Selection) (view, bool) {
	v := view{source: from, shape: to.Range().Shape()}
	next := func(at int) int {
		for at < len(v.shape) && v.shape[at] == 1 {
			at++
		}
		return at
	}
	at := next(0)
	for _, n := range from.Range().Shape() {
		r := along{dim: -1, step: 1}
		if n != 1 {
			if at == len(v.shape) || v.shape[at] != n {
				return v, false
			}
			r.dim, at = at, next(at+1)
		}
		v.rows = append(v.rows, r)
	}
	return v, at == len(v.shape)
}

// viewAlong gives the view of an instance that only moves elements.
func viewAlong(in *instance.Instance, load, store instance.Operand) (view, bool) {
	v := view{source: load.Sel, shape: store.Sel.Range().Shape()}
	dims, ok := AlongDims(in, store.Access)
	if !ok || slices.Contains(v.shape, 0) {
		return v, false
	}
	for j, row := range load.Access.Projection {
		r := along{dim: -1, start: load.Access.Offset[j] - load.Sel.Range().Start[j], step: 1}
		for k, d := range dims {
			if d < 0 || row[d] == 0 || in.Dims[d].Extent == 1 {
				continue
			}
			if r.dim >= 0 {
				return v, false
			}
			r.dim, r.step = k, row[d]
			r.start += row[d] * (store.Sel.Range().Start[k] - store.Access.Offset[k])
		}
		v.rows = append(v.rows, r)
	}
	return v, true
}

// after gives the view of what another is a view of, through both; whole is the range of the tensor between.
func (v view) after(inner view, whole zspace.Range) (view, bool) {
	out := view{source: inner.source, shape: v.shape}
	for _, r := range inner.rows {
		if r.dim >= 0 {
			outer := v.rows[r.dim]
			outer.start += v.source.Range().Start[r.dim] - whole.Start[r.dim]
			r = along{outer.dim, r.start + r.step*outer.start, r.step * outer.step}
		}
		out.rows = append(out.rows, r)
	}
	return out, true
}

// selector is an operation with one input: what it is made of, and the shape of its result.
type selector struct {
	kernel string
	params ir.Attrs
	shape  []int64
}

// selectors gives the fewest operations that make a view; none if it is the whole box. It is false for what is none of them, as a diagonal.
func (v view) selectors() ([]selector, bool) {
	used := slices.Repeat([]int{-1}, len(v.shape)) // dimension of the source for each of the result
	for d, r := range v.rows {
		if r.dim < 0 || v.shape[r.dim] == 1 {
			continue
		}
		if used[r.dim] >= 0 {
			return nil, false
		}
		used[r.dim] = d
	}
	list, shape := v.cut(used)
	return v.shaped(list, shape, used), !slices.Contains(v.shape, 0)
}

// cut gives the slice or reverse of a view, if it needs one, and the shape that it leaves.
func (v view) cut(used []int) (list []selector, shape []int64) {
	have := v.source.Range().Shape()
	starts, steps := make([]int64, len(have)), slices.Repeat([]int64{1}, len(have))
	shape = slices.Repeat([]int64{1}, len(have))
	var turned []int64
	cut, reversed := false, true
	for d, r := range v.rows {
		starts[d] = r.start
		if r.dim >= 0 && v.shape[r.dim] > 1 {
			shape[d], steps[d] = v.shape[r.dim], r.step
		}
		whole := shape[d] == have[d]
		cut = cut || !whole || r.start != 0
		if whole && shape[d] > 1 && steps[d] == -1 {
			turned = append(turned, int64(d))
		} else {
			reversed = reversed && whole && r.start == 0
		}
	}
	ints := func(n []int64) ir.AttrValue { return ir.IntsAttr(n...) }
	switch {
	case !cut:
		return nil, shape
	case reversed:
		return []selector{{"reverse", ir.Attrs{}.With("dims", ints(turned)), shape}}, shape
	}
	if axis := v.selected(have, shape, steps, used); axis >= 0 {
		return []selector{{"select", ir.Attrs{}.With("axis", ir.IntAttr(int64(axis))).With("index", ir.IntAttr(starts[axis])), v.shape}}, v.shape
	}
	return []selector{{"slice", ir.Attrs{}.With("lengths", ints(shape)).With("starts", ints(starts)).With("steps", ints(steps)), shape}}, shape
}

// selected gives the dimension of the source of which the result has one place, and nothing else of the view differs; -1 if that is not so.
func (v view) selected(have, shape, steps []int64, used []int) int {
	axis := -1
	for d := range have {
		switch {
		case shape[d] == have[d] && steps[d] == 1:
		case shape[d] == 1 && axis < 0:
			axis = d
		default:
			return -1
		}
	}
	if axis < 0 || !slices.Equal(slices.Delete(slices.Clone(have), axis, axis+1), v.shape) {
		return -1
	}
	for i, d := range used {
		if at := i + btoi(i >= axis); d >= 0 && d != at {
			return -1
		}
	}
	return axis
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// shaped adds what brings the dimensions that are left into the order and the shape of the result.
func (v view) shaped(list []selector, shape []int64, used []int) []selector {
	if len(list) == 1 && list[0].kernel == "select" {
		return list
	}
	order := slices.DeleteFunc(slices.Clone(used), func(d int) bool { return d < 0 })
	if !slices.IsSorted(order) {
		perm, at := make([]int64, len(shape)), slices.Sorted(slices.Values(order))
		for d := range perm {
			perm[d] = int64(d)
		}
		for i, d := range at {
			perm[d] = int64(order[i])
		}
		moved := make([]int64, len(shape))
		for d, p := range perm {
			moved[d] = shape[p]
		}
		shape = moved
		list = append(list, selector{"permute", ir.Attrs{}.With("perm", ir.IntsAttr(perm...)), shape})
	}
	want, stretched := slices.Clone(v.shape), false
	for i, d := range used {
		if d < 0 && want[i] > 1 {
			want[i], stretched = 1, true
		}
	}
	short := max(0, len(want)-len(shape))
	leading := stretched && !slices.ContainsFunc(want[:short], func(n int64) bool { return n != 1 }) && slices.Equal(want[short:], shape)
	if !leading && !slices.Equal(want, shape) {
		list = append(list, ones(shape, want))
	}
	if stretched {
		list = append(list, selector{"broadcast", ir.Attrs{}.With("shape", ir.IntsAttr(v.shape...)), v.shape})
	}
	return list
}

// ones gives the operation that adds or drops sizes of 1.
func ones(from, to []int64) selector {
	if dims, ok := without(from, to); ok {
		return selector{"squeeze", ir.Attrs{}.With("dims", ir.IntsAttr(dims...)), to}
	}
	if dims, ok := without(to, from); ok {
		return selector{"unsqueeze", ir.Attrs{}.With("dims", ir.IntsAttr(dims...)), to}
	}
	return selector{"reshape", ir.Attrs{}.With("shape", ir.IntsAttr(to...)), to}
}

// without gives the dimensions of size 1 that a shape has more than another.
func without(more, less []int64) (dims []int64, ok bool) {
	at := 0
	for d, n := range more {
		switch {
		case at < len(less) && less[at] == n:
			at++
		case n == 1:
			dims = append(dims, int64(d))
		default:
			return nil, false
		}
	}
	return dims, at == len(less)
}

// built makes operations one behind the other, of which the last one gives the result of the site.
func built(s *rewrite.Site, source ir.Selection, list []selector) rewrite.Operand {
	x := rewrite.Operand{Sel: source}
	for i, op := range list {
		box := zspace.Range{Start: make(zspace.Point, len(op.shape)), End: slices.Clone(zspace.Point(op.shape))}
		if out, ok := s.Result(); ok && i == len(list)-1 {
			box = out.Range()
		}
		x = rewrite.Operand{New: &rewrite.Op{Kernel: s.Name(op.kernel), Params: op.params, Inputs: []rewrite.Input{{Port: "tensor", Args: []rewrite.Operand{x}}},
			Outputs: []rewrite.Output{{Port: "result", DType: s.Tensor(source.Tensor).DType, Range: box}}}}
	}
	return x
}

// folds says whether an operation reduces anything.
func folds(in *instance.Instance) bool {
	return slices.ContainsFunc(in.Statements, func(s instance.Statement) bool {
		return s.Value.Any(func(e *scalar.Expr) bool { return e.Op == scalar.Reduce })
	})
}
