package compare

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/tensorfile"
)

// Tensor names a tensor that both sides give.
type Tensor struct {
	Name      string `json:"tensor"`
	Node      string `json:"node,omitempty"` // the model's operation that makes it; "" is not known
	Operation string `json:"operation,omitempty"`
}

// Agreement says how far one tensor is from what is expected. Errors are those of the worst element, each by its own measure.
type Agreement struct {
	Tensor
	DType string  `json:"dtype"`
	Shape []int64 `json:"shape"`
	Fault string  `json:"fault,omitempty"` // why the elements can not be compared
	// Units is the greatest distance in units in the last place: how many numbers of the type lie between two values; -1: the type has none.
	Units float64 `json:"units"`
	// Scaled is the greatest distance divided by the greatest finite magnitude that is expected in the tensor.
	Scaled float64 `json:"scaled"`
	At     []int64 `json:"at,omitempty"` // the element with the greatest distance
	Want   string  `json:"want,omitempty"`
	Got    string  `json:"got,omitempty"`
	Within float64 `json:"within"` // what Scaled may be at most
	Parts  bool    `json:"parts"`  // it is more
}

// Bound is what errors, relative to scale, may be at most.
type Bound struct {
	Tolerance float64 `json:"tolerance"`
	Step      bool    `json:"step,omitempty"` // a step between numbers of the scale is within it, too, in types of 16 bits and less
}

// of gives the bound for a type.
func (b Bound) of(d scalar.DType) float64 {
	if f, narrow := d.Format(); narrow && b.Step {
		return max(b.Tolerance, math.Ldexp(1, -f.Mantissa))
	}
	return b.Tolerance
}

func (t Tensor) compare(want, got map[string]tensorfile.Tensor, within Bound) Agreement {
	w, expected := want[t.Name]
	g, found := got[t.Name]
	if x, err := g.As(w.DType); err == nil && expected && found { // a program's file has types narrower than a byte as bytes
		g = x
	}
	a := Agreement{Tensor: t, DType: w.DType.String(), Shape: w.Shape, Within: within.of(w.DType)}
	switch {
	case !expected || !found:
		a.Fault = "one side does not give it"
	case w.DType != g.DType || !slices.Equal(w.Shape, g.Shape):
		a.Fault = fmt.Sprintf("it is %v %v, expected %v %v", g.DType, g.Shape, w.DType, w.Shape)
	default:
		a.measure(w, g)
	}
	a.Parts = a.Fault != "" || a.Scaled > a.Within
	return a
}

// measure finds the worst elements.
func (a *Agreement) measure(want, got tensorfile.Tensor) {
	d, size := want.DType, want.DType.Size()
	units, worst, at := unitsOf(d), -1.0, 0
	if units == nil {
		a.Units = -1
	}
	for i := 0; i+size <= len(want.Data); i += size {
		w, g := scalar.Decode(d, want.Data[i:]), scalar.Decode(d, got.Data[i:])
		e := distance(w, g)
		if e > worst {
			worst, at = e, i
		}
		if units != nil && !math.IsInf(e, 0) && e > 0 {
			a.Units = max(a.Units, units(want.Data[i:], got.Data[i:]))
		}
	}
	if worst <= 0 {
		return
	}
	a.Scaled = worst / scaleOf(want)
	if math.IsInf(a.Scaled, 0) || math.IsNaN(a.Scaled) {
		a.Scaled = math.MaxFloat64 // JSON has no infinity
	}
	a.At = tensorfile.Coordinates(int64(at/size), want.Shape)
	a.Want, a.Got = scalar.Decode(d, want.Data[at:]).Number(), scalar.Decode(d, got.Data[at:]).Number()
}

// scaleOf gives the greatest finite magnitude in a tensor or, where all are 0, 1.
func scaleOf(t tensorfile.Tensor) float64 {
	scale, size := 0.0, t.DType.Size()
	for i := 0; i+size <= len(t.Data); i += size {
		v := scalar.Decode(t.DType, t.Data[i:])
		for _, x := range []float64{math.Abs(v.Float()), math.Abs(v.Im)} {
			if !math.IsInf(x, 0) && x > scale {
				scale = x
			}
		}
	}
	if scale == 0 {
		return 1
	}
	return scale
}

// distance is that of two numbers: 0 for two NaN and for two infinities of a sign, and infinite for one of them beside a number.
func distance(w, g scalar.Value) float64 {
	if w.Same(g) {
		return 0
	}
	return max(apart(w.Float(), g.Float()), apart(w.Im, g.Im))
}

func apart(w, g float64) float64 {
	switch {
	case w == g || math.IsNaN(w) && math.IsNaN(g):
		return 0
	case math.IsNaN(w-g) || math.IsInf(w-g, 0):
		return math.Inf(1)
	}
	return math.Abs(w - g)
}

// unitsOf gives the function that counts the numbers of a type between two elements; nil if their order is not that of their bits.
func unitsOf(d scalar.DType) func(w, g []byte) float64 {
	var bits func([]byte) int64 // in the order of the numbers
	switch d {
	case scalar.Float64:
		bits = func(b []byte) int64 { return ordered(binary.LittleEndian.Uint64(b), 64) }
	case scalar.Float32:
		bits = func(b []byte) int64 { return ordered(uint64(binary.LittleEndian.Uint32(b)), 32) }
	case scalar.Float16, scalar.BFloat16:
		bits = func(b []byte) int64 { return ordered(uint64(binary.LittleEndian.Uint16(b)), 16) }
	default:
		return nil
	}
	return func(w, g []byte) float64 { return math.Abs(float64(bits(w)) - float64(bits(g))) }
}

// ordered gives the bits of a float, which are a sign and a magnitude, as a number of the same order. 0 and -0 are one.
func ordered(bits uint64, width int) int64 {
	sign := uint64(1) << (width - 1)
	if bits&sign == 0 {
		return int64(bits)
	}
	return -int64(bits &^ sign)
}
