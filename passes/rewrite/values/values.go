// Package values has the functions of the rule language: integers, lists of them, and permutations. It must not import the driver of rewrites. Read next: passes/rewrite/guard.go.
package values

import (
	"math"
	"math/bits"
	"slices"

	"tensortapestry.org/tapc/ir"
)

// Function computes a value from values; ok is false where it has none, as of a list that has no such entry, or of an integer that does not fit 64 bits.
type Function struct {
	Args int
	Doc  string
	Of   func(args []ir.AttrValue) (v ir.AttrValue, ok bool)
}

// Functions are the functions of the language by name.
var Functions = map[string]Function{
	"compose": {2, "the permutation that is p and then q: dimension i of the result is dimension p[q[i]] of the tensor", compose},
	"unmoved": {1, "true if the permutation p leaves every dimension where it is", func(args []ir.AttrValue) (ir.AttrValue, bool) {
		p, ok := permOf(args[0])
		for i, x := range p {
			if int(x) != i {
				return ir.BoolAttr(false), ok
			}
		}
		return ir.BoolAttr(true), ok
	}},
	"plus":     integers("p + q, integers", func(a, b int64) (int64, bool) { return a + b, (a+b > a) == (b > 0) }),
	"minus":    integers("p - q, integers", func(a, b int64) (int64, bool) { return a - b, (a-b < a) == (b > 0) }),
	"times":    integers("p · q, integers", times),
	"quotient": integers("p / q, integers: no value where q does not divide p", quotient),
	"product": {1, "the product of the list's integers, 1 of none", func(args []ir.AttrValue) (ir.AttrValue, bool) {
		list, ok := args[0].Ints()
		n := int64(1)
		for _, x := range list {
			var fits bool
			n, fits = times(n, x)
			ok = ok && fits
		}
		return ir.IntAttr(n), ok
	}},
	"length": {1, "how many entries the list has", func(args []ir.AttrValue) (ir.AttrValue, bool) {
		return ir.IntAttr(int64(len(args[0].List))), args[0].Kind == ir.AttrList
	}},
	"entry": {2, "the entry q of the list p, from 0; from its end, -1 being the last, where q is negative", func(args []ir.AttrValue) (ir.AttrValue, bool) {
		i, ok := place(args[0], args[1])
		if !ok || i >= len(args[0].List) {
			return ir.AttrValue{}, false
		}
		return args[0].List[i], true
	}},
	"part": {3, "the entries of the list p from q to before r, which count as in entry; r may be its length", func(args []ir.AttrValue) (ir.AttrValue, bool) {
		from, ok := place(args[0], args[1])
		to, ok2 := place(args[0], args[2])
		if !ok || !ok2 || from > to {
			return ir.AttrValue{}, false
		}
		return ir.AttrValue{Kind: ir.AttrList, List: slices.Clone(args[0].List[from:to])}, true
	}},
	"join": {2, "the entries of the list p and then those of q", func(args []ir.AttrValue) (ir.AttrValue, bool) {
		return ir.AttrValue{Kind: ir.AttrList, List: slices.Concat(args[0].List, args[1].List)}, args[0].Kind == ir.AttrList && args[1].Kind == ir.AttrList
	}},
}

// integers is a function of two integers.
func integers(doc string, of func(a, b int64) (int64, bool)) Function {
	return Function{2, doc, func(args []ir.AttrValue) (ir.AttrValue, bool) {
		if args[0].Kind != ir.AttrInt || args[1].Kind != ir.AttrInt {
			return ir.AttrValue{}, false
		}
		n, ok := of(args[0].Int, args[1].Int)
		return ir.IntAttr(n), ok
	}}
}

func times(a, b int64) (int64, bool) {
	high, low := bits.Mul64(magnitude(a), magnitude(b))
	return a * b, high == 0 && low <= 1<<63-1
}

func magnitude(a int64) uint64 {
	if a < 0 {
		return -uint64(a)
	}
	return uint64(a)
}

func quotient(a, b int64) (int64, bool) {
	if b == 0 || a%b != 0 || b == -1 && a == math.MinInt64 {
		return 0, false
	}
	return a / b, true
}

// place gives the place in a list that a number counts from its beginning or its end; the place behind the last entry is one too.
func place(list, at ir.AttrValue) (int, bool) {
	n, i := int64(len(list.List)), at.Int
	if i < 0 {
		i += n
	}
	return int(i), list.Kind == ir.AttrList && at.Kind == ir.AttrInt && i >= 0 && i <= n
}

func compose(args []ir.AttrValue) (ir.AttrValue, bool) {
	p, ok := permOf(args[0])
	q, ok2 := permOf(args[1])
	if !ok || !ok2 || len(p) != len(q) {
		return ir.AttrValue{}, false
	}
	for i, x := range q {
		q[i] = p[x]
	}
	return ir.IntsAttr(q...), true
}

// permOf reads a permutation; negative entries count from the end.
func permOf(v ir.AttrValue) ([]int64, bool) {
	p, ok := v.Ints()
	seen := make([]bool, len(p))
	for i, x := range p {
		if x < 0 {
			x += int64(len(p))
		}
		if x < 0 || x >= int64(len(p)) || seen[x] {
			return nil, false
		}
		seen[x] = true
		p[i] = x
	}
	return p, ok
}

// Compare says whether a comparison holds: of two integers, or for = and != of any values.
func Compare(op string, x, y ir.AttrValue) bool {
	switch op {
	case "=":
		return x.Equal(y)
	case "!=":
		return !x.Equal(y)
	}
	if x.Kind != ir.AttrInt || y.Kind != ir.AttrInt {
		return false
	}
	switch op {
	case "<":
		return x.Int < y.Int
	case "<=":
		return x.Int <= y.Int
	case ">":
		return x.Int > y.Int
	}
	return x.Int >= y.Int
}
