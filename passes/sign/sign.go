// Package sign is the pass that writes what operations' kernels say of them into the graph: signatures, indices, what is read exactly, and reduced
// dimensions. Who reads the graph then can cut its operations without knowing their kernels. Read next: dialects/tensorops/reduced.
package sign

import (
	"context"

	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/dialects/tensorops/composite"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/dialects/tensorops/reduced"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/passes/pipeline"
)

// Pass is the row of the pass table, with the kernels that graphs may use.
func Pass(lib *kernels.Library) pipeline.Pass {
	return pipeline.Pass{
		Name: "sign", Doc: "Write signatures, indices and reduced dimensions of operations, as their kernels derive them.",
		Upto: pipeline.OperationExpression, Gives: pipeline.OperationExpression,
		Run: func(_ context.Context, p *pipeline.Context) error {
			n, err := Run(p.Graph, lib)
			p.Count("signed", n)
			return err
		},
	}
}

// Run signs the operations that have no signature, and gives their number. Operations of unknown kernels stay as they are.
func Run(g *ir.Graph, lib *kernels.Library) (int, error) {
	signed := 0
	for n := range g.Nodes() {
		op, ok := n.Body.(*tensorops.Operation)
		if !ok || op.IsSource() || op.IsSink() || op.IsCheck() || tensorops.SignatureOf(n) != nil {
			continue
		}
		if op.IsComposite() {
			if err := composite.Sign(g, lib, n); err != nil {
				return signed, err
			}
			signed++
			continue
		}
		if _, known := lib.Find(op.Kernel); !known {
			continue
		}
		in, err := lib.BindOperation(g, n.ID)
		if err == nil {
			err = reduced.Sign(n, in)
		}
		if err == nil {
			err = reduced.Tag(n, in)
		}
		if err != nil {
			return signed, err
		}
		signed++
	}
	return signed, nil
}
