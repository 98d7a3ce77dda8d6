// Package emit makes operations of tapc's kernels on foreign tensors: what rules say becomes a program.
//
// The shapes and types of results come from the kernels' own rules, and what depends on small constants alone is computed on the way, by the
// reference evaluator, so that shape arithmetic disappears. It knows no rules, and must not import frontends/mapping. Read next: call.go,
// graph.go.
package emit

import (
	"context"
	"errors"

	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/dialects/tensorops/kernels/infer"
	"tensortapestry.org/tapc/frontends/foreign"
	"tensortapestry.org/tapc/frontends/mapping/expr"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/zspace"
)

// Origin says what an operation is made for: a rule, and the place of the foreign operation.
type Origin struct {
	Rule string
	Pos  ir.Pos
}

// Node is one operation of the program that is made.
type Node struct {
	Origin
	Kernel  string
	Params  ir.Attrs
	In, Out []Port
	Check   bool    // of indices, see InRange
	Guards  []*Node // that compute what the check is before
}

// Port is a port of an operation with its tensors.
type Port struct {
	Name     string
	Tensors  []*foreign.Tensor
	Optional bool // an output that is left out where nothing takes it
}

// Program is the operations that were made, producers first.
type Program struct {
	Nodes     []*Node
	Unchecked bool // without checks of indices
	ctx       context.Context
	lib       *kernels.Library
	known     map[use][]infer.Port // outputs of uses of kernels
	key       []byte               // room for the text of a use
}

// New gives a program without operations, of a library's kernels.
func New(ctx context.Context, lib *kernels.Library) *Program { return &Program{ctx: ctx, lib: lib} }

// Add adds an operation.
func (p *Program) Add(n *Node) { p.Nodes = append(p.Nodes, n) }

// Copy adds a copy of a tensor, with a label.
func (p *Program) Copy(t *foreign.Tensor, label string, by Origin) (*Node, *foreign.Tensor) {
	n := &Node{Origin: by, Kernel: "op:copy", In: []Port{{Name: "tensor", Tensors: []*foreign.Tensor{t}}}}
	c := &foreign.Tensor{DType: t.DType, Shape: t.Shape, Label: label, Source: n}
	n.Out = []Port{{Name: "result", Tensors: []*foreign.Tensor{c}}}
	p.Add(n)
	return n, c
}

// Maker gives the operation that computes a tensor; nil for inputs and constants.
func Maker(t *foreign.Tensor) *Node {
	n, _ := t.Source.(*Node)
	return n
}

// Ports gives one side of a node as a kernel call has it.
func Ports(list []Port) ([]infer.Port, error) {
	out := make([]infer.Port, len(list))
	for i, p := range list {
		out[i].Name = p.Name
		for _, t := range p.Tensors {
			r, err := zspace.FromShape(t.Shape...)
			if err != nil {
				return nil, err
			}
			out[i].Sel = append(out[i].Sel, infer.Selected{Sel: ir.Select(ir.NoNode, r), Type: t.DType})
		}
	}
	return out, nil
}

// Refused turns a kernel's refusal into one of the rule.
func Refused(err error) error {
	var b *infer.Error
	if errors.As(err, &b) {
		return &expr.Refusal{Reason: b.Error()}
	}
	return err
}

// addTensor adds a tensor node and selects all of it.
func addTensor(g *ir.Graph, t *foreign.Tensor, label string) (ir.Selection, error) {
	r, err := zspace.FromShape(t.Shape...)
	if err != nil {
		return ir.Selection{}, err
	}
	id := g.Add(&tensorops.Tensor{DType: t.DType.String(), Range: r}, label).ID
	return ir.Select(id, r), nil
}
