package constraints

import (
	"math"

	"tensortapestry.org/tapc/dialects/application"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/ir"
	. "tensortapestry.org/tapc/ir/check/checktest"
	"tensortapestry.org/tapc/ir/zspace"
)

func kernelCases() []Case {
	return []Case{
		Of("kernels: no application", edited(func(p *program) { p.first().Applications = nil }), []string{"TAP0331", "TAP0332"},
			[]string{`application "double" is carried out by no kernel`}),
		Of("kernels: two kernels for one application", edited(func(p *program) {
			p.second().Applications = append(p.second().Applications, p.first().Applications[0])
		}), []string{"TAP0333"}, []string{`kernel "k1" and kernel "k2"`}),
		Of("kernels near miss: one kernel twice", edited(func(p *program) {
			p.first().Applications = append(p.first().Applications, p.first().Applications[0])
		}), []string{"TAP0333"}, nil),
		Of("kernels near miss: imports and exports need none", edited(func(p *program) {
			p.op("import", ir.Ports{}, ir.PortsOf([]ir.Port{Port("result", Sel(p.x, "[0:4, 0:3]"))}))
			p.op("export", ir.PortsOf([]ir.Port{Port("tensor", Sel(p.z, "[0:4]"))}), ir.Ports{})
		}), nil, nil),
		Of("kernels: an output buffer is missing", edited(func(p *program) { buf(p.bz).Space, buf(p.bz).Offset = schedule.Arena, 64 }),
			[]string{"TAP0334"}, []string{`tensor "z" is a result of the program`, "none for zr[0:4]"}),
		Of("kernels near miss: an exported value in the middle", edited(func(p *program) {
			p.op("export", ir.PortsOf([]ir.Port{Port("tensor", Sel(p.y, "[0:4, 0:3]"))}), ir.Ports{})
		}), []string{"TAP0334"}, []string{`tensor "y"`}),
		Of("kernels: a value that is given twice has one output buffer", edited(func(p *program) {
			out := tensorops.StateOutputs(p.Graph, []tensorops.Named{{Name: "a", Tensor: p.z.ID}, {Name: "b", Tensor: p.z.ID}})
			p.Add(&application.Application{Operation: out.ID, Inputs: out.Body.(*tensorops.Operation).Inputs.Clone()}, "")
		}), []string{"TAP0334"}, []string{`tensor "z" is more than one result`, "2 output buffers"}),
		Of("kernels near miss: an output buffer for a part", edited(func(p *program) {
			buf(p.bz).Range = Range("[0:3]")
		}), []string{"TAP0334"}, []string{"none for zr[3:4]"}),
	}
}

func loopCases() []Case {
	levels := func(tiles ...int64) (out []schedule.Level) {
		for _, t := range tiles {
			out = append(out, schedule.Level{Tile: t})
		}
		return out
	}
	return []Case{
		Of("loops accepted: tiles that do not divide, and equal ones", edited(func(p *program) {
			p.first().Loops[0].Levels = levels(64, 3, 3, 1)
		}), nil, nil),
		Of("loops: reversed", edited(func(p *program) { p.first().Loops[0].Start = 5 }), []string{"TAP0341"}, []string{"5 to 4"}),
		Of("loops: extent beyond 64 bits", edited(func(p *program) {
			p.first().Loops[0].Start, p.first().Loops[0].End = math.MinInt64, math.MaxInt64
		}), []string{"TAP0341"}, nil),
		Of("loops: no levels", edited(func(p *program) { p.first().Loops[0].Levels = nil }), []string{"TAP0342"}, []string{"tiles []"}),
		Of("loops: last tile", edited(func(p *program) { p.first().Loops[0].Levels = levels(4, 2) }), []string{"TAP0342"}, []string{"tiles [4 2]"}),
		Of("loops: growing tiles", edited(func(p *program) { p.first().Loops[0].Levels = levels(2, 4, 1) }), []string{"TAP0343"}, nil),
		Of("loops: a tile of zero", edited(func(p *program) { p.first().Loops[0].Levels = levels(4, 0, 1) }), []string{"TAP0343"}, nil),
		Of("loops: lanes on a CPU", edited(func(p *program) { p.first().Loops[1].Levels[0].Bind = schedule.Lane }), []string{"TAP0344"},
			[]string{"a binding of a cpu device", "found:    lane"}),
		Of("loops: threads of a GPU", edited(func(p *program) {
			p.cpu.Body.(*schedule.Device).Type = schedule.CUDA
			p.first().Loops[1].Levels[0].Bind = schedule.Thread
		}), []string{"TAP0344"}, nil),
		Of("loops: beside its dimension", edited(func(p *program) { p.first().Loops[0].Of = []int64{1, 4} }), []string{"TAP0336"}, []string{"around 0 to 4"}),
		Of("loops: of three numbers", edited(func(p *program) { p.first().Loops[0].Of = []int64{0, 4, 4} }), []string{"TAP0336"}, nil),
		Of("loops: of no end", edited(func(p *program) { p.first().Loops[0].Of = []int64{0, math.MaxInt64} }), []string{"TAP0336"}, nil),
		Of("loops near miss: a part", edited(func(p *program) { p.first().Loops[0].Of = []int64{-3, 9} }), nil, nil),
		Of("loops: empty partial sums", edited(func(p *program) { p.first().Sums = -1 }), []string{"TAP0337"}, nil),
		Of("loops near miss: vectors and threads on a CPU", edited(func(p *program) {
			p.first().Loops[0].Levels[0].Bind = schedule.Thread
			p.first().Loops[1].Levels[0].Bind = schedule.Vector
		}), nil, nil),
		Of("loops: threads along a folded loop", edited(func(p *program) { p.second().Loops[1].Levels[0].Bind = schedule.Thread }),
			[]string{"TAP0345"}, []string{"stored statements over j", "statement z over [i]"}),
		Of("loops near miss: threads along a folded loop of one value", edited(func(p *program) {
			p.second().Loops[1].Levels[0].Bind = schedule.Thread
			p.second().Loops[1].End = 1
		}), nil, nil),
	}
}

