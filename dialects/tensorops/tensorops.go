// Package tensorops is the Operation Expression dialect: what is computed.
//
// Its nodes are tensors (a dtype and a box of integer coordinates), operations (a kernel applied to boxes of tensors) and
// notes; its tags carry an operation's polyhedral signature and index, and mark operations with outside effect. The
// constraints of the dialect are in this package; what kernels mean is in dialects/tensorops/kernels. It must not import the
// other dialects or a form of the IR. Read next: dialects/application.
package tensorops

import (
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/zspace"
)

const (
	nodeBase = "http://tensortapestry.org/schemas/loom/2024-01/node_types.jsd#/nodes/"
	tagBase  = "http://tensortapestry.org/schemas/loom/2024-01/tag_types.jsd#/tags/"

	tapcTagBase = "http://tensortapestry.org/schemas/tapc/2026-11/operation.jsd#/tags/"
)

// The node and tag kinds of the dialect.
var (
	TensorKind          = &ir.Kind{URI: nodeBase + "Tensor", Keyword: "tensor", Num: 1, New: func() ir.Body { return new(Tensor) }}
	OperationKind       = &ir.Kind{URI: nodeBase + "Operation", Keyword: "operation", Num: 2, New: func() ir.Body { return new(Operation) }}
	NoteKind            = &ir.Kind{URI: nodeBase + "Note", Keyword: "note", Num: 3, New: func() ir.Body { return new(Note) }}
	SignatureKind       = &ir.Kind{URI: tagBase + "IPFSignature", Keyword: "signature", Num: 1, New: func() ir.Body { return new(Signature) }}
	IndexKind           = &ir.Kind{URI: tagBase + "IPFIndex", Keyword: "index", Num: 2, New: func() ir.Body { return new(Index) }}
	PrecomputedKind     = &ir.Kind{URI: tapcTagBase + "Precomputed", Keyword: "precomputed", Num: 4, New: func() ir.Body { return new(Precomputed) }}
	DerivedKind         = &ir.Kind{URI: tapcTagBase + "Derived", Keyword: "derived", Num: 7, New: func() ir.Body { return new(Derived) }}
	IOSequencePointKind = &ir.Kind{URI: tagBase + "IOSequencePoint", Keyword: "io", Num: 3, New: func() ir.Body { return new(IOSequencePoint) }}
)

// Tensor is a logical value: an element type and a box of coordinates, which may start anywhere, be empty, or have no
// dimensions (one cell). Many nodes may have one body (ir.Shared): to change a tensor is to give its node another.
type Tensor struct {
	DType string
	Range zspace.Range
}

// Kind is TensorKind.
func (*Tensor) Kind() *ir.Kind { return TensorKind }

// Fields names the dtype and the range.
func (t *Tensor) Fields(f ir.Fields) {
	f.String(ir.Field{Num: 1, Name: "dtype", Style: ir.Positional}, &t.DType)
	f.Range(ir.Field{Num: 2, Name: "range", Style: ir.Positional}, &t.Range)
}

// Hash mixes the type and the bounds.
func (t *Tensor) Hash() uint64 {
	const prime = 0x9e3779b97f4a7c15
	h := uint64(len(t.Range.Start))
	for i := range len(t.DType) {
		h = h*31 + uint64(t.DType[i])
	}
	for _, side := range [2]zspace.Point{t.Range.Start, t.Range.End} {
		for _, x := range side {
			h = (h ^ h>>29 ^ uint64(x)) * prime
		}
	}
	return h * prime
}

// Same says whether another tensor has the same type and box: a tensor is never changed while it is in a graph.
func (t *Tensor) Same(other ir.Shared) bool {
	u, ok := other.(*Tensor)
	return ok && t.DType == u.DType && t.Range.Equal(u.Range)
}

// Clear empties a tensor that is in no graph.
func (t *Tensor) Clear() { *t = Tensor{} }

// FullRange is the tensor's whole box.
func (t *Tensor) FullRange() zspace.Range { return t.Range }

// Type is the element type, scalar.Invalid if the dtype is not one that tapc knows.
func (t *Tensor) Type() scalar.DType {
	d, err := scalar.ParseDType(t.DType)
	if err != nil {
		return scalar.Invalid
	}
	return d
}

// Operation applies a kernel to boxes of tensors.
type Operation struct {
	Kernel  string
	Params  ir.Attrs
	Inputs  ir.Ports
	Outputs ir.Ports
}

