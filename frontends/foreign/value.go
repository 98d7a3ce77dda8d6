package foreign

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/scalar"
)

// Kind is the kind of a value of the rule language.
type Kind uint8

// The kinds. None is an optional input or attribute that is not there.
const (
	None Kind = iota
	Bool
	Int
	Float
	String
	List
	TensorKind // a tensor of the program that is made
	DataKind   // a tensor as an attribute
	GraphKind  // a graph as an attribute
	OpaqueKind // an attribute of a kind that tapc does not use
)

// String gives the kind's name for messages.
func (k Kind) String() string {
	return [...]string{"nothing", "a truth value", "an integer", "a number", "a string", "a list", "a tensor", "a constant", "a graph",
		"an attribute of another kind"}[k]
}

// Value is a value of the rule language, which an attribute of a foreign operation also is.
type Value struct {
	Kind   Kind
	Int    int64 // Bool as 0 or 1
	Float  float64
	Str    string
	List   []Value
	Tensor *Tensor
	Data   *Data
	Graph  *Graph
}

// IntValue makes an integer.
func IntValue(i int64) Value { return Value{Kind: Int, Int: i} }

// FloatValue makes a number.
func FloatValue(f float64) Value { return Value{Kind: Float, Float: f} }

// StringValue makes a string.
func StringValue(s string) Value { return Value{Kind: String, Str: s} }

// BoolValue makes a truth value.
func BoolValue(b bool) Value {
	if b {
		return Value{Kind: Bool, Int: 1}
	}
	return Value{Kind: Bool}
}

// ListValue makes a list.
func ListValue(l ...Value) Value { return Value{Kind: List, List: l} }

// IntsValue makes a list of integers.
func IntsValue(l []int64) Value {
	v := Value{Kind: List, List: make([]Value, len(l))}
	for i, x := range l {
		v.List[i] = IntValue(x)
	}
	return v
}

// Tensor is a value of the program that is made: a type, and the bytes when they are known when compiling.
type Tensor struct {
	DType  scalar.DType
	Shape  []int64
	Data   *Data  // nil for one that is computed
	Label  string // name in the model
	Source any    // what computes it, of the package that makes the program; nil for inputs and constants
}

// Title names the tensor for messages.
func (t *Tensor) Title() string {
	if t.Label != "" {
		return fmt.Sprintf("%q", t.Label)
	}
	return "a value"
}

// TensorValue makes a value of a tensor.
func TensorValue(t *Tensor) Value { return Value{Kind: TensorKind, Tensor: t} }

// Number gives an integer or another number as a float64.
func (v Value) Number() (float64, bool) {
	switch v.Kind {
	case Int:
		return float64(v.Int), true
	case Float:
		return v.Float, true
	}
	return 0, false
}

// Graphs calls f with the graph that a value is, and with those in a list.
func (v Value) Graphs(f func(*Graph)) {
	if v.Graph != nil {
		f(v.Graph)
	}
	for _, x := range v.List {
		x.Graphs(f)
	}
}

// Ints gives a list of integers; ok is false for anything else.
func (v Value) Ints() ([]int64, bool) {
	if v.Kind != List {
		return nil, false
	}
	out := make([]int64, len(v.List))
	for i, x := range v.List {
		if x.Kind != Int {
			return nil, false
		}
		out[i] = x.Int
	}
	return out, true
}

// Equal compares two values; numbers by value, tensors by identity.
func (v Value) Equal(w Value) bool {
	a, okA := v.Number()
	b, okB := w.Number()
	if okA && okB {
		if v.Kind == Int && w.Kind == Int {
			return v.Int == w.Int
		}
		return a == b
	}
	return v.Kind == w.Kind && v.Int == w.Int && v.Str == w.Str && v.Tensor == w.Tensor && slices.EqualFunc(v.List, w.List, Value.Equal)
}

// Param turns a value of the rule language into a kernel's parameter.
func (v Value) Param() (ir.AttrValue, error) {
	switch v.Kind {
	case Bool:
		return ir.BoolAttr(v.Int != 0), nil
	case Int:
		return ir.IntAttr(v.Int), nil
	case Float:
		return ir.FloatAttr(v.Float), nil
	case String:
		return ir.StringAttr(v.Str), nil
	case List:
		out := ir.AttrValue{Kind: ir.AttrList, List: make([]ir.AttrValue, len(v.List))}
		for i, x := range v.List {
			var err error
			if out.List[i], err = x.Param(); err != nil {
				return out, err
			}
		}
		return out, nil
	}
	return ir.AttrValue{}, fmt.Errorf("%v can not be a kernel's parameter", v.Kind)
}

// Same compares two values of attributes, tensors by what they hold.
func (v Value) Same(w Value) bool {
	if v.Data != nil && w.Data != nil {
		a, errA := v.Data.Read()
		b, errB := w.Data.Read()
		return errA == nil && errB == nil && v.Data.DType == w.Data.DType && slices.Equal(v.Data.Shape, w.Data.Shape) && bytes.Equal(a, b)
	}
	return v.Data == w.Data && v.Graph == w.Graph && v.Equal(w)
}

// Reference makes an attribute value that stands for an attribute of the function around it.
func Reference(name string) Value { return Value{Kind: OpaqueKind, Str: "ref:" + name} }

// Referred gives the name that a value made by Reference stands for.
func (v Value) Referred() (string, bool) {
	if v.Kind == OpaqueKind && len(v.Str) > 4 && v.Str[:4] == "ref:" {
		return v.Str[4:], true
	}
	return "", false
}

// ShapeText writes a shape for messages.
func ShapeText(shape []int64) string {
	return strings.ReplaceAll(fmt.Sprint(shape), " ", ", ")
}
