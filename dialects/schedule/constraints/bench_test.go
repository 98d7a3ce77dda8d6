package constraints

import (
	"context"
	"fmt"
	"testing"

	"tensortapestry.org/tapc/dialects/application"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/check"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/zspace"
)

// verifyMust verifies a valid graph b.N times.
func verifyMust(b *testing.B, env *check.Environment, g *ir.Graph) {
	b.Helper()
	b.ReportMetric(float64(g.Len()), "nodes")
	for b.Loop() {
		if found := env.Verify(context.Background(), g); found != nil {
			b.Fatal(found.Error())
		}
	}
}

// square is x [0:n, 0:n] -> y, the same shape, by the identity, in a grid of parts applications.
func square(n, parts int64) *program {
	p := &program{Graph: ir.New()}
	whole := zspace.MustShape(n, n)
	p.x, p.y = p.tensor("x", whole.Text()), p.tensor("y", whole.Text())
	ports := func(name string, t *ir.Node, r zspace.Range) ir.Ports {
		return ir.PortsOf([]ir.Port{{Name: name, Sel: []ir.Selection{ir.Select(t.ID, r)}}})
	}
	identity := func(name string) ir.PortMaps {
		a := zspace.AffineMap{Projection: zspace.Identity(2), Offset: zspace.Point{0, 0}}
		return ir.PortMaps{{Name: name, Maps: []zspace.ProjectionMap{cellMap(a)}}}
	}
	op := p.Add(&tensorops.Operation{Kernel: "test:copy", Inputs: ports("x", p.x, whole), Outputs: ports("y", p.y, whole)}, "copy")
	op.SetTag(&tensorops.Index{Range: whole})
	op.SetTag(&tensorops.Signature{Inputs: identity("x"), Outputs: identity("y")})
	blocks, err := whole.Grid([]int64{parts, parts})
	if err != nil {
		panic(err)
	}
	for _, r := range blocks {
		a := p.Add(&application.Application{Operation: op.ID, Inputs: ports("x", p.x, r), Outputs: ports("y", p.y, r)}, "")
		a.SetTag(&tensorops.Index{Range: r})
	}
	return p
}

// BenchmarkApplications verifies an operation in about 10^5 applications.
func BenchmarkApplications(b *testing.B) {
	p := square(3200, 316)
	verifyMust(b, application.Environment(), p.Graph)
}

// BenchmarkChain verifies 10^6 nodes: operations in a row, each with its output.
func BenchmarkChain(b *testing.B) {
	g := ir.New()
	box := zspace.MustShape(4)
	before := g.Add(&tensorops.Tensor{DType: "float32", Range: box}, "")
	for range 500_000 {
		after := g.Add(&tensorops.Tensor{DType: "float32", Range: box}, "")
		g.Add(&tensorops.Operation{Kernel: "test:copy",
			Inputs:  ir.PortsOf([]ir.Port{{Name: "x", Sel: []ir.Selection{ir.Select(before.ID, box)}}}),
			Outputs: ir.PortsOf([]ir.Port{{Name: "y", Sel: []ir.Selection{ir.Select(after.ID, box)}}})}, "")
		before = after
	}
	verifyMust(b, tensorops.Environment(), g)
}

