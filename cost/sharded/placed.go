package sharded

import (
	"fmt"
	"math/big"
	"slices"

	"tensortapestry.org/tapc/cost/machine"
	"tensortapestry.org/tapc/cost/price"
	"tensortapestry.org/tapc/cost/simulate"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/passes/propagate"
)

// placing makes the tasks of a schedule whose devices are known.
type placing struct {
	builder
	layout  *machine.Layout
	devices map[ir.NodeID]int // the number of each in the report
	at      []int64           // where it is on the machine
	tasks   map[ir.NodeID]int
	ways    map[way]int // ports by their numbers
}

// way is a port in one direction: what is sent does not wait for what is received.
type way struct {
	machine.Port
	in bool
}

// Placed prices a schedule on the devices that it has, each of which is the one of its number among the machine's devices of its kind: kernels are carried out where they
// are, and each transfer is a flow that passes the ports between two devices. Memory is what the schedule holds on a device.
func Placed(m *machine.Machine, g *ir.Graph, kernels []price.Kernel) (*Report, error) {
	b := &placing{layout: m.Layout(), devices: map[ir.NodeID]int{}, tasks: map[ir.NodeID]int{}, ways: map[way]int{}}
	out := &Report{Machine: m.Name}
	if err := b.find(m, g); err != nil {
		return nil, err
	}
	order, err := schedule.Order(g)
	if err != nil {
		return nil, err
	}
	if len(order) > maxTasks {
		return nil, tooLarge(int64(len(order)))
	}
	for _, id := range order {
		n := g.Node(id)
		if t, ok := n.Body.(*schedule.Transfer); ok {
			out.Transfers = append(out.Transfers, b.flow(g, n, t))
			continue
		}
		i := slices.IndexFunc(kernels, func(k price.Kernel) bool { return k.Node == id })
		b.step(n, simulate.Task{Name: g.Name(id), Device: b.devices[n.Body.(*schedule.Kernel).Device], Seconds: kernels[i].Time.Value}, kernels[i].Time)
		b.operations += kernels[i].Work.Operations()
	}
	for id, h := range schedule.Held(g) {
		b.program.Values = append(b.program.Values, simulate.Value{Device: b.devices[id], Bytes: float64(h.Total()), From: -1}) // one for each device, in any order
	}
	b.program.Devices, b.program.Ports = len(b.at), len(b.ways)
	return b.report(out, b.kinds())
}

// find looks the devices of a schedule up on a machine.
func (b *placing) find(m *machine.Machine, g *ir.Graph) error {
	for n := range g.Nodes() {
		d, ok := n.Body.(*schedule.Device)
		if !ok {
			continue
		}
		kind, err := m.Device("", d.Type.String())
		if err != nil {
			return err
		}
		all := b.layout.Named(kind.Name)
		if d.Number < 0 || d.Number >= int64(len(all)) {
			return diag.Errorf(CodePlaced, "cost", g.At(n, ""), "the machine %s has no %s for %s", m.Name, kind.Name, g.Name(n.ID)).
				Want(fmt.Sprintf("a number below %d", len(all)), fmt.Sprint(d.Number))
		}
		b.devices[n.ID] = len(b.at)
		b.at = append(b.at, all[d.Number])
	}
	return nil
}

// step adds a kernel or a flow behind what it waits for.
func (b *placing) step(n *ir.Node, t simulate.Task, bounds price.Interval) {
	after, _ := schedule.After(n)
	for _, a := range after {
		if i, ok := b.tasks[a]; ok {
			t.After = append(t.After, i)
		}
	}
	b.tasks[n.ID] = len(b.program.Tasks)
	b.add(t, bounds, nil)
}

// flow adds a transfer: the latency of the outermost link between two devices, and its bytes on the slowest.
func (b *placing) flow(g *ir.Graph, n *ir.Node, t *schedule.Transfer) propagate.Transfer {
	from, to := g.Node(t.From).Body.(*schedule.Buffer), g.Node(t.To).Body.(*schedule.Buffer)
	box := t.Box(from)
	size := new(big.Int).Mul(box.BigSize(), big.NewInt(int64(from.Type().Size())))
	bytes, _ := size.Float64()
	x := simulate.Task{Name: g.Name(n.ID), Device: -1, Bytes: bytes}
	latency, travel := machine.Figure{}, price.Interval{}
	out, in := b.layout.Route(b.at[b.devices[from.Device]], b.at[b.devices[to.Device]])
	for i, p := range append(slices.Clone(out), in...) {
		if p.Link == nil {
			continue
		}
		if i < len(out) {
			x.Link, latency = p.Link.Name, p.Link.Latency
		}
		w := p.Link.Bandwidth
		travel = price.Interval{Value: max(travel.Value, bytes/w.Value), Low: max(travel.Low, bytes/w.High), High: max(travel.High, bytes/w.Low)}
		x.Ports = append(x.Ports, b.port(way{p, i >= len(out) && p.Link.Each != machine.EachLocality}))
	}
	x.Latency, x.Seconds = latency.Value, travel.Value
	time := travel.Plus(price.Interval{Value: latency.Value, Low: latency.Low, High: latency.High})
	b.step(n, x, time)
	there := g.Name(to.Device)
	return propagate.Transfer{Operation: g.Name(n.ID), Tensor: g.Name(from.Tensor), Of: from.Tensor, From: g.Name(from.Device), To: there, Bytes: size,
		Reason: fmt.Sprintf("%s of it is needed on %s, where it is not", box.Text(), there),
		Ways: []propagate.Way{{Words: "a copy", Bytes: bytes, Seconds: machine.Figure{Value: time.Value, Low: time.Low, High: time.High},
			Terms: []propagate.Term{{What: "latency of the link", Seconds: x.Latency}, {What: fmt.Sprintf("%.0f bytes", bytes), Seconds: x.Seconds}}}}}
}

func (b *placing) port(w way) int {
	n, ok := b.ways[w]
	if !ok {
		n = len(b.ways)
		b.ways[w] = n
	}
	return n
}

// kinds gives what each device of the report is.
func (b *placing) kinds() []*machine.Device {
	list := make([]*machine.Device, len(b.at))
	for i, number := range b.at {
		list[i], _ = b.layout.Find(number)
	}
	return list
}
