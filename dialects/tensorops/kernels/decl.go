// Package kernels holds the kernel declarations and what is derived from them.
//
// A kernel is declared once, in one file of library/: named operands with index strings, attributes, types and a scalar
// body. From that, this package derives the shape rule, the iteration space, the polyhedral signature, the checks of an
// operation and the statements that the reference evaluator runs and every back end compiles. It must not import a back end
// or a pass. Read next: bind.go.
package kernels

import (
	"fmt"
	"slices"

	"tensortapestry.org/tapc/ir/scalar"
)

// Decl is one declared kernel.
type Decl struct {
	Name     string
	Source   string // file and line of the declaration
	Doc      string
	Operands []OperandDecl
	Types    []TypeVar
	Attrs    []AttrDecl
	Lets     []Let // in order; one named after an output operand is what is stored there
}

// OperandDecl is a named input or output. Its first name is the one tapc uses; graphs may use any.
type OperandDecl struct {
	Names    []string
	Out      bool
	Optional bool
	Variadic bool   // one or more selections
	Type     string // a type variable or an element type
	Index    []IndexItem
}

// Name is the operand's first name.
func (o *OperandDecl) Name() string { return o.Names[0] }

// GroupUse says how an index string uses a group of dimensions.
type GroupUse uint8

// The uses of a group: as it is; right-aligned with sizes 1 stretched; without the dimensions an attribute lists; in the
// order an attribute gives.
const (
	Plain GroupUse = iota
	Broadcast
	Drop
	Permute
)

// IndexItem is one entry of an index string: either a group such as *batch, or a sum of terms such as oh*stride + kh - pad.
type IndexItem struct {
	Group string
	Use   GroupUse
	Attr  string // of Drop and Permute
	Terms []Term
}

// bare gives the dimension that the item is, if it is nothing but that.
func (x IndexItem) bare() (string, bool) {
	if len(x.Terms) == 1 && x.Terms[0].Dim != "" && x.Terms[0].Attr == "" && x.Terms[0].Factor == 1 {
		return x.Terms[0].Dim, true
	}
	return "", false
}

// Term is Factor · Attr · Dim, each left out when it is "" (Factor is then all).
type Term struct {
	Factor int64
	Attr   string
	Dim    string
}

// TypeVar is a type variable with the element types it may stand for.
type TypeVar struct {
	Name  string
	Class string
}

// classes are the names for sets of element types.
var classes = map[string]func(scalar.DType) bool{
	"any":     func(d scalar.DType) bool { return d != scalar.Invalid },
	"numeric": scalar.DType.IsNumeric,
	"real":    func(d scalar.DType) bool { return d.IsInt() || d.IsFloat() },
	"float":   func(d scalar.DType) bool { return d.IsFloat() || d.IsComplex() },
	"integer": scalar.DType.IsInt,
	"logic":   func(d scalar.DType) bool { return d.IsBool() || d.IsInt() },
	"boolean": scalar.DType.IsBool,
}

// Allows says whether the variable may stand for an element type.
func (v TypeVar) Allows(d scalar.DType) bool { return classes[v.Class](d) }

// AttrType is the type of a kernel's attribute.
type AttrType uint8

// The attribute types. Axes lists dimensions of a group (negative counts from the end), Perm orders them.
const (
	NumberAttr AttrType = iota
	IntAttr
	BoolAttr
	WordAttr
	AxesAttr
	PermAttr
)

var attrTypes = []string{"number", "int", "bool", "word", "axes", "perm"}

// String gives the type's word in declarations.
func (t AttrType) String() string { return attrTypes[t] }

// AttrDecl is a declared attribute. Of is the group of Axes and Perm; Words are the choices of Word. Without a default the
// attribute is required wherever the body, as it applies, uses it.
type AttrDecl struct {
	Name       string
	Type       AttrType
	Of         string
	Words      []string
	Default    string
	HasDefault bool
}

// Let is one statement of a body: a name and the text of its value.
type Let struct {
	Name, Text string
}

func (d *Decl) operand(port string) (int, bool) {
	i := slices.IndexFunc(d.Operands, func(o OperandDecl) bool { return slices.Contains(o.Names, port) })
	return i, i >= 0
}

func (d *Decl) attr(name string) (*AttrDecl, bool) {
	i := slices.IndexFunc(d.Attrs, func(a AttrDecl) bool { return a.Name == name })
	if i < 0 {
		return nil, false
	}
	return &d.Attrs[i], true
}

func (d *Decl) typeVar(name string) (TypeVar, bool) {
	i := slices.IndexFunc(d.Types, func(v TypeVar) bool { return v.Name == name })
	if i < 0 {
		return TypeVar{}, false
	}
	return d.Types[i], true
}

// check looks for what is wrong in a declaration by itself: names used and not declared, operands without dimensions bound.
func (d *Decl) check() error {
	for _, o := range d.Operands {
		if _, ok := d.typeVar(o.Type); !ok {
			if _, err := scalar.ParseDType(o.Type); err != nil {
				return fmt.Errorf("operand %s: %q is neither a type variable nor a dtype", o.Name(), o.Type)
			}
		}
		for _, x := range o.Index {
			if x.Attr == "" {
				continue
			}
			if a, ok := d.attr(x.Attr); !ok || a.Of != x.Group {
				return fmt.Errorf("operand %s: %q is not an attribute of group %s", o.Name(), x.Attr, x.Group)
			}
		}
		stored := slices.ContainsFunc(d.Lets, func(l Let) bool { return l.Name == o.Name() })
		if o.Out != stored {
			return fmt.Errorf("operand %s: stored is %v, but it is an output is %v", o.Name(), stored, o.Out)
		}
	}
	return nil
}
