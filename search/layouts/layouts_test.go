package layouts_test

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tensortapestry.org/tapc/backends/cpu/cputest"
	"tensortapestry.org/tapc/backends/reference"
	"tensortapestry.org/tapc/cost/machine"
	"tensortapestry.org/tapc/dialects"
	"tensortapestry.org/tapc/dialects/application/planfile"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/dialects/tensorops/feed"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/internal/testkit"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/permission"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/tensorfile"
	"tensortapestry.org/tapc/ir/text"
	"tensortapestry.org/tapc/passes/pipeline"
	"tensortapestry.org/tapc/passes/propagate"
	"tensortapestry.org/tapc/passes/split"
	"tensortapestry.org/tapc/passes/standard"
	"tensortapestry.org/tapc/search"
	"tensortapestry.org/tapc/search/layouts"
	"tensortapestry.org/tapc/tools/bench/search/graphs"
)

func read(t testing.TB, graph string) *ir.Graph {
	t.Helper()
	g, err := text.Read([]byte(graph), "g.tap", dialects.Registry())
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// space makes the space of a graph on GPUs, with all objectives and permissions unless changed.
func space(t testing.TB, graph string, devices int64, change func(*layouts.Settings)) *layouts.Space {
	t.Helper()
	m, err := machine.Preset("16x8xh100")
	if err != nil {
		t.Fatal(err)
	}
	s := layouts.Settings{Machine: m, Devices: devices, Objectives: layouts.Objectives, Allow: permission.Reassociate, Parts: layouts.Words}
	if change != nil {
		change(&s)
	}
	x, err := layouts.New(read(t, graph), kernels.Builtin(), s)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func smallSpace(t testing.TB, c graphs.Small, scale int) *layouts.Space {
	return space(t, c.Text(scale), c.Devices, func(s *layouts.Settings) {
		s.Parts, s.Objectives = strings.Split(c.Space, ","), layouts.Objectives[:c.Objectives]
	})
}

// Dynamic programming finds the optimum that going through all plans finds, of time and of what is sent, and its bounds hold.
func TestProofAgainstAll(t *testing.T) {
	for _, c := range graphs.Smalls {
		x := smallSpace(t, c, 32)
		limit := 300_000
		if testing.Short() {
			limit = 30_000
		}
		all, _, ok := search.Enumerate(x, limit)
		if !ok {
			continue
		}
		p := x.Prove(1)
		if !p.Exact {
			t.Errorf("%s: no proof", c.Name)
		}
		for k := range c.Objectives {
			best := all.Points[all.Best(k)].Price.Costs[k]
			if bound := p.Bounds[k]; bound > best*(1+1e-9) || layouts.Objectives[k] != layouts.Memory && bound < best*(1-1e-9) {
				t.Errorf("%s: %s is at least %v, the bound is %v", c.Name, layouts.Objectives[k], best, bound)
			}
		}
		if fast := x.Price(p.Trials[0]); math.Abs(fast.Costs[0]-p.Bounds[0]) > 1e-9*p.Bounds[0] {
			t.Errorf("%s: the plan that is proven to take %v is priced %v", c.Name, p.Bounds[0], fast.Costs[0])
		}
	}
}

// Where memory is less than the fastest plan takes, the bounds hold of all plans that fit, and a plan that fits is found; where none fits, none is.
func TestProofWithinMemory(t *testing.T) {
	for _, name := range []string{"product, 4 devices", "normalized product with a sum, 2 devices", "product, 2 devices"} {
		c := graphs.Smalls[slices.IndexFunc(graphs.Smalls, func(c graphs.Small) bool { return c.Name == name })]
		all, _, ok := search.Enumerate(smallSpace(t, c, 32), 30_000)
		if !ok {
			t.Fatalf("%s: the space is not small", name)
		}
		fast, lean := all.Points[all.Best(0)].Price.Costs, all.Points[all.Best(1)].Price.Costs
		if fast[1] == lean[1] {
			t.Errorf("%s: the fastest plan takes least memory", name)
		}
		for _, part := range []float64{0.3, 0.9} {
			limit := lean[1] + part*(fast[1]-lean[1])
			x := space(t, c.Text(32), c.Devices, func(s *layouts.Settings) {
				s.Parts, s.Objectives, s.MaxMemory = strings.Split(c.Space, ","), layouts.Objectives[:c.Objectives], limit
			})
			p := x.Prove(2)
			best, found := math.Inf(1), false
			for _, q := range all.Points {
				if q.Price.Costs[1] <= limit {
					best = min(best, q.Price.Costs[0])
				}
			}
			for _, trial := range p.Trials {
				found = found || x.Price(trial).Beyond == 0
			}
			if p.Bounds[0] > best*(1+1e-9) || p.Bounds[0] < fast[0]*(1-1e-9) || p.Bounds[1] > lean[1]*(1+1e-9) || !found {
				t.Errorf("%s, in %v: the fastest takes %v, the leanest %v; bounds are %v, and a plan that fits is found: %v", name, limit, best, lean[1], p.Bounds, found)
			}
		}
		none := space(t, c.Text(32), c.Devices, func(s *layouts.Settings) { s.MaxMemory = lean[1] * 0.9 })
		for _, trial := range none.Prove(1).Trials {
			if none.Price(trial).Beyond == 0 {
				t.Errorf("%s: a plan takes less than the least", name)
			}
		}
	}
}

// Meshes of three axes have those of fewer in them: none of these has a faster plan, or one that sends less.
func TestMeshesOfFewerAxes(t *testing.T) {
	const turned = "tapc 1\n%x = tensor float32 [0:8192, 0:8192]\n%y = tensor float32 [0:8192, 0:8192]\n%z = tensor float32 [0:8192, 0:8192]\n" +
		"%a = operation op:softmax {dims: [1]} (tensor: %x) -> (result: %y)\n%b = operation op:softmax {dims: [0]} (tensor: %y) -> (result: %z)\n"
	for name, graph := range map[string]string{"a transformer": graphs.Llama8B(1, 16, 64).Text(), "rows, then columns": turned} {
		meshesOfFewerAxes(t, name, graph)
	}
}

func meshesOfFewerAxes(t *testing.T, name, graph string) {
	all := space(t, graph, 16, nil).Prove(2)
	attained := false
	for _, mesh := range [][]int64{{16}, {1, 16, 1}, {2, 8}, {8, 2}, {4, 1, 4}, {2, 2, 4}, {2, 4, 2}, {4, 2, 2}} {
		p := space(t, graph, 16, func(s *layouts.Settings) { s.Mesh = mesh }).Prove(2)
		for _, k := range []int{0, 2} {
			if p.Bounds[k] < all.Bounds[k]*(1-1e-9) {
				t.Errorf("%s: %s on %v is %v, and on all meshes %v", name, layouts.Objectives[k], mesh, p.Bounds[k], all.Bounds[k])
			}
		}
		attained = attained || p.Bounds[0] <= all.Bounds[0]*(1+1e-9)
	}
	if !attained {
		t.Errorf("%s: no mesh has the fastest plan", name)
	}
}

// What is proven does not depend on the number of workers.
func TestProofOnWorkers(t *testing.T) {
	x := space(t, graphs.Llama8B(2, 1, 512).Text(), 16, func(s *layouts.Settings) { s.MaxMemory = 150e6 })
	want := x.Prove(1)
	for _, workers := range []int{2, 7} {
		if diff := cmp.Diff(want, x.Prove(workers)); diff != "" {
			t.Errorf("%d workers: %s", workers, diff)
		}
	}
	if x.Price(want.Trials[0]).Beyond == 0 {
		t.Error("the fastest plan fits")
	}
}

// Every plan of the frontiers of small graphs, and of a hundred others of each, can be written, read and carried out: the program that comes of it for as many
// devices verifies after each pass and gives the values of the graph that is not cut, up to the order of sums. One in 24 is
// built and runs.
func TestPlansGiveTheSameValues(t *testing.T) {
	plans, turn := 0, testkit.Turns(t, 24)
	execute := cputest.Executes(cputest.Compiler(t), "native", nil)(nil) // there are no constants
	for _, c := range graphs.Smalls {
		x, large := smallSpace(t, c, 1), smallSpace(t, c, 32)
		found := search.Run(context.Background(), large, search.Options{Rounds: 12, Trials: 128, Resume: points(large.Prove(1))})
		whole := values(t, read(t, c.Text(1)))
		for i, p := range append(found.Frontier.Points, others(x)...) {
			if x.Price(p.Trial).Beyond > 0 || !turn() {
				continue
			}
			plan, err := x.Plan(p.Trial, kernels.Builtin())
			if err != nil {
				t.Fatalf("%s, plan %d: %v", c.Name, i, err)
			}
			program := carried(t, c, plan)
			results := []map[string]tensorfile.Tensor{values(t, program)}
			if plans++; plans%24 == 0 {
				results = append(results, execute(t, program, inputs(t, program)))
			}
			for _, result := range results {
				for name, want := range whole {
					if err := reference.CompareSums(name, want, result[name], 64, 8); err != nil {
						t.Errorf("%s, plan %d: %v", c.Name, i, err)
					}
				}
			}
		}
	}
	t.Logf("%d plans", plans)
	if plans < 10 || testkit.Full() && plans < 1000 {
		t.Errorf("only %d plans were tried", plans)
	}
}

// The plans of a frontier are carried out as they are priced: their layouts say all, with their permissions, and move what they are priced to send, to the byte. (A cut beside them would say not on
// which devices a part is.)
func TestPlansMoveWhatTheyArePriced(t *testing.T) {
	plans := 0
	for _, c := range graphs.Smalls {
		if strings.Contains(c.Space, "stages") {
			continue
		}
		x := space(t, c.Text(32), c.Devices, func(s *layouts.Settings) { s.Parts = strings.Split(c.Space, ",") })
		found := search.Run(t.Context(), x, search.Options{Rounds: 4, Trials: 128, Resume: points(x.Prove(1))})
		for i, p := range found.Frontier.Points {
			plan, err := x.Plan(p.Trial, kernels.Builtin())
			if err != nil {
				t.Fatal(err)
			}
			_, r, err := propagate.Run(read(t, c.Text(32)), plan, propagate.Settings{Library: kernels.Builtin(), Allow: plan.Permissions, Split: split.One})
			if err != nil {
				t.Fatal(err)
			}
			moved := 0.0
			for _, m := range r.Transfers {
				bytes, _ := new(big.Float).SetInt(m.Bytes).Float64()
				moved += bytes
			}
			want := x.Price(p.Trial).Costs[slices.Index(layouts.Objectives, layouts.Sent)]
			if len(plan.Cuts) > 0 || max(moved/float64(c.Devices), 1) != want {
				t.Errorf("%s, plan %d: %v bytes are moved on %d devices, priced are %v on each; cuts %v", c.Name, i, moved, c.Devices, want, plan.Cuts)
			}
			plans++
		}
	}
	if plans < 30 {
		t.Errorf("only %d plans", plans)
	}
}

// others draws plans that are on no frontier.
func others(x *layouts.Space) (list []search.Point) {
	r := rand.New(rand.NewPCG(19, 1))
	for range 100 {
		t := make(search.Trial, len(x.Genes()))
		for i, n := range x.Genes() {
			t[i] = uint16(r.IntN(n))
		}
		list = append(list, search.Point{Trial: t})
	}
	return list
}

func points(p *layouts.Proof) (list []search.Point) {
	for _, t := range p.Trials {
		list = append(list, search.Point{Trial: t})
	}
	return list
}

// carried carries a plan out, from its file, as tapc opt --plan does, and verifies what comes of it.
func carried(t *testing.T, c graphs.Small, plan *planfile.Plan) *ir.Graph {
	t.Helper()
	var b bytes.Buffer
	if err := planfile.Write(&b, plan); err != nil {
		t.Fatal(err)
	}
	if len(plan.Cuts)+len(plan.Tensors) == 0 {
		t.Fatal("the plan says nothing")
	}
	name := filepath.Join(t.TempDir(), "plan.json")
	if err := os.WriteFile(name, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	table := standard.Table(kernels.Builtin())
	p, err := pipeline.ParsePipeline(table.Standard(pipeline.Request{Last: pipeline.ScheduledKernels, Facts: map[pipeline.Fact][]string{
		pipeline.Plans: {name}, pipeline.Devices: {fmt.Sprint(c.Devices)}, pipeline.Permissions: {permission.Reassociate.String()}}}), table)
	if err != nil {
		t.Fatal(err)
	}
	result, err := (&pipeline.Runner{}).Run(context.Background(), p, read(t, c.Text(1)))
	if err != nil {
		t.Fatalf("%s: %v\n%s", c.Name, err, &b)
	}
	if pipeline.StageOf(result.Graph) != pipeline.ScheduledKernels {
		t.Fatalf("%s: the plan cuts nothing\n%s", c.Name, &b)
	}
	return result.Graph
}

// values evaluates a graph on small random numbers.
func values(t *testing.T, g *ir.Graph) map[string]tensorfile.Tensor {
	t.Helper()
	out, err := (&reference.Evaluator{Library: kernels.Builtin()}).Evaluate(context.Background(), g, inputs(t, g))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// inputs are small random numbers.
func inputs(t *testing.T, g *ir.Graph) map[string]tensorfile.Tensor {
	t.Helper()
	in, err := feed.Inputs(g, func(i int, _ tensorops.Named, d scalar.DType, n int64) []byte {
		r := rand.New(rand.NewPCG(9, uint64(i)))
		return feed.Elements(d, n, func(int64) scalar.Value { return scalar.FloatValue(d, r.NormFloat64()) })
	})
	if err != nil {
		t.Fatal(err)
	}
	return in
}

// Layers that repeat are planned once, and what they take grows with their number: the space of 32 has no more genes than that of 8.
func TestLayersArePlannedOnce(t *testing.T) {
	genes, times := map[int]int{}, map[int]float64{}
	for _, layers := range []int{8, 16, 32} {
		x := space(t, graphs.Llama8B(layers, 1, 512).Text(), 4, nil)
		genes[layers], times[layers] = len(x.Genes()), x.Prove(2).Bounds[0]
	}
	if genes[8] != genes[32] || genes[8] > 80 {
		t.Errorf("genes by layers: %v", genes)
	}
	if each, more := (times[16]-times[8])/8, (times[32]-times[16])/16; math.Abs(each-more) > 1e-6*each {
		t.Errorf("a layer takes %v, and %v", each, more)
	}
}

// What is planned at once prices as what is planned apart: a layer by itself and in a row of equal ones.
func TestRepeatedPartsPriceAlike(t *testing.T) {
	one, four := space(t, graphs.Llama8B(1, 1, 64).Text(), 2, nil), space(t, graphs.Llama8B(4, 1, 64).Text(), 2, nil)
	zero := func(x *layouts.Space) search.Price { return x.Price(make(search.Trial, len(x.Genes()))) } // everything whole, on every device
	a, b := zero(one), zero(four)
	if math.Abs(b.Costs[0]-4*a.Costs[0]) > 1e-9*b.Costs[0] || a.Costs[2] != 1 || b.Costs[2] != 1 { // 1 is nothing sent
		t.Errorf("one layer %v, four %v", a, b)
	}
}

// Settings that no space can have are refused with their codes.
func TestFaults(t *testing.T) {
	m, _ := machine.Preset("8xh100")
	m.Devices[0].Rates = slices.DeleteFunc(m.Devices[0].Rates, func(r machine.Rate) bool { return strings.HasPrefix(r.Type, "int") })
	for _, c := range []struct {
		code, graph string
		devices     int64
	}{
		{"TAP2901", graphs.Smalls[0].Text(1), 9},
		{"TAP2902", "tapc 1\n%x = tensor float32 [0:4]\n", 2},
		{"TAP2803", strings.ReplaceAll(graphs.Smalls[0].Text(1), "float32", "int16"), 2},
	} {
		_, err := layouts.New(read(t, c.graph), kernels.Builtin(), layouts.Settings{Machine: m, Devices: c.devices, Objectives: layouts.Objectives})
		if err == nil || !strings.Contains(err.Error(), c.code) {
			t.Errorf("%s: %v", c.code, err)
		}
	}
	x := space(t, strings.ReplaceAll(graphs.Smalls[0].Text(1), "%product =", "%y2 ="), 2, nil)
	if _, err := x.Plan(make(search.Trial, len(x.Genes())), kernels.Builtin()); err != nil {
		t.Error(err)
	}
	if slices.Contains(x.Genes(), 0) {
		t.Error("a gene has no value")
	}
}

// BenchmarkPrice is of small changes of the fastest plan of a layer on 8 devices, on one core: another cut of an operation, or another layout of a tensor.
func BenchmarkPrice(b *testing.B) {
	shape := graphs.Transformer{Type: "bfloat16", Layers: 1, Batch: 8, Tokens: 2048, Width: 4096, Inner: 16384, Heads: 32, KeyHeads: 32, Depth: 128}
	x := space(b, shape.Text(), 8, nil)
	changing(b, x)
}

// BenchmarkPriceOfMany is the same of 100 layers on 10,000 devices.
func BenchmarkPriceOfMany(b *testing.B) {
	changing(b, space(b, graphs.Llama70B(100, 1, 4096).Text(), 10_000, func(s *layouts.Settings) { s.Machine.Localities[0].Members[0].Count = 1250 }))
}

func changing(b *testing.B, x *layouts.Space) {
	t, r, genes := x.Prove(1).Trials[0], rand.New(rand.NewPCG(18, 8)), x.Genes()
	x.Price(t)
	for b.Loop() {
		i := 1 + r.IntN(len(genes)-1) // the first is the mesh
		was := t[i]
		t[i] = uint16(r.IntN(genes[i]))
		x.Price(t)
		t[i] = was
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "changes/s")
}

// Operations are planned alike if they are equal in all but names: not with other parameters, other costs in the graph, or where two of their tensors are one.
func TestEqualOperations(t *testing.T) {
	chain := func(op func(i int) string) string {
		s := "tapc 1\n%x0 = tensor float32 [0:2, 0:4, 0:32, 0:32]\n%w = tensor float32 [0:4, 0:4, 0:3, 0:3]\n"
		for i := range 12 {
			s += fmt.Sprintf("%%x%d = tensor float32 [0:2, 0:4, 0:32, 0:32]\n%%op%d = operation %s -> (%%x%d)\n", i+1, i, strings.ReplaceAll(op(i), "IN", fmt.Sprintf("%%x%d", i)), i+1)
		}
		return strings.ReplaceAll(s, "-> (", "-> (result: ")
	}
	conv := func(pad int) string {
		return fmt.Sprintf("op:conv {dilations: [%d, %d], pads: [%d, %d]} (W: %%w, X: IN)", pad, pad, pad, pad)
	}
	for name, c := range map[string]struct {
		op      func(i int) string
		planned int
	}{
		"equal":            {func(int) string { return conv(1) }, 2},
		"other parameters": {func(i int) string { return conv(1 + i%2) }, 3},
		"each its own":     {func(i int) string { return conv(1 + i) }, 0},
		"one tensor twice": {func(i int) string { return []string{"op:add (tensors: [IN, IN])", "op:add (tensors: [IN, %x0])"}[i%2] }, 3},
	} {
		g := chain(c.op)
		if name != "one tensor twice" {
			g = strings.ReplaceAll(g, "result:", "Y:")
		}
		d := space(t, g, 2, nil).Describe()
		want := "12 operations, 10^"
		if c.planned > 0 {
			want = fmt.Sprintf("12 operations, of which %d are planned", c.planned)
		}
		if !strings.Contains(d, want) {
			t.Errorf("%s: %s, expected %s", name, d, want)
		}
	}
}
