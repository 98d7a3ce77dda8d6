package scalar

import "math"

// pow is x to the power y, to within a unit in the last place: the standard library's is off by tens of units for large
// results. Special cases are IEEE 754's, as math.Pow has them.
func pow(x, y float64) float64 {
	special := x == 0 || x == 1 || math.IsInf(x, 0) || math.IsNaN(x) || y == 0 || y == 1 || math.IsInf(y, 0) || math.IsNaN(y) ||
		math.Abs(y) > 1<<63
	if special {
		return math.Pow(x, y)
	}
	sign := 1.0
	if x < 0 {
		if y != math.Trunc(y) {
			return math.NaN()
		}
		if math.Mod(y, 2) != 0 {
			sign = -1
		}
	}
	m, e := math.Frexp(math.Abs(x))
	if m < math.Sqrt2/2 {
		m, e = m*2, e-1
	}
	p := ln2.times(double{float64(e), 0}).plus(logDouble(m)).times(double{y, 0})
	switch {
	case p.hi > 710:
		return sign * math.Inf(1)
	case p.hi < -746:
		return sign * 0
	}
	k := math.RoundToEven(p.hi / math.Ln2)
	r := expDouble(p.plus(ln2.times(double{-k, 0})))
	return sign * math.Ldexp(r.hi+r.lo, int(k))
}

// double is an unevaluated sum of two floats, with about 104 bits. Source of its arithmetic: T. Dekker, "A Floating-Point
// Technique for Extending the Available Precision", Numerische Mathematik 18 (1971).
type double struct{ hi, lo float64 }

var ln2 = double{6.93147180559945286227e-01, 2.31904681384629955842e-17}

func (a double) plus(b double) double {
	s := a.hi + b.hi
	v := s - a.hi
	err := (a.hi - (s - v)) + (b.hi - v) + a.lo + b.lo
	hi := s + err
	return double{hi, err - (hi - s)}
}

func (a double) times(b double) double {
	p := float64(a.hi * b.hi)
	err := math.FMA(a.hi, b.hi, -p) + float64(a.hi*b.lo) + float64(a.lo*b.hi)
	hi := p + err
	return double{hi, err - (hi - p)}
}

// expDouble is e to the power a, for |a| < 1: the series of a/256, squared eight times.
func expDouble(a double) double {
	t := a.times(double{1.0 / 256, 0})
	sum, term := double{1, 0}, double{1, 0}
	for n := 1.0; n <= 9; n++ {
		inverse := 1 / n
		term = term.times(t).times(double{inverse, -math.FMA(inverse, n, -1) / n})
		sum = sum.plus(term)
	}
	for range 8 {
		sum = sum.times(sum)
	}
	return sum
}

// logDouble is the logarithm of m near 1: the library's, with one step of Newton's method.
func logDouble(m float64) double {
	l := math.Log(m)
	e := expDouble(double{l, 0})
	return double{l, 0}.plus(double{((m - e.hi) - e.lo) / e.hi, 0})
}
