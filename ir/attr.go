package ir

import (
	"math"
	"slices"
	"strings"
)

// AttrKind is the kind of an attribute's value.
type AttrKind uint8

// The kinds of attribute values: those of JSON, with integers told apart from other numbers.
const (
	AttrNull AttrKind = iota
	AttrBool
	AttrInt
	AttrFloat
	AttrString
	AttrList
	AttrMap
)

// String gives the kind's name for messages.
func (k AttrKind) String() string {
	return [...]string{"null", "boolean", "integer", "number", "string", "list", "map"}[k]
}

// AttrValue is a typed parameter value. The fields other than Kind that the kind does not name are zero.
type AttrValue struct {
	Kind AttrKind
	Int  int64 // AttrInt; AttrBool as 0 or 1
	Num  float64
	Str  string
	List []AttrValue
	Map  Attrs
}

// Attr is one named parameter.
type Attr struct {
	Name  string
	Value AttrValue
}

// Attrs are parameters sorted by name, no name twice.
type Attrs []Attr

// BoolAttr makes a boolean value.
func BoolAttr(b bool) AttrValue {
	if b {
		return AttrValue{Kind: AttrBool, Int: 1}
	}
	return AttrValue{Kind: AttrBool}
}

// IntAttr makes an integer value.
func IntAttr(i int64) AttrValue { return AttrValue{Kind: AttrInt, Int: i} }

// FloatAttr makes a number that is written with a fraction or an exponent.
func FloatAttr(f float64) AttrValue { return AttrValue{Kind: AttrFloat, Num: f} }

// StringAttr makes a string value.
func StringAttr(s string) AttrValue { return AttrValue{Kind: AttrString, Str: s} }

// IntsAttr makes a list of integers.
func IntsAttr(is ...int64) AttrValue {
	v := AttrValue{Kind: AttrList, List: make([]AttrValue, len(is))}
	for i, x := range is {
		v.List[i] = IntAttr(x)
	}
	return v
}

// Equal says whether two values are the same kind and value; NaN equals NaN.
func (v AttrValue) Equal(w AttrValue) bool {
	return v.Kind == w.Kind && v.Int == w.Int && v.Str == w.Str &&
		(math.Float64bits(v.Num) == math.Float64bits(w.Num) || v.Num != v.Num && w.Num != w.Num) &&
		slices.EqualFunc(v.List, w.List, AttrValue.Equal) && v.Map.Equal(w.Map)
}

// Number gives the value as a float64 if it is an integer or another number.
func (v AttrValue) Number() (float64, bool) {
	switch v.Kind {
	case AttrInt:
		return float64(v.Int), true
	case AttrFloat:
		return v.Num, true
	}
	return 0, false
}

// Ints gives the value as a list of integers if it is one.
func (v AttrValue) Ints() ([]int64, bool) {
	if v.Kind != AttrList {
		return nil, false
	}
	out := make([]int64, len(v.List))
	for i, x := range v.List {
		if x.Kind != AttrInt {
			return nil, false
		}
		out[i] = x.Int
	}
	return out, true
}

// Equal says whether two attribute lists hold the same names and values.
func (a Attrs) Equal(b Attrs) bool {
	return slices.EqualFunc(a, b, func(x, y Attr) bool { return x.Name == y.Name && x.Value.Equal(y.Value) })
}

// Get finds a parameter by name.
func (a Attrs) Get(name string) (AttrValue, bool) {
	i, ok := slices.BinarySearchFunc(a, name, func(x Attr, n string) int { return strings.Compare(x.Name, n) })
	if !ok {
		return AttrValue{}, false
	}
	return a[i].Value, true
}

// With gives the list with a parameter set; the receiver is unchanged.
func (a Attrs) With(name string, v AttrValue) Attrs {
	i, ok := slices.BinarySearchFunc(a, name, func(x Attr, n string) int { return strings.Compare(x.Name, n) })
	b := slices.Clone(a)
	if ok {
		b[i].Value = v
		return b
	}
	return slices.Insert(b, i, Attr{name, v})
}

// Without gives the list with a parameter left out; the receiver is unchanged.
func (a Attrs) Without(name string) Attrs {
	return slices.DeleteFunc(slices.Clone(a), func(x Attr) bool { return x.Name == name })
}
