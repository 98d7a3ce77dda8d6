package sharded

import (
	"cmp"
	"slices"

	"tensortapestry.org/tapc/backends/cpu/devices"
	"tensortapestry.org/tapc/cost/machine"
	"tensortapestry.org/tapc/cost/price"
	"tensortapestry.org/tapc/cost/simulate"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/passes/propagate"
)

// Threads is how many groups of threads the devices of a program have that runs on so many, and how many threads the smallest of these has.
func Threads(threads int64, devices int) (groups int, each int64) {
	groups = max(1, min(devices, int(threads)))
	return groups, threads / int64(groups)
}

// Hosted gives the devices of a schedule if all of them are sets of threads of one process (backends/cpu/devices); none of a schedule for one device.
func Hosted(g *ir.Graph) (list []ir.NodeID) {
	for n := range g.Nodes() {
		d, ok := n.Body.(*schedule.Device)
		if ok && d.Type != schedule.Host {
			return nil
		}
		if ok {
			list = append(list, n.ID)
		}
	}
	if len(list) < 2 {
		return nil
	}
	slices.SortStableFunc(list, func(a, b ir.NodeID) int {
		return cmp.Compare(g.Node(a).Body.(*schedule.Device).Number, g.Node(b).Body.(*schedule.Device).Number)
	})
	return list
}

// host carries out a schedule as the threads of one process do.
type host struct {
	to      *builder
	lines   *lines
	plan    *devices.Plan
	kernels map[ir.NodeID]timed
	copies  [2]map[ir.NodeID]price.Copy // while the other devices do nothing, and while all work
	groups  int
	last    []int   // task of each group, -1 before it has one
	done    [][]int // tasks of the steps of each device
}

// timed is a kernel while the other devices do nothing, and while all work.
type timed struct{ alone, together *price.Kernel }

// host adds the steps of a schedule: a group of threads has the steps of its devices in the order of the schedule, copies among them, which
// the device makes that has or wants the result, or nobody where what is sent is read in place. What another group gives has been counted by that, and who waits for it sees it a latency later,
// even if it is there long: the count and what is sent are in the other's caches.
func (b *placing) host(order []ir.NodeID, kernels map[ir.NodeID]timed, copies [2]map[ir.NodeID]price.Copy, groups int, out *Report) error {
	plan, err := planOf(b.g, order)
	if err != nil {
		return err
	}
	h := &host{to: &b.builder, lines: &b.lines, plan: plan, kernels: kernels, copies: copies, groups: groups,
		last: slices.Repeat([]int{-1}, groups), done: make([][]int, len(b.devices))}
	for g := 1; g < groups; g++ {
		h.last[g] = h.begin(g)
	}
	for i, id := range order {
		if x := h.step(i, id); x != nil {
			out.Transfers = append(out.Transfers, *x)
		}
		b.tasks[id] = h.last[plan.Steps[i].Device%groups]
	}
	end := simulate.Task{Name: "end"}
	for g, i := range h.last {
		if g > 0 {
			i = h.signal(g, 0, i)
		}
		if i >= 0 {
			end.After = append(end.After, i)
		}
	}
	h.to.add(end, price.Interval{}, nil)
	return nil
}

// planOf says who carries out which step.
func planOf(g *ir.Graph, order []ir.NodeID) (*devices.Plan, error) {
	program, err := tensorops.ProgramOf(g)
	if err != nil {
		return nil, err
	}
	return devices.Of(g, order, program.Held()[len(program.Outputs):]), nil
}

// Process gives of a schedule whose devices are threads of one process which of them makes each transfer for which there is anything to copy; nil of others.
func Process(g *ir.Graph) (*price.Process, error) {
	list := Hosted(g)
	if len(list) == 0 {
		return nil, nil
	}
	order, err := schedule.Order(g)
	if err != nil {
		return nil, err
	}
	plan, err := planOf(g, order)
	if err != nil {
		return nil, err
	}
	out := &price.Process{Copies: map[ir.NodeID]ir.NodeID{}}
	for i, id := range order {
		if t, ok := g.Node(id).Body.(*schedule.Transfer); ok && !t.Aliased(g) {
			out.Copies[id] = list[plan.Steps[i].Device]
		}
	}
	return out, nil
}

// step adds a step; of a transfer it gives what there is to say.
func (h *host) step(i int, id ir.NodeID) (said *propagate.Transfer) {
	s := h.plan.Steps[i]
	t, bounds := simulate.Task{Name: h.to.g.Name(id), Device: s.Device}, price.Interval{}
	if body, ok := h.to.g.Node(id).Body.(*schedule.Transfer); ok {
		x := h.lines.send(id, body, &t, body.Aliased(h.to.g), h.copies[0][id])
		if c := h.copies[1][id]; t.Seconds > 0 {
			t.Shared = c.Time.Value + c.Start.Value
		}
		said, bounds = &x, price.Interval{Value: t.Seconds, Low: x.Ways[0].Seconds.Low, High: x.Ways[0].Seconds.High}
	} else {
		k := h.kernels[id]
		t.Seconds, t.Shared, bounds = k.alone.Time.Value, k.together.Time.Value, k.alone.Time
		h.to.operations += k.alone.Work.Operations()
	}
	group, before := s.Device%h.groups, []int(nil)
	if h.last[group] >= 0 {
		before = []int{h.last[group]}
	}
	t.After = slices.Clone(before)
	for _, w := range s.Waits {
		if w.Device%h.groups != group {
			t.After = append(t.After, h.signal(w.Device, s.Device, append(slices.Clip(before), h.done[w.Device][w.Steps-1])...))
		}
	}
	h.last[group] = len(h.to.program.Tasks)
	h.done[s.Device] = append(h.done[s.Device], h.last[group])
	h.to.add(t, bounds, nil)
	return said
}

// begin adds the time from when the caller begins to when another group does, which that is not told alone but what it has to do: with the signal by which it ends it is what threads take that begin
// to share a kernel, where that is known.
func (h *host) begin(group int) int {
	l := h.lines.link(h.lines.place.Order[0], h.lines.place.Order[group]).Latency
	first, _ := h.lines.place.Layout.Find(h.lines.place.At[h.lines.place.Order[0]])
	if r := first.Region; r.Value > 2*l.Value {
		l = machine.Figure{Value: r.Value - l.Value, Low: max(l.Value, r.Low-l.Value), High: r.High - l.Value}
	}
	return h.wait(0, group, l)
}

// signal adds the time from what one device has done to when another sees it.
func (h *host) signal(from, to int, after ...int) int {
	return h.wait(from, to, h.lines.link(h.lines.place.Order[from], h.lines.place.Order[to]).Latency, after...)
}

// wait adds such a time.
func (h *host) wait(from, to int, latency machine.Figure, after ...int) int {
	i := len(h.to.program.Tasks)
	h.to.add(simulate.Task{Name: h.plan.Devices[to].Name + " waits for " + h.plan.Devices[from].Name, Device: -1, Latency: latency.Value, After: after},
		price.Interval{Value: latency.Value, Low: latency.Low, High: latency.High}, nil)
	return i
}

// link gives the outermost link between two devices.
func (l *lines) link(from, to ir.NodeID) machine.Link {
	out, _ := l.place.Layout.Route(l.place.At[from], l.place.At[to])
	for _, p := range slices.Backward(out) {
		if p.Link != nil {
			return *p.Link
		}
	}
	return machine.Link{}
}
