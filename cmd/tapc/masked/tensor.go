// Package masked replaces the weights of graphs by random numbers of the same shapes and types, so that a graph can be shown to somebody who shall not
// have them. What decides about a compilation stays: names, shapes, types, attributes, and tensors that are small, such as shapes, axes and scales.
//
// The same weights give the same numbers: their seed is fixed. Read next: graph.go for graphs of tapc's forms, model.go for ONNX, file.go for
// data files; cmd/tapc/report packs what they make.
package masked

import (
	"math"
	"math/rand/v2"
	"slices"

	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/tensorfile"
)

// Elements up to which a tensor stays as it is: one of this size is a shape, an axis, a scale or the like.
const (
	SmallFloats = 16
	SmallOthers = 64
)

// period is after how many elements random numbers repeat: prime, so that lines of a tensor differ, and so few that archives of them are small.
const period = 2039

// Tensor gives a tensor with random elements between the least and the greatest finite one. A small one is given back.
func Tensor(t tensorfile.Tensor) tensorfile.Tensor {
	size := t.DType.Size()
	n := len(t.Data) / max(size, 1)
	if Small(t.DType, n) {
		return t
	}
	d, part := drawn(t.DType), t.DType.Part()
	if !t.DType.IsComplex() {
		part = d
	}
	lo, hi, some := bounds(part, t.Data)
	out, width := make([]byte, len(t.Data)), part.Size()
	source := rand.New(rand.NewPCG(1, 2))
	drawing := out[:min(len(out), period*size)]
	for at := 0; at+width <= len(drawing); at += width {
		draw(source, part, lo, hi, some).Encode(drawing[at:])
	}
	for at := len(drawing); at > 0 && at < len(out); at *= 2 {
		copy(out[at:], out[:at])
	}
	return tensorfile.Tensor{DType: t.DType, Shape: slices.Clone(t.Shape), Data: out}
}

// Small says whether a tensor of n elements stays as it is.
func Small(d scalar.DType, n int) bool {
	if d.IsFloat() || d.IsComplex() {
		return n <= SmallFloats
	}
	return n <= SmallOthers
}

// drawn is the type that elements are drawn as: codes that are no numbers are bytes.
func drawn(d scalar.DType) scalar.DType {
	if !d.IsNumeric() && !d.IsBool() && d.Size() == 1 {
		return scalar.UInt8
	}
	return d
}

// bounds gives the least and the greatest finite element; some is false if there is none.
func bounds(d scalar.DType, data []byte) (lo, hi scalar.Value, some bool) {
	size := d.Size()
	for at := 0; at+size <= len(data); at += size {
		v := scalar.Decode(d, data[at:])
		switch {
		case d.IsFloat() && (math.IsNaN(v.F) || math.IsInf(v.F, 0)):
		case !some:
			lo, hi, some = v, v, true
		case less(v, lo):
			lo = v
		case less(hi, v):
			hi = v
		}
	}
	return lo, hi, some
}

func less(a, b scalar.Value) bool {
	switch {
	case a.DType.IsFloat():
		return a.F < b.F
	case a.DType == scalar.UInt64:
		return uint64(a.I) < uint64(b.I)
	}
	return a.I < b.I
}

// draw gives an element between two.
func draw(source *rand.Rand, d scalar.DType, lo, hi scalar.Value, some bool) scalar.Value {
	switch {
	case d.IsBool():
		return scalar.BoolValue(source.Uint64()&1 == 1)
	case !some:
		return scalar.FloatValue(d, source.Float64())
	case d.IsFloat():
		x := source.Float64()
		return scalar.FloatValue(d, lo.F*(1-x)+hi.F*x)
	}
	if span := uint64(hi.I) - uint64(lo.I); span != math.MaxUint64 {
		return scalar.IntValue(d, int64(uint64(lo.I)+source.Uint64N(span+1)))
	}
	return scalar.IntValue(d, int64(source.Uint64()))
}
