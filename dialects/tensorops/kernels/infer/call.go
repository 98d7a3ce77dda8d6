// Package infer finds what a call of a kernel decides without its body: element types, parameters, how many dimensions groups have, how
// large dimensions are, and from these the shapes and types of the outputs.
//
// Arguments are what a call gives, Ranks what follows for groups, Sizes what follows for dimensions; each holds the one before. A call that
// does not fit is refused with an *Error. It must not import what is made of a body. Read next: dialects/tensorops/kernels/bind.
package infer

import (
	"fmt"

	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/scalar"
)

// Selected is one selection offered to a kernel: a box of a tensor and its element type.
type Selected struct {
	Sel  ir.Selection
	Type scalar.DType
}

// Port is a named port with its selections.
type Port struct {
	Name string
	Sel  []Selected
}

// Call is a use of a kernel: its parameters and ports.
type Call struct {
	Params  ir.Attrs
	Inputs  []Port
	Outputs []Port
	Graph   *ir.Graph // that has the constants among the inputs, or nil
}

// Error says why a call does not fit a kernel: where in the operation (a JSON pointer below the node), and what was
// expected and found.
type Error struct {
	Field, Message, Expected, Found string
}

// Error gives the message with expected and found.
func (e *Error) Error() string {
	if e.Expected == "" && e.Found == "" {
		return e.Message
	}
	return fmt.Sprintf("%s: expected %s, found %s", e.Message, e.Expected, e.Found)
}

// Refuse makes an *Error, with a message by a format.
func Refuse(field, expected, found, format string, args ...any) error {
	return &Error{field, fmt.Sprintf(format, args...), expected, found}
}

// CallOf makes the call that ports and parameters in a graph amount to. What is no tensor there has the type Invalid.
func CallOf(g *ir.Graph, params ir.Attrs, inputs, outputs ir.Ports) Call {
	return Call{params, portsOf(g, inputs), portsOf(g, outputs), g}
}

func portsOf(g *ir.Graph, ports ir.Ports) []Port {
	out := make([]Port, ports.Len())
	for i, p := range ports.Each() {
		out[i] = Port{Name: p.Name, Sel: make([]Selected, len(p.Sel))}
		for j, s := range p.Sel {
			out[i].Sel[j].Sel = s
			if t := tensorops.TensorOf(g, s.Tensor); t != nil {
				out[i].Sel[j].Type = t.Type()
			}
		}
	}
	return out
}
