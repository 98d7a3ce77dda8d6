package tensorops

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
	Strides []int64 // one for each dimension of the constant
}

// maxView bounds the elements of a stored tensor, so that no place in it overflows.
const maxView = 1 << 40

// Params gives the view as the parameter "view" of a constant.
func (v View) Params() ir.AttrValue {
	return ir.AttrValue{Kind: ir.AttrMap, Map: ir.Attrs{
		{Name: "dtype", Value: ir.StringAttr(v.DType.String())},
		{Name: "shape", Value: ir.IntsAttr(v.Shape...)},
		{Name: "start", Value: ir.IntAttr(v.Start)},
		{Name: "strides", Value: ir.IntsAttr(v.Strides...)},
	}}
}

// Len is the number of stored elements.
func (v View) Len() int64 {
	n := int64(1)
	for _, x := range v.Shape {
		n *= x
	}
	return n
}

// viewOf reads the parameter "view" of a constant.
func viewOf(a ir.AttrValue) (*View, error) {
	v := &View{}
	dtype, _ := a.Map.Get("dtype")
	shape, hasShape := a.Map.Get("shape")
	start, hasStart := a.Map.Get("start")
	strides, hasStrides := a.Map.Get("strides")
	if a.Kind != ir.AttrMap || len(a.Map) != 4 || !hasShape || !hasStart || !hasStrides || start.Kind != ir.AttrInt {
		return nil, fmt.Errorf(`a "view" with "dtype", "shape", "start" and "strides"`)
	}
	var err error
	if v.DType, err = scalar.ParseDType(dtype.Str); err != nil {
		return nil, fmt.Errorf(`a "view" of an element type, not %q`, dtype.Str)
	}
	v.Start = start.Int
	for from, into := range map[*ir.AttrValue]*[]int64{&shape: &v.Shape, &strides: &v.Strides} {
		for _, x := range from.List {
			if x.Kind != ir.AttrInt {
				return nil, fmt.Errorf(`lists of integers for "shape" and "strides"`)
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

// Check says whether the elements that a constant of a shape reads lie in the stored tensor.
func (v View) Check(shape []int64) error {
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
