package mapping

import (
	"fmt"
	"slices"

	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/scalar"
)

// Graph is a program in a foreign vocabulary. Values are named; an operation names the values it takes and gives, "" for one
// that is left out. Operations may stand in any order.
type Graph struct {
	Name      string
	File      string           // for messages
	Path      string           // to the list of operations in the file, for messages; "" if there is none
	Namespace string           // of operations without a domain, such as "onnx"
	Versions  map[string]int64 // version of each domain's vocabulary; "" is the namespace's own
	Inputs    []Port
	Outputs   []Port
	Consts    map[string]*Data
	Ops       []*Op
}

// Port is a named input or output of a graph. A size is a number, or a name that is bound when the graph is mapped.
type Port struct {
	Name   string
	DType  scalar.DType // Invalid when it is not given
	Ranked bool         // the shape is given
	Shape  []Size
	Reason string // why the port can not be a tensor of tapc ("" if it can)
}

// Size is one dimension of a port: Name is "" for a number, and Value is -1 for a dimension that is not known.
type Size struct {
	Value int64
	Name  string
}

// Op is one foreign operation.
type Op struct {
	Name, Domain, Type string
	In, Out            []string
	Attrs              []Attr // sorted by name
	Pos                ir.Pos
}

// Attr is an attribute of a foreign operation.
type Attr struct {
	Name  string
	Value Value
}

// Attr finds an attribute; ok is false if the operation does not have it.
func (o *Op) Attr(name string) (Value, bool) {
	for i := range o.Attrs {
		if o.Attrs[i].Name == name {
			return o.Attrs[i].Value, true
		}
	}
	return Value{}, false
}

// Title names the operation for messages.
func (o *Op) Title() string {
	t := o.Type
	if o.Domain != "" {
		t = o.Domain + ":" + t
	}
	if o.Name != "" {
		t += fmt.Sprintf(" %q", o.Name)
	}
	return t
}

// Data is a constant: dense little-endian elements, and where they are in a file when they are there in exactly this form.
type Data struct {
	DType  scalar.DType
	Shape  []int64
	Bytes  []byte // may be a part of a larger buffer, and must not be changed
	File   string // relative to the folder of the graph's file; "" when the bytes are in no file
	Offset int64
	Reason string // why the constant can not be a tensor of tapc ("" if it can)
	Load   func() ([]byte, error)
}

// Len is the number of elements, or -1 when it does not fit.
func (d *Data) Len() int64 { return elements(d.Shape) }

// bytes gives the elements, read from their file if need be.
func (d *Data) bytes() ([]byte, error) {
	if d.Bytes == nil && d.Load != nil {
		b, err := d.Load()
		if err != nil {
			return nil, err
		}
		d.Bytes = b
	}
	return d.Bytes, nil
}

// elements multiplies sizes; -1 stands for a product beyond 2^62 or a negative size.
func elements(shape []int64) int64 {
	n := int64(1)
	if slices.Contains(shape, 0) {
		return 0
	}
	for _, s := range shape {
		if s < 0 || n > 1<<62/max(s, 1) {
			return -1
		}
		n *= s
	}
	return n
}

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

func tensorValue(t *Tensor) Value { return Value{Kind: TensorKind, Tensor: t} }

// number gives an integer or another number as a float64.
func (v Value) number() (float64, bool) {
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

func (v Value) ints() ([]int64, bool) {
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

// equal compares two values; numbers by value, tensors by identity.
func (v Value) equal(w Value) bool {
	a, okA := v.number()
	b, okB := w.number()
	if okA && okB {
		if v.Kind == Int && w.Kind == Int {
			return v.Int == w.Int
		}
		return a == b
	}
	return v.Kind == w.Kind && v.Int == w.Int && v.Str == w.Str && v.Tensor == w.Tensor && slices.EqualFunc(v.List, w.List, Value.equal)
}
