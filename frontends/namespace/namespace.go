// Package namespace holds the dictionaries of the vocabularies that graphs are written in: which operators a framework has at which
// version, with their ports, attributes, defaults, element types and, where they have one, bodies.
//
// A Dictionary is the vocabulary of all versions, in one file of a line or so for each operator and the version that changed it last
// (docs/namespaces.md describes the form); a Namespace is a dictionary at one version, such as onnx/17. ONNX's are made by
// tools/onnx/namespace.py; tapc's own comes from the declarations of its kernels. Check holds a foreign graph to its namespaces. It
// must not import a format of graph files. Read next: parse.go, load.go, check.go.
package namespace

import (
	"cmp"
	"slices"

	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/frontends/foreign"
)

// Dictionary is the vocabulary of one framework, or of one domain of it, over all its versions.
type Dictionary struct {
	Name     string   // such as onnx, onnx/ai.onnx.ml, tensorflow
	Source   string   // where the facts come from, and how far they go
	First    int64    // versions by number: the first and the last one that are known
	Last     int64    //
	Releases []string // versions by name, in order; the number of one is its position
	prefixed bool     // operators may be named with a prefix, such as op:matmul
	ops      map[string][]*Op
}

// Op is an operator as it is since one version.
type Op struct {
	Name       string
	Since      int64
	Deprecated bool // it is not there any more
	In, Out    []Port
	Attrs      []Attr
	Types      []Types
	Traits     []string
	Body       *Body
}

// Port is a formal input or output. A variadic one stands for Least or more; Mixed says that these may have different types.
type Port struct {
	Name     string
	Aliases  []string // other names that graphs may use
	Type     string   // a type variable, or a type
	Optional bool
	Variadic bool
	Mixed    bool
	Least    int
}

// Attr is a formal attribute. Type is a word such as int, floats, tensor; Words are all that a string may be, if that is known.
type Attr struct {
	Name     string
	Type     string
	Required bool
	Default  *foreign.Value
	Words    []string
}

// Types are the types that a type variable may stand for. An attribute of the same name says which.
type Types struct {
	Var     string
	Allowed []string
}

// Body is what an operator computes in terms of others. ByTypes is set instead of a graph where that depends on the types of a call.
type Body struct {
	Version int64 // of the vocabulary that the graph is written in
	Graph   *foreign.Graph
	ByTypes bool
	text    []string
}

// Is says whether the operator has a trait: source is one that brings a value in from outside.
func (o *Op) Is(trait string) bool { return slices.Contains(o.Traits, trait) }

// Attr finds a formal attribute, or nil.
func (o *Op) Attr(name string) *Attr {
	for i := range o.Attrs {
		if o.Attrs[i].Name == name {
			return &o.Attrs[i]
		}
	}
	return nil
}

// Allowed gives the types that a port's type stands for: those of the variable, or the type itself.
func (o *Op) Allowed(typ string) []string {
	for _, t := range o.Types {
		if t.Var == typ {
			return t.Allowed
		}
	}
	return []string{typ}
}

// Namespace is a dictionary at one version.
type Namespace struct {
	*Dictionary
	Version int64
}

// String writes the namespace as graphs name it, such as onnx/17.
func (n Namespace) String() string { return n.Name + "/" + n.label(n.Version) }

// Op finds an operator as it is at the namespace's version; nil if it has none, or has it no more. Names may have a prefix where the
// vocabulary uses them.
func (n Namespace) Op(name string) *Op {
	o := n.newest(name)
	if o == nil || o.Deprecated {
		return nil
	}
	return o
}

func (n Namespace) newest(name string) *Op {
	if n.prefixed {
		name = kernels.Bare(name)
	}
	var found *Op
	for _, o := range n.ops[name] {
		if o.Since <= n.Version {
			found = o
		}
	}
	return found
}

// Ops lists the operators of the namespace by name.
func (n Namespace) Ops() []*Op {
	var out []*Op
	for name := range n.ops {
		if o := n.Op(name); o != nil {
			out = append(out, o)
		}
	}
	slices.SortFunc(out, func(a, b *Op) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// History gives an operator at every version that changed it, oldest first.
func (d *Dictionary) History(name string) []*Op { return d.ops[name] }
