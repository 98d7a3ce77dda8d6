package sharded

import (
	"fmt"
	"math/big"
	"slices"

	"tensortapestry.org/tapc/cost/group"
	"tensortapestry.org/tapc/cost/machine"
	"tensortapestry.org/tapc/cost/price"
	"tensortapestry.org/tapc/cost/simulate"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/passes/propagate"
)

// placing makes the tasks of a schedule whose devices are known.
type placing struct {
	builder
	place   *group.Place
	devices map[ir.NodeID]int // the number of each in the report
	tasks   map[ir.NodeID]int // of each step
	calls   map[ir.NodeID]*call
	ways    map[way]int // ports by their numbers
}

// way is a port in one direction: what is sent does not wait for what is received.
type way struct {
	machine.Port
	in bool
}

// Placed prices a schedule on the devices that it has, each of which is the one of its number among the machine's devices of its kind: kernels are carried out where they
// are, a collective among devices of one kind as what it is (calls.go), and each other transfer is a flow that passes the ports between two devices. Memory is what the
// schedule holds on a device.
func Placed(m *machine.Machine, g *ir.Graph, kernels []price.Kernel) (*Report, error) {
	at, err := group.On(m, g)
	if err != nil {
		return nil, err
	}
	b := &placing{place: at, devices: map[ir.NodeID]int{}, tasks: map[ir.NodeID]int{}, ways: map[way]int{}}
	b.g = g
	out := &Report{Machine: m.Name}
	for i, d := range at.Order {
		b.devices[d] = i
	}
	order, err := schedule.Order(g)
	if err != nil {
		return nil, err
	}
	if len(order) > maxTasks {
		return nil, tooLarge(int64(len(order)))
	}
	b.findCalls()
	for _, id := range order {
		n := g.Node(id)
		switch body := n.Body.(type) {
		case *schedule.Transfer:
			if c := b.calls[id]; c != nil {
				out.Transfers = append(out.Transfers, b.part(c, id)...)
				continue
			}
			out.Transfers = append(out.Transfers, b.flow(n, body))
		case *schedule.Kernel:
			i := slices.IndexFunc(kernels, func(k price.Kernel) bool { return k.Node == id })
			b.step(id, simulate.Task{Name: g.Name(id), Device: b.devices[body.Device], Seconds: kernels[i].Time.Value}, kernels[i].Time)
			b.operations += kernels[i].Work.Operations()
		}
	}
	for _, id := range order {
		b.after(id)
	}
	held := schedule.Held(g)
	for _, d := range at.Order {
		if h := held[d]; h != nil {
			b.program.Values = append(b.program.Values, simulate.Value{Device: b.devices[d], Bytes: float64(h.Total()), From: -1})
		}
	}
	b.program.Devices, b.program.Ports = len(at.Order), len(b.ways)
	return b.report(out, b.kinds())
}

// step adds the task of a step.
func (b *placing) step(id ir.NodeID, t simulate.Task, bounds price.Interval) {
	b.tasks[id] = len(b.program.Tasks)
	b.add(t, bounds, nil)
}

// after lets the task of a step wait for those of the steps that it is after.
func (b *placing) after(id ir.NodeID) {
	t := &b.program.Tasks[b.tasks[id]]
	list, _ := schedule.After(b.g.Node(id))
	for _, a := range list {
		if i, ok := b.tasks[a]; ok && i != b.tasks[id] && !b.inside(id, a) && !slices.Contains(t.After, i) {
			t.After = append(t.After, i)
		}
	}
}

// flow adds a transfer: the latency of the outermost link between two devices, and its bytes on the slowest.
func (b *placing) flow(n *ir.Node, t *schedule.Transfer) propagate.Transfer {
	g := b.g
	from, to := g.Node(t.From).Body.(*schedule.Buffer), g.Node(t.To).Body.(*schedule.Buffer)
	box := t.Box(from)
	size := new(big.Int).Mul(box.BigSize(), big.NewInt(int64(from.Type().Size())))
	bytes, _ := size.Float64()
	x := simulate.Task{Name: g.Name(n.ID), Device: -1, Bytes: bytes}
	latency, travel := machine.Figure{}, price.Interval{}
	out, in := b.place.Layout.Route(b.place.At[from.Device], b.place.At[to.Device])
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
	b.step(n.ID, x, time)
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
func (b *placing) kinds() (list []*machine.Device) {
	for _, d := range b.place.Order {
		kind, _ := b.place.Layout.Find(b.place.At[d])
		list = append(list, kind)
	}
	return list
}
