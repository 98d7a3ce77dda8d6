package constraints

import (
	"testing"

	"tensortapestry.org/tapc/dialects/application"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/ir"
	. "tensortapestry.org/tapc/ir/check/checktest"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/zspace"
)

// program is a schedule for tests: y = x + x over [0:4, 0:3], then z = the sums of y's rows. Each operation has one
// application, each application one kernel.
type program struct {
	*ir.Graph
	cpu        *ir.Node
	x, y, z    *ir.Node // tensors
	bx, by, bz *ir.Node // buffers
	k1, k2     *ir.Node // kernels
}

// affineMap reads an access such as "(d0, d1) -> (d0, d1)".
func affineMap(s string) zspace.AffineMap {
	a, err := zspace.ParseAffineMap(s)
	if err != nil {
		panic(err)
	}
	return a
}

func (p *program) tensor(label, box string) *ir.Node {
	return p.Add(&tensorops.Tensor{DType: "float32", Range: Range(box)}, label)
}

// op makes an operation and one application of all of it, and gives the application.
func (p *program) op(label string, in, out ir.Ports) *ir.Node {
	op := p.Add(&tensorops.Operation{Kernel: "test:" + label, Inputs: in, Outputs: out}, label)
	return p.Add(&application.Application{Operation: op.ID, Inputs: in.Clone(), Outputs: out.Clone()}, label)
}

// buffer makes a dense row-major buffer for a tensor on a device.
func (p *program) buffer(t, device *ir.Node, space schedule.Space, offset int64) *ir.Node {
	r := t.Body.(*tensorops.Tensor).Range
	b := &schedule.Buffer{Tensor: t.ID, Device: device.ID, DType: "float32", Range: r, Space: space, Align: 16, Offset: offset, Bytes: 4, Over: ir.NoNode}
	b.Strides = make([]int64, r.Rank())
	for d := r.Rank() - 1; d >= 0; d-- {
		b.Strides[d] = b.Bytes / 4
		b.Bytes *= r.End[d] - r.Start[d]
	}
	return p.Add(b, t.Label)
}

func loop(name string, end int64) schedule.Loop {
	return schedule.Loop{Name: name, End: end, Levels: []schedule.Level{{Tile: 1}}}
}

func operand(name string, mode schedule.Mode, buffer *ir.Node, access string) schedule.Operand {
	return schedule.Operand{Name: name, Mode: mode, DType: "float32", Buffer: buffer.ID, Access: affineMap(access)}
}

// value reads the value of a kernel's statement that is added next.
func value(k *schedule.Kernel, text string) *scalar.Expr {
	e, err := k.Parse(len(k.Statements), text)
	if err != nil {
		panic(err)
	}
	return e
}

// say adds a statement to a kernel.
func say(k *schedule.Kernel, name string, store int64, text string, over ...int64) {
	k.Statements = append(k.Statements, schedule.Statement{Name: name, Over: over, Store: store, Value: value(k, text)})
}

func newProgram() *program {
	p := &program{Graph: ir.New()}
	p.cpu = p.Add(&schedule.Device{Type: schedule.CPU}, "cpu0")
	p.x, p.y, p.z = p.tensor("x", "[0:4, 0:3]"), p.tensor("y", "[0:4, 0:3]"), p.tensor("z", "[0:4]")
	double := p.op("double", ir.PortsOf([]ir.Port{Port("x", Sel(p.x, "[0:4, 0:3]"))}), ir.PortsOf([]ir.Port{Port("y", Sel(p.y, "[0:4, 0:3]"))}))
	sums := p.op("sums", ir.PortsOf([]ir.Port{Port("y", Sel(p.y, "[0:4, 0:3]"))}), ir.PortsOf([]ir.Port{Port("z", Sel(p.z, "[0:4]"))}))
	p.bx, p.by, p.bz = p.buffer(p.x, p.cpu, schedule.Input, 0), p.buffer(p.y, p.cpu, schedule.Arena, 0), p.buffer(p.z, p.cpu, schedule.Output, 0)
	p.by.Body.(*schedule.Buffer).Last = 1

	k1 := &schedule.Kernel{Name: "double", Device: p.cpu.ID, Applications: []ir.NodeID{double.ID}, Loops: []schedule.Loop{loop("i", 4), loop("j", 3)},
		Operands: []schedule.Operand{operand("X", schedule.Read, p.bx, "(d0, d1) -> (d0, d1)"), operand("Y", schedule.Write, p.by, "(d0, d1) -> (d0, d1)")}}
	say(k1, "y", 1, "X + X", 0, 1)
	p.k1 = p.Add(k1, "k1")
	k2 := &schedule.Kernel{Name: "sums", Device: p.cpu.ID, Applications: []ir.NodeID{sums.ID}, Loops: []schedule.Loop{loop("i", 4), loop("j", 3)},
		Operands: []schedule.Operand{operand("Y", schedule.Read, p.by, "(d0, d1) -> (d0, d1)"), operand("Z", schedule.Write, p.bz, "(d0, d1) -> (d0)")},
		After:    []ir.NodeID{p.k1.ID}}
	say(k2, "z", 1, "sum(j) Y", 0)
	p.k2 = p.Add(k2, "k2")
	return p
}

