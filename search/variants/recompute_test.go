package variants_test

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"tensortapestry.org/tapc/backends/cpu/cputest"
	"tensortapestry.org/tapc/backends/reference"
	"tensortapestry.org/tapc/dialects"
	"tensortapestry.org/tapc/dialects/application/planfile"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/dialects/tensorops/feed"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/permission"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/tensorfile"
	"tensortapestry.org/tapc/ir/text"
	"tensortapestry.org/tapc/passes/choose"
	"tensortapestry.org/tapc/passes/pipeline"
	"tensortapestry.org/tapc/passes/rewrite"
	"tensortapestry.org/tapc/passes/standard"
	"tensortapestry.org/tapc/search"
	"tensortapestry.org/tapc/search/layouts"
	"tensortapestry.org/tapc/search/variants"
)

// mask is a graph of n rows in which a large tensor, an outer product of two small ones that goes through a function, is read at the beginning and at the end; in the
// middle three as large are held.
func mask(n int) string {
	return strings.ReplaceAll(`tapc 1
%a = tensor float32 [0:N, 0:1]
%b = tensor float32 [0:1, 0:N]
%x = tensor float32 [0:N, 0:64]
%w = tensor float32 [0:64, 0:N]
%v = tensor float32 [0:N, 0:64]
%u = tensor float32 [0:64, 0:N]
%outer = tensor float32 [0:N, 0:N]
%mask = tensor float32 [0:N, 0:N]
%s = tensor float32 [0:N, 0:N]
%m = tensor float32 [0:N, 0:N]
%p = tensor float32 [0:N, 0:N]
%h = tensor float32 [0:N, 0:64]
%t = tensor float32 [0:N, 0:N]
%y = tensor float32 [0:N, 0:N]
%cross = operation op:mul (tensors: [%a, %b]) -> (result: %outer)
%make = operation op:tanh (tensor: %outer) -> (result: %mask)
%score = operation op:matmul (X: %x, Y: %w) -> (Z: %s)
%first = operation op:add (tensors: [%s, %mask]) -> (result: %m)
%gate = operation op:mul (tensors: [%s, %m]) -> (result: %p)
%mix = operation op:matmul (X: %p, Y: %v) -> (Z: %h)
%again = operation op:matmul (X: %h, Y: %u) -> (Z: %t)
%second = operation op:add (tensors: [%t, %mask]) -> (result: %y)
`, "N", fmt.Sprint(n))
}

