// Package declared makes programs of the cases that kernels declare, for tests of what a vocabulary has for each kernel. Only tests
// import it.
package declared

import (
	"fmt"
	"slices"
	"strings"

	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/tensorfile"
)

// Case is a program of one call of a kernel, with the values of its inputs by name.
type Case struct {
	Name   string // the kernel and the number of its case, as in relu/0
	Graph  *ir.Graph
	Inputs map[string]tensorfile.Tensor
}

// Cases gives every case of a library, by the names of the kernels.
func Cases(lib *kernels.Library) ([]Case, error) {
	var out []Case
	for _, name := range lib.Names() {
		d, _ := lib.Find(name)
		for i, c := range d.Cases {
			x, err := d.Example(c)
			if err != nil {
				return nil, fmt.Errorf("%s, case %d: %w", name, i, err)
			}
			one, err := program(name, x)
			if err != nil {
				return nil, fmt.Errorf("%s, case %d: %w", name, i, err)
			}
			one.Name = fmt.Sprintf("%s/%d", name, i)
			out = append(out, one)
		}
	}
	return out, nil
}

func program(name string, x *kernels.Example) (Case, error) {
	out := Case{Graph: ir.New(), Inputs: map[string]tensorfile.Tensor{}}
	op := &tensorops.Operation{Kernel: kernels.ID(name), Params: x.Call.Params}
	op.Inputs = ir.PortsOf(out.side(x.Call.Inputs, x.Inputs))
	op.Outputs = ir.PortsOf(out.side(x.Call.Outputs, nil))
	out.Graph.Add(op, name)
	p, err := tensorops.ProgramOf(out.Graph)
	if err != nil {
		return out, err
	}
	tensorops.StateInputs(out.Graph, p.Inputs)
	tensorops.StateOutputs(out.Graph, p.Outputs)
	return out, nil
}

// side makes the tensors of one side of a call; those with data are inputs of the program.
func (c *Case) side(list []kernels.PortSel, data [][]byte) []ir.Port {
	var out []ir.Port
	n := 0
	for _, p := range list {
		port := ir.Port{Name: p.Name}
		for j, s := range p.Sel {
			r, label := s.Sel.Range(), fmt.Sprintf("%s%d", p.Name, j)
			port.Sel = append(port.Sel, ir.Select(c.Graph.Add(&tensorops.Tensor{DType: s.Type.String(), Range: r}, label).ID, r))
			if data != nil {
				c.Inputs[label] = tensorfile.Tensor{DType: s.Type, Shape: r.Shape(), Data: data[n]}
				n++
			}
		}
		out = append(out, port)
	}
	slices.SortFunc(out, func(a, b ir.Port) int { return strings.Compare(a.Name, b.Name) })
	return out
}