// Kind is OperationKind.
func (*Operation) Kind() *ir.Kind { return OperationKind }

// Fields names the kernel, its parameters and its ports.
func (o *Operation) Fields(f ir.Fields) {
	f.String(ir.Field{Num: 1, Name: "kernel", Style: ir.Positional}, &o.Kernel)
	f.Attrs(ir.Field{Num: 2, Name: "params", Style: ir.Positional, Optional: true}, &o.Params)
	f.Ports(ir.Field{Num: 3, Name: "inputs", Style: ir.Positional, Optional: true}, &o.Inputs)
	f.Ports(ir.Field{Num: 4, Name: "outputs", Style: ir.Arrow, Optional: true}, &o.Outputs)
}

// Ports gives the operation's inputs and outputs.
func (o *Operation) Ports() (in, out *ir.Ports) { return &o.Inputs, &o.Outputs }

// Note is free text.
type Note struct{ Message string }

// Kind is NoteKind.
func (*Note) Kind() *ir.Kind { return NoteKind }

// Fields names the message.
func (n *Note) Fields(f ir.Fields) {
	f.String(ir.Field{Num: 1, Name: "message", Style: ir.Positional}, &n.Message)
}

// Signature gives, for every selection of an operation, the map from index space to boxes of that tensor.
type Signature struct {
	Inputs  ir.PortMaps
	Outputs ir.PortMaps
}

// Kind is SignatureKind.
func (*Signature) Kind() *ir.Kind { return SignatureKind }

// Fields names the two sets of maps.
func (s *Signature) Fields(f ir.Fields) {
	f.PortMaps(ir.Field{Num: 1, Name: "inputs", Style: ir.Positional}, &s.Inputs)
	f.PortMaps(ir.Field{Num: 2, Name: "outputs", Style: ir.Arrow}, &s.Outputs)
}

// Index is the box of index space that an operation covers or, on an application, that the shard covers.
type Index struct{ Range zspace.Range }

// Kind is IndexKind.
func (*Index) Kind() *ir.Kind { return IndexKind }

// Fields visits the box as the tag's own value: the field has no name.
func (x *Index) Fields(f ir.Fields) {
	f.Range(ir.Field{Num: 1, Style: ir.Positional}, &x.Range)
}

// IOSequencePoint marks an operation with an effect outside the graph: what it observes is an output of the program.
type IOSequencePoint struct{}

// Kind is IOSequencePointKind.
func (*IOSequencePoint) Kind() *ir.Kind { return IOSequencePointKind }

// Fields visits nothing.
func (*IOSequencePoint) Fields(ir.Fields) {}

// Precomputed marks an operation that depends on constants alone and is carried out when the program is built, not when it runs:
// for the program its results are constants.
type Precomputed struct{}

// Kind is PrecomputedKind.
func (*Precomputed) Kind() *ir.Kind { return PrecomputedKind }

// Fields visits nothing.
func (*Precomputed) Fields(ir.Fields) {}

// Derived marks an operation whose signature and index a pass added, as its kernel derives them, when it cut the operation: who takes the cut back
// takes them away.
type Derived struct{}

// Kind is DerivedKind.
func (*Derived) Kind() *ir.Kind { return DerivedKind }

// Fields visits nothing.
func (*Derived) Fields(ir.Fields) {}

// IsPrecomputed says whether a node is an operation that is carried out when the program is built.
func IsPrecomputed(n *ir.Node) bool { return n.Tag(PrecomputedKind) != nil }

// SignatureOf gives a node's signature, or nil.
func SignatureOf(n *ir.Node) *Signature {
	s, _ := n.Tag(SignatureKind).(*Signature)
	return s
}

// IndexOf gives a node's index, or nil.
func IndexOf(n *ir.Node) *Index {
	x, _ := n.Tag(IndexKind).(*Index)
	return x
}

// TensorOf gives the tensor body of a node, or nil if the node is not there or not a tensor.
func TensorOf(g *ir.Graph, id ir.NodeID) *Tensor {
	if n := g.Node(id); n != nil {
		t, _ := n.Body.(*Tensor)
		return t
	}
	return nil
}

// OperationOf gives the operation body of a node, or nil if the node is not there or not an operation.
func OperationOf(g *ir.Graph, id ir.NodeID) *Operation {
	if n := g.Node(id); n != nil {
		o, _ := n.Body.(*Operation)
		return o
	}
	return nil
}
