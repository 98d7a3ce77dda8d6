package casts_test

import (
	"math/rand/v2"
	"testing"

	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/passes/rewrite/casts"
)

// TestCastThrough compares with conversion itself: all values of types of one byte, many of larger ones.
func TestCastThrough(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	claims, possible := 0, 0
	for _, a := range scalar.DTypes() {
		values := valuesOf(a, rnd)
		for _, b := range scalar.DTypes() {
			for _, c := range scalar.DTypes() {
				same := true
				for _, v := range values {
					if w := scalar.Convert(scalar.Convert(v, b), c); !w.Same(scalar.Convert(v, c)) {
						if same = false; casts.Through(a, b, c) {
							t.Fatalf("%v as %v as %v is %v, but directly %v", v, b, c, w, scalar.Convert(v, c))
						}
						break
					}
				}
				if casts.Through(a, b, c) {
					claims++
				}
				if same && !a.IsComplex() && !b.IsComplex() && !c.IsComplex() {
					possible++
				}
			}
		}
	}
	if claims < possible/2 {
		t.Errorf("%d of about %d chains are taken", claims, possible)
	}
}

func valuesOf(d scalar.DType, rnd *rand.Rand) []scalar.Value {
	var out []scalar.Value
	n, step := 1<<16, 1
	switch {
	case d.Size() > 2:
		n = 600
	case d.Size() == 2:
		step = 13 // every bit pattern's high and low parts meet many others
	}
	for i := 0; i < n; i += step {
		var b [16]byte
		for k := range b {
			b[k] = byte(rnd.Uint32())
		}
		if d.Size() <= 2 {
			b[0], b[1] = byte(i), byte(i>>8)
		}
		out = append(out, scalar.Decode(d, b[:]))
		if d.Size() == 1 && i == 255 {
			break
		}
	}
	return append(out, scalar.Zero(d), scalar.Lowest(d), scalar.Highest(d))
}
