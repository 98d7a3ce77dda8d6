package mapping

import (
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/zspace"
)

// infer finds the outputs of a node by its kernel's shape and type rules. What is found is checked by binding the kernel to it.
func infer(decl *kernels.Decl, n *node, results int) ([]kernels.PortSel, error) {
	in, err := ports(n.in)
	if err != nil {
		return nil, err
	}
	c := kernels.Call{Params: n.params, Inputs: in}
	for i := range decl.Operands {
		if o := &decl.Operands[i]; o.Out && o.Variadic {
			c.Outputs = append(c.Outputs, kernels.PortSel{Name: o.Name(), Sel: make([]kernels.Selected, results)})
		}
	}
	shapes, types, err := decl.Infer(c)
	if err != nil {
		return nil, bindError(err)
	}
	c.Outputs = nil
	at := 0
	for i := range decl.Operands {
		o := &decl.Operands[i]
		if !o.Out {
			continue
		}
		p := kernels.PortSel{Name: o.Name()}
		entries := 1
		if o.Variadic {
			entries = results
		}
		for range entries {
			r, err := zspace.FromShape(shapes[at]...)
			if err != nil {
				return nil, refuse("kernel %s: %v", decl.Name, err)
			}
			p.Sel = append(p.Sel, kernels.Selected{Sel: ir.Select(ir.NoNode, r), Type: types[at]})
			at++
		}
		c.Outputs = append(c.Outputs, p)
	}
	_, err = decl.Bind(c)
	return c.Outputs, bindError(err)
}
