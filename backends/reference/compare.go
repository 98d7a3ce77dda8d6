package reference

import (
	"fmt"
	"math"

	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/tensorfile"
)

// Ulps is the tolerance for floats: a value may differ from the reference by this many units in the last place of the
// tensor's greatest finite magnitude. Sums taken in another order differ by that much; a wrong value differs by far more.
const Ulps = 4

// Difference is the first element in which two tensors differ.
type Difference struct {
	Name      string
	Index     int64 // of the element, row-major
	Want, Got scalar.Value
	Shape     []int64
}

// Error names the tensor, the element and both values.
func (d *Difference) Error() string {
	if d.Index < 0 {
		return fmt.Sprintf("%s: expected %v%v", d.Name, d.Want.DType, d.Shape)
	}
	return fmt.Sprintf("%s: element %v is %s, expected %s", d.Name, tensorfile.Coordinates(d.Index, d.Shape), d.Got.Number(), d.Want.Number())
}

// Compare tells whether a tensor has the values of the reference: integers and booleans exactly, floats within Ulps, NaN
// where the reference has NaN, infinities the same. The error is a *Difference.
func Compare(name string, want, got tensorfile.Tensor) error {
	return CompareWithin(name, want, got, Ulps)
}

// CompareWithin is Compare with another number of units instead of Ulps.
func CompareWithin(name string, want, got tensorfile.Tensor, ulps float64) error {
	return CompareSums(name, want, got, ulps, 0)
}

// CompareElements is CompareWithin by units in the last place of each element itself, with the sign of zero: for what is computed
// element by element. A value too small for a normal number may be off by what the smallest normal one may.
func CompareElements(name string, want, got tensorfile.Tensor, ulps float64) error {
	return compare(name, want, got, func(_ int, w, g float64) bool {
		return math.Signbit(w) == math.Signbit(g) && math.Abs(w-g) <= ulps*ulp(want.DType, max(math.Abs(w), smallestNormal(want.DType)))
	})
}

// CompareScaled is CompareWithin by units in the last place of a magnitude for each element, such as that of a sum's terms.
func CompareScaled(name string, want, got tensorfile.Tensor, ulps float64, scale func(element int) float64) error {
	return compare(name, want, got, func(i int, w, g float64) bool {
		return math.Abs(w-g) <= ulps*ulp(want.DType, max(scale(i), math.Abs(w), smallestNormal(want.DType)))
	})
}

// CompareSums is CompareWithin for a tensor of sums with terms of magnitudes up to terms: where those cancel, the tensor's values
// are smaller than what rounding goes by.
func CompareSums(name string, want, got tensorfile.Tensor, ulps, terms float64) error {
	scale, size := terms, want.DType.Size()
	for at := 0; at+size <= len(want.Data); at += size {
		v := scalar.Decode(want.DType, want.Data[at:])
		for _, f := range []float64{math.Abs(v.F), math.Abs(v.Im)} {
			if !math.IsInf(f, 0) && f > scale {
				scale = f
			}
		}
	}
	tolerance := ulps * ulp(want.DType, scale)
	return compare(name, want, got, func(_ int, w, g float64) bool { return math.Abs(w-g) <= tolerance })
}

// compare compares types, shapes and elements; near judges finite floats.
func compare(name string, want, got tensorfile.Tensor, near func(element int, w, g float64) bool) error {
	if want.DType != got.DType || fmt.Sprint(want.Shape) != fmt.Sprint(got.Shape) || len(want.Data) != len(got.Data) {
		return &Difference{Name: name, Index: -1, Want: scalar.Zero(want.DType), Shape: want.Shape}
	}
	size := want.DType.Size()
	for i := range len(want.Data) / size {
		w, g := scalar.Decode(want.DType, want.Data[i*size:]), scalar.Decode(got.DType, got.Data[i*size:])
		same := func(w, g float64) bool {
			switch {
			case math.IsNaN(w) || math.IsNaN(g):
				return math.IsNaN(w) && math.IsNaN(g)
			case math.IsInf(w, 0) || math.IsInf(g, 0):
				return w == g
			}
			return near(i, w, g)
		}
		if w.I != g.I || !same(w.F, g.F) || !same(w.Im, g.Im) {
			return &Difference{name, int64(i), w, g, want.Shape}
		}
	}
	return nil
}

// smallestNormal is the least positive normal number of a float type.
func smallestNormal(d scalar.DType) float64 {
	least := map[scalar.DType]int{scalar.Float64: -1022, scalar.Float32: -126}[d.Part()]
	if f, ok := d.Format(); ok {
		least = 1 - f.Bias
	}
	return math.Ldexp(1, least)
}

// ulp is the unit in the last place of a magnitude in a float type.
func ulp(d scalar.DType, magnitude float64) float64 {
	digits := map[scalar.DType]int{scalar.Float64: 52, scalar.Float32: 23}[d.Part()]
	if f, ok := d.Format(); ok {
		digits = f.Mantissa
	}
	if magnitude == 0 {
		return 0
	}
	_, e := math.Frexp(magnitude)
	return math.Ldexp(1, e-1-digits)
}
