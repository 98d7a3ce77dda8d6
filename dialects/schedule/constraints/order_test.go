package constraints

import (
	"fmt"

	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/ir"
	. "tensortapestry.org/tapc/ir/check/checktest"
)

// onGPU is the program with its kernels on a GPU and transfers of x there and of z back.
func onGPU(edit func(p *program, there, back *schedule.Transfer)) *ir.Graph {
	return edited(func(p *program) {
		gpu := p.Add(&schedule.Device{Type: schedule.CUDA}, "gpu0")
		dx, dz := p.buffer(p.x, gpu, schedule.Arena, 64), p.buffer(p.z, gpu, schedule.Arena, 128)
		buf(p.by).Device = gpu.ID
		there := &schedule.Transfer{From: p.bx.ID, To: dx.ID}
		back := &schedule.Transfer{From: dz.ID, To: p.bz.ID, After: []ir.NodeID{p.k2.ID}}
		p.first().Device, p.second().Device = gpu.ID, gpu.ID
		p.first().Operands[0].Buffer, p.second().Operands[1].Buffer = dx.ID, dz.ID
		p.first().After = []ir.NodeID{p.Add(there, "there").ID}
		p.Add(back, "back")
		for _, b := range []*ir.Node{dx, dz, p.by} {
			buf(b).Last = 3
		}
		edit(p, there, back)
	})
}

func transferCases() []Case {
	return []Case{
		Of("transfers accepted", onGPU(func(*program, *schedule.Transfer, *schedule.Transfer) {}), nil, nil),
		Of("transfers: a buffer on another device", onGPU(func(p *program, there, back *schedule.Transfer) {
			p.first().Operands[0].Buffer = p.bx.ID
		}), []string{"TAP0381"}, []string{`a buffer on device "gpu0"`, `buffer "x" on device "cpu0"`}),
		Of("transfers: different ranges", onGPU(func(p *program, there, back *schedule.Transfer) {
			buf(p.bx).Range = Range("[1:4, 0:3]")
		}), []string{"TAP0382"}, []string{"ranges", "expected: zr[1:4, 0:3]", "found:    zr[0:4, 0:3]"}),
		Of("transfers: different tensors", onGPU(func(p *program, there, back *schedule.Transfer) { buf(p.bx).Tensor = p.y.ID }),
			[]string{"TAP0382"}, []string{"different tensors", `tensor "y"`, `tensor "x"`}),
		Of("transfers: different element types", onGPU(func(p *program, there, back *schedule.Transfer) {
			for _, id := range []ir.NodeID{there.From, there.To} {
				b := p.Node(id).Body.(*schedule.Buffer)
				b.Tensor = ir.NoNode
			}
			buf(p.bx).DType = "int32"
		}), []string{"TAP0382"}, []string{"different element types"}),
		Of("transfers near miss: other strides", onGPU(func(p *program, there, back *schedule.Transfer) {
			buf(p.bx).Strides = []int64{1, 4}
		}), nil, nil),
		Of("transfers: to itself", onGPU(func(p *program, there, back *schedule.Transfer) { there.From = there.To }), []string{"TAP0383"}, nil),
		Of("transfers near miss: on one device", edited(func(p *program) {
			p.op("export", ir.PortsOf([]ir.Port{Port("tensor", Sel(p.x, "[0:4, 0:3]"))}), ir.Ports{})
			p.Add(&schedule.Transfer{From: p.bx.ID, To: p.buffer(p.x, p.cpu, schedule.Output, 0).ID}, "copy")
		}), nil, nil),
	}
}

