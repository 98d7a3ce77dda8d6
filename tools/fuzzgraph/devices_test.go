package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"slices"
	"testing"

	"tensortapestry.org/tapc/backends/cpu"
	"tensortapestry.org/tapc/backends/cpu/devices"
	"tensortapestry.org/tapc/backends/cpu/toolchain"
	"tensortapestry.org/tapc/dialects/application"
	"tensortapestry.org/tapc/dialects/application/cut"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/nest"
	"tensortapestry.org/tapc/dialects/schedule/uses"
	"tensortapestry.org/tapc/dialects/schedule/whole"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/dialects/tensorops/parts"
	"tensortapestry.org/tapc/dialects/tensorops/reduced"
	"tensortapestry.org/tapc/internal/testkit"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/permission"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/tensorfile"
	"tensortapestry.org/tapc/ir/zspace"
	"tensortapestry.org/tapc/passes/apply"
	"tensortapestry.org/tapc/passes/lower"
	"tensortapestry.org/tapc/passes/pipeline"
	"tensortapestry.org/tapc/passes/propagate"
	"tensortapestry.org/tapc/passes/shard"
	"tensortapestry.org/tapc/passes/split"
	"tensortapestry.org/tapc/passes/standard"
	"tensortapestry.org/tapc/passes/tile"
)

// TestRandomDevices cuts random graphs in random ways, along what operations reduce too, and puts the shards on random devices of one to eight, some on several; or lays
// tensors on a mesh, where some stay partial. The schedules are valid after every pass and give the values of the graph on one device: to the bit, where the order
// of no sum was given up. What transfers carry is counted cell by cell: what devices read and do not compute themselves, each cell once. No device
// holds a cell twice, or more bytes at a time than its arena has. Taken back, the cuts leave the graph.
func TestRandomDevices(t *testing.T) {
	graphs := uint64(150)
	if testkit.Full() {
		graphs = 3000
	}
	// A device needs one of the two results of an application, and has no use for what the other is computed from; strides of a convolution leap over a box that another device has.
	special := []uint64{478, 2743}
	var all spreads
	for seed := range graphs + uint64(len(special)) {
		if seed >= graphs {
			seed = special[seed-graphs]
		}
		g, err := generateOf(seed, 8, narrow[seed%4], reducing[seed%2]...)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		x, in := g.build()
		all.spread(t, seed, x, in)
	}
	all.enough(t)
}

// TestRandomBlocks does so with graphs of what networks are made of, on tensors of a few hundred cells.
func TestRandomBlocks(t *testing.T) {
	graphs := uint64(30)
	if testkit.Full() {
		graphs = 3000
	}
	// A shard of a convolution reads nothing but the border of an image; a device has one of two results of moments, in a kernel with what reads it.
	special := []uint64{10078, 2958}
	var all spreads
	for seed := range graphs + uint64(len(special)) {
		if seed >= graphs {
			seed = special[seed-graphs]
		}
		x, in := blocksOf(seed, 3+int(seed%6), 400, 20_000)
		all.spread(t, 10*seed, x, in)
	}
	all.enough(t)
}

// spreads adds up what graphs on several devices are.
type spreads struct {
	graphs, partial, far, counted int
	moved                         int64
	held                          memory
}

// spread cuts a graph in a random way, puts it on devices, and holds what comes of it to what it was.
func (s *spreads) spread(t *testing.T, seed uint64, x *ir.Graph, in map[string]tensorfile.Tensor) {
	t.Helper()
	before, want := written(t, x), evaluated(t, x, in)
	how := spreadAtRandom(t, seed, x)
	if back := x.Clone(); how.partial > 0 {
		if cut.Undo(back); !bytes.Equal(written(t, back), before) {
			t.Errorf("seed %d: the graph is another when its shards are taken away:\n%s\nfrom\n%s", seed, written(t, back), before)
		}
	}
	n, exact := lowerSpread(t, seed, x)
	s.graphs, s.moved, s.partial = s.graphs+1, s.moved+n, s.partial+how.partial
	if exact {
		s.counted++
	}
	s.held.of(t, seed, x)
	if how.loose {
		s.far += apart(t, seed, want, evaluated(t, x, in))
		return
	}
	same(t, seed, want, evaluated(t, x, in))
}

