// Package declared makes programs of the cases that kernels declare, for tests of what a vocabulary has for each kernel. Only tests
// import it.
package declared

import (
	"fmt"

	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/dialects/tensorops/calls"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/dialects/tensorops/kernels/declaration"
	"tensortapestry.org/tapc/dialects/tensorops/kernels/example"
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
			x, err := example.Of(d, c)
			if err != nil {
				return nil, fmt.Errorf("%s, case %d: %w", name, i, err)
			}
			one, err := program(d, x)
			if err != nil {
				return nil, fmt.Errorf("%s, case %d: %w", name, i, err)
			}
			one.Name = fmt.Sprintf("%s/%d", name, i)
			out = append(out, one)
		}
	}
	return out, nil
}

func program(d *declaration.Kernel, x *example.Example) (Case, error) {
	out := Case{Graph: calls.Graph(d.Name, d, x.Call), Inputs: calls.Values(x.Call.Inputs, x.Inputs)}
	p, err := tensorops.ProgramOf(out.Graph)
	if err != nil {
		return out, err
	}
	tensorops.StateInputs(out.Graph, p.Inputs)
	tensorops.StateOutputs(out.Graph, p.Outputs)
	return out, nil
}