func operandCases() []Case {
	return []Case{
		Of("operands: element type", edited(func(p *program) { p.first().Operands[0].DType = "float64" }), []string{"TAP0346"},
			[]string{"expected: float32", "found:    float64"}),
		Of("operands: rows", edited(func(p *program) { p.first().Operands[0].Access = affineMap("(d0, d1) -> (d0)") }), []string{"TAP0347"}, nil),
		Of("operands: columns", edited(func(p *program) { p.first().Operands[0].Access = affineMap("(d0) -> (d0, 0)") }), []string{"TAP0348"},
			[]string{"2 columns"}),
		Of("operands near miss: no rows fit any loops", edited(func(p *program) {
			b := p.buffer(p.z, p.cpu, schedule.Input, 0)
			buf(b).Tensor, buf(b).Range, buf(b).Strides = ir.NoNode, zspace.Range{}, nil
			p.first().Operands = append(p.first().Operands, schedule.Operand{Name: "S", Buffer: b.ID, DType: "float32"})
		}), nil, nil),
	}
}

func viewCases() []Case {
	return []Case{
		Of("views: a cell too far", edited(func(p *program) { p.first().Operands[0].Access = affineMap("(d0, d1) -> (d0 + 1, d1)") }),
			[]string{"TAP0361"}, []string{"reads cells of X", "zr[4:5, 0:3] lies outside"}),
		Of("views: mixed signs, the exact hull", edited(func(p *program) {
			p.first().Operands[0].Access = affineMap("(d0, d1) -> (d0 - d1, 0)")
		}), []string{"TAP0361"}, []string{"zr[-2:4, 0:1]", "zr[-2:0, 0:1] lies outside"}),
		Of("views near miss: mirrored", edited(func(p *program) {
			p.first().Operands[0].Access = affineMap("(d0, d1) -> (-1*d0 + 3, -1*d1 + 2)")
		}), nil, nil),
		Of("views: writes beyond", edited(func(p *program) { p.first().Operands[1].Access = affineMap("(d0, d1) -> (d0, d1 - 1)") }),
			[]string{"TAP0361"}, []string{"writes cells of Y"}),
		Of("views: beyond 64 bits", edited(func(p *program) {
			p.first().Operands[0].Access = affineMap("(d0, d1) -> (9223372036854775807 + d0, d1)")
		}), []string{"TAP0362"}, nil),
		Of("views near miss: the last coordinate there is", edited(func(p *program) {
			p.first().Operands[0].Access = affineMap("(d0, d1) -> (9223372036854775807, d1)")
		}), []string{"TAP0362"}, nil),
		Of("views near miss: a guard on one loop", guarded("where(i < 3, X, 0)", "(d0, d1) -> (d0 + 1, d1)"), nil, nil),
		Of("views near miss: a guard on the sum that is read", guarded("where(i - j >= 0 & not(i - j > 3), X, 0)", "(d0, d1) -> (d0 - d1, 0)"), nil, nil),
		Of("views near miss: the other side of a guard", guarded("where(i >= 3 | j > 5, 0, X)", "(d0, d1) -> (d0 + 1, d1)"), nil, nil),
		Of("views: the wrong side of a guard", guarded("where(i < 3, 0, X)", "(d0, d1) -> (d0 + 1, d1)"), []string{"TAP0361"},
			[]string{"zr[4:5, 0:3]"}),
		Of("views: a guard that is off by one", guarded("where(i <= 3, X, 0)", "(d0, d1) -> (d0 + 1, d1)"), []string{"TAP0361"}, nil),
		Of("views: half a guard", guarded("where(i < 3 | j > 5, X, 0)", "(d0, d1) -> (d0 + 1, d1)"), []string{"TAP0361"}, nil),
		Of("views near miss: a guard that never holds", guarded("where(i < 0, X, 0)", "(d0, d1) -> (d0 + 100, d1)"), nil, nil),
		Of("views near miss: a guard on no loop that does not hold", guarded("where(int64(3) < int64(2), X, 0)", "(d0, d1) -> (d0 + 100, d1)"), nil, nil),
		Of("views: a guard on no loop that holds", guarded("where(int64(1) < int64(2), X, 0)", "(d0, d1) -> (d0 + 1, d1)"), []string{"TAP0361"}, []string{"zr[4:5, 0:3]"}),
		Of("views near miss: a guard through a statement", edited(func(p *program) {
			k := p.first()
			k.Operands[0].Access = affineMap("(d0, d1) -> (d0 + 1, d1)")
			k.Statements = nil
			say(k, "inside", -1, "2 * i + 1 < 7", 0)
			say(k, "y", 1, "where(inside, X, 0)", 0, 1)
		}), nil, nil),
		Of("views near miss: a load where no loop value is left", edited(func(p *program) {
			p.second().Loops[1].End = 0
			p.second().Operands[0].Access = affineMap("(d0, d1) -> (d0 + 100, d1)")
		}), nil, nil),
	}
}

