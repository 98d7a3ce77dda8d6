package layouts

import (
	"math"
	"slices"
	"strings"
	"testing"

	"tensortapestry.org/tapc/cost/machine"
	"tensortapestry.org/tapc/dialects"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/ir/permission"
	"tensortapestry.org/tapc/ir/text"
	"tensortapestry.org/tapc/search"
	"tensortapestry.org/tapc/search/meshes"
	"tensortapestry.org/tapc/tools/bench/search/graphs"
)

// layer is one of a transformer, on 8 GPUs.
var layer = graphs.Transformer{Type: "bfloat16", Layers: 1, Batch: 1, Tokens: 2048, Width: 4096, Inner: 16384, Heads: 32, KeyHeads: 32, Depth: 128}

func layerSpace(t *testing.T, memory float64) *Space {
	t.Helper()
	return layerOn(t, "8xh100", memory)
}

func layerOn(t *testing.T, preset string, memory float64) *Space {
	t.Helper()
	g, err := text.Read([]byte(layer.Text()), "g.tap", dialects.Registry())
	if err != nil {
		t.Fatal(err)
	}
	m, err := machine.Preset(preset)
	if err != nil {
		t.Fatal(err)
	}
	x, err := New(g, kernels.Builtin(), Settings{Machine: m, Devices: 8, Objectives: Objectives, Allow: permission.Reassociate, Parts: Words, MaxMemory: memory})
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// tensorParallel is the plan of M. Shoeybi and others, "Megatron-LM", 2019: heads in 8 parts, the first product of the inner layer by columns and
// the second by rows, and an all-reduce behind each; all else whole on each device.
func tensorParallel(t *testing.T, x *Space) search.Trial { return megatron.trial(t, x) }

// The plan that is known for a transformer's layer is in the space, what it sends, holds and takes is what is counted here by hand, and what is found is no slower.
func TestKnownPlan(t *testing.T) {
	x := layerSpace(t, 0)
	known := tensorParallel(t, x)
	p := x.plan(known)
	tokens, width, inner := 2048.0, 4096.0, 16384.0
	stream := tokens * width * 2                                // bytes of the residual stream
	if want := 2 * (2 + 1) * stream * 7 / 8; p.sent() != want { // two reduce-scatters of float32, and two all-gathers of what is rounded, as rings
		t.Errorf("a device sends %v, counted %v", p.sent(), want)
	}
	weights := 2*(4*width*width+2*width*inner)/8 + 2*2*width // and the scales of two normalizations, whole
	// The most lives while the second product runs: the stream, a part of its operand, its result, and the sums of float32 that it is rounded from. Inputs stay.
	inside := tokens * inner / 8 * 2
	if want := weights + stream + stream + inside + stream + 2*stream; math.Abs(p.memory()-want) > 1e-9*want {
		t.Errorf("a device holds %v, counted %v", p.memory(), want)
	}
	reduces := 2 * (3*stream*7/8/360e9 + 2*3*3e-6) // as trees or rings: between 6 and 14 steps of 3 us
	products := 2 * tokens * (4*width*width + 2*width*inner) / 8 / (0.803 * 989e12)
	whole := 12 * 3e-6                      // each operation begins
	passes := (2 + 2) * 3 * stream / 3350e9 // norms and sums read and write the stream, whole on each device
	least := products + whole + passes/2
	if moved := p.time() - operations(&p); moved < reduces*0.8 || moved > reduces*1.6 {
		t.Errorf("its all-reduces take %.3g s, counted %.3g s", moved, reduces)
	}
	if all := operations(&p); all < least || all > 2.5*least {
		t.Errorf("its operations take %.3g s, counted at least %.3g s", all, least)
	}
	proof := x.Prove(2)
	if !proof.Exact || proof.Bounds[0] > p.time() {
		t.Errorf("the optimum is %.4g s, the known plan takes %.4g s", proof.Bounds[0], p.time())
	}
	// The layer's operations follow each other but for the three projections, whose moves may travel beside them: the simulator agrees with the sum, and on the order.
	walked, err := Walk(x, known)
	fastest, err2 := Walk(x, proof.Trials[0])
	if err != nil || err2 != nil {
		t.Fatal(err, err2)
	}
	if walked.Time > p.time()*(1+1e-9) || walked.Time < operations(&p)*(1-1e-9) || math.Abs(walked.Memory/p.memory()-1) > 0.2 {
		t.Errorf("it is simulated to take %v s and %v bytes, and priced %v and %v", walked.Time, walked.Memory, p.time(), p.memory())
	}
	if fastest.Time > walked.Time {
		t.Errorf("the optimum is simulated to take %v s, the known plan %v", fastest.Time, walked.Time)
	}
	var from []search.Point
	for _, trial := range proof.Trials {
		from = append(from, search.Point{Trial: trial})
	}
	if s := search.Run(t.Context(), x, search.Options{Rounds: 20, Workers: 2, Resume: from, Near: 0.002}); len(s.Frontier.Points) < 8 {
		t.Errorf("20 rounds find %d points", len(s.Frontier.Points))
	}
	t.Logf("known %.4g s, optimum %.4g s", p.time(), proof.Bounds[0])
}

// operations is the time of a plan without moves.
func operations(p *plan) (sum float64) {
	for i, o := range p.tables.space.ops {
		sum += o.count * p.tables.time[i][p.cuts[i]]
	}
	for i := range p.tables.space.tensors {
		if p.joined(i) {
			sum -= p.saved(i)
		}
	}
	return sum
}

// Where memory is scarce, what is found keeps the residual stream cut along tokens between the products, as V. Korthikanti and others' "Reducing Activation
// Recomputation in Large Transformer Models", 2022, do, and weights in 8 parts; with memory enough the fastest plan keeps more of them.
func TestScarceMemory(t *testing.T) {
	free := layerSpace(t, 0)
	known := tensorParallel(t, free)
	whole := free.plan(known)
	x := layerSpace(t, 0.9*whole.memory())
	if x.Price(known).Beyond <= 0 {
		t.Fatal("the plan that keeps the stream whole fits")
	}
	var from []search.Point
	for _, p := range x.Prove(2).Trials {
		from = append(from, search.Point{Trial: p})
	}
	s := search.Run(t.Context(), x, search.Options{Rounds: 30, Workers: 2, Resume: from})
	if len(s.Frontier.Points) == 0 {
		t.Fatal("no plan was found")
	}
	fast := s.Frontier.Points[s.Frontier.Best(0)]
	p := x.plan(fast.Trial)
	if p.memory() > 0.9*whole.memory() {
		t.Errorf("it holds %v, at most %v", p.memory(), 0.9*whole.memory())
	}
	streams := 0
	for i, y := range x.tensors {
		cut := meshes.Parts(p.tables.mesh, y.keeps[p.keeps[i]], len(y.extents))
		if strings.Contains(y.name, `"mid_0"`) {
			if streams++; cut[1] < 2 {
				t.Errorf("%s is kept in %v parts", y.name, cut)
			}
		}
	}
	if streams != 1 {
		t.Errorf("%d streams", streams)
	}
	if scarce, enough := p.time(), free.Prove(2).Bounds[0]; scarce <= enough {
		t.Errorf("it takes %.4g s, and %.4g s with memory enough", scarce, enough)
	}
}

// A chain is simulated to take what it is priced, and hold what the prices say; of two chains, the moves of one travel while the other computes.
func TestWalk(t *testing.T) {
	chain := func(name string) string {
		return strings.ReplaceAll("%xN = tensor float32 [0:4096, 0:4096]\n%yN = tensor float32 [0:4096, 0:4096]\n%zN = tensor float32 [0:4096, 0:4096]\n"+
			"%aN = operation op:softmax {dims: [1]} (tensor: %xN) -> (result: %yN)\n%bN = operation op:softmax {dims: [0]} (tensor: %yN) -> (result: %zN)\n", "N", name)
	}
	for _, c := range []struct {
		graph    string
		overlaps bool
	}{{"tapc 1\n" + chain("1"), false}, {"tapc 1\n" + chain("1") + strings.ReplaceAll(chain("2"), "4096", "2048"), true}} {
		g, err := text.Read([]byte(c.graph), "g.tap", dialects.Registry())
		if err != nil {
			t.Fatal(err)
		}
		m, _ := machine.Preset("8xh100")
		x, err := New(g, kernels.Builtin(), Settings{Machine: m, Devices: 4, Objectives: Objectives})
		if err != nil {
			t.Fatal(err)
		}
		trial := make(search.Trial, len(x.genes)) // rows, then columns: tensors follow
		for _, o := range x.ops {
			if d := int8(slices.IndexFunc(o.dims, func(d dimension) bool { return d.free })); !set(trial, o.gene, o.cuts, meshes.Assignment{d, d, -1}) {
				t.Fatalf("%s can not be cut so", o.name)
			}
		}
		p := x.plan(trial)
		w, err := Walk(x, trial)
		if err != nil {
			t.Fatal(err)
		}
		if shorter := w.Time < p.time()*(1-1e-9); w.Time > p.time()*(1+1e-9) || shorter != c.overlaps || w.Time < operations(&p) {
			t.Errorf("simulated %v s, priced %v, operations %v", w.Time, p.time(), operations(&p))
		}
		if !c.overlaps && math.Abs(w.Memory-p.memory()) > 1e-9*w.Memory {
			t.Errorf("simulated %v bytes, priced %v", w.Memory, p.memory())
		}
	}
}
