package constraints

import (
	"tensortapestry.org/tapc/dialects/application"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/ir"
	. "tensortapestry.org/tapc/ir/check/checktest"
)

// halved is the program on two devices: both double all of x, each adds up half of the rows of y; the rows of z that the second has are sent back.
type halved struct {
	*program
	other       *ir.Node // device
	double      *ir.Node // kernel
	there, back *schedule.Transfer
	late        *ir.Node // of unread
	last        *ir.Node // sends back
	sums        *ir.Node // application of the second half
}

func onPair(edit func(p *halved)) *ir.Graph {
	return edited(func(p *program) {
		x := &halved{program: p, other: p.Add(&schedule.Device{Type: schedule.CPU, Number: 1}, "cpu1")}
		p.cpu.Body.(*schedule.Device).Number = 0
		dx, dy := p.buffer(p.x, x.other, schedule.Arena, 0), p.buffer(p.y, x.other, schedule.Arena, 64)
		dz := p.buffer(p.z, x.other, schedule.Arena, 128)
		buf(dz).Range, buf(dz).Bytes = Range("[2:4]"), 8
		for _, b := range []*ir.Node{dx, dy, dz, p.by} {
			buf(b).Last = 7
		}
		x.there = &schedule.Transfer{From: p.bx.ID, To: dx.ID, Range: Range("[0:4, 0:3]")}
		there := p.Add(x.there, "there")
		k := *p.first()
		k.Device, k.After = x.other.ID, []ir.NodeID{there.ID}
		k.Operands = []schedule.Operand{operand("X", schedule.Read, dx, "(d0, d1) -> (d0, d1)"), operand("Y", schedule.Write, dy, "(d0, d1) -> (d0, d1)")}
		x.double = p.Add(&k, "k3")
		p.Node(k.Applications[0]).SetTag(&application.Placement{Devices: []int64{0, 1}})

		first := p.Node(p.second().Applications[0])
		a := first.Body.(*application.Application)
		half := &application.Application{Operation: a.Operation, Inputs: a.Inputs.Clone(), Outputs: a.Outputs.Clone()}
		half.Inputs.At(0).Sel[0].SetRange(Range("[2:4, 0:3]"))
		half.Outputs.At(0).Sel[0].SetRange(Range("[2:4]"))
		a.Inputs.At(0).Sel[0].SetRange(Range("[0:2, 0:3]"))
		a.Outputs.At(0).Sel[0].SetRange(Range("[0:2]"))
		x.sums = p.Add(half, "half")
		x.sums.SetTag(&application.Placement{Devices: []int64{1}})
		p.second().Loops[0].End, p.second().Loops[0].Of = 2, []int64{0, 4}
		s := *p.second()
		s.Device, s.Applications, s.After = x.other.ID, []ir.NodeID{x.sums.ID}, []ir.NodeID{x.double.ID}
		s.Loops = []schedule.Loop{loop("i", 4), loop("j", 3)}
		s.Loops[0].Start, s.Loops[0].Of = 2, []int64{0, 4}
		s.Operands = []schedule.Operand{operand("Y", schedule.Read, dy, "(d0, d1) -> (d0, d1)"), operand("Z", schedule.Write, dz, "(d0, d1) -> (d0)")}
		x.back = &schedule.Transfer{From: dz.ID, To: p.bz.ID, Range: Range("[2:4]"), After: []ir.NodeID{p.Add(&s, "k4").ID}}
		x.last = p.Add(x.back, "back")
		edit(x)
	})
}

// unread sends a box of y to a buffer of the second device.
func (p *halved) unread(box string) (buffer *ir.Node, t *schedule.Transfer) {
	buffer = p.buffer(p.y, p.other, schedule.Arena, 4096)
	buf(buffer).Last = 1 << 30
	t = &schedule.Transfer{From: p.by.ID, To: buffer.ID, Range: Range(box), After: []ir.NodeID{p.k1.ID}}
	p.late = p.Add(t, "late")
	return buffer, t
}

