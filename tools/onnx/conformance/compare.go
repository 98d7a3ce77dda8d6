package conformance

import (
	"fmt"
	"math"
	"slices"

	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/tensorfile"
)

// narrow are the relative tolerances that the suite, or for float16 by the same measure, has for narrow types: two units in the
// last place.
var narrow = map[scalar.DType]float64{scalar.BFloat16: 1.0 / (1 << 6), scalar.Float16: 1.0 / (1 << 9)}

// Close says whether every element of got is within atol + rtol·|want| of want, and NaN and infinities are where they are in
// want; integers and booleans must be equal.
func Close(want, got tensorfile.Tensor, rtol, atol float64) error {
	if want.DType != got.DType || !slices.Equal(want.Shape, got.Shape) {
		return fmt.Errorf("expected %v%v, found %v%v", want.DType, want.Shape, got.DType, got.Shape)
	}
	rtol = max(rtol, narrow[want.DType])
	size := want.DType.Size()
	if len(want.Data) != len(got.Data) {
		return fmt.Errorf("expected %d bytes, found %d", len(want.Data), len(got.Data))
	}
	for i := 0; i < len(want.Data); i += size {
		w, g := scalar.Decode(want.DType, want.Data[i:]), scalar.Decode(got.DType, got.Data[i:])
		if (w.I != g.I && !math.IsInf(atol, 1)) || !near(w.F, g.F, rtol, atol) || !near(w.Im, g.Im, rtol, atol) {
			return fmt.Errorf("element %d of %d is %s, expected %s", i/size, len(want.Data)/size, g.Number(), w.Number())
		}
	}
	return nil
}

// unit is one unit in the last place of a tensor's greatest finite element, 0 for integers.
func unit(t tensorfile.Tensor) float64 {
	eps := map[scalar.DType]float64{scalar.Float32: 0x1p-23, scalar.Float64: 0x1p-52, scalar.Float16: 0x1p-10, scalar.BFloat16: 0x1p-7}[t.DType]
	most, size := 0.0, t.DType.Size()
	for i := 0; i < len(t.Data); i += size {
		if f := math.Abs(scalar.Decode(t.DType, t.Data[i:]).F); f > most && !math.IsInf(f, 0) {
			most = f
		}
	}
	return most * eps
}

func near(w, g, rtol, atol float64) bool {
	switch {
	case math.IsInf(atol, 1):
		return true
	case math.IsNaN(w) || math.IsNaN(g):
		return math.IsNaN(w) && math.IsNaN(g)
	case math.IsInf(w, 0) || math.IsInf(g, 0):
		return w == g
	}
	return math.Abs(w-g) <= atol+rtol*math.Abs(w)
}
