// Package group says what the collectives of a schedule take on a machine: on which of its devices they are, how many bytes they are of, and by which algorithms.
//
// It prices nothing itself: cost/collective does. Read next: passes/collect, which writes the best algorithm down, and cost/sharded, which walks them.
package group

import (
	"fmt"
	"math/big"
	"slices"

	"tensortapestry.org/tapc/cost/collective"
	"tensortapestry.org/tapc/cost/machine"
	"tensortapestry.org/tapc/dialects/schedule"
	calls "tensortapestry.org/tapc/dialects/schedule/collective"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/diag"
)

// CodePlaced is of a schedule with a device that a machine does not have.
const CodePlaced = "TAP0854"

// Place says which devices of a machine those of a schedule are: of each kind the one of its number.
type Place struct {
	Layout *machine.Layout
	Order  []ir.NodeID          // the devices of the schedule
	At     map[ir.NodeID]int64  // their numbers on the machine
	kinds  map[ir.NodeID]string // their names there
	graph  *ir.Graph
}

// On looks the devices of a schedule up on a machine.
func On(m *machine.Machine, g *ir.Graph) (*Place, error) {
	p := &Place{Layout: m.Layout(), At: map[ir.NodeID]int64{}, kinds: map[ir.NodeID]string{}, graph: g}
	for n := range g.Nodes() {
		d, ok := n.Body.(*schedule.Device)
		if !ok {
			continue
		}
		kind, err := m.Device("", d.Type.String())
		if err != nil {
			return nil, err
		}
		all := p.Layout.Named(kind.Name)
		if d.Number < 0 || d.Number >= int64(len(all)) {
			e := diag.Errorf(CodePlaced, "cost", g.At(n, ""), "the machine %s has no %s for %s", m.Name, kind.Name, g.Name(n.ID)).
				Want(fmt.Sprintf("a number below %d", len(all)), fmt.Sprint(d.Number))
			return nil, divided(e, kind.Kind)
		}
		p.Order = append(p.Order, n.ID)
		p.At[n.ID], p.kinds[n.ID] = all[d.Number], kind.Name
	}
	return p, nil
}

// Enough is an error if a machine has less than so many devices of a kind, such as "cpu": those on which nothing lands are devices of a program, too.
func Enough(m *machine.Machine, of string, devices int) error {
	kind, err := m.Device("", of)
	if err != nil {
		return err
	}
	if all := len(m.Layout().Named(kind.Name)); all < devices {
		return divided(diag.Errorf(CodePlaced, "cost", diag.Location{}, "the program has more devices than the machine %s", m.Name).
			Want(fmt.Sprintf("at most %d, of which each is a %s", all, kind.Name), fmt.Sprint(devices)), kind.Kind)
	}
	return nil
}

// divided adds to an error how a machine has more devices of a kind, where its cores can be divided.
func divided(e diag.Diagnostic, kind string) error {
	if kind == schedule.Host.String() {
		return e.WithHint("devices of one host are its cores, divided: give a locality more members, as tapc calibrate --devices=N writes it")
	}
	return e
}

// Prices gives what a collective takes by each algorithm: that which it names first, then the fastest. There are none among devices of several kinds, as between a
// host and its GPUs, nor where a machine has not as many of them in each locality: its transfers are carried out one by one there.
func (p *Place) Prices(c *calls.Collective) []collective.Price {
	var devices []int64
	for _, d := range c.Devices {
		if p.kinds[d] != p.kinds[c.Devices[0]] {
			return nil
		}
		devices = append(devices, p.At[d])
	}
	list, err := collective.Of(p.Layout, kinds[c.Does], devices, p.bytes(c))
	if err != nil {
		return nil
	}
	if i := slices.IndexFunc(list, func(x collective.Price) bool { return x.Algorithm == c.Algorithm }); i > 0 {
		named := list[i]
		list = slices.Insert(slices.Delete(list, i, i+1), 0, named)
	}
	return list
}

var kinds = map[calls.Does]collective.Kind{calls.Broadcast: collective.Broadcast, calls.AllGather: collective.AllGather, calls.ReduceScatter: collective.ReduceScatter,
	calls.AllReduce: collective.AllReduce, calls.AllToAll: collective.AllToAll}

// bytes is the size that collective.Of takes: of all but the first member, as much arrives of each tensor as its transfers bring; an all-reduce brings it twice.
func (p *Place) bytes(c *calls.Collective) float64 {
	b, _ := Bytes(p.graph, c.Transfers).Float64()
	b /= float64(len(c.Devices) - 1)
	if c.Does == calls.AllReduce {
		b /= 2
	}
	return b
}

// Bytes is what some transfers bring together.
func Bytes(g *ir.Graph, transfers []ir.NodeID) *big.Int {
	sum := new(big.Int)
	for _, id := range transfers {
		t := g.Node(id).Body.(*schedule.Transfer)
		from := g.Node(t.From).Body.(*schedule.Buffer)
		sum.Add(sum, new(big.Int).Mul(t.Box(from).BigSize(), big.NewInt(int64(from.Type().Size()))))
	}
	return sum
}