func orderCases() []Case {
	return []Case{
		Of("order: a cycle", edited(func(p *program) { p.first().After = []ir.NodeID{p.k2.ID} }), []string{"TAP0300"},
			[]string{`a cycle of 2 steps: kernel "k1" waits for kernel "k2" waits for kernel "k1"`}),
		Of("order: a step waits for itself", edited(func(p *program) { p.first().After = []ir.NodeID{p.k1.ID} }), []string{"TAP0300"},
			[]string{"a cycle of 1 step"}),
		Of("order: an input is written", edited(func(p *program) { buf(p.by).Space = schedule.Input }), []string{"TAP0301"},
			[]string{`kernel "k1" (operand Y, statement y) writes buffer "y"`}),
		Of("order: two writers of one cell", edited(func(p *program) {
			p.Add(&schedule.Transfer{From: p.other2().ID, To: p.by.ID}, "t")
		}), []string{"TAP0302"}, []string{`kernel "k1" (operand Y, statement y) and transfer "t"`, "cell [0, 0]"}),
		Of("order near miss: ordered writers of one cell", edited(func(p *program) {
			p.Add(&schedule.Transfer{From: p.other2().ID, To: p.by.ID, After: []ir.NodeID{p.k2.ID}}, "t")
		}), []string{"TAP0302"}, nil),
		Of("order: nothing writes what is read", edited(func(p *program) {
			p.second().Operands[0].Buffer = p.unwritten().ID
		}), []string{"TAP0303"}, []string{`kernel "k2" (operand Y, statement z)`, "all cells that it reads of zr[0:4, 0:3] written", "zr[0:4, 0:3] unwritten"}),
		Of("order: half of what is read is written", halves("(d0, d1) -> (d0, d1)", 3), []string{"TAP0303"}, []string{"zr[3:4, 0:3] unwritten"}),
		Of("order near miss: all of what is read is written", halves("(d0, d1) -> (d0, d1)", 4), nil, nil),
		Of("order: even rows only", halves("(d0, d1) -> (2*d0, d1)", 2), []string{"TAP0303"}, []string{"zr[3:4, 0:3] unwritten"}),
		Of("order: a kernel reads what it writes", edited(func(p *program) {
			b := p.unwritten()
			buf(b).Tensor = ir.NoNode
			p.second().Operands = append(p.second().Operands, operand("W", schedule.Write, b, "(d0, d1) -> (d0, d1)"), operand("R", schedule.Read, b, "(d0, d1) -> (d0, 0)"))
			say(p.second(), "w", 2, "Y", 0, 1)
			say(p.second(), "r", -1, "R", 0)
		}), []string{"TAP0304"}, []string{"operand R, statement r", "cell [0, 0]"}),
		Of("order: a race", edited(func(p *program) { p.second().After = nil }), []string{"TAP0305"},
			[]string{`kernel "k2" (operand Y, statement z) reads cells of buffer "y" and does not wait for kernel "k1"`, "they may run at the same time; cell [0, 0]"}),
		Of("order: read too early", edited(func(p *program) {
			p.second().After = nil
			p.first().After = []ir.NodeID{p.k2.ID}
		}), []string{"TAP0305"}, []string{"it runs before"}),
		Of("order near miss: waits through others", edited(func(p *program) {
			at := p.k1.ID
			for range 3 {
				at = p.Add(&schedule.Transfer{From: p.other2().ID, To: p.buffer(p.y, p.cpu, schedule.Output, 0).ID, After: []ir.NodeID{at}}, "between").ID
			}
			p.second().After = []ir.NodeID{at}
			buf(p.by).Last = 4
		}), nil, nil),
		Of("order near miss: waits for a neighbour only", edited(func(p *program) {
			at := p.Add(&schedule.Transfer{From: p.other2().ID, To: p.buffer(p.y, p.cpu, schedule.Output, 0).ID}, "between")
			p.second().After = []ir.NodeID{at.ID}
		}), []string{"TAP0305"}, nil),
		Of("order near miss: reads a part that another step writes", apart(0), nil, nil),
		Of("order: reads a row of the part that it does not wait for", apart(1), []string{"TAP0305"}, []string{"cell [2, 0]"}),
		Of("order: an output that nothing writes", edited(func(p *program) { p.buffer(p.y, p.cpu, schedule.Output, 0) }), []string{"TAP0306"},
			[]string{"all of zr[0:4, 0:3] written", "zr[0:4, 0:3] unwritten"}),
		Of("order: not decided", hardReads(), []string{"TAP0307"}, []string{"warning"}),
	}
}

// other2 is an input buffer for y, and unread and unwritten arena buffers, each with bytes of its own.
func (p *program) other2() *ir.Node { return p.buffer(p.y, p.cpu, schedule.Input, 0) }

func (p *program) unread() *ir.Node {
	b := p.buffer(p.y, p.cpu, schedule.Arena, int64(1024*p.Bound()))
	buf(b).Last = 1 << 30
	return b
}

func (p *program) unwritten() *ir.Node { return p.unread() }

