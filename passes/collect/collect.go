// Package collect is the pass that writes down which transfers of a schedule are collectives: a broadcast, an all-gather, a reduce-scatter, an all-reduce, an all-to-all.
//
// It changes no step and no order. Read next: dialects/schedule/collective, which finds them and says what each is.
package collect

import (
	"context"
	"fmt"

	"tensortapestry.org/tapc/dialects/schedule/collective"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/passes/pipeline"
)

// Run adds a node for each collective to a schedule, in the place of those that it has, and gives how many there are.
func Run(g *ir.Graph) int {
	var old []ir.NodeID
	for n := range g.Nodes() {
		if _, ok := n.Body.(*collective.Collective); ok {
			old = append(old, n.ID)
		}
	}
	for _, id := range old {
		g.Remove(id)
	}
	found := collective.Find(g)
	for i, c := range found {
		g.Add(c, fmt.Sprintf("%v.%d", c.Does, i))
	}
	return len(found)
}

// Pass is the row of the pass table.
func Pass() pipeline.Pass {
	return pipeline.Pass{
		Name: "collect", Doc: "Write down which transfers between devices are collectives.",
		Needs: pipeline.ScheduledKernels, Gives: pipeline.ScheduledKernels,
		Standard: pipeline.Standard{Phase: pipeline.Lowering},
		After: []pipeline.Order{
			{Name: "fuse", Reason: "joined kernels and what is read where it comes from need other transfers"},
			{Name: "plan", Reason: "what waits for memory may keep transfers from being carried out together"},
		},
		Run: func(_ context.Context, p *pipeline.Context) error {
			p.Count("collectives", Run(p.Graph))
			return nil
		},
	}
}