// edited is the program after a change.
func edited(edit func(p *program)) *ir.Graph {
	p := newProgram()
	edit(p)
	return p.Graph
}

// first and second give the two kernels; buf gives a buffer's body.
func (p *program) first() *schedule.Kernel    { return p.k1.Body.(*schedule.Kernel) }
func (p *program) second() *schedule.Kernel   { return p.k2.Body.(*schedule.Kernel) }
func buf(n *ir.Node) *schedule.Buffer         { return n.Body.(*schedule.Buffer) }
func tensorBody(n *ir.Node) *tensorops.Tensor { return n.Body.(*tensorops.Tensor) }

func TestConstraints(t *testing.T) {
	cases := []Case{Of("accepted", edited(func(*program) {}), nil, nil)}
	for _, k := range [][]Case{referenceCases(), bufferCases(), kernelCases(), permissionCases(), configCases(), loopCases(), operandCases(), statementCases(), viewCases(),
		coverageCases(), transferCases(), deviceCases(), orderCases(), sequenceCases(), sharedCases(), aliasCases(), arenaCases(), memoryCases()} {
		cases = append(cases, k...)
	}
	Run(t, Environment(), List(), cases)
}

func referenceCases() []Case {
	return []Case{
		Of("schema: words that do not exist", edited(func(p *program) {
			buf(p.by).Space, p.cpu.Body.(*schedule.Device).Type, p.first().Operands[0].Mode = 9, 9, 9
			p.first().Loops[0].Levels[0].Bind = 99
		}), []string{"TAP0116", "TAP0116", "TAP0116", "TAP0116"}, []string{`one of "cpu", "cuda"`, `"serial"`}),
		Of("references: nothing where something is needed", edited(func(p *program) {
			buf(p.bx).Device = ir.NoNode
			p.first().Device = 4000
			p.first().Applications[0] = ir.NoNode
			p.second().After = []ir.NodeID{-7}
			p.second().Operands[0].Buffer = ir.NoNode
		}), []string{"TAP0311", "TAP0311", "TAP0311", "TAP0311", "TAP0311"}, []string{"a node of type device", "a node of type kernel or transfer", "a node of type buffer"}),
		Of("references: the wrong types", edited(func(p *program) {
			buf(p.bx).Tensor = p.cpu.ID
			p.second().After = []ir.NodeID{p.bx.ID}
			p.Add(&schedule.Transfer{From: p.x.ID, To: p.k1.ID}, "t")
		}), []string{"TAP0312", "TAP0312", "TAP0312", "TAP0312"}, []string{`found:    device "cpu0"`, `transfer "t" refers to a node of the wrong type`}),
		Of("references near miss: a buffer without a tensor", edited(func(p *program) {
			b := p.buffer(p.y, p.cpu, schedule.Arena, 64)
			buf(b).Tensor = ir.NoNode
		}), nil, nil),
	}
}

