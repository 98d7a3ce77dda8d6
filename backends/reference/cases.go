package reference

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/tensorfile"
)

// maxCaseWork bounds the scalar operations of a case that is checked.
const maxCaseWork = 1 << 24

// CheckCase computes a case of a kernel's declaration and compares the results with those that it states. Cases of very much work are not
// computed.
func CheckCase(ctx context.Context, lib *kernels.Library, d *kernels.Decl, c kernels.Case) error {
	x, err := d.Example(c)
	if err != nil {
		return err
	}
	in, err := d.Bind(x.Call)
	if err != nil || in.Work() > maxCaseWork {
		return err
	}
	g, values, want := ir.New(), map[string]tensorfile.Tensor{}, map[string]tensorfile.Tensor{}
	ports := func(list []kernels.PortSel, data [][]byte, into map[string]tensorfile.Tensor) ir.Ports {
		var out []ir.Port
		for _, p := range list {
			port := ir.Port{Name: p.Name}
			for i, s := range p.Sel {
				label, r := fmt.Sprintf("%s%d", p.Name, i), s.Sel.Range()
				port.Sel = append(port.Sel, ir.Select(g.Add(&tensorops.Tensor{DType: s.Type.String(), Range: r}, label).ID, r))
				into[label] = tensorfile.Tensor{DType: s.Type, Shape: r.Shape(), Data: data[0]}
				data = data[1:]
			}
			out = append(out, port)
		}
		slices.SortFunc(out, func(a, b ir.Port) int { return strings.Compare(a.Name, b.Name) })
		return ir.PortsOf(out)
	}
	op := &tensorops.Operation{Kernel: kernels.ID(d.Name), Params: x.Call.Params}
	op.Inputs = ports(x.Call.Inputs, x.Inputs, values)
	op.Outputs = ports(x.Call.Outputs, x.Outputs, want)
	g.Add(op, "")
	got, err := (&Evaluator{Library: lib}).Evaluate(ctx, g, values)
	if err != nil {
		return err
	}
	for _, p := range op.Outputs.Each() {
		for i := range p.Sel {
			label := fmt.Sprintf("%s%d", p.Name, i)
			if err := Compare(p.Name, want[label], got[label]); err != nil {
				return err
			}
		}
	}
	return nil
}
