package main

import (
	"context"
	"maps"
	"math/rand/v2"
	"testing"

	"tensortapestry.org/tapc/backends/cpu"
	"tensortapestry.org/tapc/backends/cpu/toolchain"
	"tensortapestry.org/tapc/dialects/application"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/internal/testkit"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/tensorfile"
	"tensortapestry.org/tapc/ir/zspace"
	"tensortapestry.org/tapc/passes/apply"
	"tensortapestry.org/tapc/passes/lower"
	"tensortapestry.org/tapc/passes/pipeline"
	"tensortapestry.org/tapc/passes/propagate"
	"tensortapestry.org/tapc/passes/shard"
	"tensortapestry.org/tapc/passes/standard"
)

// TestRandomDevices cuts random graphs in random ways and puts the shards on random devices of one to eight, some on several, or lays tensors on a mesh:
// the schedules are valid after every pass and give the values of the graph on one device, to the bit. What transfers carry is counted cell by cell: what
// devices read and do not compute themselves, each cell once. (What some kernels read follows from quotients, which a schedule bounds by a box; graphs with
// these are not counted.) No device holds a cell twice.
func TestRandomDevices(t *testing.T) {
	moved, counted, graphs := int64(0), uint64(0), uint64(150)
	if testkit.Full() {
		graphs = 3000
	}
	for seed := range graphs {
		g, err := generate(seed, 8)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		x, in := g.build()
		want := evaluated(t, x, in)
		spreadAtRandom(t, seed, x)
		for _, s := range standard.Steps(kernels.Builtin(), lower.Options{}, cpu.Choosers()...) {
			expected, exact := int64(0), false
			if s.Name == "lower" {
				expected, exact = cellsToMove(t, x)
			}
			if err := s.Run(x); err != nil {
				t.Fatalf("seed %d: %s: %v", seed, s.Name, err)
			}
			if s.Gives < pipeline.ApplicationExpression {
				continue // it left the applications that there are
			}
			if list := s.Gives.Environment().Verify(context.Background(), x); list.HasErrors() {
				t.Fatalf("seed %d: after %s: %v\n%s", seed, s.Name, list, written(t, x))
			}
			if s.Name != "lower" {
				continue
			}
			heldOnce(t, seed, x)
			got := cellsMoved(x)
			if moved += got; exact {
				if counted++; got != expected {
					t.Errorf("seed %d: %d cells move, expected %d", seed, got, expected)
				}
			}
		}
		same(t, seed, want, evaluated(t, x, in))
	}
	if moved < 2000 || counted < graphs*2/3 {
		t.Errorf("only %d cells moved, and those of %d graphs were counted: too little is tested", moved, counted)
	}
}

// TestRandomDevicesOnCPU builds programs for several devices, whose values are those of the program for one, to the bit, however many threads share the
// devices. The sanitizer of threads watches that they wait for each other where they must.
func TestRandomDevicesOnCPU(t *testing.T) {
	ctx := context.Background()
	c, err := toolchain.FindCompiler(ctx)
	testkit.Need(t, testkit.Compilers, err)
	t.Setenv("TAPC_POOL", "eager")
	graphs := uint64(16)
	if testkit.Full() {
		graphs = 300
	}
	for seed := range graphs {
		g, err := generate(seed, 8)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		scheduled := func(spread bool) (*ir.Graph, map[string]tensorfile.Tensor) {
			x, in := g.build()
			if spread {
				spreadAtRandom(t, seed, x)
			}
			if err := standard.Run(x, kernels.Builtin(), lower.Options{}, cpu.Choosers()...); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			return x, in
		}
		x, in := scheduled(false)
		want, err := runScheduled(ctx, seed, x, in, []*toolchain.Compiler{c})
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		x, in = scheduled(true)
		dir, flags := t.TempDir(), [][]string{nil, {"-fsanitize=thread"}}[seed%2]
		testkit.NeedSanitizers(t, c.Path, flags...)
		exe, err := buildScheduled(ctx, seed, x, []*toolchain.Compiler{c}, dir, flags...)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		for _, threads := range []int{1, 2, 3, 5, 11} {
			got, err := runProgram(ctx, exe, x, in, dir, threads)
			if err != nil {
				t.Fatalf("seed %d, %d threads: %v", seed, threads, err)
			}
			same(t, seed, want, got)
		}
	}
}

// spreadAtRandom cuts operations and places their shards, by a plan with a mesh or one by one.
func spreadAtRandom(t *testing.T, seed uint64, x *ir.Graph) {
	t.Helper()
	rnd := rand.New(rand.NewPCG(seed, 0xde71ce5))
	if rnd.IntN(3) == 0 {
		plan := randomPlan(rnd, x, 4)
		if _, _, err := propagate.Run(x, plan, propagate.Settings{Library: kernels.Builtin(), Devices: plan.Mesh.Devices()}); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		return
	}
	var requests []shard.Request
	for n := range x.Nodes() {
		if op, ok := n.Body.(*tensorops.Operation); ok && rnd.IntN(3) > 0 {
			if r, ok := randomCut(rnd, x, n, op); ok {
				requests = append(requests, r)
			}
		}
	}
	if _, err := shard.Run(x, kernels.Builtin(), requests); err != nil {
		t.Fatalf("seed %d: %v", seed, err)
	}
	apply.Run(x)
	devices := 1 + rnd.IntN(8)
	for n := range x.Nodes() {
		a, ok := n.Body.(*application.Application)
		if !ok {
			continue
		}
		if op := tensorops.OperationOf(x, a.Operation); op.IsSource() || op.IsSink() {
			continue
		}
		list := []int64{rnd.Int64N(int64(devices))}
		for rnd.IntN(4) == 0 && x.Node(a.Operation).Tag(tensorops.IOSequencePointKind) == nil {
			list = append(list, rnd.Int64N(int64(devices)))
		}
		application.Place(n, list)
	}
}

