// Package view is how constants read what is stored: transposed, sliced, converted and dequantized.
//
// It must not import dialects/tensorops, whose constants have views. Read next: backends/constants.
package view

import (
	"fmt"

	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/scalar"
)

// View says that a constant is not the tensor that its data file holds, but reads it: the element at a coordinate of the constant,
// counted from the start of its range, is the stored element number Start plus Strides times the coordinate, counted in row-major
// order, converted to the constant's dtype as a cast is. So a transposed, sliced or converted weight stays one constant, and its data
// stays where it is.
type View struct {
	DType   scalar.DType // of the stored tensor
	Shape   []int64
	Start   int64
	Strides []int64 // one for each dimension of the constant, or of Dims
	Dims    []int64 // if not nil, coordinates are those of this shape, of whose elements in row-major order the constant is made
	Scaling *Scaling
}

// Along is the shape that the strides go along, for a constant of a shape.
func (v View) Along(shape []int64) []int64 {
	if v.Dims != nil {
		return v.Dims
	}
	return shape
}

// Scaling says that elements are dequantized when they are read: less a zero point, times a scale, computed in float32, which the
// constant's elements are.
type Scaling struct {
	Along  int64     // dimension of the constant that scales and zero points go along, if there are several
	Scales []float32 // one, or one for each place along the dimension
	Zeros  []int64   // as many, or none for 0
}

// maxView bounds the elements of a stored tensor, so that no place in it overflows.
const maxView = 1 << 40

// Params gives the view as the parameter "view" of a constant.
func (v View) Params() ir.AttrValue {
	params := ir.Attrs{
		{Name: "dtype", Value: ir.StringAttr(v.DType.String())},
		{Name: "shape", Value: ir.IntsAttr(v.Shape...)},
		{Name: "start", Value: ir.IntAttr(v.Start)},
		{Name: "strides", Value: ir.IntsAttr(v.Strides...)},
	}
	if v.Dims != nil {
		params = params.With("dims", ir.IntsAttr(v.Dims...))
	}
	if x := v.Scaling; x != nil {
		scales := ir.AttrValue{Kind: ir.AttrList}
		for _, f := range x.Scales {
			scales.List = append(scales.List, ir.FloatAttr(float64(f)))
		}
		params = params.With("along", ir.IntAttr(x.Along)).With("scales", scales)
		if len(x.Zeros) > 0 {
			params = params.With("zeros", ir.IntsAttr(x.Zeros...))
		}
	}
	return ir.AttrValue{Kind: ir.AttrMap, Map: params}
}

// scalingOf reads the part of the parameter "view" that dequantizes, and gives how many entries it has.
func scalingOf(view ir.Attrs) (*Scaling, int, error) {
	along, hasAlong := view.Get("along")
	scales, hasScales := view.Get("scales")
	zeros, hasZeros := view.Get("zeros")
	if !hasAlong && !hasScales && !hasZeros {
		return nil, 0, nil
	}
	if !hasAlong || !hasScales || along.Kind != ir.AttrInt || scales.Kind != ir.AttrList || hasZeros && zeros.Kind != ir.AttrList {
		return nil, 0, fmt.Errorf(`a "view" with "along" and the lists "scales" and perhaps "zeros"`)
	}
	x, n := &Scaling{Along: along.Int}, 2
	for _, f := range scales.List {
		value := f.Num
		if f.Kind == ir.AttrInt {
			value = float64(f.Int)
		} else if f.Kind != ir.AttrFloat {
			return nil, 0, fmt.Errorf(`a list of numbers for "scales"`)
		}
		x.Scales = append(x.Scales, float32(value))
	}
	if hasZeros {
		n++
	}
	for _, z := range zeros.List {
		if z.Kind != ir.AttrInt {
			return nil, 0, fmt.Errorf(`a list of integers for "zeros"`)
		}
		x.Zeros = append(x.Zeros, z.Int)
	}
	return x, n, nil
}

