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
	lines   lines
}

// lines are the links between the devices of a schedule.
type lines struct {
	graph  *ir.Graph
	place  *group.Place
	ports  map[way]int // their numbers
	makers map[ir.NodeID]*price.Kernel
	there  map[held][]*schedule.Buffer
}

// way is a port in one direction: what is sent does not wait for what is received.
type way struct {
	machine.Port
	in bool
}

// Placed prices a schedule on the devices that it has, each of which is the one of its number among the machine's devices of its kind: kernels are carried out where they
// are, a collective among devices of one kind as what it is (calls.go), and each other transfer is a flow that passes the ports between two devices. Devices that are threads
// of one host do all of it themselves (host.go). Memory is what the schedule holds on a device. Together are the steps while all devices work; threads are those of the program. Devices of
// unused have nothing to do, and stand behind the others.
func Placed(m *machine.Machine, g *ir.Graph, alone, together price.Steps, threads int64, unused ...*machine.Device) (*Report, error) {
	at, err := group.On(m, g)
	if err != nil {
		return nil, err
	}
	b := &placing{place: at, devices: map[ir.NodeID]int{}, tasks: map[ir.NodeID]int{}, lines: lines{g, at, map[way]int{}, makers(g, alone.Kernels), buffersOf(g)}}
	b.g = g
	out := &Report{Machine: m.Name, Steps: b.tasks}
	if hosted := Hosted(g); len(hosted) > 0 {
		at.Order = hosted
	}
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
	times := map[ir.NodeID]timed{}
	for i := range alone.Kernels {
		times[alone.Kernels[i].Node] = timed{&alone.Kernels[i], &together.Kernels[i]}
	}
	if len(Hosted(g)) > 0 {
		groups, _ := Threads(threads, len(at.Order))
		err = b.host(order, times, [2]map[ir.NodeID]price.Copy{alone.Copies, together.Copies}, groups, out)
	} else {
		b.walk(order, times, out)
	}
	if err != nil {
		return nil, err
	}
	held := schedule.Held(g)
	for _, d := range at.Order {
		if h := held[d]; h != nil {
			b.program.Values = append(b.program.Values, simulate.Value{Device: b.devices[d], Bytes: float64(h.Total()), From: -1})
		}
	}
	kinds := append(b.kinds(), unused...)
	b.program.Devices, b.program.Ports = len(kinds), len(b.lines.ports)
	if out, err = b.report(out, kinds); err == nil {
		out.Kernels = onFirst(g, b.devices, alone.Kernels)
	}
	return out, err
}

// onFirst counts the kernels of the first device that has some.
func onFirst(g *ir.Graph, devices map[ir.NodeID]int, kernels []price.Kernel) (n int) {
	least := len(devices)
	for _, k := range kernels {
		switch d := devices[g.Node(k.Node).Body.(*schedule.Kernel).Device]; {
		case d < least:
			least, n = d, 1
		case d == least:
			n++
		}
	}
	return n
}

// walk adds the steps of a schedule that devices carry out while data travels.
func (b *placing) walk(order []ir.NodeID, kernels map[ir.NodeID]timed, out *Report) {
	b.findCalls()
	for _, id := range order {
		switch body := b.g.Node(id).Body.(type) {
		case *schedule.Transfer:
			if c := b.calls[id]; c != nil {
				out.Transfers = append(out.Transfers, b.part(c, id)...)
				continue
			}
			out.Transfers = append(out.Transfers, b.flow(id, body))
		case *schedule.Kernel:
			k := kernels[id]
			b.step(id, simulate.Task{Name: b.g.Name(id), Device: b.devices[body.Device], Seconds: k.alone.Time.Value, Shared: k.together.Time.Value}, k.alone.Time)
			b.operations += k.alone.Work.Operations()
		}
	}
	for _, id := range order {
		b.after(id)
	}
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
func (b *placing) flow(id ir.NodeID, t *schedule.Transfer) propagate.Transfer {
	x := simulate.Task{Name: b.g.Name(id), Device: -1}
	said := b.lines.send(id, t, &x, false, price.Copy{})
	time := said.Ways[0].Seconds
	b.step(id, x, price.Interval{Value: time.Value, Low: time.Low, High: time.High})
	return said
}

// send fills the task of a transfer, and gives what there is to say of it. A task of a device is a copy that it makes itself: it passes no port, takes no latency, and beside its start what its caches and those
// of the other device take for it; if these are not known, at least what the link takes. One that is in place takes nothing.
func (l *lines) send(id ir.NodeID, t *schedule.Transfer, x *simulate.Task, inPlace bool, own price.Copy) propagate.Transfer {
	g := l.graph
	from, to := g.Node(t.From).Body.(*schedule.Buffer), g.Node(t.To).Body.(*schedule.Buffer)
	box := t.Box(from)
	size := new(big.Int).Mul(box.BigSize(), big.NewInt(int64(from.Type().Size())))
	bytes, _ := size.Float64()
	link, latency, travel := "", machine.Figure{}, price.Interval{}
	out, in := l.place.Layout.Route(l.place.At[from.Device], l.place.At[to.Device])
	for i, p := range append(slices.Clone(out), in...) {
		if p.Link == nil || inPlace {
			continue
		}
		if i < len(out) {
			link, latency = p.Link.Name, p.Link.Latency
		}
		travel = slowest(travel, bytes, p.Link.Bandwidth)
		if x.Device < 0 {
			x.Ports = append(x.Ports, l.port(way{p, i >= len(out) && p.Link.Each != machine.EachLocality}))
		}
	}
	terms := []propagate.Term{{What: fmt.Sprintf("%.0f bytes", bytes), Seconds: travel.Value}}
	if x.Device >= 0 {
		latency = machine.Figure{}
		if !inPlace && (own.Exchanged || own.Time.Value > travel.Value) {
			travel, terms = own.Time, nil
			for _, o := range own.Terms {
				terms = append(terms, propagate.Term{What: "to and from " + o.What, Seconds: o.Time.Value})
			}
		}
		if !inPlace {
			travel = travel.Plus(own.Start)
			terms = append(terms, propagate.Term{What: startOfCopy, Seconds: own.Start.Value})
		}
	}
	x.Latency, x.Seconds = latency.Value, travel.Value
	if link != "" {
		x.Sent.Add(link, bytes)
	}
	time := travel.Plus(price.Interval{Value: latency.Value, Low: latency.Low, High: latency.High})
	there := g.Name(to.Device)
	said := propagate.Transfer{Operation: g.Name(id), Tensor: g.Name(from.Tensor), Of: from.Tensor, From: g.Name(from.Device), To: there, Bytes: size,
		Reason: fmt.Sprintf("%s of it is needed on %s, where it is not", box.Text(), there)}
	way := propagate.Way{Words: "a copy", Bytes: bytes, Sent: x.Sent, Seconds: machine.Figure{Value: time.Value, Low: time.Low, High: time.High}}
	switch {
	case inPlace:
		way.Words, way.Bytes = "read in place", 0
	case x.Device < 0:
		way.Terms = append(way.Terms, propagate.Term{What: "latency of the link", Seconds: x.Latency})
		fallthrough
	default:
		way.Terms = append(way.Terms, terms...)
	}
	said.Ways = []propagate.Way{way}
	if other, ok := l.instead(t, inPlace, x.Device >= 0, bytes); ok {
		said.Ways = append(said.Ways, other)
	}
	return said
}

func (l *lines) port(w way) int {
	n, ok := l.ports[w]
	if !ok {
		n = len(l.ports)
		l.ports[w] = n
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