// enough says whether what was tested is worth the name.
func (s *spreads) enough(t *testing.T) {
	t.Helper()
	t.Logf("%d cells moved, of %d graphs as projections say; %d partial results; %d of %d bytes of arenas at a time; %d graphs far apart", s.moved, s.counted, s.partial, s.held.most, s.held.stated, s.far)
	if s.moved < 2000 || s.counted < s.graphs*2/3 || s.partial < s.graphs/4 || s.far > s.graphs/50 {
		t.Errorf("%d cells moved, those of %d graphs as projections say, %d partial results, %d graphs far apart: too little is tested", s.moved, s.counted, s.partial, s.far)
	}
	if s.held.most*10 < s.held.stated*9 {
		t.Errorf("arenas have %d bytes, of which %d are used at a time", s.held.stated, s.held.most)
	}
}

// reducing are kernels that reduce, and such as distribute over sums: every other graph is of these alone.
var reducing = [2][]string{nil, {"matmul", "linear", "sum", "mean", "reduce_max", "reduce_min", "prod", "softmax", "rms_norm", "conv", "gemm", "arg_max", "add", "sub", "mul", "neg",
	"permute", "reshape", "concat", "relu", "cast"}}

// narrow are the element types of graphs that reduce, of every fourth one floats that are summed in wider ones.
var narrow = [4][]scalar.DType{3: {scalar.BFloat16, scalar.Float16, scalar.BFloat16, scalar.Bool, scalar.Int64}}

