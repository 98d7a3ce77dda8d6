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
