package zspace

import (
	"math"
	"math/big"
	"math/bits"
)

// addOK returns a+b; ok is false when the sum does not fit.
func addOK(a, b int64) (sum int64, ok bool) {
	sum = a + b
	return sum, (sum > a) == (b > 0)
}

// subOK returns a-b; ok is false when the difference does not fit.
func subOK(a, b int64) (diff int64, ok bool) {
	diff = a - b
	return diff, (diff < a) == (b > 0)
}

// mulOK returns a*b; ok is false when the product does not fit.
func mulOK(a, b int64) (prod int64, ok bool) {
	hi, lo := bits.Mul64(magnitude(a), magnitude(b))
	if hi != 0 {
		return 0, false
	}
	if (a < 0) != (b < 0) {
		return -int64(lo), lo <= 1<<63
	}
	return int64(lo), lo <= math.MaxInt64
}

// magnitude is |a|, exact for the smallest int64 too.
func magnitude(a int64) uint64 {
	if a < 0 {
		return -uint64(a)
	}
	return uint64(a)
}

// dot returns off + row·x; ok is false when that exact value does not fit.
func dot(off int64, row, x []int64) (sum int64, ok bool) {
	sum = off
	for j, a := range row {
		p, ok1 := mulOK(a, x[j])
		s, ok2 := addOK(sum, p)
		if !ok1 || !ok2 {
			return bigDot(off, row, x)
		}
		sum = s
	}
	return sum, true
}

// bigDot is dot in unbounded arithmetic, for sums whose terms leave 64 bits.
func bigDot(off int64, row, x []int64) (int64, bool) {
	sum := big.NewInt(off)
	var p, q big.Int
	for j, a := range row {
		p.SetInt64(a)
		q.SetInt64(x[j])
		sum.Add(sum, p.Mul(&p, &q))
	}
	return sum.Int64(), sum.IsInt64()
}
