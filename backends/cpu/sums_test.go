package cpu_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tensortapestry.org/tapc/backends/cpu"
	"tensortapestry.org/tapc/backends/cpu/cputest"
	"tensortapestry.org/tapc/backends/cpu/toolchain"
	"tensortapestry.org/tapc/dialects/application/cut"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/internal/testkit"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/tensorfile"
	"tensortapestry.org/tapc/passes/lower"
	"tensortapestry.org/tapc/passes/shard"
	"tensortapestry.org/tapc/passes/standard"
)

// sumCases makes operations whose results are float sums, each under a label of its own, in one graph.
type sumCases struct {
	graph         string
	labels, about []string
	before        []string    // labels of operations whose results others of a case read
	runs          func() bool // says which operations are added; nil is all
}

// add adds an operation: its kernel with parameters, ports with the shapes of inputs, of which those beginning with = are constant, and
// the port and shape of its result. In "a | b", b works on each element of the result of a.
func (c *sumCases) add(kernel string, result string, shape []int64, inputs ...any) {
	if c.runs != nil && !c.runs() {
		return
	}
	n := len(c.labels)
	ports := ""
	for i := 0; i < len(inputs); i += 2 {
		port, constant := inputs[i].(string), false
		if port[0] == '=' {
			port, constant = port[1:], true
		}
		name := input(n, port)
		c.graph += fmt.Sprintf("%%%s = tensor float32 %s\n", name, cputest.Box(inputs[i+1].([]int64)...))
		if constant {
			c.graph += fmt.Sprintf("operation op:constant {file: \"w\", key: \"%s\"} -> (result: %%%s)\n", name, name)
		}
		if ports != "" {
			ports += ", "
		}
		ports += fmt.Sprintf("%s: %%%s", port, name)
	}
	label := fmt.Sprintf("op%d", n)
	c.graph += fmt.Sprintf("%%c%d_out = tensor float32 %s\n", n, cputest.Box(shape...))
	called := kernel
	if summed, behind, ok := strings.Cut(kernel, " | "); ok {
		c.graph += fmt.Sprintf("%%c%d_sum = tensor float32 %s\n", n, cputest.Box(shape...))
		c.graph += fmt.Sprintf("%%%s_sum = operation op:%s (%s) -> (%s: %%c%d_sum)\n", label, summed, ports, result, n)
		c.before = append(c.before, label+"_sum")
		kernel, ports, result = behind, fmt.Sprintf("tensor: %%c%d_sum", n), "result"
	}
	c.graph += fmt.Sprintf("%%%s = operation op:%s (%s) -> (%s: %%c%d_out)\n", label, kernel, ports, result, n)
	c.labels, c.about = append(c.labels, label), append(c.about, fmt.Sprint(called, " ", inputs))
}

func dims(d ...int64) []int64 { return d }

// TestShardsKeepBits: operations that are cut along dimensions of their results give the bits of whole ones, with any number of threads, and
// a row alone those that it has among others (docs/numerics.md). Half of the operations that are cut run at a time.
func TestShardsKeepBits(t *testing.T) {
	cc := cputest.Compiler(t)
	seed := uint64(1)
	if testkit.Full() { // other sizes and cuts every day
		seed = testkit.Rotation(t)
	}
	rng := rand.New(rand.NewPCG(seed, 1))
	c := sumCases{runs: testkit.Turns(t, 2)}
	c.products(rng)
	c.convolutions(rng)
	c.folds(rng)
	rows := len(c.labels)
	c.runs = nil
	for _, k := range []int64{31, 260, 4200} {
		c.add("matmul", "Z", dims(70, 40), "X", dims(70, k), "Y", dims(k, 40))
		c.add("matmul", "Z", dims(1, 40), "X", dims(1, k), "Y", dims(k, 40))
	}
	whole, cut := cputest.Operations(t, c.graph), cputest.Operations(t, c.graph)
	counts := cutAll(t, rng, cut, c.parts(rng))
	in := cputest.RandomInputs(t, whole)
	for i := rows; i < len(c.labels); i += 2 {
		in[input(i+1, "X")] = tensorfile.Tensor{DType: in[input(i, "X")].DType, Shape: in[input(i+1, "X")].Shape,
			Data: in[input(i, "X")].Data[:len(in[input(i+1, "X")].Data)]}
		in[input(i+1, "Y")] = in[input(i, "Y")]
	}
	one, many := native(t, cc, whole), native(t, cc, cut)
	want := cputest.Run(t, []string{one}, whole, in, "1")
	for _, threads := range []string{"1", "2", "5"} {
		for what, got := range map[string]map[string]tensorfile.Tensor{"whole": cputest.Run(t, []string{one}, whole, in, threads), "cut": cputest.Run(t, []string{many}, cut, in, threads)} {
			for i, label := range c.labels {
				if out := input(i, "out"); !bytes.Equal(want[out].Data, got[out].Data) {
					t.Errorf("%s, %s by %v and %v, %s threads: other bits than of one piece", c.about[i], what, counts[label+"_sum"], counts[label], threads)
				}
			}
		}
	}
	for i := rows; i < len(c.labels); i += 2 {
		alone := want[input(i+1, "out")].Data
		if !bytes.Equal(alone, want[input(i, "out")].Data[:len(alone)]) {
			t.Errorf("%s: other bits than as one of many rows", c.about[i+1])
		}
	}
}

