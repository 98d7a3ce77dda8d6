package declared

import (
	"math"
	"math/rand/v2"

	"tensortapestry.org/tapc/dialects/tensorops/kernels/declaration"
	"tensortapestry.org/tapc/dialects/tensorops/kernels/example"
	"tensortapestry.org/tapc/dialects/tensorops/kernels/infer"
	"tensortapestry.org/tapc/dialects/tensorops/kernels/sample"
	"tensortapestry.org/tapc/ir/scalar"
)

// Random makes a program of a random call of a kernel whose first type variable is t, with random values. Floats have few digits; one tensor in four
// has infinities, numbers that are none and zeros of both signs among them. Integers are small, so that they can be indices. It is nil if no call came to
// anything, as for a kernel whose parameters are texts.
func Random(rnd *rand.Rand, name string, d *declaration.Kernel, t scalar.DType) (*Case, error) {
	call, err := sample.Call(d, rnd, t)
	if err != nil || call == nil {
		return nil, err
	}
	x := &example.Example{Call: *call}
	for _, p := range call.Inputs {
		for _, s := range p.Sel {
			x.Inputs = append(x.Inputs, values(rnd, s))
		}
	}
	one, err := program(d, x)
	one.Name = name
	return &one, err
}

func values(rnd *rand.Rand, s infer.Selected) []byte {
	n, err := s.Sel.Range().Size()
	if err != nil {
		return nil
	}
	size := s.Type.Size()
	out := make([]byte, n*int64(size))
	special := rnd.IntN(4) == 0
	for i := range n {
		v := math.Round(rnd.NormFloat64()*64) / 32
		switch {
		case s.Type.IsBool():
			v = float64(rnd.IntN(2))
		case s.Type.IsInt():
			v = float64(rnd.IntN(3))
		case special && rnd.IntN(6) == 0:
			v = []float64{math.NaN(), math.Inf(1), math.Inf(-1), math.Copysign(0, -1), 0}[rnd.IntN(5)]
		}
		lit, err := scalar.Literal(s.Type, v)
		if err != nil {
			lit = scalar.Zero(s.Type)
		}
		lit.Encode(out[i*int64(size):][:size])
	}
	return out
}