// check says whether the scales fit the shape of a constant and the type that it stores.
func (x *Scaling) check(shape []int64, stored scalar.DType) error {
	switch n := int64(len(x.Scales)); {
	case !stored.IsInt():
		return fmt.Errorf("a view that dequantizes %v, not integers", stored)
	case n != 1 && (x.Along < 0 || x.Along >= int64(len(shape)) || shape[x.Along] != n):
		return fmt.Errorf("a view with %d scales along dimension %d of %v", n, x.Along, shape)
	case len(x.Zeros) != 0 && int64(len(x.Zeros)) != n:
		return fmt.Errorf("a view with %d scales and %d zero points", n, len(x.Zeros))
	}
	return nil
}

// Len is the number of stored elements.
func (v View) Len() int64 {
	n := int64(1)
	for _, x := range v.Shape {
		n *= x
	}
	return n
}

// Of reads the parameter "view" of a constant.
func Of(a ir.AttrValue) (*View, error) {
	v := &View{}
	dtype, _ := a.Map.Get("dtype")
	shape, hasShape := a.Map.Get("shape")
	start, hasStart := a.Map.Get("start")
	strides, hasStrides := a.Map.Get("strides")
	scaling, more, err := scalingOf(a.Map)
	if err != nil {
		return nil, err
	}
	v.Scaling = scaling
	dims, hasDims := a.Map.Get("dims")
	if hasDims {
		v.Dims = []int64{}
		more++
	}
	if a.Kind != ir.AttrMap || len(a.Map) != 4+more || !hasShape || !hasStart || !hasStrides || start.Kind != ir.AttrInt {
		return nil, fmt.Errorf(`a "view" with "dtype", "shape", "start" and "strides"`)
	}
	if v.DType, err = scalar.ParseDType(dtype.Str); err != nil {
		return nil, fmt.Errorf(`a "view" of an element type, not %q`, dtype.Str)
	}
	v.Start = start.Int
	for from, into := range map[*ir.AttrValue]*[]int64{&shape: &v.Shape, &strides: &v.Strides, &dims: &v.Dims} {
		for _, x := range from.List {
			if x.Kind != ir.AttrInt {
				return nil, fmt.Errorf(`lists of integers for "shape", "strides" and "dims"`)
			}
			*into = append(*into, x.Int)
		}
	}
	room := int64(maxView)
	for _, n := range v.Shape {
		if n < 0 || n > room {
			return nil, fmt.Errorf(`a "shape" of at most 2^40 elements, not %v`, v.Shape)
		}
		room /= max(n, 1)
	}
	return v, nil
}

// elements is the size of a shape, -1 if it is none or too large.
func elements(shape []int64) int64 {
	n := int64(1)
	for _, x := range shape {
		if x < 0 || x > 0 && n > maxView/x {
			return -1
		}
		n *= x
	}
	return n
}

// Check says whether the elements that a constant of a shape reads lie in the stored tensor.
func (v View) Check(shape []int64) error {
	if v.Scaling != nil {
		if err := v.Scaling.check(shape, v.DType); err != nil {
			return err
		}
	}
	if v.Dims != nil {
		have, want := elements(v.Dims), elements(shape)
		if have != want || have < 0 {
			return fmt.Errorf("a view of %v for the shape %v", v.Dims, shape)
		}
		shape = v.Dims
	}
	if len(v.Strides) != len(shape) {
		return fmt.Errorf("a view of %d strides for %d dimensions", len(v.Strides), len(shape))
	}
	lo, hi := v.Start, v.Start
	for i, n := range shape {
		if n == 0 {
			return nil
		}
		if s := v.Strides[i]; n > 1 && (s > maxView/(n-1) || s < -maxView/(n-1)) {
			return fmt.Errorf("a view with strides %v beyond its tensor", v.Strides)
		}
	}
	for i, n := range shape {
		d := v.Strides[i] * (n - 1)
		lo, hi = lo+min(0, d), hi+max(0, d)
	}
	if v.Start < 0 || v.Start > maxView || lo < 0 || hi >= v.Len() {
		return fmt.Errorf("a view that reads the elements %d to %d of %d", lo, hi, v.Len())
	}
	return nil
}