// parts gives the labels of operations to cut: of two that follow each other either, or both.
func (c *sumCases) parts(rng *rand.Rand) (out []string) {
	for _, label := range c.labels {
		sum := label + "_sum"
		switch which := rng.IntN(3); {
		case !slices.Contains(c.before, sum), which == 0:
			out = append(out, label)
		case which == 1:
			out = append(out, sum)
		default:
			out = append(out, sum, label)
		}
	}
	return out
}

// near gives one of some numbers, or one beside it.
func near(rng *rand.Rand, of ...int64) int64 { return max(1, of[rng.IntN(len(of))]+rng.Int64N(3)-1) }

func (c *sumCases) products(rng *rand.Rand) {
	for i, fold := range [][]int64{{3, 16}, {64, 128}, {256, 512}, {768, 1100}, {4096, 9000}} {
		k := near(rng, fold...)
		m, n := near(rng, 1, 4, 12, 17, 40), near(rng, 1, 16, 33, 70)
		c.add("matmul", "Z", dims(m, n), "X", dims(m, k), []string{"Y", "=Y"}[i%2], dims(k, n))
		c.add("matmul", "Z", dims(1, 64), "X", dims(1, k), "Y", dims(k, 64))
		c.add("matmul", "Z", dims(2, 3, 5), "X", dims(2, 3, k), "Y", dims(2, k, 5))
	}
	for range 2 {
		q, k, d := near(rng, 8, 40), near(rng, 16, 70, 300), near(rng, 8, 64)
		c.add("attention", "Y", dims(1, 2, q, d), "Q", dims(1, 2, q, d), "K", dims(1, 2, k, d), "V", dims(1, 2, k, d))
	}
}

