package cut

import (
	"tensortapestry.org/tapc/dialects/application"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/dialects/tensorops/parts"
	"tensortapestry.org/tapc/ir"
)

// Replaced takes an operation out of a graph in whose place others are, which are marked as parts. It stays as parts.Whole, unless it is a part itself.
func Replaced(g *ir.Graph, n *ir.Node) {
	if parts.Is(n) {
		g.Remove(n.ID)
		return
	}
	Unsign(n)
	op := n.Body.(*tensorops.Operation)
	n.Body, n.Label = &parts.Whole{Name: n.Label, Kernel: op.Kernel, Params: op.Params, Inputs: op.Inputs, Outputs: op.Outputs}, ""
}

// Undo takes all applications and parts away, gives operations back that these are of, and takes from others what Sign gave them: the graph is what it was before it was
// cut. It gives the number of applications.
func Undo(g *ir.Graph) int {
	removed := 0
	for n := range g.Nodes() {
		switch b := n.Body.(type) {
		case *application.Application:
			g.Remove(n.ID)
			removed++
		case *tensorops.Operation, *tensorops.Tensor:
			if parts.Is(n) {
				g.Remove(n.ID)
				continue
			}
			Unsign(n)
		case *parts.Whole:
			n.Body, n.Label = &tensorops.Operation{Kernel: b.Kernel, Params: b.Params, Inputs: b.Inputs, Outputs: b.Outputs}, b.Name
		}
	}
	return removed
}
