package simplify

import (
	"encoding/base64"
	"slices"

	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/dialects/tensorops/kernels/instance"
	"tensortapestry.org/tapc/dialects/tensorops/view"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/zspace"
	"tensortapestry.org/tapc/passes/rewrite"
	"tensortapestry.org/tapc/passes/simplify/views"
)

// constantView makes what moves or converts the elements of a stored constant a part of how it is read.
var constantView = rewrite.Rule{
	Name: "constant-view", Source: "Go", Needs: []string{"constant"},
	Text: "An operation that moves or converts the elements of one constant in a data file (permute, slice, reshape, cast and the like) becomes a constant that reads the file so. " +
		"All that read a constant so have no more elements together than it has.",
	Because: "the constant is read once, when the program is built, in the order and type that the operation gives",
	Match:   viewConstant,
}

func viewConstant(s *rewrite.Site) (rewrite.Result, bool) {
	out, ok := s.Result()
	if !ok || s.Decl() == nil || s.Op.Inputs.Len() != 1 || len(s.Op.Inputs.At(0).Sel) != 1 {
		return rewrite.Result{}, false
	}
	sel := s.Op.Inputs.At(0).Sel[0]
	from, to := s.Tensor(sel.Tensor), s.Tensor(out.Tensor)
	stored, params, ok := storedConstant(s, sel.Tensor)
	if !ok || !smaller(to, from, s.Uses(sel.Tensor)) || !out.Range().Equal(to.Range) {
		return rewrite.Result{}, false
	}
	if stored.Scaling != nil {
		return rewrite.Result{}, false
	}
	v, ok := stored.reshaped(s, sel, to)
	if !ok {
		in, err := s.Bind()
		if err != nil || !placeless(in) {
			return rewrite.Result{}, false
		}
		if v, ok = stored.through(in, from, to); !ok {
			return rewrite.Result{}, false
		}
	}
	return readBy(s, params, v, to)
}

// readBy gives the constant that reads a file as a view says.
func readBy(s *rewrite.Site, params ir.Attrs, v view.View, to *tensorops.Tensor) (rewrite.Result, bool) {
	made := &rewrite.Op{Kernel: s.Name("constant"), Params: params.With("view", v.Params()),
		Outputs: []rewrite.Output{{Port: "result", DType: to.DType, Range: to.Range}}}
	return rewrite.One(rewrite.Operand{New: made}, sources(s)...), true
}

// constantDequantized does the same with a constant that is dequantized by constant scales and zero points.
var constantDequantized = rewrite.Rule{
	Name: "constant-dequantized", Source: "Go", Needs: []string{"constant"}, Roots: []string{"dequantize"},
	Text: "A stored constant of integers that is dequantized to float32, by one scale or by one for each place along a dimension that stand in the graph, becomes a constant that is dequantized when it is read. " +
		"All that read a constant so have no more elements together than it has.",
	Because: "the element less its zero point, times its scale, is computed in float32 as the kernel does",
	Match:   viewDequantized,
}

func viewDequantized(s *rewrite.Site) (rewrite.Result, bool) {
	out, ok := s.Result()
	tensor, scale := s.Op.Inputs.Get("tensor"), s.Op.Inputs.Get("scale")
	if !ok || s.Decl() == nil || tensor == nil || scale == nil || len(tensor.Sel) != 1 || len(scale.Sel) != 1 || s.Type(out) != scalar.Float32 ||
		s.Type(scale.Sel[0]) != scalar.Float32 {
		return rewrite.Result{}, false
	}
	sel := tensor.Sel[0]
	from, to := s.Tensor(sel.Tensor), s.Tensor(out.Tensor)
	v, params, ok := storedConstant(s, sel.Tensor)
	whole := ok && sel.Range().Equal(from.Range) && out.Range().Equal(to.Range) && from.Range.Shape().Equal(to.Range.Shape())
	if !whole || v.Scaling != nil || v.DType != from.Type() || !from.Type().IsInt() || from.Type().Bits() > 32 || !smaller(to, from, s.Uses(sel.Tensor)) {
		return rewrite.Result{}, false
	}
	x := &view.Scaling{Along: alongOf(scale.Sel[0], to.Range.Shape())}
	scales, ok := inGraph(s, scale.Sel[0])
	if !ok || x.Along < 0 {
		return rewrite.Result{}, false
	}
	for _, f := range scales {
		x.Scales = append(x.Scales, float32(f.F))
	}
	if z := s.Op.Inputs.Get("zero_point"); z != nil {
		zeros, ok := inGraph(s, z.Sel[0])
		if len(zeros) == 1 {
			zeros = slices.Repeat(zeros, len(scales))
		} else if alongOf(z.Sel[0], to.Range.Shape()) != x.Along {
			return rewrite.Result{}, false
		}
		if !ok || len(zeros) != len(scales) {
			return rewrite.Result{}, false
		}
		for _, n := range zeros {
			x.Zeros = append(x.Zeros, n.I)
		}
	}
	v.Scaling = x
	if v.Check(to.Range.Shape()) != nil {
		return rewrite.Result{}, false
	}
	return readBy(s, params, v.View, to)
}