func deviceCases() []Case {
	return []Case{
		Of("devices accepted", onPair(func(*halved) {}), nil, nil),
		Of("devices: a transfer of cells that the buffer there lacks", onPair(func(p *halved) { p.back.Range = Range("[1:4]") }),
			[]string{"TAP0384"}, []string{"a box inside zr[2:4]", "found:    zr[1:4]"}),
		Of("devices: a byte arrives twice", onPair(func(p *halved) {
			p.Add(&schedule.Transfer{From: p.there.From, To: p.there.To, Range: Range("[3:4, 2:3]")}, "again")
		}), []string{"TAP0302"}, []string{`transfer "there" and transfer "again"`, "cell [3, 2]"}),
		Of("devices: a byte does not arrive", onPair(func(p *halved) { p.there.Range = Range("[0:4, 0:2]") }), []string{"TAP0303"},
			[]string{`kernel "k3"`, "zr[0:4, 2:3] unwritten"}),
		Of("devices: a byte is sent before it is computed", onPair(func(p *halved) { p.back.After = nil }), []string{"TAP0305"},
			[]string{`transfer "back" reads cells`, `kernel "k4"`}),
		Of("devices: a byte is used before it arrives", onPair(func(p *halved) { p.double.Body.(*schedule.Kernel).After = nil }), []string{"TAP0305"},
			[]string{`kernel "k3"`, `transfer "there"`}),
		Of("devices: each waits for the other at its beginning", onPair(func(p *halved) {
			p.there.After = append(p.there.After, p.k2.ID)
			p.first().After = append(p.first().After, p.last.ID)
		}), []string{"TAP0300"}, []string{`a cycle of 6 steps: kernel "k1" waits for transfer "back"`, `transfer "there" waits for kernel "k2" waits for kernel "k1"`}),
		Of("devices near miss: one waits for the end of the other", onPair(func(p *halved) { p.first().After = append(p.first().After, p.last.ID) }), nil, nil),
		Of("devices: two wait for each other", onPair(func(p *halved) { p.there.After = append(p.there.After, p.double.ID) }), []string{"TAP0300"},
			[]string{`a cycle of 2 steps`}),
		Of("devices: cells arrive that nobody reads", onPair(func(p *halved) { p.unread("[1:3, 0:3]") }), []string{"TAP0308"},
			[]string{`transfer "late" brings cells to buffer "y" that nobody reads`, "found:    zr[1:3, 0:3] unread"}),
		Of("devices near miss: a transfer reads a cell of what arrives", onPair(func(p *halved) {
			buffer, _ := p.unread("[1:3, 0:3]")
			p.Add(&schedule.Transfer{From: buffer.ID, To: p.buffer(p.y, p.cpu, schedule.Output, 0).ID, Range: Range("[2:3, 0:1]"), After: []ir.NodeID{p.late.ID}}, "on")
		}), []string{"TAP0306"}, nil),
		Of("devices: cells arrive beside those that are read", onPair(func(p *halved) {
			buffer, _ := p.unread("[1:3, 0:3]")
			p.Add(&schedule.Transfer{From: p.by.ID, To: buffer.ID, Range: Range("[0:1, 0:3]"), After: []ir.NodeID{p.k1.ID}}, "first")
			p.Add(&schedule.Transfer{From: buffer.ID, To: p.buffer(p.y, p.cpu, schedule.Output, 0).ID, Range: Range("[1:3, 0:3]"), After: []ir.NodeID{p.late.ID}}, "on")
		}), []string{"TAP0308", "TAP0306"}, []string{`transfer "first" brings`, "zr[0:1, 0:3] unread"}),
		Of("devices near miss: nothing arrives that nobody reads", onPair(func(p *halved) { p.unread("[1:1, 0:3]") }), nil, nil),
		Of("devices near miss: what the caller is given needs no other reader", onPair(func(p *halved) {
			p.Add(&schedule.Transfer{From: p.by.ID, To: p.buffer(p.y, p.cpu, schedule.Output, 0).ID, After: []ir.NodeID{p.k1.ID}}, "out")
		}), nil, nil),
		Of("devices: a result does not come back", onPair(func(p *halved) { p.back.Range = Range("[2:3]") }), []string{"TAP0306"}, []string{"zr[3:4] unwritten"}),
		Of("devices: more than one has room for", onPair(func(p *halved) { p.other.Body.(*schedule.Device).Memory = 135 }), []string{"TAP0396"},
			[]string{"at most 135 bytes", "136 bytes"}),
		Of("devices near miss: as much as one has room for", onPair(func(p *halved) { p.other.Body.(*schedule.Device).Memory = 136 }), nil, nil),
		Of("devices: a kernel that is not placed there", onPair(func(p *halved) { p.sums.SetTag(&application.Placement{Devices: []int64{0}}) }),
			[]string{"TAP0338", "TAP0339"}, []string{`device "cpu1"`, "a device of [0]"}),
		Of("devices: a device lacks its kernel", onPair(func(p *halved) { p.sums.SetTag(&application.Placement{Devices: []int64{1, 2}}) }),
			[]string{"TAP0339"}, []string{"on device 2"}),
	}
}