// halves is the program where a scratch buffer stands between the kernels: the first writes it along an access, with so many
// rows, the second reads all of it.
func halves(access string, rows int64) *ir.Graph {
	return edited(func(p *program) {
		b := p.unread()
		buf(b).Tensor = ir.NoNode
		k := p.first()
		k.Loops = append(k.Loops, loop("r", rows))
		k.Operands = append(k.Operands, operand("S", schedule.Write, b, access))
		for o := range k.Operands {
			m := k.Operands[o].Access.Projection
			for i := range m {
				m[i] = append(m[i], 0)
			}
		}
		last := k.Operands[2].Access.Projection
		last[0][2], last[0][0] = last[0][0], 0
		say(k, "s", 2, "float32(1)", 1, 2)
		p.second().Operands = append(p.second().Operands, operand("S", schedule.Read, b, "(d0, d1) -> (d0, d1)"))
		p.second().Statements = nil
		say(p.second(), "z", 1, "sum(j) S", 0)
	})
}

// apart is the program with a scratch buffer of which the first kernel writes rows 0 and 1, a third kernel rows 2 and 3, and
// the second kernel, which waits for the first only, reads two rows from a given one.
func apart(from int64) *ir.Graph {
	return edited(func(p *program) {
		b := p.unread()
		buf(b).Tensor = ir.NoNode
		other := &schedule.Kernel{Name: "third", Device: p.cpu.ID, Loops: []schedule.Loop{loop("i", 2), loop("j", 3)},
			Operands: []schedule.Operand{operand("S", schedule.Write, b, "(d0, d1) -> (d0 + 2, d1)")}}
		say(other, "s", 0, "float32(2)", 0, 1)
		fill := p.op("fill", ir.Ports{}, ir.PortsOf([]ir.Port{Port("w", Sel(p.tensor("w", "[0:0]"), "[0:0]"))}))
		p.buffer(p.Node(p.Node(fill.ID).ID-2), p.cpu, schedule.Output, 0)
		other.Applications = []ir.NodeID{fill.ID}
		p.Add(other, "k3")
		k := p.first()
		k.Loops = append(k.Loops, loop("r", 2))
		k.Operands = append(k.Operands, operand("S", schedule.Write, b, "(d0, d1, d2) -> (d2, d1)"))
		for o := range 2 {
			m := k.Operands[o].Access.Projection
			for i := range m {
				m[i] = append(m[i], 0)
			}
		}
		say(k, "s", 2, "float32(1)", 1, 2)
		q := p.second()
		q.Loops = append(q.Loops, loop("r", 2))
		for o := range q.Operands {
			m := q.Operands[o].Access.Projection
			for i := range m {
				m[i] = append(m[i], 0)
			}
		}
		q.Operands = append(q.Operands, operand("S", schedule.Read, b, fmt.Sprintf("(d0, d1, d2) -> (d2 + %d, d1)", from)))
		q.Statements = nil
		say(q, "z", 1, "sum(j) Y + sum(j, r) S", 0)
	})
}

// hardReads is the program where the first kernel writes every other cell of a large scratch buffer, and the second reads
// many, though only such cells.
func hardReads() *ir.Graph {
	return edited(func(p *program) {
		b := p.unread()
		buf(b).Tensor, buf(b).Range, buf(b).Strides, buf(b).Bytes = ir.NoNode, Range("[0:200000]"), []int64{1}, 800000
		k, q := p.first(), p.second()
		k.Loops = append(k.Loops, loop("r", 99999))
		q.Loops = append(q.Loops, loop("r", 10000))
		for _, o := range []*schedule.Operand{&k.Operands[0], &k.Operands[1], &q.Operands[0], &q.Operands[1]} {
			for i := range o.Access.Projection {
				o.Access.Projection[i] = append(o.Access.Projection[i], 0)
			}
		}
		k.Operands = append(k.Operands, operand("S", schedule.Write, b, "(d0, d1, d2) -> (2*d2)"))
		say(k, "s", 2, "float32(1)", 2)
		q.Operands = append(q.Operands, operand("S", schedule.Read, b, "(d0, d1, d2) -> (2*d2 + 2)"))
		q.Statements = nil
		say(q, "z", 1, "sum(j) Y + sum(r) S", 0)
	})
}
