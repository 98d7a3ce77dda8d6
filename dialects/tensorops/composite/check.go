package composite

import (
	"fmt"

	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/dialects/tensorops/definition"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/diag"
)

// CheckOperations holds the steps of a graph's definitions to their kernels and to the definitions that they use, as operations of a graph are held to theirs; foreign kernels
// may be there. The graph keeps the constraints of its dialect. What is found is at the definition, and names the step.
func CheckOperations(g *ir.Graph, lib *kernels.Library, foreign bool) diag.List {
	var found diag.List
	all := definition.Of(g)
	for n := range g.Nodes() {
		if op, ok := n.Body.(*tensorops.Operation); ok && op.IsComposite() && tensorops.SignatureOf(n) != nil {
			_, err := CheckSignature(g, lib, n)
			found = append(found, diag.FromError(err)...)
		}
		d, ok := n.Body.(*definition.Definition)
		if !ok {
			continue
		}
		in := Graph(d, all)
		for i, id := range in.Steps {
			op := tensorops.OperationOf(in.Graph, id)
			if _, known := lib.Find(op.Kernel); op.IsSource() || op.IsComposite() || !known && foreign {
				continue
			}
			_, err := lib.BindOperation(in.Graph, id)
			for _, x := range diag.FromError(err) {
				x.Location = g.At(n, fmt.Sprintf("/body/steps/%d", i))
				x.Message = fmt.Sprintf("definition %q, step %d: %s", d.Name, i, x.Message)
				found = append(found, x)
			}
		}
	}
	return found
}
