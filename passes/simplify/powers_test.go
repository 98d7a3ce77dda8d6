package simplify_test

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"testing"

	"tensortapestry.org/tapc/ir/scalar"
)

// TestCubes checks what the rule pow-three-float rests on, for every float32: the cube rounded to float64 and then to float32 is the
// cube rounded once. That fails only if the first rounding ends in the middle between two float32 and the cube is not there.
func TestCubes(t *testing.T) {
	for m := uint64(1 << 23); m < 1<<24; m++ {
		hi, lo := bits.Mul64(m*m, m)
		n := 64 + bits.Len64(hi)
		for kept := 1; kept <= 24; kept++ { // fewer than 24 bits for results below the normal numbers
			// The bits behind those kept, at the top of 128; a middle is 2^127, and 53 bits are kept to within 2^(75+kept).
			s := 128 - n + kept
			h, l := lo<<max(s-64, 0), uint64(0)
			if s < 64 {
				h, l = hi<<s|lo>>(64-s), lo<<s
			}
			if h ^= 1 << 63; h>>63 == 1 {
				h, l = ^h, ^l
			}
			if h>>(11+kept) == 0 && (h != 0 || l != 0) {
				t.Fatalf("%d cubed is near a middle of numbers of %d bits", m, kept)
			}
		}
	}
}

// TestPowersOfDefinition compares what pow gives with the steps that rules put in its place.
func TestPowersOfDefinition(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for i := range uint32(200000) {
		b := rnd.Uint32()
		if i < 1<<12 {
			b = i<<14 | 0x3f800000 // cubes in the middle between two float32, and near
		}
		x := math.Float32frombits(b)
		cube, root := float32(float64(x)*float64(x)*float64(x)), float32(math.Sqrt(float64(x)))
		checkPower(t, x, 3, cube)
		if x != 0 && !math.IsInf(float64(x), -1) {
			checkPower(t, x, 0.5, root)
		}
	}
}

func checkPower(t *testing.T, x float32, exponent float64, want float32) {
	t.Helper()
	v := scalar.Apply(scalar.Pow, scalar.Float32, scalar.FloatValue(scalar.Float32, float64(x)), scalar.FloatValue(scalar.Float32, exponent))
	if got := float32(v.F); math.Float32bits(got) != math.Float32bits(want) && (got == got || want == want) {
		t.Fatalf("%v to the power %v is %v, and its steps give %v", x, exponent, got, want)
	}
}
