package split

import (
	"fmt"
	"slices"
	"strings"

	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/permission"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/zspace"
)

// cutter cuts the operations of a graph.
type cutter struct {
	g        *ir.Graph
	lib      *kernels.Library
	allow    permission.Set
	apps     map[ir.NodeID][]ir.NodeID
	parts    int        // operations with partial results that were made
	partials []*ir.Node // those that are left behind the last cut
	last     *ir.Node   // of them
	asked    Cut        // that is carried out
	whose    string     // operation it is
	ordered  ir.NodeSet // operations that sequence points name
}

// tensor adds a tensor in place of a node.
func (c *cutter) tensor(n *ir.Node, dtype string, shape []int64) *ir.Node {
	t := c.g.Add(&tensorops.Tensor{DType: dtype, Range: zspace.MustShape(shape...)}, "")
	t.Pos = n.Pos
	return t
}

// operation adds an operation in place of a node; it is carried out when that would be.
func (c *cutter) operation(n *ir.Node, kernel string, params ir.Attrs, inputs, outputs ir.Ports) *ir.Node {
	m := c.g.Add(&tensorops.Operation{Kernel: kernel, Params: params, Inputs: inputs, Outputs: outputs}, "")
	m.Pos = n.Pos
	m.SetOrigin(&ir.Origin{Rule: "split", From: []ir.Pos{n.Pos}})
	if tensorops.IsPrecomputed(n) {
		m.SetTag(&tensorops.Precomputed{})
	}
	return m
}

// steps adds operations in place of one, with what it may need of that.
type steps struct {
	c    *cutter
	n    *ir.Node
	in   *kernels.Instance
	made []*ir.Node
	err  error // the first one
}

// arg is a port with selections.
type arg = ir.Port

func one(name string, sel ...ir.Selection) arg { return arg{Name: name, Sel: sel} }

// add adds an operation of a kernel with one result, whose shape and type follow from its inputs.
func (s *steps) add(kernel string, params ir.Attrs, args ...arg) ir.Selection {
	decl, ok := s.c.lib.Find(kernel)
	if !ok {
		panic("a step of kernel " + kernel + ", which there is not")
	}
	slices.SortFunc(args, func(a, b arg) int { return strings.Compare(a.Name, b.Name) })
	inputs := ir.PortsOf(args)
	shapes, types, err := decl.Infer(kernels.CallOf(params, inputs, ir.Ports{}, s.c.typeOf))
	if err != nil {
		if s.err == nil {
			s.err = fmt.Errorf("%s: %w", kernel, err)
		}
		return args[0].Sel[0]
	}
	t := s.c.tensor(s.n, types[0].String(), shapes[0])
	sel := ir.Select(t.ID, t.Body.(*tensorops.Tensor).Range)
	s.into(kernel, params, ir.Port{Name: resultOf(decl), Sel: []ir.Selection{sel}}, inputs)
	return sel
}

func (s *steps) into(kernel string, params ir.Attrs, result ir.Port, inputs ir.Ports) {
	s.made = append(s.made, s.c.operation(s.n, kernel, params, inputs, ir.PortsOf([]ir.Port{result})))
}

// resultOf is the name of a kernel's first result.
func resultOf(d *kernels.Decl) string {
	for i := range d.Operands {
		if d.Operands[i].Out {
			return d.Operands[i].Name()
		}
	}
	return ""
}

// finish makes the last operation that was added give the results of the one that it is for.
func (s *steps) finish() {
	last := s.made[len(s.made)-1]
	op := last.Body.(*tensorops.Operation)
	s.c.g.Remove(op.Outputs.At(0).Sel[0].Tensor)
	op.Outputs.At(0).Sel[0] = s.n.Body.(*tensorops.Operation).Outputs.At(0).Sel[0]
	s.c.replace(s.n, last)
}

// replace takes an operation away, whose results another gives now.
func (c *cutter) replace(n, by *ir.Node) {
	by.Label = n.Label
	if io := n.Tag(tensorops.IOSequencePointKind); io != nil {
		by.SetTag(io)
	}
	c.g.Remove(n.ID)
}

func (c *cutter) typeOf(t ir.NodeID) scalar.DType {
	if body := tensorops.TensorOf(c.g, t); body != nil {
		return body.Type()
	}
	return scalar.Invalid
}

func (c *cutter) rangeOf(t ir.NodeID) zspace.Range { return tensorops.TensorOf(c.g, t).Range }
