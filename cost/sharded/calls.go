package sharded

import (
	"fmt"
	"slices"

	"tensortapestry.org/tapc/cost/collective"
	"tensortapestry.org/tapc/cost/group"
	"tensortapestry.org/tapc/cost/machine"
	"tensortapestry.org/tapc/cost/price"
	"tensortapestry.org/tapc/cost/simulate"
	"tensortapestry.org/tapc/dialects/schedule"
	calls "tensortapestry.org/tapc/dialects/schedule/collective"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/passes/propagate"
)

// call is a collective that is priced as one: the transfers of each of its phases are one flow. Between the two phases of an all-reduce its kernels combine what the
// first one brings; each takes half of what the algorithm does.
type call struct {
	node   *ir.Node
	what   *calls.Collective
	prices []collective.Price
	phases [2][]ir.NodeID
	tasks  [2]int // -1 before they are there
}

// findCalls finds the collectives of the schedule that have prices.
func (b *placing) findCalls() {
	b.calls = map[ir.NodeID]*call{}
	for n := range b.g.Nodes() {
		c, ok := n.Body.(*calls.Collective)
		if !ok {
			continue
		}
		x := &call{node: n, what: c, prices: b.place.Prices(c), tasks: [2]int{-1, -1}}
		if len(x.prices) == 0 {
			continue
		}
		x.phases[0], x.phases[1] = c.Phases(b.g)
		for _, id := range slices.Concat(c.Transfers, c.Kernels) {
			b.calls[id] = x
		}
	}
}

// rank says when a step of a call is carried out: with the first phase, between, or with the second.
func (c *call) rank(id ir.NodeID) int {
	switch {
	case slices.Contains(c.what.Kernels, id):
		return 1
	case slices.Contains(c.phases[1], id):
		return 2
	}
	return 0
}

// inside says whether a step waits for another one that its collective carries out later. Memory of one member may ask for that of a transfer to another, and one
// step for all can not keep to it.
func (b *placing) inside(id, after ir.NodeID) bool {
	c := b.calls[id]
	return c != nil && c == b.calls[after] && c.rank(after) > c.rank(id)
}

// part adds the flow of the phase that a transfer is in, if it is the first one of that; with the first phase comes what is to be said of the collective.
func (b *placing) part(c *call, id ir.NodeID) []propagate.Transfer {
	phase := c.rank(id) / 2
	if i := c.tasks[phase]; i >= 0 {
		b.tasks[id] = i
		return nil
	}
	p, of := c.prices[0], 1.0
	name := fmt.Sprintf("%s of %s (%s)", b.g.Name(c.node.ID), b.g.Name(c.what.Tensor(b.g)), p.Algorithm)
	if len(c.phases[1]) > 0 {
		of = 2
		name += fmt.Sprintf(", phase %d", phase+1)
	}
	x := simulate.Task{Name: name, Device: -1, Latency: p.Latency / of, Seconds: (p.Seconds.Value - p.Latency) / of, Sent: p.Traffic().Times(1 / of)}
	x.Ports = b.lines.through(c.what.Devices)
	c.tasks[phase] = len(b.program.Tasks)
	b.step(id, x, price.Interval{Value: p.Seconds.Value / of, Low: p.Seconds.Low / of, High: p.Seconds.High / of})
	if c.tasks[1-phase] >= 0 {
		return nil
	}
	return []propagate.Transfer{b.said(c)}
}

// through gives the ports of devices to the outermost link between them, both ways.
func (l *lines) through(devices []ir.NodeID) (ports []int) {
	depth := -1
	for _, d := range devices[1:] {
		if out, _ := l.place.Layout.Route(l.place.At[devices[0]], l.place.At[d]); len(out) > 0 && (depth < 0 || out[len(out)-1].Depth < depth) {
			depth = out[len(out)-1].Depth
		}
	}
	for _, d := range devices {
		_, all := l.place.Layout.Find(l.place.At[d])
		if depth < 0 || depth >= len(all) || all[depth].Link == nil {
			continue
		}
		for _, in := range []bool{false, all[depth].Link.Each != machine.EachLocality} {
			if n := l.port(way{all[depth], in}); !slices.Contains(ports, n) {
				ports = append(ports, n)
			}
		}
	}
	return ports
}

// reasons says why there are collectives.
var reasons = map[calls.Does]string{
	calls.Broadcast:     "one device has it, and the others read it",
	calls.AllGather:     "each device has a part of it, and all read the others'",
	calls.ReduceScatter: "each device has a partial result of it, and combines a piece of all of them",
	calls.AllReduce:     "each device has a partial result of it, and all read what these combine to",
	calls.AllToAll:      "each device has a part of it, and reads pieces of the others'",
}

// reader names the first kernel that waits for what a collective brings.
func (b *placing) reader(c *call) string {
	for n := range b.g.Nodes() {
		k, ok := n.Body.(*schedule.Kernel)
		if ok && !slices.Contains(c.what.Kernels, n.ID) && slices.ContainsFunc(k.After, func(id ir.NodeID) bool { return b.calls[id] == c }) {
			return b.g.Name(n.ID)
		}
	}
	return b.g.Name(c.node.ID)
}

// said gives what there is to say of a collective: the algorithm that is taken, and the next.
func (b *placing) said(c *call) propagate.Transfer {
	tensor := c.what.Tensor(b.g)
	x := propagate.Transfer{Operation: b.reader(c), Tensor: b.g.Name(tensor), Of: tensor, From: fmt.Sprintf("%d devices", len(c.what.Devices)),
		To: "each other by " + b.g.Name(c.node.ID), Bytes: group.Bytes(b.g, c.what.Transfers), Reason: reasons[c.what.Does]}
	bytes, _ := x.Bytes.Float64()
	for _, p := range c.prices[:min(2, len(c.prices))] {
		x.Ways = append(x.Ways, propagate.Way{Words: fmt.Sprintf("%v (%s)", c.what.Does, p.Algorithm), Bytes: bytes, Sent: p.Traffic(), Seconds: p.Seconds, Terms: []propagate.Term{
			{What: fmt.Sprintf("latency of %g steps of the %v", p.Steps, c.what.Does), Seconds: p.Latency},
			{What: fmt.Sprintf("%.0f bytes that a device sends", p.Bytes), Seconds: p.Seconds.Value - p.Latency}}})
	}
	return x
}
