package reference

import (
	"context"

	"tensortapestry.org/tapc/dialects/tensorops/calls"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/dialects/tensorops/kernels/bind"
	"tensortapestry.org/tapc/dialects/tensorops/kernels/declaration"
	"tensortapestry.org/tapc/dialects/tensorops/kernels/example"
)

// maxCaseWork bounds the scalar operations of a case that is checked.
const maxCaseWork = 1 << 24

// CheckCase computes a case of a kernel's declaration and compares the results with those that it states. Cases of very much work are not
// computed.
func CheckCase(ctx context.Context, lib *kernels.Library, d *declaration.Kernel, c declaration.Case) error {
	x, err := example.Of(d, c)
	if err != nil {
		return err
	}
	in, err := bind.Instance(d, x.Call)
	if err != nil || in.Work() > maxCaseWork {
		return err
	}
	g, want := calls.Graph("", d, x.Call), calls.Values(x.Call.Outputs, x.Outputs)
	got, err := (&Evaluator{Library: lib}).Evaluate(ctx, g, calls.Values(x.Call.Inputs, x.Inputs))
	if err != nil {
		return err
	}
	for _, p := range x.Call.Outputs {
		for i := range p.Sel {
			label := calls.Label(p.Name, i)
			if err := Compare(p.Name, want[label], got[label]); err != nil {
				return err
			}
		}
	}
	return nil
}