func graph(t testing.TB, source string) *ir.Graph {
	t.Helper()
	g, err := text.Read([]byte(source), "g.tap", dialects.Registry())
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// Where memory is scarce a tensor is computed again that is cheap to compute and large to keep, with what it is computed from, and where it is not, the fastest plan keeps
// it. What is written is carried out, with the same bits, in less memory.
func TestRecomputationAppears(t *testing.T) {
	cheap := recomputed(t, mask(2048))
	if words := cheap.Decided(cheap.fast); words != "mask: recomputed" { // in the kernels of its readers, which store and load less
		t.Errorf("the fastest plan, where a mask is cheap: %q", words)
	}
	x := recomputed(t, strings.ReplaceAll(mask(2048), "op:tanh", "op:atan"))
	fast, lean := x.fast, x.lean
	if words := x.Decided(fast); words != "" {
		t.Errorf("the fastest plan: %s", words)
	}
	if words := x.Decided(lean); words != "mask: recomputed" {
		t.Errorf("the plan of least memory: %q", words)
	}
	plan, err := x.Plan(lean, kernels.Builtin())
	if err != nil {
		t.Fatal(err)
	}
	if len(plan.Recompute) != 2 || plan.Recompute[0].Tensor != "mask" || plan.Recompute[1].Tensor != "outer" {
		t.Errorf("%+v", plan.Recompute)
	}
	kept, err := x.Plan(fast, kernels.Builtin())
	if err != nil || len(kept.Recompute) != 0 {
		t.Errorf("%v: %+v", err, kept.Recompute)
	}
}

// found is a space with its fastest plan and that of least memory.
type found struct {
	*variants.Space
	fast, lean search.Trial
}

func recomputed(t *testing.T, source string) found {
	x, err := space(t, source, variants.Recompute)
	if err != nil {
		t.Fatal(err)
	}
	var known []search.Point
	for _, trial := range x.Prove(1).Trials {
		known = append(known, search.Point{Trial: trial})
	}
	f := search.Run(t.Context(), x, search.Options{Rounds: 20, Trials: 64, Resume: known}).Frontier
	return found{x, f.Points[f.Best(0)].Trial, f.Points[f.Best(1)].Trial}
}

// What would not spare memory is not offered: readers that follow each other, little held between them, something larger to be kept instead, an output, a tensor without
// a label of its own.
func TestWhatIsWorthComputingAgain(t *testing.T) {
	long, declared, from := "", "", "%outer"
	for i := range 7 { // so many are not computed again together
		declared += fmt.Sprintf("%%c%d = tensor float32 [0:256, 0:256]\n", i)
		long += fmt.Sprintf("%%step%d = operation op:neg (tensor: %s) -> (result: %%c%d)\n", i, from, i)
		from = fmt.Sprintf("%%c%d", i)
	}
	for name, change := range map[string]*strings.Replacer{
		"readers follow each other": strings.NewReplacer("%second = operation op:add (tensors: [%t, %mask])", "%second = operation op:add (tensors: [%t, %t])",
			"%gate = operation op:mul (tensors: [%s, %m])", "%gate = operation op:mul (tensors: [%m, %mask])"),
		"much is kept for it": strings.NewReplacer("%cross =", declared+"%cross =", "%make = operation op:tanh (tensor: %outer)", long+"%make = operation op:tanh (tensor: "+from+")"),
		"an output":           strings.NewReplacer("%second =", "%out = operation op:export (tensors: [%mask])\n%second ="),
		"without a label":     strings.NewReplacer("%mask", "%9"),
	} {
		x, err := space(t, change.Replace(mask(256)), variants.Recompute)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if d := x.Describe(); strings.Contains(d, "variants") {
			t.Errorf("%s: %s", name, d)
		}
	}
	x, err := space(t, mask(256), variants.Recompute)
	if err != nil || !strings.Contains(x.Describe(), "2 variants of the graph, by 1 decision") {
		t.Errorf("%v: %s", err, x.Describe())
	}
	without, err := space(t, mask(256), variants.Choices)
	if err != nil || !strings.HasSuffix(without.Describe(), "1 shared tensor kept") || without.Digest() == x.Digest() {
		t.Errorf("%v: %s", err, without.Describe())
	}
}

// masked is so many layers, each of which makes a mask of its own and reads it at the beginning and at the end.
func masked(layers, n int) string {
	lines := strings.SplitAfter(mask(n), "\n")
	out := lines[0] + fmt.Sprintf("%%x_0 = tensor float32 [0:%d, 0:64]\n", n)
	for l := range layers {
		for _, line := range lines[1:] {
			if strings.HasPrefix(line, "%x =") {
				line = fmt.Sprintf("%%x_%d = tensor float32 [0:%d, 0:64]\n%%z = tensor float32 [0:%d, 0:64]\n", l+1, n, n)
			}
			line = strings.ReplaceAll(line, "%x,", fmt.Sprintf("%%x_%d,", l))
			for _, name := range strings.Fields("a b z w v u outer mask s m p h t y cross make score first gate mix again second") {
				line = regexp.MustCompile("%"+name+`\b`).ReplaceAllString(line, fmt.Sprintf("%%%s_%d", name, l))
			}
			out += line
		}
		out += fmt.Sprintf("%%last_%d = operation op:matmul (X: %%y_%d, Y: %%z_%d) -> (Z: %%x_%d)\n", l, l, l, l+1)
	}
	return out
}

// What layers that repeat compute again is one decision, and all but the beginning of the first are planned once in all variants. What one layer spares is not offered where the others hold as much.
func TestRecomputationInLayers(t *testing.T) {
	x, err := space(t, masked(6, 256), variants.Recompute)
	if err != nil {
		t.Fatal(err)
	}
	if d := x.Describe(); !strings.Contains(d, "54 operations, of which 12 are planned and the others alike") || !strings.Contains(d, "2 variants of the graph, by 1 decision") {
		t.Error(d)
	}
	least := map[string]float64{"": math.Inf(1)}
	for _, trial := range x.Prove(1).Trials {
		memory, words := x.Price(trial).Costs[1], x.Decided(trial)
		if least[words] == 0 || memory < least[words] {
			least[words] = memory
		}
		plan, err := x.Plan(trial, kernels.Builtin())
		if err != nil {
			t.Fatal(err)
		}
		if n := len(plan.Recompute); n != 0 && n != 12 {
			t.Errorf("%d tensors are computed again, expected two of each layer", n)
		}
	}
	if kept, again := least[""], least["mask_0: recomputed"]; again == 0 || again > 0.95*kept {
		t.Errorf("at least %v bytes, %v where masks are computed again", kept, again)
	}
	outputs := regexp.MustCompile(`(?m)^%make_([1-5]) = .*$`).ReplaceAllString(masked(6, 256), "${0}\n%out_$1 = operation op:export (tensors: [%mask_$1])")
	if x, err = space(t, outputs, variants.Recompute); err != nil || strings.Contains(x.Describe(), "variants") {
		t.Errorf("%v: %s", err, x.Describe())
	}
}

// Plans that compute again are carried out, built and run with the bits of the graph that is not cut.
func TestRecomputedValues(t *testing.T) {
	source := mask(24)
	x, err := space(t, source, layouts.Tensors, layouts.Leaves, variants.Recompute) // no sums are taken in another order
	if err != nil {
		t.Fatal(err)
	}
	execute := cputest.Executes(cputest.Compiler(t), "native", nil)(nil)
	whole, r, again := evaluate(t, graph(t, source)), rand.New(rand.NewPCG(19, 2)), 0
	for i := range 40 {
		trial := make(search.Trial, len(x.Genes()))
		for i, n := range x.Genes() {
			trial[i] = uint16(r.IntN(n))
		}
		trial[0] = uint16(i % 2)
		if x.Price(trial).Beyond > 0 {
			continue
		}
		plan, err := x.Plan(trial, kernels.Builtin())
		if err != nil {
			t.Fatal(err)
		}
		program := carried(t, source, plan, 2, 0)
		results := []map[string]tensorfile.Tensor{evaluate(t, program)}
		if len(plan.Recompute) > 0 {
			if again++; again == 1 {
				results = append(results, execute(t, program, inputs(t, program)))
			}
		}
		for k, result := range results {
			for name, want := range whole {
				if k == 0 && !bytes.Equal(want.Data, result[name].Data) {
					t.Errorf("plan %d: other bits of %s", i, name)
				}
				if err := reference.CompareSums(name, want, result[name], 64, 8); err != nil {
					t.Errorf("plan %d: %v", i, err)
				}
			}
		}
	}
	if again < 5 {
		t.Errorf("only %d plans compute something again", again)
	}
}

// first is a graph whose choices take their first branch.
func first(t *testing.T, source string) *ir.Graph {
	t.Helper()
	g := graph(t, source)
	picks := map[ir.NodeID]int{}
	choose.First(g, picks)
	if _, err := choose.Run(t.Context(), g, picks, rewrite.Options{Library: kernels.Builtin()}); err != nil {
		t.Fatal(err)
	}
	return g
}

// carried carries a plan out, from its file, as tapc build --plan does but without some passes, and verifies what comes of it.
func carried(t *testing.T, source string, plan *planfile.Plan, devices int, allow permission.Set, without ...string) *ir.Graph {
	t.Helper()
	var b bytes.Buffer
	if err := planfile.Write(&b, plan); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "plan.json")
	if err := os.WriteFile(name, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	table := standard.Table(kernels.Builtin())
	facts := map[pipeline.Fact][]string{pipeline.Plans: {name}, pipeline.Devices: {fmt.Sprint(devices)}, pipeline.Permissions: {allow.String()}}
	if len(plan.Place) > 0 {
		facts[pipeline.Places] = []string{name}
	}
	p, err := pipeline.ParsePipeline(table.Standard(pipeline.Request{Last: pipeline.ScheduledKernels, Facts: facts}), table)
	if err != nil {
		t.Fatal(err)
	}
	p.Steps = slices.DeleteFunc(p.Steps, func(s pipeline.Step) bool { return slices.Contains(without, s.Pass.Name) })
	result, err := (&pipeline.Runner{}).Run(t.Context(), p, graph(t, source))
	if err != nil {
		t.Fatalf("%v\n%s", err, &b)
	}
	return result.Graph
}

func evaluate(t *testing.T, g *ir.Graph) map[string]tensorfile.Tensor {
	t.Helper()
	out, err := (&reference.Evaluator{Library: kernels.Builtin()}).Evaluate(t.Context(), g, inputs(t, g))
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
