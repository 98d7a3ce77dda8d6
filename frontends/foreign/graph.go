// Package foreign is what graphs in other frameworks' vocabularies are read into: operations with positional inputs and outputs, named
// values, attributes, and constants that stay where they are in their files.
//
// It has no rules and knows no vocabulary. It must not import a format, nor what maps graphs. Read next: graph.go, value.go, then
// frontends/mapping.
package foreign

import (
	"fmt"
	"slices"
	"strings"

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
	Functions []*Graph // what operations are that their graph defines, by name and domain
	Domain    string   // of a function
	Defaults  []Attr   // of a function: values of attributes that a call may leave out
}

// Definitions is the domain of functions of definitions that name none.
const Definitions = "tapc.definitions"

// FunctionOf gives the domain and the name of the function that a definition is: a definition's name is DOMAIN/NAME, or the name in the domain Definitions.
func FunctionOf(definition string) (domain, name string) {
	if i := strings.LastIndexByte(definition, '/'); i > 0 && i+1 < len(definition) {
		return definition[:i], definition[i+1:]
	}
	return Definitions, definition
}

// DefinitionOf gives the name of the definition of a function.
func DefinitionOf(domain, name string) string {
	if domain == "" || domain == Definitions {
		return name
	}
	return domain + "/" + name
}

// Added is the domain of operations that belong to no vocabulary and that tapc adds to a graph. Order is the type, in it, of those that take and give nothing and are between others in time;
// one that no other comes after says that what is before it is observed.
const (
	Added = "tapc"
	Order = "Order"
)

// IsOrder says whether an operation is an Order.
func (o *Op) IsOrder() bool { return o.Domain == Added && o.Type == Order }

// Port is a named input or output of a graph. A size is a number, or a name that is bound when the graph is mapped.
type Port struct {
	Name   string
	DType  scalar.DType // Invalid when it is not given
	Ranked bool         // the shape is given
	Shape  []Size
	Reason string // why the port can not be a tensor of tapc ("" if it can)
	Maps   bool   // the port is a sequence of maps, whose place a tensor with a row for each can take
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
	After              []*Op  // what happens before it, besides the operations whose values it takes
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

// Bound gives the operations of a function for a call: what refers to an attribute of the function has the call's value, or its default, or is left out.
func (g *Graph) Bound(call []Attr) []*Op {
	attrs := map[string]Value{}
	for _, list := range [][]Attr{g.Defaults, call} {
		for _, a := range list {
			attrs[a.Name] = a.Value
		}
	}
	return boundOps(g.Ops, attrs)
}

func boundOps(ops []*Op, attrs map[string]Value) []*Op {
	out := make([]*Op, len(ops))
	for i, op := range ops {
		o := *op
		out[i], o.Attrs = &o, nil
		for _, a := range op.Attrs {
			if name, ok := a.Value.Referred(); !ok {
				o.Attrs = append(o.Attrs, Attr{a.Name, boundValue(a.Value, attrs)})
			} else if v, given := attrs[name]; given {
				o.Attrs = append(o.Attrs, Attr{a.Name, v})
			}
		}
	}
	return out
}

func boundValue(v Value, attrs map[string]Value) Value {
	if v.Graph != nil {
		g := *v.Graph
		g.Ops = boundOps(g.Ops, attrs)
		v.Graph = &g
	}
	if v.Kind == List {
		list := make([]Value, len(v.List))
		for i, x := range v.List {
			list[i] = boundValue(x, attrs)
		}
		v.List = list
	}
	return v
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
func (d *Data) Len() int64 { return Elements(d.Shape) }

// Read gives the elements, read from their file if need be.
func (d *Data) Read() ([]byte, error) {
	if d.Bytes == nil && d.Load != nil {
		b, err := d.Load()
		if err != nil {
			return nil, err
		}
		d.Bytes = b
	}
	return d.Bytes, nil
}

// Elements multiplies sizes; -1 stands for a product beyond 2^62 or a negative size.
func Elements(shape []int64) int64 {
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
