package constraints

import (
	"tensortapestry.org/tapc/dialects/application"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/dialects/tensorops/sequence"
	"tensortapestry.org/tapc/ir"
	. "tensortapestry.org/tapc/ir/check/checktest"
)

// inSequence is the program with a kernel that computes w from x after a sequence point, before which y is computed; edit gets that kernel.
func inSequence(edit func(p *program, third *schedule.Kernel)) *ir.Graph {
	return edited(func(p *program) {
		w := p.tensor("w", "[0:4, 0:3]")
		third := p.op("third", ir.PortsOf([]ir.Port{Port("x", Sel(p.x, "[0:4, 0:3]"))}), ir.PortsOf([]ir.Port{Port("w", Sel(w, "[0:4, 0:3]"))}))
		k := &schedule.Kernel{Name: "third", Device: p.cpu.ID, Applications: []ir.NodeID{third.ID}, Loops: []schedule.Loop{loop("i", 4), loop("j", 3)}, After: []ir.NodeID{p.k1.ID},
			Operands: []schedule.Operand{operand("X", schedule.Read, p.bx, "(d0, d1) -> (d0, d1)"), operand("W", schedule.Write, p.buffer(w, p.cpu, schedule.Output, 0), "(d0, d1) -> (d0, d1)")}}
		say(k, "w", 1, "X + X", 0, 1)
		p.Add(k, "k3")
		out := tensorops.StateOutputs(p.Graph, []tensorops.Named{{Name: "z", Tensor: p.z.ID}, {Name: "w", Tensor: w.ID}})
		p.Add(&application.Application{Operation: out.ID, Inputs: out.Body.(*tensorops.Operation).Inputs.Clone()}, "")
		of := func(a ir.NodeID) ir.NodeID { return application.ApplicationOf(p.Graph, a).Operation }
		p.Add(&sequence.Point{After: []ir.NodeID{of(p.first().Applications[0])}, Before: []ir.NodeID{of(third.ID)}}, "point")
		buf(p.by).Last = 2
		edit(p, k)
	})
}

func sequenceCases() []Case {
	return []Case{
		Of("sequence accepted", inSequence(func(*program, *schedule.Kernel) {}), nil, nil),
		Of("sequence accepted: through another kernel", inSequence(func(p *program, third *schedule.Kernel) { third.After[0] = p.k2.ID }), nil, nil),
		Of("sequence: side by side", inSequence(func(_ *program, third *schedule.Kernel) { third.After = nil }), []string{"TAP0177"},
			[]string{`kernel "k3" does not wait for kernel "k1", which sequence "point" puts before it`, "they may run at the same time"}),
	}
}
