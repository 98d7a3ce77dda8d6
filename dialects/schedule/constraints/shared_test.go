package constraints

import (
	"tensortapestry.org/tapc/dialects/application"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/ir"
	. "tensortapestry.org/tapc/ir/check/checktest"
)

// cache is a program that reads a past of five rows, puts a row behind it, and gives both in one memory of eight rows.
type cache struct {
	*program
	past, row, present, seen *ir.Node // tensors
	bp, br, bo, bs           *ir.Node // buffers
	append, look             *ir.Node // kernels
}

// newCache makes it with a kernel that stores a value, over i and j, and one that reads the past and waiting for no one.
func newCache(text string, edit func(c *cache)) *ir.Graph {
	c := &cache{program: &program{Graph: ir.New()}}
	c.cpu = c.Add(&schedule.Device{Type: schedule.CPU}, "cpu0")
	c.past, c.row, c.present, c.seen = c.tensor("past", "[0:5, 0:3]"), c.tensor("row", "[0:1, 0:3]"), c.tensor("present", "[0:6, 0:3]"), c.tensor("seen", "[0:5]")
	put := c.op("put", ir.PortsOf([]ir.Port{Port("t", Sel(c.past, "[0:5, 0:3]"), Sel(c.row, "[0:1, 0:3]"))}), ir.PortsOf([]ir.Port{Port("y", Sel(c.present, "[0:6, 0:3]"))}))
	look := c.op("look", ir.PortsOf([]ir.Port{Port("x", Sel(c.past, "[0:5, 0:3]"))}), ir.PortsOf([]ir.Port{Port("y", Sel(c.seen, "[0:5]"))}))
	in := tensorops.StateInputs(c.Graph, []tensorops.Named{{Name: "past", Tensor: c.past.ID}, {Name: "row", Tensor: c.row.ID}})
	out := tensorops.StateOutputs(c.Graph, []tensorops.Named{{Name: "present", Tensor: c.present.ID}, {Name: "seen", Tensor: c.seen.ID}})
	for _, n := range []*ir.Node{in, out} {
		op := n.Body.(*tensorops.Operation)
		c.Add(&application.Application{Operation: n.ID, Inputs: op.Inputs.Clone(), Outputs: op.Outputs.Clone()}, "")
	}
	tensorops.StateAliases(c.Graph, []tensorops.Alias{{Input: "past", Output: "present", Room: []int64{8, 3}}})
	c.bp, c.br, c.bo, c.bs = c.buffer(c.past, c.cpu, schedule.Input, 0), c.buffer(c.row, c.cpu, schedule.Input, 0), c.buffer(c.present, c.cpu, schedule.Output, 0), c.buffer(c.seen, c.cpu, schedule.Output, 0)
	buf(c.bp).Bytes, buf(c.bo).Bytes, buf(c.bo).Over = 96, 96, c.bp.ID
	k := &schedule.Kernel{Name: "put", Device: c.cpu.ID, Applications: []ir.NodeID{put.ID}, Loops: []schedule.Loop{loop("i", 6), loop("j", 3)}, Operands: []schedule.Operand{
		operand("P", schedule.Read, c.bp, "(d0, d1) -> (d0, d1)"), operand("N", schedule.Read, c.br, "(d0, d1) -> (0, d1)"),
		operand("Y", schedule.Write, c.bo, "(d0, d1) -> (d0, d1)"), operand("Q", schedule.Read, c.bp, "(d0, d1) -> (d0 - 1, d1)")}}
	say(k, "y", 2, text, 0, 1)
	c.append = c.Add(k, "k1")
	l := &schedule.Kernel{Name: "look", Device: c.cpu.ID, Applications: []ir.NodeID{look.ID}, Loops: []schedule.Loop{loop("i", 5), loop("j", 3)},
		Operands: []schedule.Operand{operand("P", schedule.Read, c.bp, "(d0, d1) -> (d0, d1)"), operand("Z", schedule.Write, c.bs, "(d0, d1) -> (d0)")}}
	say(l, "z", 1, "sum(j) P", 0)
	c.look = c.Add(l, "k2")
	if edit != nil {
		edit(c)
	}
	return c.Graph
}

