package devices

import (
	"slices"
	"testing"

	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/zspace"
)

// pair is a schedule of two devices: kernels on each, and transfers between them.
type pair struct {
	g       *ir.Graph
	devices [2]ir.NodeID
	steps   []ir.NodeID
}

func newPair() *pair {
	p := &pair{g: ir.New()}
	for i := range p.devices { // the second first: they come by their numbers
		p.devices[1-i] = p.g.Add(&schedule.Device{Type: schedule.CPU, Number: int64(1 - i)}, "").ID
	}
	return p
}

func (p *pair) buffer(device int, space schedule.Space, bytes int64) ir.NodeID {
	return p.g.Add(&schedule.Buffer{Over: ir.NoNode, Device: p.devices[device], DType: "int8", Range: zspace.Range{Start: zspace.Point{0}, End: zspace.Point{bytes}}, Strides: []int64{1}, Space: space, Bytes: bytes}, "").ID
}

func (p *pair) schedule(buffer ir.NodeID) *schedule.Buffer {
	return p.g.Node(buffer).Body.(*schedule.Buffer)
}

func (p *pair) kernel(device int, after ...ir.NodeID) ir.NodeID {
	return p.add(&schedule.Kernel{Device: p.devices[device], After: after})
}

func (p *pair) transfer(from, to ir.NodeID, after ...ir.NodeID) ir.NodeID {
	box := p.g.Node(from).Body.(*schedule.Buffer).Range
	if other := p.g.Node(to).Body.(*schedule.Buffer).Range; other.End[0] < box.End[0] {
		box = other
	}
	return p.add(&schedule.Transfer{From: from, To: to, After: after, Range: box})
}

func (p *pair) add(body ir.Body) ir.NodeID {
	p.steps = append(p.steps, p.g.Add(body, "").ID)
	return p.steps[len(p.steps)-1]
}

// TestOf looks at who carries out what, and at what is waited for: nothing of the own device, nothing twice, and of several steps of a device the last.
func TestOf(t *testing.T) {
	p := newPair()
	in, there, back := p.buffer(0, schedule.Input, 8), p.buffer(1, schedule.Arena, 8), p.buffer(0, schedule.Output, 8)
	a := p.kernel(0)                 // cpu0, its 1st
	b := p.kernel(0, a)              // cpu0, its 2nd
	c := p.transfer(in, there, a, b) // cpu1, its 1st: waits for b
	d := p.kernel(1, c, a)           // cpu1, its 2nd: a was waited for with b
	e := p.transfer(there, back, d)  // cpu1, its 3rd: what the caller is given, who has it copies
	p.kernel(0, e, c)                // cpu0, its 3rd: waits for e
	got := Of(p.g, p.steps, nil)
	want := []Step{
		{Device: 0, Number: 1}, {Device: 0, Number: 2, Known: true}, {Device: 1, Number: 1, Waits: []Wait{{0, 2}}, Copies: true}, {Device: 1, Number: 2},
		{Device: 1, Number: 3, Known: true, Copies: true}, {Device: 0, Number: 3, Waits: []Wait{{1, 3}}},
	}
	if !slices.EqualFunc(got.Steps, want, func(a, b Step) bool {
		return a.Device == b.Device && a.Number == b.Number && a.Known == b.Known && a.Copies == b.Copies && slices.Equal(a.Waits, b.Waits)
	}) {
		t.Errorf("%+v", got.Steps)
	}
	for i, d := range []Device{{Name: "cpu0", Received: 8, Sent: 8, Kernels: 3}, {Name: "cpu1", Arena: 8, Received: 8, Sent: 8, Kernels: 1, Copies: 2}} {
		if d.id = p.devices[i]; got.Devices[i] != d {
			t.Errorf("%+v, expected %+v", got.Devices[i], d)
		}
	}
}

// TestAliased: a transfer between a buffer and one that lies over it is one of its device's steps and copies nothing, and what lies over another takes none of the arena.
func TestAliased(t *testing.T) {
	p := newPair()
	in, there := p.buffer(0, schedule.Input, 8), p.buffer(1, schedule.Arena, 8)
	p.schedule(there).Over = in
	back, out := p.buffer(1, schedule.Arena, 8), p.buffer(0, schedule.Output, 16)
	p.schedule(back).Over = out
	copied := p.buffer(1, schedule.Arena, 8)
	read := p.transfer(in, there)
	near := p.transfer(in, copied)
	done := p.kernel(1, read, near)
	p.transfer(back, out, done)
	got := Of(p.g, p.steps, nil)
	want := Device{Name: "cpu1", Arena: 8, Received: 8, Kernels: 1, Copies: 1, Aliased: 2, id: p.devices[1]}
	if got.Devices[1] != want || got.Devices[0].Sent != 8 || got.Devices[0].Arena != 0 {
		t.Errorf("%+v", got.Devices)
	}
	for i, what := range []string{"aliased transfer", "copy", "", "aliased transfer"} {
		if x, ok := p.g.Node(p.steps[i]).Body.(*schedule.Transfer); ok && got.Transfer(p.g, i, x) != what {
			t.Errorf("step %d: %q, expected %q", i, got.Transfer(p.g, i, x), what)
		}
	}
}

// TestChecks: what the program looks at when it ends is copied by the device that has it then.
func TestChecks(t *testing.T) {
	p := newPair()
	checked := p.g.Add(&schedule.Device{Type: schedule.CUDA}, "").ID // any node stands for the tensor
	from, to := p.buffer(0, schedule.Arena, 8), p.buffer(1, schedule.Output, 8)
	p.g.Node(to).Body.(*schedule.Buffer).Tensor = checked
	p.transfer(from, to)
	for _, c := range []struct {
		checks     []ir.NodeID
		step, host int
	}{{[]ir.NodeID{checked}, 1, 1}, {nil, 0, 0}} {
		got := Of(p.g, p.steps, c.checks)
		index := slices.IndexFunc(got.Devices, func(d Device) bool { return d.id == p.devices[c.step] })
		if got.Steps[0].Device != index || (got.Devices[got.host].id == p.devices[1]) != (c.host == 1) {
			t.Errorf("checks %v: %+v, host %d", c.checks, got.Steps[0], got.host)
		}
	}
}

// TestOne: a program for one device has no plan, and the C around its steps says nothing of devices.
func TestOne(t *testing.T) {
	g := ir.New()
	d := g.Add(&schedule.Device{Type: schedule.CPU}, "").ID
	k := g.Add(&schedule.Kernel{Device: d}, "").ID
	p := Of(g, []ir.NodeID{k}, nil)
	if p != nil || p.Open(0)+p.End()+p.Tables("")+p.Fields("")+p.On(0) != "" || p.Close(0) != " tapc_done(0);\n" {
		t.Errorf("%+v", p)
	}
}