func bufferCases() []Case {
	return []Case{
		Of("buffers: unknown element type", edited(func(p *program) {
			buf(p.by).DType = "word"
			buf(p.by).Tensor = ir.NoNode
		}), []string{"TAP0321"}, []string{`"word"`}),
		Of("buffers: not the tensor's element type", edited(func(p *program) { buf(p.by).DType = "int32" }), []string{"TAP0321"},
			[]string{"expected: float32", "found:    int32"}),
		Of("buffers: beyond the tensor", edited(func(p *program) {
			tensorBody(p.x).Range = Range("[0:4, 0:3]")
			buf(p.bx).Range = Range("[-1:3, 0:3]")
		}), []string{"TAP0322"}, []string{"zr[-1:0, 0:3] lies outside"}),
		Of("buffers: another rank than the tensor", edited(func(p *program) {
			buf(p.bz).Range, buf(p.bz).Strides = Range("[0:4, 0:1]"), []int64{1, 1}
		}), []string{"TAP0322"}, nil),
		Of("buffers near miss: a part of the tensor", edited(func(p *program) {
			b := p.buffer(p.x, p.cpu, schedule.Input, 0)
			buf(b).Range = Range("[1:3, 1:1]")
		}), nil, nil),
		Of("buffers: strides missing", edited(func(p *program) { buf(p.by).Strides = []int64{1} }), []string{"TAP0323"},
			[]string{"2, one for each dimension of zr[0:4, 0:3]"}),
		Of("buffers: one byte short", edited(func(p *program) { buf(p.by).Bytes = 47 }), []string{"TAP0324"},
			[]string{"within bytes 0 to 47", "bytes 0 to 48"}),
		Of("buffers: before the start", edited(func(p *program) { buf(p.by).Strides = []int64{3, -1} }), []string{"TAP0324"}, []string{"bytes -8 to 40"}),
		Of("buffers: elements beyond 64 bits", edited(func(p *program) { buf(p.by).Strides = []int64{1 << 62, 1} }), []string{"TAP0324"}, nil),
		Of("buffers near miss: padded rows", edited(func(p *program) {
			buf(p.by).Strides, buf(p.by).Bytes = []int64{16, 1}, (3*16+3)*4
		}), nil, nil),
		Of("buffers: alignment, offset and size", edited(func(p *program) {
			buf(p.bx).Align = 24
			buf(p.by).Align = 2
			buf(p.bz).Offset = 8
			b := p.buffer(p.y, p.cpu, schedule.Arena, 64)
			buf(b).Range, buf(b).Bytes = Range("[0:0, 0:3]"), -1
			b = p.buffer(p.y, p.cpu, schedule.Arena, 64)
			buf(b).Offset = 1<<63 - 16
		}), []string{"TAP0325", "TAP0325", "TAP0325", "TAP0325", "TAP0325"}, []string{"a power of two, at least 4", "a multiple of 16", "at most 9223372036854775759"}),
		Of("buffers near miss: natural alignment", edited(func(p *program) { buf(p.by).Align, buf(p.by).Offset = 4, 12 }), nil, nil),
		Of("buffers: two cells in one element", edited(func(p *program) { buf(p.by).Strides = []int64{2, 1} }), []string{"TAP0326"},
			[]string{"cells ["}),
		Of("buffers near miss: shared elements that nothing writes", edited(func(p *program) { buf(p.bx).Strides = []int64{0, 1} }), nil, nil),
		Of("buffers near miss: a layout that is not nested", edited(func(p *program) {
			buf(p.by).Strides, buf(p.by).Bytes = []int64{2, 3}, 4*13 // 2i+3j: 2*3 = 3*2 collides, so only j = 2 and i = 3 do
		}), []string{"TAP0326"}, nil),
		Of("buffers: a constant with gaps", edited(func(p *program) {
			b := buf(p.buffer(p.x, p.cpu, schedule.Constant, 0))
			b.Strides, b.Bytes = []int64{4, 1}, 64
		}), []string{"TAP0328"}, []string{"such as [3 1]", "found:    [4 1]"}),
		Of("buffers near miss: a constant by columns", edited(func(p *program) { buf(p.buffer(p.x, p.cpu, schedule.Constant, 0)).Strides = []int64{1, 4} }), nil, nil),
		Of("buffers: not decided", hardLayout(), []string{"TAP0327", "TAP0327"}, []string{"warning"}),
	}
}

// hardLayout has a buffer whose strides are all large and none simple.
func hardLayout() *ir.Graph {
	p := newProgram()
	t := p.Add(&tensorops.Tensor{DType: "int8"}, "hard")
	b := &schedule.Buffer{Tensor: t.ID, Device: p.cpu.ID, DType: "int8", Align: 1, Bytes: 1 << 60, Offset: 64, Space: schedule.Arena, Last: 3, Over: ir.NoNode}
	x := int64(1)
	for range 40 {
		x = x * 48271 % (1<<31 - 1)
		b.Strides = append(b.Strides, x<<16|1)
		b.Range.Start, b.Range.End = append(b.Range.Start, 0), append(b.Range.End, 2)
	}
	tensorBody(t).Range = b.Range
	in, out := p.Add(b, "hard"), *b
	from := p.Add(&out, "from")
	buf(from).Space = schedule.Input
	there := p.Add(&schedule.Transfer{From: from.ID, To: in.ID}, "t")
	result := *b
	result.Space, result.Strides = schedule.Output, b.Strides
	p.Add(&schedule.Transfer{From: in.ID, To: p.Add(&result, "result").ID, After: []ir.NodeID{there.ID}}, "back")
	return p.Graph
}