// layers is two operations in a row over [0:n, 0:n], in a grid of first and of second parts a side, with a kernel for each
// application. Where the blocks do not agree, each kernel of the second operation waits for several of the first.
func layers(n, first, second int64) *program {
	p, after := square(n, first), square(n, second)
	cpu := p.Add(&schedule.Device{}, "cpu0")
	p.cpu, p.z = cpu, p.tensor("z", zspace.MustShape(n, n).Text())
	p.bx, p.by, p.bz = p.buffer(p.x, cpu, schedule.Input, 0), p.buffer(p.y, cpu, schedule.Arena, 0), p.buffer(p.z, cpu, schedule.Output, 0)
	buf(p.by).Last = 1 << 40
	start := ir.NodeID(p.Bound())
	for x := range after.Nodes() {
		if t, ok := x.Body.(ir.Ported); ok {
			in, out := t.Ports()
			in.At(0).Sel[0].Tensor, out.At(0).Sel[0].Tensor = p.y.ID, p.z.ID
			if a, ok := t.(*application.Application); ok {
				a.Operation = start
			}
			p.Add(t, "").SetTags(x.Tags())
		}
	}
	var written []zspace.Range
	var steps []ir.NodeID
	for x := range p.Nodes() {
		a, ok := x.Body.(*application.Application)
		switch {
		case ok && x.ID < start:
			written = append(written, a.Outputs.At(0).Sel[0].Range())
			steps = append(steps, p.Add(copyKernel(cpu, x, p.bx, p.by, a.Outputs.At(0).Sel[0].Range()), "").ID)
		case ok:
			k := copyKernel(cpu, x, p.by, p.bz, a.Outputs.At(0).Sel[0].Range())
			p.k2 = p.Add(k, "")
		}
	}
	index := zspace.NewIndex(written)
	for x := range p.Nodes() {
		if k, ok := x.Body.(*schedule.Kernel); ok && k.Operands[0].Buffer == p.by.ID {
			for _, w := range index.Query(k.Space()) {
				k.After = append(k.After, steps[w])
			}
		}
	}
	return p
}

// BenchmarkKernels verifies about 10^5 kernels.
func BenchmarkKernels(b *testing.B) {
	p := layers(2240, 224, 223)
	verifyMust(b, Environment(), p.Graph)
}

// copyKernel copies a box from one buffer to another.
func copyKernel(cpu, app, from, to *ir.Node, r zspace.Range) *schedule.Kernel {
	k := &schedule.Kernel{Name: "copy", Device: cpu.ID, Applications: []ir.NodeID{app.ID}, Loops: []schedule.Loop{loop("i", r.End[0]), loop("j", r.End[1])},
		Operands: []schedule.Operand{operand("X", schedule.Read, from, "(d0, d1) -> (d0, d1)"), operand("Y", schedule.Write, to, "(d0, d1) -> (d0, d1)")}}
	k.Loops[0].Start, k.Loops[1].Start = r.Start[0], r.Start[1]
	k.Statements = []schedule.Statement{{Name: "y", Over: []int64{0, 1}, Store: 1, Value: scalar.NewLoad(0, scalar.Float32)}}
	return k
}

// chain is n kernels in a row, each a copy of what the one before wrote; the arena buffers between them take turns at a
// number of places. The order between users of the same bytes is only known through others.
func chain(n, slots int) *program {
	p := &program{Graph: ir.New()}
	p.cpu = p.Add(&schedule.Device{}, "cpu0")
	p.x = p.tensor("t", box34.Text())
	from, step := p.buffer(p.x, p.cpu, schedule.Input, 0), ir.NoNode
	for i := range n {
		t := p.tensor(fmt.Sprint("t", i), box34.Text())
		app := p.op("copy", ir.PortsOf([]ir.Port{sel("x", p.x)}), ir.PortsOf([]ir.Port{sel("y", t)}))
		to := p.buffer(t, p.cpu, schedule.Arena, int64(i%slots*64))
		if i == n-1 {
			buf(to).Space, buf(to).Offset = schedule.Output, 0
		}
		buf(to).First, buf(to).Last = int64(i), int64(i+1)
		k := copyKernel(p.cpu, app, from, to, box34)
		if step != ir.NoNode {
			k.After = []ir.NodeID{step}
		}
		step = p.Add(k, "").ID
		from, p.x = to, t
	}
	return p
}

// BenchmarkChainOfKernels verifies 10^4 kernels in a row.
func BenchmarkChainOfKernels(b *testing.B) {
	verifyMust(b, Environment(), chain(10_000, 3).Graph)
}

// box34 is the box of the tensors of chain.
var box34 = zspace.MustShape(4, 3)

func sel(name string, t *ir.Node) ir.Port {
	return ir.Port{Name: name, Sel: []ir.Selection{ir.Select(t.ID, box34)}}
}
