package sample

import (
	"math"
	"math/rand/v2"
	"strconv"
	"strings"

	"tensortapestry.org/tapc/dialects/tensorops/kernels/instance"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/zspace"
)

// Values makes n elements for a sample's tensor, encoded as a tensor's data: small numbers and, in one tensor of four, some that
// are special.
func Values(rnd *rand.Rand, d scalar.DType, n int) []byte {
	special := rnd.IntN(4) == 0
	out := make([]byte, n*d.Size())
	for i := range n {
		v := small(rnd, d)
		if special && rnd.IntN(4) == 0 {
			v = extreme(rnd, d)
		}
		v.Encode(out[i*d.Size():])
	}
	return out
}

// small gives a number that most kernels do something ordinary with.
func small(rnd *rand.Rand, d scalar.DType) scalar.Value {
	part := func(d scalar.DType) scalar.Value { return scalar.FloatValue(d, rnd.Float64()*4-2) }
	switch {
	case d.IsFloat():
		return part(d)
	case d.IsComplex():
		return scalar.Value{DType: d, F: part(d.Part()).F, Im: part(d.Part()).F}
	case d == scalar.Bool:
		return scalar.BoolValue(rnd.IntN(2) == 0)
	case d.IsSigned():
		return scalar.IntValue(d, int64(rnd.IntN(17)-6))
	}
	return scalar.IntValue(d, int64(rnd.IntN(12)))
}

// extreme gives a number at which something changes.
func extreme(rnd *rand.Rand, d scalar.DType) scalar.Value {
	switch {
	case d.IsFloat():
		list := []float64{0, math.Copysign(0, -1), math.Inf(1), math.Inf(-1), math.NaN(), 1, -1, 8, -8, 0.5, 1e-6, 1e-40}
		return scalar.FloatValue(d, list[rnd.IntN(len(list))])
	case d.IsInt():
		list := []scalar.Value{scalar.Lowest(d), scalar.Highest(d), scalar.Zero(d), scalar.IntValue(d, -1), scalar.IntValue(d, int64(d.Bits()))}
		return list[rnd.IntN(len(list))]
	}
	return small(rnd, d)
}

// Moved gives a box of the same shape somewhere else, for a sample's selection.
func Moved(rnd *rand.Rand, r zspace.Range) zspace.Range {
	out := r.Clone()
	for i := range out.Start {
		by := int64(rnd.IntN(9) - 4)
		out.Start[i], out.End[i] = out.Start[i]+by, out.End[i]+by
	}
	return out
}

// Cut says into how many parts to cut a sample along each dimension of its index, as a request to the pass shard does ("2x1");
// "" where no dimension is cut.
func Cut(in *instance.Instance, rnd *rand.Rand) string {
	var counts []string
	cut := false
	for _, n := range in.Index().Shape() {
		parts := min(max(n, 1), 1+int64(rnd.IntN(3)))
		cut = cut || parts > 1
		counts = append(counts, strconv.FormatInt(parts, 10))
	}
	if !cut {
		return ""
	}
	return strings.Join(counts, "x")
}