// guarded is the program with another value and read access in its first kernel.
func guarded(text, access string) *ir.Graph {
	return edited(func(p *program) {
		k := p.first()
		k.Operands[0].Access = affineMap(access)
		k.Statements = nil
		say(k, "y", 1, text, 0, 1)
	})
}

func coverageCases() []Case {
	return []Case{
		Of("coverage: stores to another tensor", edited(func(p *program) {
			p.second().Operands = append(p.second().Operands, operand("W", schedule.Write, p.buffer(p.y, p.cpu, schedule.Arena, 64), "(d0, d1) -> (d0, d1)"))
			say(p.second(), "w", 2, "1.0 * Y", 0, 1)
		}), []string{"TAP0371"}, []string{`tensor "y"`, "none of its cells"}),
		Of("coverage: stores outside its shard", shards("[0:2]", "[2:4]", func(first, second *schedule.Kernel) { first.Loops[0].End = 3 }),
			[]string{"TAP0371"}, []string{"cells inside zr[0:2]", "zr[0:3], of which zr[2:3] is none"}),
		Of("coverage accepted: shards", shards("[0:2]", "[2:4]", func(first, second *schedule.Kernel) {}), nil, nil),
		Of("coverage: a cell is left out", shards("[0:2]", "[2:4]", func(first, second *schedule.Kernel) { second.Loops[0].Start = 3 }),
			[]string{"TAP0373"}, []string{"all of zr[2:4]", "zr[2:3] unstored"}),
		Of("coverage accepted: even and odd cells by two statements", interleaved("(d0, d1) -> (2*d0)", "(d0, d1) -> (2*d0 + 1)"), nil, nil),
		Of("coverage: even cells twice", interleaved("(d0, d1) -> (2*d0)", "(d0, d1) -> (2*d0)"), []string{"TAP0372"},
			[]string{"cell [0] by statements even and odd"}),
		Of("coverage near miss: even cells, and odd ones beyond the end", interleaved("(d0, d1) -> (2*d0)", "(d0, d1) -> (2*d0 + 3)"), []string{"TAP0361"}, nil),
		Of("coverage: only even cells", interleaved("(d0, d1) -> (2*d0)", ""), []string{"TAP0373"}, []string{"all of zr[0:4]", "zr[3:4] unstored"}),
		Of("coverage accepted: fused, the value between is local", fused(), nil, nil),
		Of("coverage: not stored, needed by another kernel", edited(func(p *program) {
			p.first().Operands = p.first().Operands[:1]
			p.first().Statements[0].Store = -1
			p.second().Operands[0].Buffer = p.other().ID
		}), []string{"TAP0374"}, []string{`of kernel "k2", which reads neither`}),
		Of("coverage near miss: not stored, computed again", edited(func(p *program) {
			p.first().Operands = p.first().Operands[:1]
			p.first().Statements[0].Store = -1
			p.second().Operands[0].Buffer = p.bx.ID
			p.Remove(p.by.ID)
		}), nil, nil),
		Of("coverage: not stored, used by nobody", edited(func(p *program) {
			p.first().Operands = p.first().Operands[:1]
			p.first().Statements[0].Store = -1
			p.second().Operands[0].Buffer = p.bx.ID
			p.Remove(p.by.ID)
			a := application.ApplicationOf(p.Graph, p.second().Applications[0])
			a.Inputs = ir.Ports{}
			tensorops.OperationOf(p.Graph, a.Operation).Inputs = ir.Ports{}
			buf(p.buffer(p.y, p.cpu, schedule.Output, 0)).Range = p.y.Body.(*tensorops.Tensor).Range
		}), []string{"TAP0374"}, []string{"nothing uses it"}),
		Of("coverage accepted: stored to two buffers", edited(func(p *program) {
			p.first().Operands = append(p.first().Operands, operand("O", schedule.Write, p.buffer(p.y, p.cpu, schedule.Output, 0), "(d0, d1) -> (d0, d1)"))
			say(p.first(), "o", 2, "X + X", 0, 1)
		}), nil, nil),
		Of("coverage: not decided", hardStores(), []string{"TAP0375", "TAP0306", "TAP0306"}, []string{"warning"}),
	}
}

