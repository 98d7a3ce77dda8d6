// Package calls puts calls of kernels into graphs: a case that a kernel declares, or a random one. Read next: dialects/tensorops/kernels/sample.
package calls

import (
	"fmt"
	"slices"
	"strings"

	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/dialects/tensorops/kernels/declaration"
	"tensortapestry.org/tapc/dialects/tensorops/kernels/infer"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/tensorfile"
)

// Label is what the i-th tensor of a port is called.
func Label(port string, i int) string { return fmt.Sprint(port, i) }

// Graph gives a graph of one call, whose operation has a label, on tensors of its own.
func Graph(label string, d *declaration.Kernel, c infer.Call) *ir.Graph {
	g := ir.New()
	place := func(label string, s infer.Selected) ir.Selection {
		r := s.Sel.Range()
		return ir.Select(g.Add(&tensorops.Tensor{DType: s.Type.String(), Range: r}, label).ID, r)
	}
	Add(g, label, d, c, place, place)
	return g
}

// Add adds the operation of a call to a graph, with a label; input and output give what it reads and writes, in the order of the call.
func Add(g *ir.Graph, label string, d *declaration.Kernel, c infer.Call, input, output func(label string, s infer.Selected) ir.Selection) {
	ports := func(list []infer.Port, place func(string, infer.Selected) ir.Selection) ir.Ports {
		var out []ir.Port
		for _, p := range list {
			port := ir.Port{Name: p.Name}
			for i, s := range p.Sel {
				port.Sel = append(port.Sel, place(Label(p.Name, i), s))
			}
			out = append(out, port)
		}
		slices.SortFunc(out, func(a, b ir.Port) int { return strings.Compare(a.Name, b.Name) })
		return ir.PortsOf(out)
	}
	op := &tensorops.Operation{Kernel: kernels.ID(d.Name), Params: c.Params}
	op.Inputs, op.Outputs = ports(c.Inputs, input), ports(c.Outputs, output)
	g.Add(op, label)
}

// Values gives the tensors of a call's inputs or outputs, by label, of their data in order.
func Values(list []infer.Port, data [][]byte) map[string]tensorfile.Tensor {
	out := map[string]tensorfile.Tensor{}
	for _, p := range list {
		for i, s := range p.Sel {
			out[Label(p.Name, i)] = tensorfile.Tensor{DType: s.Type, Shape: s.Sel.Range().Shape(), Data: data[len(out)]}
		}
	}
	return out
}