const (
	behind  = "where(i < int64(5), P, N)"                                      // the past stays
	shift   = "where(i < int64(1), N, Q)"                                      // each row takes the place of the next
	data    = "where(i < int64(5), where(N < P, N, P), N)"                     // the choice is made of what is there
	anyRow  = "where(i < int64(5), where(N < float32(0), N, P), N)"            // any row may be stored
	added   = "where(i < int64(5), P + float32(1), N)"                         // all rows change
	mixed   = "where(i < int64(1), N, where(i < int64(5), P + Q, N))"          // each cell looks at the one before
	waiting = "where(i < int64(4), P, where(i < int64(5), N + float32(1), N))" // the last row changes
)

// sharedCases are those of SharedMemoryConstraint.
func sharedCases() []Case {
	after := func(c *cache) { c.append.Body.(*schedule.Kernel).After = []ir.NodeID{c.look.ID} }
	before := func(c *cache) { c.look.Body.(*schedule.Kernel).After = []ir.NodeID{c.append.ID} }
	with := func(text string) func(c *cache) {
		return func(c *cache) {
			k := c.append.Body.(*schedule.Kernel)
			k.After, k.Statements = []ir.NodeID{c.look.ID}, nil
			say(k, "row", -1, text, 0)
			say(k, "y", 2, "where(i < int64(5), P - row, N)", 0, 1)
		}
	}
	return []Case{
		Of("shared: a row behind the past, which others read at any time", newCache(behind, nil), nil, nil),
		Of("shared: any row, when others have read", newCache(anyRow, after), nil, nil),
		Of("shared: any row, while others read", newCache(anyRow, nil), []string{"TAP0403"}, []string{`kernel "k1" after kernel "k2"`}),
		Of("shared: the last row, before others read", newCache(waiting, before), []string{"TAP0403"}, []string{"cell [4, 0]"}),
		Of("shared: the last row, when others have read", newCache(waiting, after), nil, nil),
		Of("shared: rows move", newCache(shift, after), []string{"TAP0402"}, []string{"operand Q"}),
		Of("shared: the choice is made of what is stored over", newCache(data, after), nil, nil),
		Of("shared: computed of the cell that is stored over", newCache(added, after), nil, nil),
		Of("shared: computed of it while others read", newCache(added, nil), []string{"TAP0403"}, []string{`kernel "k1" after kernel "k2"`}),
		Of("shared: computed of the cell and of what is reduced beside it", newCache(behind, with("sum(j) N")), nil, nil),
		Of("shared: computed of the cell and of the first of its row", newCache(behind, with("at(j, int64(0), where(i < int64(5), P, float32(0)))")), []string{"TAP0402", "TAP0402"}, []string{"operand P"}),
		Of("shared: computed of a whole row that is stored over", newCache(behind, with("max(j) (where(i < int64(5), P, float32(0)))")), []string{"TAP0402", "TAP0402"}, []string{"operand P"}),
		Of("shared: computed of the cell and another", newCache(mixed, after), []string{"TAP0402", "TAP0402"}, []string{"operand Q"}),
		Of("shared: other strides", newCache(behind, func(c *cache) { buf(c.bo).Strides = []int64{4, 1} }), []string{"TAP0401"}, []string{"strides [4 1]"}),
		Of("shared: columns that are rows in memory", newCache(behind, func(c *cache) { buf(c.bp).Strides, buf(c.bo).Strides = []int64{1, 8}, []int64{1, 8} }), nil, nil),
		Of("shared: over another input", newCache(behind, func(c *cache) { buf(c.bo).Over = c.br.ID }), []string{"TAP0402", "TAP0401"}, []string{`over tensor "row"`}),
		Of("shared: a buffer of its own", newCache(behind, func(c *cache) { buf(c.bo).Over = ir.NoNode }), []string{"TAP0401"}, []string{"a buffer of its own"}),
		Of("shared: not said by the export", newCache(behind, func(c *cache) { tensorops.StateAliases(c.Graph, nil) }), []string{"TAP0401"}, []string{"over tensor"}),
	}
}

