package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"tensortapestry.org/tapc/backends/cuda"
	"tensortapestry.org/tapc/cost/machine"
	"tensortapestry.org/tapc/cost/price"
	"tensortapestry.org/tapc/cost/reshard"
	"tensortapestry.org/tapc/cost/sharded"
	"tensortapestry.org/tapc/dialects"
	"tensortapestry.org/tapc/dialects/application/planfile"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/ir/permission"
	"tensortapestry.org/tapc/ir/text"
	"tensortapestry.org/tapc/passes/apply"
	"tensortapestry.org/tapc/passes/pipeline"
	"tensortapestry.org/tapc/passes/propagate"
	"tensortapestry.org/tapc/passes/recompute"
	"tensortapestry.org/tapc/passes/split"
	"tensortapestry.org/tapc/passes/standard"
	"tensortapestry.org/tapc/passes/tile"
	"tensortapestry.org/tapc/search"
	"tensortapestry.org/tapc/search/layouts"
	"tensortapestry.org/tapc/search/variants"
	"tensortapestry.org/tapc/tools/bench/search/graphs"
)

// compiledGraph is a graph whose plans are compiled.
type compiledGraph struct {
	name, text string
	devices    int64
}

// compiledGraphs are the small graphs, large enough that more than latencies counts, and parts of networks in which operations follow products.
func compiledGraphs() (list []compiledGraph) {
	for _, c := range graphs.Smalls {
		if !strings.Contains(c.Space, variants.Stages) && c.Devices == 2 {
			list = append(list, compiledGraph{strings.TrimSuffix(c.Name, ", 3 objectives"), c.Text(scale), c.Devices})
		}
	}
	return append(list, compiledGraph{"products with functions, 4 devices", chain(3, 2048), 4})
}

// chain is products with a bias, a function and a sum behind each.
func chain(n, width int) string {
	var s strings.Builder
	fmt.Fprintf(&s, "tapc 1\n%%x0 = tensor float32 [0:%d, 0:%d]\n", width, width)
	for i := range n {
		for _, name := range []string{"h", "a", "f", "x"} {
			at := i
			if name == "x" {
				at++
			}
			fmt.Fprintf(&s, "%%%s%d = tensor float32 [0:%d, 0:%d]\n", name, at, width, width)
		}
		fmt.Fprintf(&s, "%%w%d = tensor float32 [0:%d, 0:%d]\n%%b%d = tensor float32 [0:1, 0:%d]\n", i, width, width, i, width)
		fmt.Fprintf(&s, "%%mul%d = operation op:matmul (X: %%x%d, Y: %%w%d) -> (Z: %%h%d)\n%%bias%d = operation op:add (tensors: [%%h%d, %%b%d]) -> (result: %%a%d)\n", i, i, i, i, i, i, i, i)
		fmt.Fprintf(&s, "%%act%d = operation op:gelu (tensor: %%a%d) -> (result: %%f%d)\n%%sum%d = operation op:add (tensors: [%%f%d, %%x%d]) -> (result: %%x%d)\n", i, i, i, i, i, i, i+1)
	}
	return s.String()
}

// agreement says how near prices of plans are to what the same plans take once they are compiled.
type agreement struct {
	plans  int
	tau    float64 // Kendall's, of all pairs whose compiled times differ by more than a percent
	factor float64 // the geometric mean of how many times one is the other
	most   float64
}

