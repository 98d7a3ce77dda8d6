package simplify_test

import (
	"fmt"

	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/ir"
)

// tagsAgree checks that every signature is the one that the kernel has: the same boxes for the whole index and for its first
// point.
func tagsAgree(g *ir.Graph) error {
	for n := range g.Nodes() {
		s := tensorops.SignatureOf(n)
		if s == nil {
			continue
		}
		in, err := kernels.Builtin().BindOperation(g, n.ID)
		if err != nil {
			return err
		}
		inputs, outputs, err := in.Signature()
		if err != nil {
			return err
		}
		if !inputs.Equal(s.Inputs) || !outputs.Equal(s.Outputs) {
			return fmt.Errorf("operation #%d: signature %v -> %v, expected %v -> %v", n.ID, s.Inputs, s.Outputs, inputs, outputs)
		}
	}
	return nil
}