// lowerSpread takes a graph with placed shards to a schedule, which it verifies after each pass, and gives how many cells move; exact says that these are what projections
// say, no more. (What some kernels read follows from quotients, which a schedule bounds by a box: then that moves.)
func lowerSpread(t *testing.T, seed uint64, x *ir.Graph) (moved int64, exact bool) {
	t.Helper()
	for _, s := range standard.Steps(kernels.Builtin(), lower.Options{}, cpu.Choosers()...) {
		var least, expected, bounded int64
		if s.Name == "lower" {
			least, expected, bounded = cellsToMove(t, x)
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
		if s.Name == "tile" {
			decidedAlone(t, seed, x)
		}
		if s.Name != "lower" {
			continue
		}
		heldOnce(t, seed, x)
		if moved = cellsMoved(x); moved > bounded || moved < least || bounded < expected { // boxes of which strides leap over all cells stay where they are
			t.Errorf("seed %d: %d cells move, expected %d to %d, and %d are read", seed, moved, least, bounded, expected)
		}
		exact = bounded == expected
	}
	return moved, exact
}

// decidedAlone holds what is decided for kernels of one shape together to what is for each.
func decidedAlone(t *testing.T, seed uint64, x *ir.Graph) {
	t.Helper()
	buffers := whole.Buffers(x)
	for n := range x.Nodes() {
		k, ok := n.Body.(*schedule.Kernel)
		if !ok {
			continue
		}
		for _, c := range cpu.Choosers() {
			_, target := c.Target()
			copied := *k
			best, err := tile.Choose(nest.Analyze(&copied, buffers), c, nil)
			if err != nil {
				t.Fatal(err)
			}
			if got, want := k.For(target).String(), best.String(); got != want {
				t.Errorf("seed %d: %s for %s is %s, alone it is %s", seed, x.Name(n.ID), target, got, want)
			}
		}
	}
}

// memory adds up what devices hold of their arenas: at most at a time, and what is stated.
type memory struct{ most, stated int64 }

// of follows the buffers of each device, from the first step that touches one to the last, in the order of the schedule. What a schedule states is enough for those.
func (m *memory) of(t *testing.T, seed uint64, x *ir.Graph) {
	t.Helper()
	order, err := schedule.Order(x)
	if err != nil {
		t.Fatalf("seed %d: %v", seed, err)
	}
	first, last := map[ir.NodeID]int{}, map[ir.NodeID]int{}
	touch := func(b ir.NodeID, at int) {
		b = schedule.Underlying(x, b)
		if _, ok := first[b]; !ok {
			first[b] = at
		}
		last[b] = at
	}
	for at, id := range order {
		switch n := x.Node(id).Body.(type) {
		case *schedule.Kernel:
			for _, o := range n.Operands {
				touch(o.Buffer, at)
			}
		case *schedule.Transfer:
			touch(n.From, at)
			touch(n.To, at)
		}
	}
	now, most := map[ir.NodeID]int64{}, map[ir.NodeID]int64{}
	change := func(id ir.NodeID, sign int64) {
		if b := x.Node(id).Body.(*schedule.Buffer); b.Space == schedule.Arena {
			now[b.Device] += sign * (b.Bytes + lower.Align - 1) / lower.Align * lower.Align
			most[b.Device] = max(most[b.Device], now[b.Device])
		}
	}
	for at := range order {
		for id, i := range first {
			if i == at {
				change(id, 1)
			}
		}
		for id, i := range last {
			if i == at {
				change(id, -1)
			}
		}
	}
	for device, h := range schedule.Held(x) {
		whole := (h.Arena + lower.Align - 1) / lower.Align * lower.Align
		if most[device] > whole {
			t.Errorf("seed %d: %s has %d bytes at a time, and an arena of %d", seed, x.Name(device), most[device], whole)
		}
		m.most, m.stated = m.most+most[device], m.stated+whole
	}
}

// TestRandomDevicesOnCPU builds programs for several devices, whose values are those of the program for one, to the bit where no sum's order was given up, however many
// threads share the devices. They say the memory of each device and the bytes between them that their schedules have. The sanitizer of threads watches that devices
// wait for each other where they must.
func TestRandomDevicesOnCPU(t *testing.T) {
	far, graphs := 0, uint64(16)
	if testkit.Full() {
		graphs = 300
	}
	for seed := range graphs {
		g, err := generateOf(seed, 8, narrow[(seed+2)%4], reducing[seed/2%2]...)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		far += runSpread(t, seed, [][]string{nil, {"-fsanitize=thread"}}[seed%2], g.build)
	}
	if far > int(graphs)/16 {
		t.Errorf("values of %d graphs are far apart", far)
	}
}

// TestRandomBlocksOnCPU does so with graphs of what networks are made of, on tensors of thousands of cells: sums are of several blocks, products are packed, and rows are
// longer than vectors.
func TestRandomBlocksOnCPU(t *testing.T) {
	far, graphs := 0, uint64(4)
	if testkit.Full() {
		graphs = 200
	}
	for seed := range graphs {
		far += runSpread(t, seed, nil, func() (*ir.Graph, map[string]tensorfile.Tensor) {
			return blocksOf(seed, 1+int(seed%5), []int64{3000, 30_000, 100_000}[seed%3], 10_000_000)
		})
	}
	if far > int(graphs)/4 {
		t.Errorf("values of %d graphs are far apart", far)
	}
}

// byCosts schedules a graph as the standard pipeline does whose passes choose by the costs of a machine.
func byCosts(t *testing.T, seed uint64, x *ir.Graph) *ir.Graph {
	t.Helper()
	table := standard.Table(kernels.Builtin(), cpu.Choosers()...)
	p, err := pipeline.ParsePipeline(table.Standard(pipeline.Request{Last: pipeline.ScheduledKernels, Facts: map[pipeline.Fact][]string{pipeline.Target: {"cpu"}, pipeline.CostModel: {"laptop"}}}), table)
	if err != nil {
		t.Fatal(err)
	}
	r, err := (&pipeline.Runner{}).Run(t.Context(), p, x)
	if err != nil {
		t.Fatalf("seed %d: %v", seed, err)
	}
	return r.Graph
}

// runSpread builds the program of a graph for one device and that for several, with further flags, and compares their values. It gives 1 if these are far apart where the order of sums was
// given up.
func runSpread(t *testing.T, seed uint64, flags []string, build func() (*ir.Graph, map[string]tensorfile.Tensor)) (far int) {
	t.Helper()
	ctx := t.Context()
	c, err := toolchain.FindCompiler(ctx)
	testkit.Need(t, testkit.Compilers, err)
	t.Setenv("TAPC_POOL", "eager")
	var how spread
	scheduled := func(apart bool) (*ir.Graph, map[string]tensorfile.Tensor) {
		x, in := build()
		if apart {
			how = spreadAtRandom(t, seed, x)
		}
		if apart && seed%2 == 1 { // no value depends on what passes choose by
			return byCosts(t, seed, x), in
		}
		if err := standard.Run(x, kernels.Builtin(), lower.Options{}, cpu.Choosers()...); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		return x, in
	}
	x, in := scheduled(false)
	want, err := runScheduled(ctx, seed, x, in, []*toolchain.Compiler{c}, usualProcessors)
	if err != nil {
		t.Fatalf("seed %d: %v", seed, err)
	}
	x, in = scheduled(true)
	dir := t.TempDir()
	testkit.NeedSanitizers(t, c.Path, flags...)
	exe, err := buildScheduled(ctx, seed, x, []*toolchain.Compiler{c}, usualProcessors, dir, flags...)
	if err != nil {
		t.Fatalf("seed %d: %v", seed, err)
	}
	stated(t, seed, x, exe)
	var first map[string]tensorfile.Tensor
	for _, threads := range []int{1, 2, 3, 5, 11} {
		got, err := runProgram(ctx, exe, x, in, dir, threads)
		if err != nil {
			t.Fatalf("seed %d, %d threads: %v", seed, threads, err)
		}
		switch {
		case !how.loose:
			same(t, seed, want, got)
		case first == nil:
			far += apart(t, seed, want, got)
			first = got
		default:
			same(t, seed, first, got)
		}
	}
	return far
}

// stated holds what a program says of its devices to its schedule: arenas, and bytes that are copied between devices: those of all transfers but for what is read in place.
func stated(t *testing.T, seed uint64, x *ir.Graph, exe string) {
	t.Helper()
	text, err := exec.Command(exe, "--describe").Output()
	if err != nil {
		t.Fatalf("seed %d: %v", seed, err)
	}
	var said struct {
		Arena   int64            `json:"arena_bytes"`
		Devices []devices.Device `json:"devices"`
	}
	if err := json.Unmarshal(text, &said); err != nil {
		t.Fatalf("seed %d: %v", seed, err)
	}
	if len(said.Devices) == 0 {
		return // of a program for one
	}
	arenas, kernels, transfers, crossing := map[string]int64{}, 0, 0, int64(0)
	for id, h := range schedule.Held(x) {
		d := x.Node(id).Body.(*schedule.Device)
		arenas[fmt.Sprintf("%v%d", d.Type, d.Number)] = h.Arena
	}
	for n := range x.Nodes() {
		switch b := n.Body.(type) {
		case *schedule.Kernel:
			kernels++
		case *schedule.Transfer:
			transfers++
			from, to := x.Node(b.From).Body.(*schedule.Buffer), x.Node(b.To).Body.(*schedule.Buffer)
			if size, _ := b.Box(from).Size(); from.Device != to.Device && !b.Aliased(x) {
				crossing += size * int64(from.Type().Size())
			}
		}
	}
	arena, sent, received, aliased := int64(0), int64(0), int64(0), 0
	for _, d := range said.Devices {
		if d.Arena != arenas[d.Name] {
			t.Errorf("seed %d: %s says %d bytes, and has %d", seed, d.Name, d.Arena, arenas[d.Name])
		}
		arena, sent, received, aliased = arena+d.Arena, sent+d.Sent, received+d.Received, aliased+d.Aliased
		kernels, transfers = kernels-d.Kernels, transfers-d.Copies-d.Aliased
	}
	if kernels != 0 || transfers != 0 || arena > said.Arena {
		t.Errorf("seed %d: %d kernels and %d transfers too few, arenas of %d bytes in %d", seed, kernels, transfers, arena, said.Arena)
	}
	if sent != received || sent != crossing {
		t.Errorf("seed %d: %d bytes are sent and %d received, %d transfers in place: %d bytes are of the other transfers between devices", seed, sent, received, aliased, crossing)
	}
}

// spread is what was done to a graph: how many partial results it has, and whether the order of a sum was given up for them.
type spread struct {
	partial int
	loose   bool
}

// spreadAtRandom cuts operations and places their shards, by a plan with a mesh or one by one.
func spreadAtRandom(t *testing.T, seed uint64, x *ir.Graph) (s spread) {
	t.Helper()
	rnd := rand.New(rand.NewPCG(seed, 0xde71ce5))
	var allow permission.Set
	if s.loose = rnd.IntN(2) == 0; s.loose {
		allow = permission.Reassociate
	}
	if rnd.IntN(3) == 0 {
		plan := randomPlan(rnd, x, 4)
		_, r, err := propagate.Run(x, plan, propagate.Settings{Library: kernels.Builtin(), Allow: allow, Split: split.One, Devices: plan.Mesh.Devices()})
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		for _, p := range r.Parts {
			if p.Number >= 0 {
				s.partial++
			}
		}
		return s
	}
	s.partial = reduceAtRandom(rnd, x, allow)
	var requests []shard.Request
	for n := range x.Nodes() {
		if op, ok := n.Body.(*tensorops.Operation); ok && rnd.IntN(3) > 0 && n.Label != "" && named(x, n.Label) == 1 {
			if r, ok := randomCut(rnd, x, n, op); ok {
				requests = append(requests, r)
			}
		}
	}
	if _, err := shard.Run(x, kernels.Builtin(), requests); err != nil {
		t.Fatalf("seed %d: %v", seed, err)
	}
	placeAtRandom(rnd, x)
	return s
}

// named counts the nodes with a label.
func named(x *ir.Graph, label string) (count int) {
	for n := range x.Nodes() {
		if n.Label == label {
			count++
		}
	}
	return count
}

// reduceAtRandom cuts some operations along what they reduce, and gives how many partial results that makes. What can not be cut so stays as it is.
func reduceAtRandom(rnd *rand.Rand, x *ir.Graph, allow permission.Set) (made int) {
	lib := kernels.Builtin()
	var list []*ir.Node
	for n := range x.Nodes() {
		if op, ok := n.Body.(*tensorops.Operation); ok && !op.IsSource() && !op.IsSink() && !op.IsCheck() && rnd.IntN(2) == 0 {
			list = append(list, n)
		}
	}
	for _, n := range list {
		in, err := lib.BindOperation(x, n.ID)
		if err != nil {
			continue
		}
		var level cut.Level
		for _, d := range reduced.Dims(in) {
			if extent := in.Dims[d].Extent; extent > 1 && rnd.IntN(3) > 0 {
				level.Names = append(level.Names, in.Dims[d].Name)
				level.Parts = append(level.Parts, []cut.Part{{Count: 2 + rnd.Int64N(min(extent, 4)-1)}, {Size: 1 + rnd.Int64N(extent)}}[rnd.IntN(2)])
			}
		}
		c := cut.Cut{Levels: []cut.Level{level}}
		trial := x.Clone()
		if _, _, err := split.One(trial, lib, allow, trial.Node(n.ID), c); level.Names == nil || err != nil {
			continue
		}
		parts, _, _ := split.One(x, lib, allow, n, c)
		if len(parts) > 1 {
			made += len(parts)
		}
		for _, p := range parts {
			if rnd.IntN(2) == 0 {
				continue
			}
			if y := x.Clone(); cut.Sign(y, lib, y.Node(p.ID)) == nil && cut.SpaceOf(y, lib, y.Node(p.ID)).Index.Rank() > 0 {
				cut.Operation(x, lib, p, "a random cut", cut.Random(rnd, cut.SpaceOf(y, lib, y.Node(p.ID))))
			}
		}
	}
	return made
}

// placeAtRandom puts each application on some of up to eight devices. With three, what combines partial results is left to apply, which puts it where its result is read; with six, all is, which spreads shards in their order.
func placeAtRandom(rnd *rand.Rand, x *ir.Graph) {
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
		if devices == 6 || devices == 3 && parts.Is(x.Node(a.Operation)) {
			continue
		}
		list := []int64{rnd.Int64N(int64(devices))}
		for rnd.IntN(4) == 0 && x.Node(a.Operation).Tag(tensorops.IOSequencePointKind) == nil {
			list = append(list, rnd.Int64N(int64(devices)))
		}
		application.Place(n, list)
	}
	if devices%3 == 0 {
		if err := apply.Spread(x, kernels.Builtin(), int64(devices)); err != nil {
			panic(err) // a bug of apply
		}
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
// where they are read. Exact are the cells that projections give, bounded those in the boxes that the conditions of kernels leave, and least those of them that kernels read.
func cellsToMove(t *testing.T, x *ir.Graph) (least, exact, bounded int64) {
	t.Helper()
	p, err := tensorops.ProgramOf(x)
	if err != nil {
		t.Fatal(err)
	}
	met, read, boxed, made, devices := map[region]cells{}, map[region]cells{}, map[region]cells{}, map[region]cells{}, int64(1)
	note := func(of map[region]cells, tensor ir.NodeID, device int64, box zspace.Range) {
		if of[region{tensor, device}] == nil {
			of[region{tensor, device}] = cells{}
		}
		of[region{tensor, device}].add(tensorops.TensorOf(x, tensor).Range, box)
	}
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
			if box, err = lower.Narrowed(in, box); err != nil {
				t.Fatal(err)
			}
			k := lower.KernelOf(in, box)
			for _, d := range application.PlacementOf(x.Node(a)) {
				devices = max(devices, d+1)
				for i, o := range in.Operands {
					if o.Decl.Out {
						r, _ := in.Reads(i, box)
						note(made, o.Sel.Tensor, d, r)
						continue
					}
					if boxes, _ := in.ReadCells(i, box); !box.Empty() { // computed places that are none leave no other to be computed
						for _, b := range boxes {
							note(read, o.Sel.Tensor, d, b.Range())
						}
					}
				}
				for _, u := range uses.Of(k) {
					if u.Err != nil {
						t.Fatal(u.Err)
					}
					if u.Write || u.Never {
						continue
					}
					tensor := in.Operands[u.Operand].Sel.Tensor
					note(boxed, tensor, d, u.Hull)
					image := u.Image(k)
					if image.Dense {
						note(met, tensor, d, u.Hull)
						continue
					}
					for c := range u.Hull.Points() {
						if image.Holds(c) {
							one := zspace.Range{Start: c.Clone(), End: c.Clone()}
							for i := range one.End {
								one.End[i]++
							}
							note(met, tensor, d, one)
						}
					}
				}
			}
		}
	}
	whole := map[ir.NodeID]bool{} // what the caller is given by who computes it
	given := map[ir.NodeID]bool{}
	for _, c := range p.Constants {
		given[c.Tensor] = true
	}
	for _, in := range p.Inputs {
		given[in.Tensor] = true
	}
	copies := int64(0) // of what the caller is given as it is, or once more
	for _, o := range p.Held() {
		n, _ := tensorops.TensorOf(x, o).Range.Size()
		switch {
		case given[o]:
			copies += n
		case devices > 1:
			whole[o] = true
		}
		given[o] = true
	}
	missing := func(of map[region]cells) (n int64) {
		for o := range whole {
			note(of, o, 0, tensorops.TensorOf(x, o).Range)
		}
		for at, need := range of {
			constant := slices.ContainsFunc(p.Constants, func(c tensorops.Const) bool { return c.Tensor == at.tensor })
			input := slices.ContainsFunc(p.Inputs, func(in tensorops.Named) bool { return in.Tensor == at.tensor })
			if constant || input && at.device == 0 {
				continue
			}
			for c := range need {
				if !made[at][c] {
					n++
				}
			}
		}
		return n + copies
	}
	return missing(met), missing(read), missing(boxed)
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