func (c *sumCases) convolutions(rng *rand.Rand) {
	for _, w := range []string{"W", "=W"} {
		ch, f, s := near(rng, 3, 16, 40), near(rng, 4, 16, 64), near(rng, 6, 17)
		c.add("conv {pads: [1, 1]}", "Y", dims(1, f, s, s), "X", dims(1, ch, s, s), w, dims(f, ch, 3, 3))
		c.add("conv {pads: [1]}", "Y", dims(2, f, s), "X", dims(2, ch, s), w, dims(f, ch, 3))
		c.add("conv {groups: 2}", "Y", dims(1, 2*f, s, s), "X", dims(1, 2*ch, s+2, s+2), w, dims(2*f, ch, 3, 3))
		c.add(fmt.Sprintf("conv {groups: %d, pads: [1, 1]}", ch), "Y", dims(1, ch, s, s), "X", dims(1, ch, s, s), w, dims(ch, 1, 3, 3))
		c.add("conv", "Y", dims(1, f, 4, 4, 5), "X", dims(1, ch, 5, 5, 6), w, dims(f, ch, 2, 2, 2))
		behind := map[string]string{"W": " | sigmoid", "=W": " | relu"}[w]
		n := near(rng, 1, 2)
		c.add("conv {pads: [1, 1]}"+behind, "Y", dims(n, f, s, s), "X", dims(n, ch, s, s), w, dims(f, ch, 3, 3))
		c.add("conv"+behind, "Y", dims(n, f, s, s), "X", dims(n, ch, s+1, s+2), w, dims(f, ch, 2, 3))
		c.add("conv {strides: [2, 2]}"+behind, "Y", dims(n, f, s, s), "X", dims(n, ch, 2*s+1, 2*s+1), w, dims(f, ch, 3, 3))
		c.add("conv {groups: 2}"+behind, "Y", dims(1, 2*f, s, s), "X", dims(1, 2*ch, s+2, s+2), w, dims(2*f, ch, 3, 3))
		c.add("conv {dilations: [2]}"+behind, "Y", dims(2, f, s), "X", dims(2, ch, s+4), w, dims(f, ch, 3))
		few := 1 + rng.Int64N(3) // filters in a group
		c.add("conv {pads: [1, 1]}"+behind, "Y", dims(n, few, s, s), "X", dims(n, ch, s, s), w, dims(few, ch, 3, 3))
		c.add("conv"+behind, "Y", dims(n, few, s, s), "X", dims(n, ch, s, s), w, dims(few, ch, 1, 1))
		c.add("conv {strides: [2, 2]}"+behind, "Y", dims(n, few, s, s), "X", dims(n, ch, 2*s, 2*s), w, dims(few, ch, 2, 2))
		c.add("conv {groups: 2}"+behind, "Y", dims(1, 2*few, s, s), "X", dims(1, 2*ch, s+2, s+2), w, dims(2*few, ch, 3, 3))
		c.add("conv {dilations: [2]}"+behind, "Y", dims(2, few, s), "X", dims(2, ch, s+4), w, dims(few, ch, 3))
		c.add(fmt.Sprintf("conv {groups: %d}", ch)+behind, "Y", dims(n, ch, s, s), "X", dims(n, ch, s+2, s+2), w, dims(ch, 1, 3, 3))
	}
}

func (c *sumCases) folds(rng *rand.Rand) {
	for _, fold := range [][]int64{{2, 16}, {64, 128}, {1000, 4096}} {
		a, b, k := near(rng, 1, 4, 16), near(rng, 1, 3, 16), near(rng, fold...)
		c.add("sum {dims: [1]}", "result", dims(a, b), "tensor", dims(a, k, b))
		c.add("sum {dims: [2]}", "result", dims(a, b), "tensor", dims(a, b, k))
		c.add("sum {dims: [0]}", "result", dims(a, b), "tensor", dims(k, a, b))
		c.add("softmax {dims: [1]}", "result", dims(a, k), "tensor", dims(a, k))
		c.add("softmax {dims: [0]}", "result", dims(k, b), "tensor", dims(k, b))
		c.add("layer_norm", "Y", dims(a, b, k), "X", dims(a, b, k))
	}
}

// input is the name of a tensor of a case.
func input(number int, port string) string { return fmt.Sprintf("c%d_%s", number, port) }

// cutAll cuts each operation into a random grid, and gives the parts along each dimension.
func cutAll(t *testing.T, rng *rand.Rand, g *ir.Graph, labels []string) map[string][]int64 {
	t.Helper()
	var requests []shard.Request
	all := map[string][]int64{}
	nodes := map[string]*ir.Node{}
	for n := range g.Nodes() {
		nodes[n.Label] = n
	}
	for _, label := range labels {
		if err := cut.Sign(g, kernels.Builtin(), nodes[label]); err != nil {
			t.Fatal(err)
		}
		for _, extent := range tensorops.IndexOf(nodes[label]).Range.Shape() {
			all[label] = append(all[label], 1+rng.Int64N(min(extent, 3)))
		}
		requests = append(requests, shard.Request{Target: label, Cut: cut.Grid(all[label]...)})
	}
	if _, err := shard.Run(g, kernels.Builtin(), requests); err != nil {
		t.Fatal(err)
	}
	return all
}

