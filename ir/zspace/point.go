package zspace

import (
	"slices"
	"strconv"
)

// Point is a vector of integer coordinates. Length 0 is the one point of the
// space without dimensions.
type Point []int64

// Equal reports whether p and q have the same length and the same coordinates.
func (p Point) Equal(q Point) bool { return slices.Equal(p, q) }

// Clone returns a copy that shares no memory with p and is never nil.
func (p Point) Clone() Point { return append(make(Point, 0, len(p)), p...) }

// Add returns p+q by coordinate. The lengths must agree: nothing is broadcast.
func (p Point) Add(q Point) (Point, error) { return p.zip(q, "+", addOK) }

// Sub returns p-q by coordinate. The lengths must agree: nothing is broadcast.
func (p Point) Sub(q Point) (Point, error) { return p.zip(q, "-", subOK) }

func (p Point) zip(q Point, op string, f func(a, b int64) (int64, bool)) (Point, error) {
	if len(p) != len(q) {
		return nil, &RankError{What: "point", Want: len(p), Got: len(q)}
	}
	out := make(Point, len(p))
	for i := range p {
		v, ok := f(p[i], q[i])
		if !ok {
			return nil, overflow("dimension %d: %d %s %d", i, p[i], op, q[i])
		}
		out[i] = v
	}
	return out, nil
}

// String writes the coordinates as "[1, 2]".
func (p Point) String() string {
	b := appendList([]byte{'['}, p)
	return string(append(b, ']'))
}

func appendList(b []byte, vs []int64) []byte {
	for i, v := range vs {
		if i > 0 {
			b = append(b, ", "...)
		}
		b = strconv.AppendInt(b, v, 10)
	}
	return b
}

// Order is the outcome of comparing two points in the dominance order, a partial
// order: "not greater" does not mean "less or equal".
type Order int

// The four outcomes of [Compare].
const (
	Equal        Order = iota // all coordinates equal (two empty points too)
	Less                      // some coordinates less, none greater
	Greater                   // some coordinates greater, none less
	Incomparable              // some less and some greater
)

// String names the outcome in lower case.
func (o Order) String() string {
	switch o {
	case Equal:
		return "equal"
	case Less:
		return "less"
	case Greater:
		return "greater"
	case Incomparable:
		return "incomparable"
	}
	return "Order(" + strconv.Itoa(int(o)) + ")"
}

// Compare compares p with q in the dominance order. Different lengths are an
// error, a *[RankError].
func Compare(p, q Point) (Order, error) {
	if len(p) != len(q) {
		return Incomparable, &RankError{What: "point", Want: len(p), Got: len(q)}
	}
	var less, greater bool
	for i := range p {
		less = less || p[i] < q[i]
		greater = greater || p[i] > q[i]
	}
	switch {
	case less && greater:
		return Incomparable, nil
	case less:
		return Less, nil
	case greater:
		return Greater, nil
	}
	return Equal, nil
}

// checkPerm returns a *PermutationError unless perm holds each of 0 … rank-1
// exactly once.
func checkPerm(perm []int, rank int) error {
	fail := func(reason string) error {
		return &PermutationError{Perm: slices.Clone(perm), Rank: rank, Reason: reason}
	}
	if len(perm) != rank {
		return fail("it has " + strconv.Itoa(len(perm)) + " entries")
	}
	seen := make([]bool, rank)
	for i, p := range perm {
		if p < 0 || p >= rank {
			return fail("entry " + strconv.Itoa(i) + " is out of bounds")
		}
		if seen[p] {
			return fail("entry " + strconv.Itoa(i) + " repeats " + strconv.Itoa(p))
		}
		seen[p] = true
	}
	return nil
}

// permuted returns src with entry i taken from src[perm[i]]; perm is valid.
func permuted[T any](src []T, perm []int) []T {
	out := make([]T, len(perm))
	for i, p := range perm {
		out[i] = src[p]
	}
	return out
}
