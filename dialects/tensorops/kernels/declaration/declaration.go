// Package declaration reads the text of kernel declarations, and holds what they say.
//
// A kernel is declared once: named operands with index strings, attributes, types and a scalar body. Here is the language, what
// is checked in a declaration by itself, and the declaration as data. What a declaration means for a call of the kernel is in
// dialects/tensorops/kernels, which this package must not import. Read next: parse.go for the language.
package declaration

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"tensortapestry.org/tapc/ir/scalar"
)

// Kernel is one declared kernel.
type Kernel struct {
	Name string // with its namespace, as in "mine:blur", unless it is one of tapc's
	Place
	Doc      string
	Operands []Operand
	Types    []TypeVar
	Attrs    []Attr
	Body
	Cost    string
	Opaque  string // why an operand's signature is wider than what is read; "" if it is not
	Cases   []Case
	Clauses []Clause
}

// Place is where a declaration is.
type Place struct {
	File string
	Line int
}

// Body is what a kernel computes, and on which sizes.
type Body struct {
	Sizes    []Let  // how large a dimension or group is
	Needs    []Let  // conditions on sizes and attributes
	Lets     []Let  // in order; one named after an output operand is what is stored there
	Equation string // the attribute that gives the operands' index strings and the statements; "" if they are declared
}

// Clause is one line of a declaration as it is written: its word, such as "let", and what follows.
type Clause struct{ Word, Text string }

// Source gives the file and line of the declaration.
func (p Place) Source() string { return fmt.Sprintf("%s:%d", p.File, p.Line) }

// Family gives the name of the file that the kernel is declared in, without folder and suffix.
func (d *Kernel) Family() string { return strings.TrimSuffix(path.Base(d.File), ".kernel") }

// Operand is a named input or output. Its first name is the one tapc uses; graphs may use any.
type Operand struct {
	Names    []string
	Out      bool
	Optional bool
	Variadic bool   // one or more selections
	Type     string // a type variable or an element type
	Index    []IndexItem
	Else     string // what is read outside the operand; "" is 0
	Line     int
}

// Name is the operand's first name.
func (o *Operand) Name() string { return o.Names[0] }

// GroupUse says how an index string uses a group of dimensions.
type GroupUse uint8

// The uses of a group: as it is; right-aligned with sizes 1 stretched; without the dimensions an attribute lists; with those
// alone; in the order an attribute gives.
const (
	Plain GroupUse = iota
	Broadcast
	Drop
	Permute
	Keep
)

var groupUses = []string{"", "broadcast", "drop", "permute", "keep"}

// IndexItem is one entry of an index string: a dimension, or a group of dimensions such as *batch. With At, Dim or Group is
// the operand's own and At says which coordinate is read (or written): an expression of other dimensions, such as
// oh*stride + kh - pad, and for a group one that holds for each of its dimensions.
type IndexItem struct {
	Dim   string
	Group string
	Use   GroupUse
	Attr  string      // of Drop, Keep and Permute
	To    []IndexItem // what a broadcast entry without a Group stretches to
	Each  bool        // every selection of a variadic operand has a Dim of its own
	At    string
}

// Name is the dimension or group that the item is about.
func (x IndexItem) Name() string { return x.Dim + x.Group }

// TypeVar is a type variable with the element types it may stand for: those of a class, or the one that a function gives for
// the variable Of. Its types have as many bits as those of the variable Wide, if that is not "".
type TypeVar struct {
	Name  string
	Class string
	Of    string
	Wide  string
}

// classes are the names for sets of element types.
var classes = map[string]func(scalar.DType) bool{
	"any":      func(d scalar.DType) bool { return d != scalar.Invalid },
	"numeric":  scalar.DType.IsNumeric,
	"real":     scalar.DType.IsReal,
	"float":    func(d scalar.DType) bool { return d.IsFraction() || d.IsComplex() },
	"fraction": scalar.DType.IsFraction,
	"complex":  scalar.DType.IsComplex,
	"part":     func(d scalar.DType) bool { return d == scalar.Float32 || d == scalar.Float64 },
	"integer":  scalar.DType.IsInt,
	"logic":    func(d scalar.DType) bool { return d.IsBool() || d.IsInt() },
	"boolean":  scalar.DType.IsBool,
	"index":    func(d scalar.DType) bool { return d == scalar.Int32 || d == scalar.Int64 },
	"ordered":  func(d scalar.DType) bool { return d != scalar.Invalid && !d.IsComplex() },
	"byte":     func(d scalar.DType) bool { return d.IsInt() && d.Bits() <= 8 },
	"narrow": func(d scalar.DType) bool {
		return d.IsInt() && d.Bits() <= 16 || d == scalar.Int32 || d.IsFraction() && d.Bits() <= 8
	},
}

