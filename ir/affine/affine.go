// Package affine is the arithmetic of sums of multiples of symbols, such as the loops of a kernel or the dims of a declaration: it reads them out of
// integer expressions and conditions, over a box of their values if there is one. The symbols are numbers; what is counted by others, as the
// variables of tile trees and the quotients of them, has sums of its own (backends/tree). It must know nothing of kernels. Read next: ir/affine/read.go.
package affine

import (
	"slices"

	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/zspace"
)

// Sum is Factors·symbols + Constant. Symbols beyond the factors have the factor 0.
type Sum struct {
	Factors  []int64
	Constant int64
}

// Limit bounds the numbers of sums, so that nothing overflows: what would lie beyond stays there.
const Limit = 1 << 60

// Constant is a number as a sum.
func Constant(n int64) Sum { return Sum{Constant: clip(n)} }

// Symbol is one symbol as a sum.
func Symbol(i int) Sum {
	s := Sum{Factors: make([]int64, i+1)}
	s.Factors[i] = 1
	return s
}

// Factor gives the multiple of one symbol.
func (s Sum) Factor(i int) int64 {
	if i < 0 || i >= len(s.Factors) {
		return 0
	}
	return s.Factors[i]
}

// Row gives the factors of the first n symbols, which are all that the sum has.
func (s Sum) Row(n int) []int64 {
	row := make([]int64, n)
	copy(row, s.Factors)
	return row
}

// IsConstant says whether a sum depends on no symbol.
func (s Sum) IsConstant() bool {
	return !slices.ContainsFunc(s.Factors, func(f int64) bool { return f != 0 })
}

// Equal says whether two sums are the same.
func (s Sum) Equal(t Sum) bool {
	n := max(len(s.Factors), len(t.Factors))
	return s.Constant == t.Constant && slices.Equal(s.Row(n), t.Row(n))
}

// Reaches says whether a number of a sum is as great as a limit.
func (s Sum) Reaches(limit int64) bool {
	return magnitude(s.Constant) >= limit || slices.ContainsFunc(s.Factors, func(f int64) bool { return magnitude(f) >= limit })
}

// Plus is s + times·t.
func (s Sum) Plus(t Sum, times int64) Sum {
	out := Sum{s.Row(max(len(s.Factors), len(t.Factors))), clip(s.Constant + product(times, t.Constant))}
	for i, f := range t.Factors {
		out.Factors[i] = clip(out.Factors[i] + product(times, f))
	}
	return out
}

// Times is a multiple of a sum.
func (s Sum) Times(n int64) Sum { return Sum{}.Plus(s, n) }

// Divide splits a sum into n·quotient + rest for a positive n: the quotient has what n divides, and the rest a constant from 0 to n-1.
func (s Sum) Divide(n int64) (quotient, rest Sum) {
	quotient, rest = Sum{Factors: make([]int64, len(s.Factors))}, Sum{Factors: make([]int64, len(s.Factors))}
	for i, f := range s.Factors {
		if f%n == 0 {
			quotient.Factors[i] = f / n
		} else {
			rest.Factors[i] = f
		}
	}
	rest.Constant = (s.Constant%n + n) % n
	quotient.Constant = (s.Constant - rest.Constant) / n
	return quotient, rest
}

// Hull gives the least and the greatest value of a sum in a box; a symbol without values counts as one at its start.
func (s Sum) Hull(box zspace.Range) (lo, hi int64) {
	lo, hi = s.Constant, s.Constant
	for i, f := range s.Factors {
		first, last := product(f, box.Start[i]), product(f, max(box.Start[i], box.End[i]-1))
		lo, hi = clip(lo+min(first, last)), clip(hi+max(first, last))
	}
	return lo, hi
}

// Least gives the least value of a sum in a box with some symbols at their start.
func (s Sum) Least(box zspace.Range, first ...int) int64 {
	box = box.Clone()
	for _, i := range first {
		box.End[i] = box.Start[i] + 1
	}
	lo, _ := s.Hull(box)
	return lo
}

// Expr writes a sum as an expression of loops.
func (s Sum) Expr() *scalar.Expr {
	var e *scalar.Expr
	for i, f := range s.Factors {
		if f == 0 {
			continue
		}
		term := scalar.NewLoop(i)
		if f != 1 {
			term = scalar.Must(scalar.Mul, term, scalar.Number(f))
		}
		if e == nil {
			e = term
		} else {
			e = scalar.Must(scalar.Add, e, term)
		}
	}
	switch {
	case e == nil:
		return scalar.Number(s.Constant)
	case s.Constant > 0:
		return scalar.Must(scalar.Add, e, scalar.Number(s.Constant))
	case s.Constant < 0:
		return scalar.Must(scalar.Sub, e, scalar.Number(-s.Constant))
	}
	return e
}

// magnitude is how great a number is, up to the limit.
func magnitude(a int64) int64 { return max(clip(a), -clip(a)) }

func clip(a int64) int64 { return max(-Limit, min(Limit, a)) }

// product multiplies two numbers, up to the limit.
func product(a, b int64) int64 {
	if m := magnitude(a); m > 0 && magnitude(b) > Limit/m {
		if (a < 0) == (b < 0) {
			return Limit
		}
		return -Limit
	}
	return a * b
}
