// Package apply is the pass that takes an Operation Expression to an Application Expression: every operation without shards
// gets one application that covers it whole. An operation with very many inputs or outputs first becomes several. Read next: passes/shard.
package apply

import (
	"tensortapestry.org/tapc/dialects/application"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/ir"
)

// Run adds the missing applications and gives their number. Operations with very many inputs or outputs are cut into several. An application of an operation with a signature carries the
// operation's index.
func Run(g *ir.Graph) int {
	apps := application.ByOperation(g)
	for n := range g.Nodes() {
		if _, ok := n.Body.(*tensorops.Operation); ok && len(apps[n.ID]) == 0 {
			cutWide(g, n)
		}
	}
	made := 0
	for n := range g.Nodes() {
		op, ok := n.Body.(*tensorops.Operation)
		if !ok || len(apps[n.ID]) > 0 {
			continue
		}
		a := g.Add(&application.Application{Operation: n.ID, Inputs: op.Inputs.Clone(), Outputs: op.Outputs.Clone()}, "")
		a.Pos = n.Pos
		if x := tensorops.IndexOf(n); x != nil && tensorops.SignatureOf(n) != nil {
			a.SetTag(&tensorops.Index{Range: x.Range})
			tensorops.Narrow(n, a.Body.(*application.Application).Inputs)
		}
		made++
	}
	return made
}
