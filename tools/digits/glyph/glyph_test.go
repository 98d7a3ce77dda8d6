package glyph

import (
	"math"
	"testing"
)

func TestImagesDependOnSeedAndNumberOnly(t *testing.T) {
	for n := range uint64(20) {
		if *Random(7, n) != *Random(7, n) || *Neat(7, n) != *Neat(7, n) {
			t.Fatalf("image %d of seed 7 differs between two calls", n)
		}
		if *Random(7, n) == *Random(8, n) || *Random(7, n) == *Random(7, n+10) {
			t.Errorf("image %d repeats under another seed or number", n)
		}
	}
}

// Every image has cells in [0, 1], some full ink, more ground than ink, and its
// ink inside: what touches the border is little.
func TestImagesLookLikeDigits(t *testing.T) {
	for n := range uint64(500) {
		img := Random(3, n)
		ink, border, top := 0.0, 0.0, float32(0)
		for i, v := range img {
			if v < 0 || v > 1 || math.IsNaN(float64(v)) {
				t.Fatalf("image %d: cell %d is %v", n, i, v)
			}
			ink += float64(v)
			top = max(top, v)
			if x, y := i%Side, i/Side; x == 0 || y == 0 || x == Side-1 || y == Side-1 {
				border += float64(v)
			}
		}
		if ink < 15 || ink > Pixels/2 || top < 0.6 || border > 0.15*ink {
			t.Errorf("image %d (a %d): ink %.1f, of it %.1f on the border, brightest %.2f", n, n%10, ink, border, top)
		}
	}
}

func TestSmoothPassesThroughItsPoints(t *testing.T) {
	s := stroke{{0, 0}, {10, 5}, {20, -5}, {0, 0}}
	path := smooth(s)
	if len(path) != 1+steps*(len(s)-1) {
		t.Fatalf("%d points on the path", len(path))
	}
	for i, p := range s {
		if q := path[i*steps]; distance(p, q, q) > 1e-12 {
			t.Errorf("control point %v became %v", p, q)
		}
	}
}

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		q, a, b point
		want    float64
	}{
		{point{0, 3}, point{-5, 0}, point{5, 0}, 3},
		{point{8, 4}, point{-5, 0}, point{5, 0}, 5},
		{point{3, 4}, point{0, 0}, point{0, 0}, 5},
	} {
		if got := distance(c.q, c.a, c.b); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("distance(%v, %v, %v) = %v, want %v", c.q, c.a, c.b, got, c.want)
		}
	}
}