// native builds a graph as tapc build does.
func native(t *testing.T, cc *toolchain.Compiler, g *ir.Graph) string {
	t.Helper()
	if err := standard.Run(g, kernels.Builtin(), lower.Options{}, cpu.Choosers()...); err != nil {
		t.Fatal(err)
	}
	src, err := cpu.Prepare(g, "test", "test")
	if err != nil {
		t.Fatal(err)
	}
	exe := filepath.Join(t.TempDir(), "program")
	if err := cpu.Build(context.Background(), cc, src, func(c tensorops.Const) (tensorfile.Tensor, error) {
		return cputest.RandomConstant(c, tensorops.TensorOf(g, c.Tensor))
	}, exe, cpu.Options{Version: "test", CPU: "native"}); err != nil {
		t.Fatal(err)
	}
	return exe
}

// TestSumTree holds sums of products to the tree that docs/numerics.md describes: a row alone, whose matrix is read where it stands, and many
// rows; with vectors of two widths. Products of the numbers are exact, so that it is the same whether they are fused with the sum.
func TestSumTree(t *testing.T) {
	cc := cputest.Compiler(t)
	const cols = 20
	var c sumCases
	lengths := []int64{1, 63, 65, 256, 257, 300, 769, 1100, 4096, 4097, 9000}
	for _, k := range lengths {
		c.add("matmul", "Z", dims(1, cols), "X", dims(1, k), "Y", dims(k, cols))
		c.add("matmul", "Z", dims(26, cols), "X", dims(26, k), "Y", dims(k, cols))
	}
	g := cputest.Scheduled(t, c.graph)
	in := cputest.RandomInputs(t, cputest.Operations(t, c.graph))
	for _, x := range in {
		for i := 0; i < len(x.Data); i += 4 { // 12 bits are left of 24
			x.Data[i], x.Data[i+1] = 0, x.Data[i+1]&0xf0
		}
	}
	for _, cpu := range []string{"x86-64-v3", "native"} {
		got := cputest.Executes(cc, cpu, []string{"-O1"})(cputest.RandomConstant)(t, g, in)
		for i, about := range c.about {
			x, y, z := floatsOf(in[input(i, "X")]), floatsOf(in[input(i, "Y")]), floatsOf(got[input(i, "out")])
			k := int(lengths[i/2])
			for at := range z {
				products := make([]float32, k)
				for p := range products {
					products[p] = x[at/cols*k+p] * y[p*cols+at%cols]
				}
				if want := sumTree(products); z[at] != want {
					t.Errorf("%s, %s: %v at %d, expected %v", about, cpu, z[at], at, want)
					break
				}
			}
		}
	}
}

// sumTree adds as docs/numerics.md says.
func sumTree(x []float32) float32 {
	block := 64
	if len(x) <= 256 {
		block = len(x)
	}
	var total, group, part float32
	for i, v := range x {
		part += v
		if (i+1)%block == 0 || i+1 == len(x) {
			group, part = group+part, 0
		}
		if (i+1)%(64*block) == 0 || i+1 == len(x) {
			total, group = total+group, 0
		}
	}
	return total
}

func floatsOf(x tensorfile.Tensor) []float32 {
	out := make([]float32, len(x.Data)/4)
	for i := range out {
		out[i] = math.Float32frombits(binary.LittleEndian.Uint32(x.Data[4*i:]))
	}
	return out
}

// TestSumsOfOneValue: a sum is added in the same order whether what reads it sums it again, along a dimension of one value, or the caller takes it too.
func TestSumsOfOneValue(t *testing.T) {
	const graph = `
%x = tensor float32 [0:8, 0:600]
%d = tensor float32 [0:8, 0:1]
%y = tensor float32 [0:8, 0:1]
operation op:sum {dims: [1], keepdims: true} (tensor: %x) -> (result: %d)
operation op:mean {dims: [1], keepdims: true} (tensor: %d) -> (result: %y)
`
	cc := cputest.Compiler(t)
	run := func(graph string) tensorfile.Tensor {
		g := cputest.Operations(t, graph)
		in := cputest.RandomInputs(t, g)
		return cputest.Run(t, []string{native(t, cc, g)}, g, in, "1")["y"]
	}
	one, both := run(graph), run(graph+"operation op:export {names: [\"d\", \"y\"]} (tensor: [%d, %y])\n")
	if at := otherBits(one, both); at >= 0 {
		t.Errorf("element %d has other bits where the first sum is a result", at)
	}
}