// region is the cells of a tensor on a device.
type region struct {
	tensor ir.NodeID
	device int64
}

// cells is a set of cells of a tensor, by their numbers.
type cells map[int64]bool

func (c cells) add(whole, box zspace.Range) {
	if box.Empty() {
		return
	}
	steps, at := zspace.RowMajor(whole.Shape()), box.Start.Clone()
	for {
		n := int64(0)
		for d := range at {
			n += (at[d] - whole.Start[d]) * steps[d]
		}
		c[n] = true
		d := len(at) - 1
		for ; d >= 0; d-- {
			if at[d]++; at[d] < box.End[d] {
				break
			}
			at[d] = box.Start[d]
		}
		if d < 0 {
			return
		}
	}
}

// cellsToMove counts what devices read and do not compute, and what the caller is given and device 0 does not compute. Inputs are on device 0, constants
// where they are read. Exact is false where a kernel knows less of what it reads.
func cellsToMove(t *testing.T, x *ir.Graph) (n int64, exact bool) {
	t.Helper()
	p, err := tensorops.ProgramOf(x)
	if err != nil {
		t.Fatal(err)
	}
	read, made, devices := map[region]cells{}, map[region]cells{}, int64(1)
	note := func(of map[region]cells, tensor ir.NodeID, device int64, box zspace.Range) {
		if of[region{tensor, device}] == nil {
			of[region{tensor, device}] = cells{}
		}
		of[region{tensor, device}].add(tensorops.TensorOf(x, tensor).Range, box)
	}
	exact = true
	apps := application.ByOperation(x)
	for op, list := range apps {
		if o := tensorops.OperationOf(x, op); o.IsSource() || o.IsSink() || tensorops.IsPrecomputed(x.Node(op)) {
			continue
		}
		in, err := kernels.Builtin().BindOperation(x, op)
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range list {
			box, err := in.RestrictTo(application.ApplicationOf(x, a).Outputs)
			if err != nil {
				t.Fatal(err)
			}
			known, err := schedule.Reads(lower.KernelOf(in, box))
			if err != nil {
				t.Fatal(err)
			}
			for i, o := range in.Operands {
				exact = exact && (o.Decl.Out || sameCells(t, in, i, box, known[i]))
			}
			for _, d := range application.PlacementOf(x.Node(a)) {
				devices = max(devices, d+1)
				for i, o := range in.Operands {
					if o.Decl.Out {
						r, _ := in.Reads(i, box)
						note(made, o.Sel.Tensor, d, r)
						continue
					}
					boxes, _ := in.ReadCells(i, box)
					for _, b := range boxes {
						note(read, o.Sel.Tensor, d, b.Range())
					}
				}
			}
		}
	}
	given := map[ir.NodeID]bool{}
	for _, c := range p.Constants {
		given[c.Tensor] = true
		for d := range devices {
			delete(read, region{c.Tensor, d})
		}
	}
	for _, in := range p.Inputs {
		given[in.Tensor] = true
		delete(read, region{in.Tensor, 0})
	}
	copies := int64(0) // of what the caller is given as it is, or once more
	for _, o := range p.Held() {
		whole := tensorops.TensorOf(x, o).Range
		if given[o] || devices == 1 {
			n, _ := whole.Size()
			if given[o] {
				copies += n
			}
			given[o] = true
			continue
		}
		given[o] = true
		note(read, o, 0, whole)
	}
	for at, need := range read {
		for c := range need {
			if !made[at][c] {
				copies++
			}
		}
	}
	return copies, exact
}

// sameCells says whether what an operation reads of an operand in a box are the cells of some boxes.
func sameCells(t *testing.T, in *kernels.Instance, operand int, box zspace.Range, boxes []zspace.Range) bool {
	t.Helper()
	list, err := in.ReadCells(operand, box)
	if err != nil {
		t.Fatal(err)
	}
	whole, a, b := in.Operands[operand].Sel.Range(), cells{}, cells{}
	for _, x := range list {
		a.add(whole, x.Range())
	}
	for _, x := range boxes {
		b.add(whole, x)
	}
	return maps.Equal(a, b)
}

// cellsMoved counts what transfers carry.
func cellsMoved(x *ir.Graph) (n int64) {
	for node := range x.Nodes() {
		if t, ok := node.Body.(*schedule.Transfer); ok {
			size, _ := t.Box(x.Node(t.From).Body.(*schedule.Buffer)).Size()
			n += size
		}
	}
	return n
}

// heldOnce checks that no two buffers of a device have one cell of a tensor, but for results that the caller is given more than once.
func heldOnce(t *testing.T, seed uint64, x *ir.Graph) {
	t.Helper()
	of := map[[2]ir.NodeID][]zspace.Range{}
	for n := range x.Nodes() {
		b, ok := n.Body.(*schedule.Buffer)
		if !ok || b.Space == schedule.Output {
			continue
		}
		at := [2]ir.NodeID{b.Tensor, b.Device}
		for _, r := range of[at] {
			if r.Overlaps(b.Range) {
				t.Errorf("seed %d: %s and %v share cells", seed, x.Name(n.ID), r)
			}
		}
		of[at] = append(of[at], b.Range)
	}
}