// compiled prices plans in which nothing moves, and compiles each: fused, with configs for the device, walked by cost/simulate. What moves is priced by cost/reshard on both sides.
func compiled(c compiledGraph, most int) (agreement, error) {
	x, err := spaceOf(c.text, c.name, c.devices, 3, []string{layouts.Tensors, layouts.Leaves, layouts.Reduced})
	if err != nil {
		return agreement{}, err
	}
	var trials []search.Trial
	still := func(t search.Trial) bool { p := x.Price(t); return p.Beyond == 0 && p.Costs[2] <= 1 } // nothing moves
	for _, t := range x.Prove(2).Trials {
		if still(t) && len(trials) < most {
			trials = append(trials, t)
		}
	}
	r, mutators := rand.New(rand.NewPCG(19, 4)), x.Mutators()
	for n := 0; len(trials) > 0 && len(trials) < most && n < 100*most; n++ {
		t := slices.Clone(trials[r.IntN(len(trials))])
		if mutators[r.IntN(len(mutators))].Mutate(r, t) && still(t) && !slices.ContainsFunc(trials, func(u search.Trial) bool { return slices.Equal(t, u) }) {
			trials = append(trials, t)
		}
	}
	var priced, took []float64
	for _, t := range trials {
		plan, err := x.Plan(t, kernels.Builtin())
		if err != nil {
			return agreement{}, err
		}
		if len(plan.Cuts) > 0 { // layouts alone are laid over the mesh here
			continue
		}
		s, err := simulated(c, plan)
		if err != nil {
			return agreement{}, err
		}
		priced, took = append(priced, x.Price(t).Costs[0]), append(took, s)
	}
	return agree(priced, took), nil
}

// simulated is the time of a plan that is carried out, compiled for a GPU and walked.
func simulated(c compiledGraph, plan *planfile.Plan) (float64, error) {
	g, err := text.Read([]byte(c.text), c.name, dialects.Registry())
	if err != nil {
		return 0, err
	}
	m, err := machine.Preset("8xh100")
	if err != nil {
		return 0, err
	}
	lib, chooser := kernels.Builtin(), []tile.Chooser{cuda.Backend().Configs}
	if _, err := recompute.Run(g, recompute.Requests(plan)); err != nil {
		return 0, err
	}
	_, r, err := propagate.Run(g, plan, propagate.Settings{Library: lib, Allow: permission.Reassociate, Split: split.One, Machine: m, Kind: "cuda"})
	if err != nil {
		return 0, err
	}
	apply.Run(g)
	table := standard.Table(lib, chooser...)
	p, err := pipeline.ParsePipeline("lower{target=cuda, allow=reassociate},fuse,layout,tile,memory", table)
	if err != nil {
		return 0, err
	}
	out, err := (&pipeline.Runner{}).Run(context.Background(), p, g)
	if err != nil {
		return 0, err
	}
	list, err := price.Program(out.Graph, m, price.Settings{Targets: standard.Priced(chooser)})
	if err != nil {
		return 0, err
	}
	place, err := reshard.On(m, "cuda", plan.Mesh)
	if err != nil {
		return 0, err
	}
	report, err := sharded.Of(m.Name, out.Graph, r, list, place)
	if err != nil {
		return 0, err
	}
	return report.Result.Seconds, nil
}

func agree(priced, took []float64) (a agreement) {
	a.plans = len(took)
	same, pairs, logs := 0, 0, 0.0
	for i := range took {
		f := math.Abs(math.Log(priced[i] / took[i]))
		logs, a.most = logs+f, max(a.most, math.Exp(f))
		for k := range i {
			if d := math.Log(took[i] / took[k]); math.Abs(d) > 0.01 {
				pairs++
				if d*math.Log(priced[i]/priced[k]) > 0 {
					same++
				}
			}
		}
	}
	a.factor = math.Exp(logs / float64(len(took)))
	if a.tau = 1; pairs > 0 {
		a.tau = 2*float64(same)/float64(pairs) - 1
	}
	return a
}

// compiledTable writes how prices and compiled programs agree.
func compiledTable(to io.Writer, only string) error {
	fmt.Fprintln(to, "| graph | plans | Kendall's tau | geometric mean of the factor | at most |")
	fmt.Fprintln(to, "|---|---:|---:|---:|---:|")
	for _, c := range compiledGraphs() {
		if !strings.Contains(c.name, only) {
			continue
		}
		a, err := compiled(c, 12)
		if err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
		fmt.Fprintf(to, "| %s | %d | %.3f | %.3f | %.2f |\n", c.name, a.plans, a.tau, a.factor, a.most)
	}
	return nil
}