// alongOf gives the one dimension of a shape that a selection which is broadcast to it goes along; 0 if it has one element, -1 if
// there are several.
func alongOf(sel ir.Selection, shape []int64) int64 {
	if one(sel) == 1 {
		return 0
	}
	for d, n := range shape {
		if n > 1 && alongAxis(sel, shape, d) {
			return int64(d)
		}
	}
	return -1
}

// maxScales bounds the scales of a constant.
const maxScales = 1 << 16

// inGraph gives the elements of a constant that stands in the graph, all of it.
func inGraph(s *rewrite.Site, sel ir.Selection) ([]scalar.Value, bool) {
	t := s.Tensor(sel.Tensor)
	n, err := t.Range.Size()
	if d, ok := s.Def(ir.Select(sel.Tensor, t.Range)); !ok || d.Kernel != "constant" || err != nil || n > maxScales || !sel.Range().Equal(t.Range) {
		return nil, false
	} else if c, bad := tensorops.ConstOf(s.Graph, d.Node.ID); bad == nil && c.Raw && c.File == "" && c.View == nil {
		data, err := base64.StdEncoding.DecodeString(c.Bytes)
		size := t.Type().Size()
		if err != nil || int64(len(data)) != n*int64(size) {
			return nil, false
		}
		var out []scalar.Value
		for ; len(data) > 0; data = data[size:] {
			out = append(out, scalar.Decode(t.Type(), data))
		}
		return out, true
	}
	v, ok := s.Inline(sel)
	if !ok {
		return nil, false
	}
	if v.Kind != ir.AttrList {
		x, ok := rewrite.Inline(v, t.Type())
		return slices.Repeat([]scalar.Value{x}, int(n)), ok
	}
	var c cells
	ok = c.flatten(v, t.Type(), t.Range.Shape()) && int64(len(c.list)) == n
	return c.list, ok
}

// smaller says whether a tensor is no larger than the share that each use of another one has in it.
func smaller(t, than *tensorops.Tensor, uses int) bool {
	n, err := t.Range.Size()
	most, err2 := than.Range.Size()
	return err == nil && err2 == nil && n <= most/int64(max(uses, 1))
}

// storedView is how a constant reads its data file.
type storedView struct{ view.View }

// storedConstant gives the view of a constant that is stored as bytes or in a file, all of it where it says none, and its other
// parameters.
func storedConstant(s *rewrite.Site, t ir.NodeID) (storedView, ir.Attrs, bool) {
	body := s.Tensor(t)
	d, ok := s.Def(ir.Select(t, body.Range))
	if !ok || d.Kernel != "constant" || d.Op.Inputs.Len() > 0 {
		return storedView{}, nil, false
	}
	if c, bad := tensorops.ConstOf(s.Graph, d.Node.ID); bad == nil && c.Value == nil {
		params := slices.DeleteFunc(slices.Clone(d.Op.Params), func(a ir.Attr) bool { return a.Name == "view" })
		if c.View != nil {
			return storedView{*c.View}, params, true
		}
		shape := body.Range.Shape()
		return storedView{view.View{DType: body.Type(), Shape: shape, Strides: zspace.RowMajor(shape)}}, params, true
	}
	return storedView{}, nil, false
}

// reshaped gives the view that a reshape of all of a constant gives.
func (v storedView) reshaped(s *rewrite.Site, sel ir.Selection, to *tensorops.Tensor) (view.View, bool) {
	from := s.Tensor(sel.Tensor)
	if s.Kernel() != "reshape" || !sel.Range().Equal(from.Range) {
		return v.View, false
	}
	out, shape := v.View, from.Range.Shape()
	whole := v.Dims == nil
	for i, n := range shape {
		whole = whole && (n <= 1 || v.Strides[i] == zspace.RowMajor(shape)[i])
	}
	switch {
	case whole:
		out.Strides = zspace.RowMajor(to.Range.Shape())
	case v.Dims == nil:
		out.Dims = shape
	}
	return out, true
}

// through gives the view that an instance with one input makes of a constant's.
func (v storedView) through(in *instance.Instance, from, to *tensorops.Tensor) (view.View, bool) {
	load, store, ok := views.Moved(in, v.DType, from.Type())
	if !ok || v.Dims != nil && !from.Range.Shape().Equal(v.Dims) {
		return v.View, false
	}
	dims, ok := views.AlongDims(in, store.Access)
	if !ok {
		return v.View, false
	}
	// The point of the loops at the first element of the result, and then a step along each of its dimensions.
	point := in.Box().Start
	for k, d := range dims {
		if d >= 0 {
			point[d] = to.Range.Start[k] - store.Access.Offset[k]
		}
	}
	at, err := load.Access.Apply(point)
	if err != nil {
		return v.View, false
	}
	out := v.View
	out.Strides, out.Dims = make([]int64, len(dims)), nil
	for j, x := range at {
		out.Start += v.Strides[j] * (x - from.Range.Start[j])
		for k, d := range dims {
			if d >= 0 {
				out.Strides[k] += v.Strides[j] * load.Access.Projection[j][d]
			}
		}
	}
	return out, out.Check(to.Range.Shape()) == nil
}
