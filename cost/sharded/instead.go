package sharded

import (
	"fmt"
	"slices"

	"tensortapestry.org/tapc/cost/machine"
	"tensortapestry.org/tapc/cost/price"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/passes/propagate"
)

// makers gives the kernel that writes each buffer, nil where several do.
func makers(g *ir.Graph, kernels []price.Kernel) map[ir.NodeID]*price.Kernel {
	out := map[ir.NodeID]*price.Kernel{}
	for i := range kernels {
		for _, o := range g.Node(kernels[i].Node).Body.(*schedule.Kernel).Operands {
			if o.Mode != schedule.Write {
				continue
			}
			if k, ok := out[o.Buffer]; ok && k != &kernels[i] {
				out[o.Buffer] = nil
			} else {
				out[o.Buffer] = &kernels[i]
			}
		}
	}
	return out
}

// held is a tensor on a device.
type held struct{ device, tensor ir.NodeID }

// buffersOf gives the buffers that hold parts of each tensor on each device.
func buffersOf(g *ir.Graph) map[held][]*schedule.Buffer {
	out := map[held][]*schedule.Buffer{}
	for n := range g.Nodes() {
		if b, ok := n.Body.(*schedule.Buffer); ok {
			out[held{b.Device, b.Tensor}] = append(out[held{b.Device, b.Tensor}], b)
		}
	}
	return out
}

// instead gives what could be done instead of a transfer: of one that is read in place, a copy at the rate of the link; of another, computing what it brings on the device that reads it as
// well, by the kernel that writes it, to which what that reads is sent if it is not there. There is nothing else for what no kernel writes, or several
// do, nor where the devices are of different kinds: the price of the kernel is that of its own.
func (l *lines) instead(t *schedule.Transfer, inPlace, hosted bool, bytes float64) (way propagate.Way, ok bool) {
	from, to := schedule.BufferOf(l.graph, t.From), schedule.BufferOf(l.graph, t.To)
	if inPlace {
		way.Words = "a copy at the rate of the link"
		l.sends(&way, from.Device, to.Device, bytes, hosted, fmt.Sprintf("%.0f bytes", bytes))
		return way, true
	}
	k := l.makers[t.From]
	if k == nil || schedule.DeviceOf(l.graph, from.Device).Type != schedule.DeviceOf(l.graph, to.Device).Type {
		return way, false
	}
	way.Words = "computing it on " + l.graph.Name(to.Device) + " as well"
	for _, x := range k.Terms {
		way.Terms = append(way.Terms, propagate.Term{What: x.What, Seconds: x.Time.Value})
	}
	way.Seconds = machine.Figure{Value: k.Time.Value, Low: k.Time.Low, High: k.Time.High}
	var seen ir.NodeSet
	for _, o := range l.graph.Node(k.Node).Body.(*schedule.Kernel).Operands {
		if b := schedule.BufferOf(l.graph, o.Buffer); o.Mode == schedule.Read && seen.Add(o.Buffer) && !l.has(to.Device, b) {
			l.sends(&way, b.Device, to.Device, float64(b.Bytes), hosted, fmt.Sprintf("%d bytes of %s", b.Bytes, l.graph.Name(b.Tensor)))
		}
	}
	return way, true
}

// has says whether a device has all cells of a buffer in one of its own.
func (l *lines) has(device ir.NodeID, of *schedule.Buffer) bool {
	return slices.ContainsFunc(l.there[held{device, of.Tensor}], func(b *schedule.Buffer) bool { return b.Range.Contains(of.Range) })
}

// sends adds to a way what sending bytes from one device to another takes alone: on the slowest link, and the latency of the outermost one if no device makes the copy itself.
func (l *lines) sends(way *propagate.Way, from, to ir.NodeID, bytes float64, hosted bool, what string) {
	out, in := l.place.Layout.Route(l.place.At[from], l.place.At[to])
	var latency, travel price.Interval
	link := ""
	for i, p := range append(append([]machine.Port{}, out...), in...) {
		if p.Link == nil {
			continue
		}
		if i < len(out) {
			link = p.Link.Name
		}
		if f := p.Link.Latency; i < len(out) && !hosted {
			latency = price.Interval{Value: f.Value, Low: f.Low, High: f.High}
		}
		travel = slowest(travel, bytes, p.Link.Bandwidth)
	}
	if latency.Value > 0 {
		way.Terms = append(way.Terms, propagate.Term{What: "latency of the link", Seconds: latency.Value})
	}
	way.Terms = append(way.Terms, propagate.Term{What: what, Seconds: travel.Value})
	all := travel.Plus(latency)
	if hosted { // the device makes the copy itself
		f := l.launch(to)
		way.Terms = append(way.Terms, propagate.Term{What: startOfCopy, Seconds: f.Value})
		all = all.Plus(price.Interval{Value: f.Value, Low: f.Low, High: f.High})
	}
	way.Bytes += bytes
	way.Sent.Add(link, bytes)
	way.Seconds.Value, way.Seconds.Low, way.Seconds.High = way.Seconds.Value+all.Value, way.Seconds.Low+all.Low, way.Seconds.High+all.High
}

// launch is what a kernel or a copy of a device takes to begin.
func (l *lines) launch(device ir.NodeID) machine.Figure {
	d, _ := l.place.Layout.Find(l.place.At[device])
	return d.Launch
}

// startOfCopy is what terms say of that of a copy.
const startOfCopy = "start of the copy"

// slowest is the time of bytes on a link, if it takes longer than on those before.
func slowest(before price.Interval, bytes float64, w machine.Figure) price.Interval {
	return price.Interval{Value: max(before.Value, bytes/w.Value), Low: max(before.Low, bytes/w.High), High: max(before.High, bytes/w.Low)}
}
