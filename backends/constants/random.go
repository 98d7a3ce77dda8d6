package constants

import (
	"math/rand/v2"

	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/tensorfile"
)

// varied is how many elements of a constant differ; then they come again.
const varied = 1<<16 + 1

// Random gives a tensor as programs fill inputs: floats in [-1, 1), and small integers.
func Random(t *tensorops.Tensor) (tensorfile.Tensor, error) {
	d := t.Type()
	out := tensorfile.Tensor{DType: d, Shape: t.Range.Shape()}
	n, err := out.Len()
	if err != nil {
		return out, err
	}
	out.Data = make([]byte, n*int64(d.Size()))
	r, first := rand.New(rand.NewPCG(1, 2)), min(n, varied)
	for i := range first {
		v := 2*r.Float64() - 1
		if !d.IsFloat() {
			v = float64(r.IntN(2))
		}
		x, err := scalar.Literal(d, v)
		if err != nil {
			return out, err
		}
		x.Encode(out.Data[i*int64(d.Size()):][:d.Size()])
	}
	for at := first * int64(d.Size()); at < int64(len(out.Data)); {
		at += int64(copy(out.Data[at:], out.Data[:first*int64(d.Size())]))
	}
	return out, nil
}