// typeFunctions are the functions from one type variable to another, such as W: wide(T).
var typeFunctions = map[string]func(scalar.DType) scalar.DType{
	"wide":    scalar.DType.Wide,
	"part":    scalar.DType.Part,
	"pair":    func(d scalar.DType) scalar.DType { p, _ := d.Pair(); return p },
	"product": product,
}

// product is the type that sums of products are kept in where nothing else is asked for: 32 bits for narrower integers.
func product(d scalar.DType) scalar.DType {
	switch {
	case d.IsInt() && d.Bits() < 32:
		return scalar.Int32
	}
	return d
}

// Allows says whether the variable may stand for an element type, as far as its class tells.
func (v TypeVar) Allows(d scalar.DType) bool {
	if v.Of != "" {
		return d != scalar.Invalid
	}
	return classes[v.Class](d)
}

// From gives the variable's type, from that of the variable which it is a function of.
func (v TypeVar) From(of scalar.DType) scalar.DType { return typeFunctions[v.Class](of) }

// AttrType is the type of a kernel's attribute.
type AttrType uint8

// The attribute types. Axes lists dimensions of a group (negative counts from the end), Perm orders them, Ints has a number
// for each (or is a list of any length, without Of), Axis is the position where one group ends and another begins, DType is an element type, Text any string.
const (
	NumberAttr AttrType = iota
	IntAttr
	BoolAttr
	WordAttr
	AxesAttr
	PermAttr
	IntsAttr
	AxisAttr
	DTypeAttr
	TextAttr
)

var attrTypes = []string{"number", "int", "bool", "word", "axes", "perm", "ints", "axis", "dtype", "text"}

// String gives the type's word in declarations.
func (t AttrType) String() string { return attrTypes[t] }

// Attr is a declared attribute. Of is the group of Axes, Perm and Ints, the first group of Axis or the type variable of
// DType; Then is Axis's second group; Words are the choices of Word. Numbers are at least Least and at most Most where those
// are not nil. Without a default the attribute is required wherever the body, as it applies, uses it; a default may be the
// name of another attribute.
type Attr struct {
	Name        string
	Type        AttrType
	Of, Then    string
	Words       []string
	Least, Most *int64
	Default     string
	HasDefault  bool
	Line        int
}

// Let is one statement of a body or one size: a name and the text of its value. A size with Each holds for the own dimension
// of every selection; one with Group declares a group.
type Let struct {
	Name, Text string
	Line       int
	Each       bool
	Group      bool
}

// Port finds the operand that a graph calls by a name.
func (d *Kernel) Port(port string) (int, bool) {
	i := slices.IndexFunc(d.Operands, func(o Operand) bool { return slices.Contains(o.Names, port) })
	return i, i >= 0
}

// Named finds the operand with a first name, which bodies use.
func (d *Kernel) Named(name string) (int, bool) {
	i := slices.IndexFunc(d.Operands, func(o Operand) bool { return o.Name() == name })
	return i, i >= 0
}

// Attr finds an attribute.
func (d *Kernel) Attr(name string) (*Attr, bool) {
	i := slices.IndexFunc(d.Attrs, func(a Attr) bool { return a.Name == name })
	if i < 0 {
		return nil, false
	}
	return &d.Attrs[i], true
}

// TypeVar finds a type variable.
func (d *Kernel) TypeVar(name string) (TypeVar, bool) {
	i := slices.IndexFunc(d.Types, func(v TypeVar) bool { return v.Name == name })
	if i < 0 {
		return TypeVar{}, false
	}
	return d.Types[i], true
}

// IndexText gives an operand's index string for messages and documentation.
func (o *Operand) IndexText() string {
	items := make([]string, len(o.Index))
	for i, x := range o.Index {
		items[i] = x.String()
	}
	return "[" + strings.Join(items, ", ") + "]"
}

// String gives the entry as declarations write it.
func (x IndexItem) String() string {
	text := x.Name()
	if x.Group != "" {
		text = "*" + text
	}
	if len(x.To) > 0 {
		to := make([]string, len(x.To))
		for i, y := range x.To {
			to[i] = y.String()
		}
		text = "(" + strings.Join(to, ", ") + ")"
	}
	for _, more := range []string{groupUses[x.Use], x.Attr} {
		if more != "" {
			text += " " + more
		}
	}
	if x.Each {
		text += "..."
	}
	if x.At != "" {
		text += " = " + x.At
	}
	return text
}
