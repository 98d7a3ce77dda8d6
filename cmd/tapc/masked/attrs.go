package masked

import (
	"math"
	"math/rand/v2"

	"tensortapestry.org/tapc/ir"
)

// attrs masks the long lists of numbers among attributes.
func attrs(list ir.Attrs) ir.Attrs {
	for _, a := range list {
		list = list.With(a.Name, attr(a.Value))
	}
	return list
}

// attr masks a value if it is a long list of numbers, or has one in it.
func attr(v ir.AttrValue) ir.AttrValue {
	switch v.Kind {
	case ir.AttrMap:
		v.Map = attrs(v.Map)
	case ir.AttrList:
		l := leaves{lo: math.Inf(1), hi: math.Inf(-1), source: rand.New(rand.NewPCG(1, 2))}
		if l.look(v); l.small() {
			return v
		}
		return l.drawn(v)
	}
	return v
}

// leaves are the values in a list, and in the lists in it.
type leaves struct {
	ints, floats int
	lo, hi       float64
	source       *rand.Rand
}

func (l *leaves) look(v ir.AttrValue) {
	switch v.Kind {
	case ir.AttrList:
		for _, x := range v.List {
			l.look(x)
		}
		return
	case ir.AttrInt, ir.AttrBool:
		l.ints++
	case ir.AttrFloat:
		l.floats++
	}
	if x, ok := v.Number(); ok && !math.IsInf(x, 0) && !math.IsNaN(x) {
		l.lo, l.hi = min(l.lo, x), max(l.hi, x)
	}
}

func (l *leaves) small() bool {
	if l.floats > 0 {
		return l.floats+l.ints <= SmallFloats
	}
	return l.ints <= SmallOthers
}

// drawn gives a list of the same form with other numbers, whole ones where they all are.
func (l *leaves) drawn(v ir.AttrValue) ir.AttrValue {
	x := l.source.Float64()
	number := l.lo*(1-x) + l.hi*x
	switch v.Kind {
	case ir.AttrList:
		list := make([]ir.AttrValue, len(v.List))
		for i, x := range v.List {
			list[i] = l.drawn(x)
		}
		return ir.AttrValue{Kind: ir.AttrList, List: list}
	case ir.AttrBool:
		return ir.BoolAttr(l.source.Uint64()&1 == 1)
	case ir.AttrInt:
		return ir.IntAttr(int64(min(max(math.Round(number), l.lo), l.hi)))
	case ir.AttrFloat:
		return ir.FloatAttr(float64(float32(number)))
	case ir.AttrMap:
		v.Map = attrs(v.Map)
	}
	return v
}
