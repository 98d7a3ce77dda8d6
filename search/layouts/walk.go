package layouts

import (
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/search"
	"tensortapestry.org/tapc/search/walk"
)

// Walk simulates a plan: moves travel beside operations that do not wait for them.
func Walk(x *Space, t search.Trial) (walk.Result, error) {
	p, edges := x.plan(t), map[edge]int{}
	for i, e := range x.edges {
		edges[e] = i
	}
	list := make([]walk.Operation, len(x.line.order))
	for i, id := range x.line.order {
		m := x.found.opOf[id]
		list[i] = walk.Operation{Name: x.graph.Name(id), Stage: x.line.stageOf[i], Seconds: p.tables.time[m.class][p.cuts[m.class]]}
		for k, a := range x.ops[m.class].operands {
			c := x.found.tensorOf[m.tensors[k]]
			list[i].Operands = append(list[i].Operands, p.walked(m.tensors[k], a.out, edges[edge{use{m.class, k}, c}]))
		}
	}
	return walk.Run(list, x.line.stages)
}

// walked is an operand of an edge as it is walked.
func (p *plan) walked(tensor ir.NodeID, out bool, e int) walk.Operand {
	x, m := p.tables.space, p.move(e)
	c := x.edges[e].tensor
	w := walk.Operand{Tensor: int(tensor), Name: x.graph.Name(tensor), Out: out, Bytes: p.tables.bytes[c][p.keeps[c]], Move: walk.Move{Seconds: m.time, Held: m.held}, Send: p.tables.sends[c][p.keeps[c]].time, Unstored: p.joined(c)}
	if row := p.tables.saved[e]; row != nil && w.Unstored {
		w.Saved = row[p.cuts[x.edges[e].op]]
	}
	return w
}
