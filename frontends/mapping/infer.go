package mapping

import (
	"slices"

	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/zspace"
)

// infer finds the outputs of a node by its kernel's shape and type rules. A type or shape that the rule of the table gives is
// taken where the kernel leaves it open. What is found is checked by binding the kernel to it.
func infer(decl *kernels.Decl, n *node, dtype scalar.DType, shape []int64, results int) ([]kernels.PortSel, error) {
	in, err := ports(n.in)
	if err != nil {
		return nil, err
	}
	c := kernels.Call{Params: n.params, Inputs: in}
	if results > 1 { // of the one variadic output
		for _, o := range decl.Operands {
			if o.Out && o.Variadic {
				c.Outputs = []kernels.PortSel{{Name: o.Name(), Sel: make([]kernels.Selected, results)}}
			}
		}
	}
	shapes, types, err := decl.Infer(c)
	if err != nil && shape == nil {
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
		for range max(1, results*truth(o.Variadic)) {
			s, t := shape, dtype
			if at < len(shapes) {
				if s == nil {
					s = shapes[at]
				}
				if types[at] != scalar.Invalid {
					t = types[at]
				}
			} else if v, ok := typeVarOf(decl, n, o); ok && t == scalar.Invalid {
				t = v
			}
			at++
			r, err := zspace.FromShape(s...)
			if err != nil {
				return nil, refuse("kernel %s: %v", decl.Name, err)
			}
			p.Sel = append(p.Sel, kernels.Selected{Sel: ir.Selection{Tensor: ir.NoNode, Range: r}, Type: t})
		}
		c.Outputs = append(c.Outputs, p)
	}
	_, err = decl.Bind(c)
	return c.Outputs, bindError(err)
}

func truth(b bool) int {
	if b {
		return 1
	}
	return 0
}

// typeVarOf gives the type of an output that has the type of an input, for calls whose shape the kernel can not tell.
func typeVarOf(decl *kernels.Decl, n *node, out *kernels.OperandDecl) (scalar.DType, bool) {
	if d, err := scalar.ParseDType(out.Type); err == nil {
		return d, true
	}
	for i := range decl.Operands {
		o := &decl.Operands[i]
		for _, p := range n.in {
			if o.Type == out.Type && !o.Out && slices.Contains(o.Names, p.port) && len(p.tensors) > 0 {
				return p.tensors[0].DType, true
			}
		}
	}
	return scalar.Invalid, false
}
