package constraints

import (
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/ir"
	. "tensortapestry.org/tapc/ir/check/checktest"
)

// reuse is the program with two more steps: a copy of z from the arena to a second output, and a second arena buffer for it
// at a given offset, alive from a given step; the copy into that waits for what it is told to.
func reuse(offset, first int64, wait func(p *program) []ir.NodeID) *ir.Graph {
	return edited(func(p *program) {
		late := p.buffer(p.z, p.cpu, schedule.Arena, offset)
		buf(late).First, buf(late).Last = first, 3
		zero := p.buffer(p.z, p.cpu, schedule.Input, 0)
		in := p.Add(&schedule.Transfer{From: zero.ID, To: late.ID, After: wait(p)}, "in")
		more := p.buffer(p.z, p.cpu, schedule.Output, 0)
		p.Add(&schedule.Transfer{From: late.ID, To: more.ID, After: []ir.NodeID{in.ID}}, "out")
	})
}

func arenaCases() []Case {
	second := func(p *program) []ir.NodeID { return []ir.NodeID{p.k2.ID} }
	firstOnly := func(p *program) []ir.NodeID { return []ir.NodeID{p.k1.ID} }
	return []Case{
		Of("arena accepted: bytes are used again", reuse(16, 2, second), nil, nil),
		Of("arena: a life that is too short", edited(func(p *program) { buf(p.by).Last = 0 }), []string{"TAP0391"},
			[]string{`kernel "k2" touches buffer "y" outside its life`, "steps 0 to 0", "step 1"}),
		Of("arena: a life that begins too late", edited(func(p *program) { buf(p.by).First = 1 }), []string{"TAP0391"}, []string{`kernel "k1"`}),
		Of("arena near miss: a life that is too long", edited(func(p *program) { buf(p.by).Last = 1000 }), nil, nil),
		Of("arena: alive together", reuse(32, 1, second), []string{"TAP0392"}, []string{"bytes 32 to 48 in steps 1 to 1", "bytes 0 to 48 in steps 0 to 1"}),
		Of("arena near miss: alive together, side by side", reuse(48, 1, second), nil, nil),
		Of("arena: used again without waiting", reuse(32, 2, func(*program) []ir.NodeID { return nil }), []string{"TAP0393"},
			[]string{`transfer "in" writes buffer "z" over buffer "y"`, `transfer "in" after kernel "k2"`}),
		Of("arena near miss: used again, waits for the writer only", reuse(32, 2, firstOnly), []string{"TAP0393"},
			[]string{`transfer "in" after kernel "k2"`}),
	}
}

func memoryCases() []Case {
	// 48 bytes of x, an arena of 48 and 16 of z.
	memory := func(n int64) *ir.Graph {
		return edited(func(p *program) { p.cpu.Body.(*schedule.Device).Memory = n })
	}
	return []Case{
		Of("memory accepted: exactly enough", memory(112), nil, nil),
		Of("memory: one byte short", memory(111), []string{"TAP0396"}, []string{"at most 111 bytes", "112 bytes: an arena of 48 and 64 in 2 other buffers"}),
		Of("memory: negative", memory(-1), []string{"TAP0398"}, nil),
		Of("memory: a device twice", edited(func(p *program) { p.Add(&schedule.Device{Type: schedule.CPU, Memory: 5}, "again") }), []string{"TAP0397"},
			[]string{`device "again"`, `the other is device "cpu0"`}),
		Of("memory near miss: another number", edited(func(p *program) { p.Add(&schedule.Device{Type: schedule.CPU, Number: 1, Memory: 5}, "cpu1") }), nil, nil),
	}
}
