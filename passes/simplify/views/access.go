package views

import (
	"slices"

	"tensortapestry.org/tapc/dialects/tensorops/kernels/instance"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/zspace"
	"tensortapestry.org/tapc/passes/rewrite/casts"
)

// Moved gives the operands of an instance that stores its one input's elements, as they are or converted in a way that the conversion
// from the stored type can be joined with.
func Moved(in *instance.Instance, stored, typ scalar.DType) (load, store instance.Operand, ok bool) {
	if len(in.Statements) != 1 || in.Statements[0].Store < 0 {
		return load, store, false
	}
	e := in.Statements[0].Value
	if e.Op == scalar.Cast && (stored == typ || casts.Through(stored, typ, e.Type)) {
		e = e.Args[0]
	}
	if e.Op != scalar.Load {
		return load, store, false
	}
	return in.Operands[e.Ref], in.Operands[in.Statements[0].Store], true
}

// AlongDims gives the loop that each dimension of a written operand follows, -1 for one that follows none; every other loop has one
// point.
func AlongDims(in *instance.Instance, access zspace.AffineMap) ([]int, bool) {
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

// Ints reads a parameter of one integer for each of some dimensions.
func Ints(p ir.Attrs, name string, n int, otherwise int64) ([]int64, bool) {
	v, ok := p.Get(name)
	switch {
	case !ok:
		return slices.Repeat([]int64{otherwise}, n), true
	case v.Kind == ir.AttrInt:
		return slices.Repeat([]int64{v.Int}, n), true
	}
	list, ok := v.Ints()
	if ok && len(list) == 1 {
		list = slices.Repeat(list, n)
	}
	return list, ok && len(list) == n
}
