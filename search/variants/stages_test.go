package variants_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"tensortapestry.org/tapc/backends/cpu/cputest"
	"tensortapestry.org/tapc/backends/reference"
	"tensortapestry.org/tapc/cost/machine"
	"tensortapestry.org/tapc/dialects/application"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/internal/testkit"
	"tensortapestry.org/tapc/ir/permission"
	"tensortapestry.org/tapc/search"
	"tensortapestry.org/tapc/search/layouts"
	"tensortapestry.org/tapc/search/variants"
)

// layers is a chain of products with functions between: w is the width, b the rows.
func layers(n, b, w int) string {
	var s strings.Builder
	fmt.Fprintf(&s, "tapc 1\n%%x0 = tensor float32 [0:%d, 0:%d]\n", b, w)
	for i := range n {
		fmt.Fprintf(&s, "%%w%d = tensor float32 [0:%d, 0:%d]\n%%h%d = tensor float32 [0:%d, 0:%d]\n%%x%d = tensor float32 [0:%d, 0:%d]\n", i, w, w, i, b, w, i+1, b, w)
		fmt.Fprintf(&s, "%%mul%d = operation op:matmul (X: %%x%d, Y: %%w%d) -> (Z: %%h%d)\n%%act%d = operation op:relu (tensor: %%h%d) -> (result: %%x%d)\n", i, i, i, i, i, i, i+1)
	}
	return s.String()
}