// aliasCases are those of buffers of the arena that lie over others: what the second device is sent of x it reads in the caller's memory, and computes its rows of z there.
func aliasCases() []Case {
	over := func(p *halved, id, under ir.NodeID) *schedule.Buffer {
		b := schedule.BufferOf(p.Graph, id)
		b.Over, b.Offset, b.First, b.Last, b.Align = under, 0, 0, 0, 4
		return b
	}
	both := func(p *halved) (x, z *schedule.Buffer) {
		return over(p, p.there.To, p.there.From), over(p, p.back.From, p.back.To)
	}
	onBoth := func(edit func(p *halved, x, z *schedule.Buffer)) *ir.Graph {
		return onPair(func(p *halved) {
			x, z := both(p)
			edit(p, x, z)
		})
	}
	late := func(p *halved) { // the caller is given what the second device has of y, which lies over the first one's
		buffer, _ := p.unread("[0:4, 0:3]")
		over(p, buffer.ID, p.by.ID)
		p.Add(&schedule.Transfer{From: buffer.ID, To: p.buffer(p.y, p.cpu, schedule.Output, 0).ID, After: []ir.NodeID{p.late.ID}}, "out")
	}
	return []Case{
		Of("in place accepted", onBoth(func(*halved, *schedule.Buffer, *schedule.Buffer) {}), nil, nil),
		Of("in place: other strides", onBoth(func(_ *halved, x, _ *schedule.Buffer) { x.Strides, x.Bytes = []int64{4, 1}, 64 }), []string{"TAP0404"}, []string{"strides [4 1]"}),
		Of("in place: an address of another alignment", onBoth(func(_ *halved, _, z *schedule.Buffer) { z.Align = 16 }), []string{"TAP0404"}, []string{"a multiple of 16 bytes", "found:    byte 8"}),
		Of("in place near miss: an address of its alignment", onBoth(func(_ *halved, _, z *schedule.Buffer) { z.Align = 8 }), nil, nil),
		Of("in place: the memory of another tensor", onBoth(func(p *halved, x, _ *schedule.Buffer) { x.Over = p.by.ID }), []string{"TAP0404"}, []string{`of tensor "y"`}),
		Of("in place: a device with a memory of its own", onBoth(func(p *halved, _, _ *schedule.Buffer) { p.other.Body.(*schedule.Device).Type = schedule.CUDA }), []string{"TAP0404", "TAP0404"}, nil),
		Of("in place: over one that lies over a third", onBoth(func(p *halved, _, _ *schedule.Buffer) {
			third := p.buffer(p.x, p.cpu, schedule.Arena, 4096)
			over(p, third.ID, p.there.To)
		}), []string{"TAP0404"}, []string{"over arena"}),
		Of("in place: not the arena's", onBoth(func(p *halved, _, z *schedule.Buffer) { z.Space = schedule.Input }), []string{"TAP0301"}, nil),
		Of("in place: two compute the same cells", onPair(func(p *halved) { over(p, p.double.Body.(*schedule.Kernel).Operands[1].Buffer, p.by.ID) }), []string{"TAP0302"},
			[]string{`kernel "k1" (operand Y, statement y) and kernel "k3" (operand Y, statement y) write the same cell of buffer "y"`}),
		Of("in place: computed in what the program is given", onPair(func(p *halved) {
			over(p, p.double.Body.(*schedule.Kernel).Operands[1].Buffer, p.buffer(p.y, p.cpu, schedule.Input, 0).ID)
		}), []string{"TAP0301"}, []string{`kernel "k3"`}),
		Of("in place near miss: read while it is there", onPair(late), nil, nil),
		Of("in place: read when its memory has another use", onPair(func(p *halved) {
			late(p)
			buf(p.by).Last = 6
		}), []string{"TAP0391"}, []string{`transfer "out" touches buffer "y" outside its life`}),
	}
}
