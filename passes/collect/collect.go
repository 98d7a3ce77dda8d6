// Package collect is the pass that writes down which transfers of a schedule are collectives: a broadcast, an all-gather, a reduce-scatter, an all-reduce, an all-to-all.
//
// It changes no step and no order. Where a machine is known each has the algorithm by which it takes least there. Read next: dialects/schedule/collective, which finds them
// and says what each is.
//
// It runs behind plan. Memory that a transfer takes over makes it wait, and what waits so can keep a collective from being one step: of what is found behind plan no placement
// takes anything away, and what was found before would have to be looked at again.
package collect

import (
	"context"
	"fmt"

	"tensortapestry.org/tapc/cost/group"
	"tensortapestry.org/tapc/cost/machine"
	"tensortapestry.org/tapc/dialects/schedule/collective"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/passes/pipeline"
)

// Run adds a node for each collective to a schedule, in the place of those that it has, and gives how many there are. The machine may be nil, and one that has not all the devices
// says nothing.
func Run(g *ir.Graph, m *machine.Machine) int {
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
	if m != nil && len(found) > 0 {
		if at, err := group.On(m, g); err == nil {
			for _, c := range found {
				if list := at.Prices(c); len(list) > 0 {
					c.Algorithm = list[0].Algorithm
				}
			}
		}
	}
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
			{Name: "memory", Reason: "what waits for memory may keep transfers from being carried out together"},
		},
		Options: []pipeline.Option{{Name: "machine", Doc: "the machine whose algorithms are chosen: a name that tapc machine lists, or the path of a machine file", Type: pipeline.String,
			Fact: pipeline.Machines}},
		Run: func(_ context.Context, p *pipeline.Context) (err error) {
			var m *machine.Machine
			if name := p.Text("machine"); name != "" {
				if m, err = machine.Find(name); err != nil {
					return err
				}
			}
			p.Count("collectives", Run(p.Graph, m))
			return nil
		},
	}
}
