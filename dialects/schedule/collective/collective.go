// Package collective has what several transfers are together: collectives, as nodes of the Scheduled Kernels dialect.
//
// A collective names transfers, and the kernels that combine what these bring: it says what a back end, a library of messages between processes, or a price may take
// for one operation of a group of devices. The transfers stay in the schedule, are what is carried out, and say which device does what: each member brings what it
// receives, and what it can read at the sender's it does not bring at all. Find recognises collectives by the boxes of transfers alone; its constraint holds every collective to
// the transfers that it names. Read next: shape.go, what each kind is; find.go; constraint.go.
package collective

import (
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/constraints"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/check"
)

// CollectiveKind is the node kind of collectives.
var CollectiveKind = &ir.Kind{URI: "http://tensortapestry.org/schemas/tapc/2026-11/schedule.jsd#/nodes/Collective", Keyword: "collective", Num: 11,
	New: func() ir.Body { return new(Collective) }}

// Does is what a collective does.
type Does uint8

// The collectives. The first member of a broadcast is the one that has what all get.
const (
	Broadcast     Does = iota // one device has some cells of a tensor, and all others get them
	AllGather                 // each has cells of a tensor, and all others get them
	ReduceScatter             // each has a tensor, and each gets one box of all these and combines that
	AllReduce                 // a reduce-scatter, and then an all-gather of what was combined
	AllToAll                  // each has cells of a tensor for each other
)

var words = []string{"broadcast", "all-gather", "reduce-scatter", "all-reduce", "all-to-all"}

// String gives the collective's word.
func (d Does) String() string { return words[d] }

// Collective is transfers that a group of devices carries out together. Kernels, one on each member in their order, combine what the transfers of a reduce-scatter
// or an all-reduce bring, in the order in which their expressions do. Algorithm is that by which it takes least on a machine that was known, one of Algorithms; "" where none was.
type Collective struct {
	Does      Does
	Devices   []ir.NodeID // the members: in the order of the tensors that are combined, else by number, and of a broadcast the sender first
	Transfers []ir.NodeID
	Kernels   []ir.NodeID
	Algorithm string
}

// Algorithms are the words for how collectives are carried out: docs/machines.md. A ring goes through the members in their order.
var Algorithms = []string{"ring", "tree", "direct", "hierarchical"}

// Kind is CollectiveKind.
func (*Collective) Kind() *ir.Kind { return CollectiveKind }

// Fields names the collective's facts.
func (c *Collective) Fields(f ir.Fields) {
	ir.Enum(f, ir.Field{Num: 1, Name: "does", Style: ir.Positional}, words, &c.Does)
	f.Refs(ir.Field{Num: 2, Name: "devices"}, &c.Devices)
	f.Refs(ir.Field{Num: 3, Name: "transfers"}, &c.Transfers)
	f.Refs(ir.Field{Num: 4, Name: "kernels", Optional: true}, &c.Kernels)
	f.String(ir.Field{Num: 5, Name: "algorithm", Optional: true}, &c.Algorithm)
}

// Tensor is what a collective is of: what its kernels give, or what its first transfer brings.
func (c *Collective) Tensor(g *ir.Graph) ir.NodeID {
	if len(c.Kernels) > 0 {
		result, _, _ := writes(g, g.Node(c.Kernels[0]).Body.(*schedule.Kernel))
		return result
	}
	from, _, _ := ends(g, c.Transfers[0])
	return from.Tensor
}

// Phases gives the transfers of what kernels combine, or of what only moves, and those of what the kernels of an all-reduce give.
func (c *Collective) Phases(g *ir.Graph) (first, second []ir.NodeID) {
	if c.Does != AllReduce {
		return c.Transfers, nil
	}
	result := c.Tensor(g)
	for _, t := range c.Transfers {
		if from, _, _ := ends(g, t); from.Tensor == result {
			second = append(second, t)
		} else {
			first = append(first, t)
		}
	}
	return first, second
}

// Environment gives the types and constraints of the dialect, with collectives.
func Environment(dtypes ...string) *check.Environment {
	e := constraints.Environment(dtypes...)
	e.NodeKinds = append(e.NodeKinds, CollectiveKind)
	return e.With(constraint)
}

// Of gives the collectives of a graph, by their transfers.
func Of(g *ir.Graph) map[ir.NodeID]*ir.Node {
	of := map[ir.NodeID]*ir.Node{}
	for n := range g.Nodes() {
		if c, ok := n.Body.(*Collective); ok {
			for _, t := range c.Transfers {
				of[t] = n
			}
		}
	}
	return of
}