// other is a buffer that no tensor has to do with and the program is given.
func (p *program) other() *ir.Node {
	b := p.buffer(p.y, p.cpu, schedule.Input, 0)
	buf(b).Tensor = ir.NoNode
	return b
}

// shards is the program with its second operation in two applications, each with a kernel for its part of z.
func shards(a, b string, edit func(first, second *schedule.Kernel)) *ir.Graph {
	return edited(func(p *program) {
		app := application.ApplicationOf(p.Graph, p.second().Applications[0])
		app.Outputs = ir.PortsOf([]ir.Port{Port("z", Sel(p.z, a))})
		other := p.Add(&application.Application{Operation: app.Operation, Inputs: app.Inputs, Outputs: ir.PortsOf([]ir.Port{Port("z", Sel(p.z, b))})}, "other")
		k := *p.second()
		k.Applications = []ir.NodeID{other.ID}
		k.Loops = []schedule.Loop{loop("i", 4), loop("j", 3)}
		k.Loops[0].Start, k.Loops[0].End = Range(b).Start[0], Range(b).End[0]
		p.second().Loops[0].Start, p.second().Loops[0].End = Range(a).Start[0], Range(a).End[0]
		edit(p.second(), &k)
		buf(p.by).Last = 2
		p.Add(&k, "k3")
	})
}

// interleaved is the program with a second kernel that stores every other cell of z by each of two statements.
func interleaved(even, odd string) *ir.Graph {
	return edited(func(p *program) {
		k := p.second()
		k.Loops[0].End = 2
		k.Operands[1].Access = affineMap(even)
		k.Operands[1].Name = "Z0"
		k.Statements = nil
		say(k, "even", 1, "sum(j) Y", 0)
		if odd != "" {
			k.Operands = append(k.Operands, operand("Z1", schedule.Write, p.bz, odd))
			say(k, "odd", 2, "sum(j) Y", 0)
		}
	})
}

// fused is the program in one kernel.
func fused() *ir.Graph {
	return edited(func(p *program) {
		k := p.second()
		k.Applications = append(k.Applications, p.first().Applications[0])
		k.Operands[0] = operand("X", schedule.Read, p.bx, "(d0, d1) -> (d0, d1)")
		k.After, k.Statements = nil, nil
		say(k, "y", -1, "X + X", 0, 1)
		say(k, "z", 1, "sum(j) y", 0)
		p.Remove(p.k1.ID)
		p.Remove(p.by.ID)
	})
}

// hardStores is the program with a second kernel that stores the even cells of a large z to one buffer and the odd ones to
// another.
func hardStores() *ir.Graph {
	return edited(func(p *program) {
		tensorBody(p.z).Range = Range("[0:1000000]")
		app := application.ApplicationOf(p.Graph, p.second().Applications[0])
		for _, ports := range []ir.Ports{app.Outputs, tensorops.OperationOf(p.Graph, app.Operation).Outputs} {
			ports.At(0).Sel[0].SetRange(Range("[0:1000000]"))
		}
		k := p.second()
		k.Loops[0].End = 500000
		k.Operands = []schedule.Operand{operand("Y", schedule.Read, p.by, "(d0, d1) -> (0, d1)")}
		k.Statements = nil
		p.Remove(p.bz.ID)
		for i, access := range []string{"(d0, d1) -> (2*d0)", "(d0, d1) -> (2*d0 + 1)"} {
			k.Operands = append(k.Operands, operand([]string{"E", "O"}[i], schedule.Write, p.buffer(p.z, p.cpu, schedule.Output, 0), access))
			say(k, []string{"even", "odd"}[i], int64(i+1), "sum(j) Y", 0)
		}
	})
}
