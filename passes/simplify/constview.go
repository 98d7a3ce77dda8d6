package simplify

import (
	"slices"

	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/zspace"
	"tensortapestry.org/tapc/passes/rewrite"
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
	if !ok || s.Decl() == nil || len(s.Op.Inputs) != 1 || len(s.Op.Inputs[0].Sel) != 1 {
		return rewrite.Result{}, false
	}
	sel := s.Op.Inputs[0].Sel[0]
	from, to := s.Tensor(sel.Tensor), s.Tensor(out.Tensor)
	stored, params, ok := storedConstant(s, sel.Tensor)
	if !ok || !smaller(to, from, s.Uses(sel.Tensor)) || !out.Range().Equal(to.Range) {
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
	made := &rewrite.Op{Kernel: s.Name("constant"), Params: params.With("view", v.Params()),
		Outputs: []rewrite.Output{{Port: "result", DType: to.DType, Range: to.Range}}}
	return rewrite.One(rewrite.Operand{New: made}, sources(s)...), true
}

// smaller says whether a tensor is no larger than the share that each use of another one has in it.
func smaller(t, than *tensorops.Tensor, uses int) bool {
	n, err := t.Range.Size()
	most, err2 := than.Range.Size()
	return err == nil && err2 == nil && n <= most/int64(max(uses, 1))
}

// storedView is how a constant reads its data file.
type storedView struct{ tensorops.View }

// storedConstant gives the view of a constant that is stored as bytes or in a file, all of it where it says none, and its other
// parameters.
func storedConstant(s *rewrite.Site, t ir.NodeID) (storedView, ir.Attrs, bool) {
	body := s.Tensor(t)
	d, ok := s.Def(ir.Select(t, body.Range))
	if !ok || d.Kernel != "constant" || len(d.Op.Inputs) > 0 {
		return storedView{}, nil, false
	}
	if c, bad := tensorops.ConstOf(s.Graph, d.Node.ID); bad == nil && c.Value == nil {
		params := slices.DeleteFunc(slices.Clone(d.Op.Params), func(a ir.Attr) bool { return a.Name == "view" })
		if c.View != nil {
			return storedView{*c.View}, params, true
		}
		shape := body.Range.Shape()
		return storedView{tensorops.View{DType: body.Type(), Shape: shape, Strides: zspace.RowMajor(shape)}}, params, true
	}
	return storedView{}, nil, false
}

// reshaped gives the view that a reshape of all of a constant gives, if the constant stands in row-major order.
func (v storedView) reshaped(s *rewrite.Site, sel ir.Selection, to *tensorops.Tensor) (tensorops.View, bool) {
	from := s.Tensor(sel.Tensor)
	if s.Kernel() != "reshape" || !sel.Range().Equal(from.Range) {
		return v.View, false
	}
	for i, n := range from.Range.Shape() {
		if n > 1 && v.Strides[i] != zspace.RowMajor(from.Range.Shape())[i] {
			return v.View, false
		}
	}
	out := v.View
	out.Strides = zspace.RowMajor(to.Range.Shape())
	return out, true
}

// through gives the view that an instance with one input makes of a constant's.
func (v storedView) through(in *kernels.Instance, from, to *tensorops.Tensor) (tensorops.View, bool) {
	load, store, ok := moved(in, v.DType, from.Type())
	if !ok {
		return v.View, false
	}
	dims, ok := alongDims(in, store.Access)
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
	out.Strides = make([]int64, len(dims))
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

// moved gives the operands of an instance that stores its one input's elements, as they are or converted in a way that the conversion
// from the stored type can be joined with.
func moved(in *kernels.Instance, stored, typ scalar.DType) (load, store kernels.Operand, ok bool) {
	if len(in.Statements) != 1 || in.Statements[0].Store < 0 {
		return load, store, false
	}
	e := in.Statements[0].Value
	if e.Op == scalar.Cast && (stored == typ || rewrite.CastThrough(stored, typ, e.Type)) {
		e = e.Args[0]
	}
	if e.Op != scalar.Load {
		return load, store, false
	}
	return in.Operands[e.Ref], in.Operands[in.Statements[0].Store], true
}

// alongDims gives the loop that each dimension of a written operand follows, -1 for one that follows none; every other loop has one
// point.
func alongDims(in *kernels.Instance, access zspace.AffineMap) ([]int, bool) {
	dims := make([]int, len(access.Projection))
	used := make([]bool, len(in.Dims))
	for k, row := range access.Projection {
		dims[k] = -1
		for d, c := range row {
			switch {
			case c == 0:
			case c != 1 || dims[k] >= 0 || used[d]:
				return nil, false
			default:
				dims[k], used[d] = d, true
			}
		}
	}
	for d := range in.Dims {
		if !used[d] && in.Dims[d].Extent != 1 {
			return nil, false
		}
	}
	return dims, true
}