func spaceOn(t testing.TB, source, preset string, devices int64, change func(*layouts.Settings), parts ...string) *variants.Space {
	t.Helper()
	m, err := machine.Preset(preset)
	if err != nil {
		t.Fatal(err)
	}
	s := layouts.Settings{Machine: m, Devices: devices, Objectives: layouts.Objectives, Allow: permission.Reassociate, Parts: parts}
	if change != nil {
		change(&s)
	}
	x, err := variants.New(t.Context(), graph(t, source), kernels.Builtin(), s)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// Where weights are large and rows are few, and memory is not enough for all weights, stages are the fastest plan, as one device after the other reads its own weights and
// next to nothing is sent; where there is memory and work for all, they are not.
func TestStagesAppear(t *testing.T) {
	fast := func(x *variants.Space) (search.Point, string) {
		var known []search.Point
		for _, trial := range x.Prove(2).Trials {
			known = append(known, search.Point{Trial: trial})
		}
		f := search.Run(t.Context(), x, search.Options{Rounds: 20, Trials: 64, Resume: known}).Frontier
		if len(f.Points) == 0 {
			t.Fatal("nothing fits")
		}
		p := f.Points[f.Best(0)]
		return p, x.Decided(p.Trial)
	}
	// Eight layers of 256 KiB for one row: on two devices of 1.2 MB each, a product that is cut waits longer for its parts than it takes.
	scarce := spaceOn(t, layers(8, 1, 256), "8xh100", 2, func(s *layouts.Settings) { s.MaxMemory = 1.2e6 }, variants.Words...)
	staged, words := fast(scarce)
	if words != "stages: 2" {
		t.Errorf("the fastest plan of small products in scarce memory: %q", words)
	}
	without, _ := fast(spaceOn(t, layers(8, 1, 256), "8xh100", 2, func(s *layouts.Settings) { s.MaxMemory = 1.2e6 }, layouts.Words...))
	if staged.Price.Costs[0] >= without.Price.Costs[0] {
		t.Errorf("with stages %v, without %v", staged.Price.Costs, without.Price.Costs)
	}
	if _, words := fast(spaceOn(t, layers(2, 8192, 1024), "8xh100", 2, nil, variants.Words...)); words != "" {
		t.Errorf("the fastest plan of large products: %q", words)
	}
}

// What a stage costs, counted by hand: products one after the other, with a row that is sent between, and half of the weights on each device.
func TestStagesByHand(t *testing.T) {
	x := spaceOn(t, layers(2, 1, 1024), "8xh100", 2, nil, variants.Stages)
	var trial search.Trial
	for _, p := range x.Prove(1).Trials {
		if x.Decided(p) == "stages: 2" {
			trial = p
		}
	}
	one := spaceOn(t, layers(2, 1, 1024), "8xh100", 1, nil, variants.Stages)
	costs, alone := x.Price(trial).Costs, one.Price(make(search.Trial, len(one.Genes()))).Costs
	m, err := machine.Preset("8xh100")
	if err != nil {
		t.Fatal(err)
	}
	out, in := m.Layout().Route(0, 1)
	if len(out) != 1 || len(in) != 1 {
		t.Fatal(out, in)
	}
	sent := out[0].Link.Latency.Value + 4096/out[0].Link.Bandwidth.Value
	if want := alone[0] + sent; costs[0] < want*(1-1e-9) || costs[0] > want*(1+1e-9) {
		t.Errorf("time %v, expected %v", costs[0], want)
	}
	// The first holds x0, w0 and h0; the second w1 and two rows at a time.
	if want := float64(4096*1024 + 2*4096); costs[1] != want {
		t.Errorf("memory %v, expected %v", costs[1], want)
	}
	if want := 4096.0 / 2; costs[2] != want {
		t.Errorf("sent %v, expected %v", costs[2], want)
	}
	walked, err := x.Walk(trial)
	if err != nil || walked.Time < costs[0]*(1-1e-9) || walked.Time > costs[0]*(1+1e-9) || walked.Memory != costs[1] {
		t.Errorf("%v: %+v, expected %v", err, walked, costs)
	}
}

// Plans with stages are carried out, on the devices of their stages, and give the values of the graph that is not cut. Some are built and run.
func TestStagedValues(t *testing.T) {
	execute := cputest.Executes(cputest.Compiler(t), "native", nil)(nil)
	turn, plans := testkit.Turns(t, 4), 0
	for _, c := range []struct {
		source  string
		devices int
	}{{layers(4, 4, 16), 4}, {layers(3, 8, 8), 2}, {mask(16), 4}, {chain(8, 1), 2}} {
		x := spaceOn(t, c.source, "8xh100", int64(c.devices), nil, layouts.Tensors, layouts.Leaves, variants.Choices, variants.Stages, variants.Recompute)
		whole, r := evaluate(t, first(t, c.source)), rand.New(rand.NewPCG(19, 3))
		tries := 60
		if testkit.Full() {
			tries = 600
		}
		for i := range tries {
			trial := make(search.Trial, len(x.Genes()))
			for i, n := range x.Genes() {
				trial[i] = uint16(r.IntN(n))
			}
			if x.Price(trial).Beyond > 0 || !strings.Contains(x.Decided(trial), "stages") || !turn() {
				continue
			}
			plan, err := x.Plan(trial, kernels.Builtin())
			if err != nil {
				t.Fatal(err)
			}
			program := carried(t, c.source, plan, c.devices, 0)
			result := evaluate(t, program)
			if plans++; plans%16 == 1 {
				for name, got := range execute(t, program, inputs(t, program)) {
					if err := reference.CompareSums(name, whole[name], got, 64, 8); err != nil {
						t.Errorf("plan %d: %v", i, err)
					}
				}
			}
			for name, want := range whole {
				if string(want.Data) != string(result[name].Data) {
					t.Errorf("plan %d: other bits of %s", i, name)
				}
			}
		}
	}
	t.Logf("%d plans", plans)
	if plans < 8 || testkit.Full() && plans < 1000 {
		t.Errorf("only %d plans", plans)
	}
}

// Variants of many meshes and of one have other mutators, and are searched together.
func TestStagesOfManyMeshes(t *testing.T) {
	x := spaceOn(t, layers(4, 4, 64), "16x8xh100", 16, nil, variants.Words...)
	s := search.Run(t.Context(), x, search.Options{Rounds: 30, Trials: 64, Bare: true})
	used := map[string]int{}
	for _, r := range s.Rates {
		used[r.Mutator.Name] = r.Used
	}
	if used["mesh"] == 0 || used["stage"] == 0 || used["carry"] == 0 {
		t.Errorf("used %v", used)
	}
}

// A schedule has the weights of each stage on the devices of that stage alone.
func TestStagesHoldTheirOwn(t *testing.T) {
	source := layers(4, 4, 16)
	x := spaceOn(t, source, "8xh100", 4, nil, variants.Stages)
	trial := make(search.Trial, len(x.Genes()))
	trial[0] = 2 // four stages of one device
	plan, err := x.Plan(trial, kernels.Builtin())
	if err != nil || len(plan.Place) != 8 || plan.Mesh[0].Size != 4 {
		t.Fatalf("%v: %+v", err, plan)
	}
	g := carried(t, source, plan, 4, 0)
	for n := range g.Nodes() {
		if k, ok := n.Body.(*schedule.Kernel); ok {
			app := g.Node(k.Applications[0])
			name := g.Node(app.Body.(*application.Application).Operation).Label
			device := g.Node(k.Device).Body.(*schedule.Device).Number
			if want := int64(name[3] - '0'); name[:3] == "mul" && device != want {
				t.Errorf("%s is on device %d", name, device)
			}
		}
	}
}
