package cpu_test

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tensortapestry.org/tapc/backends/conformance"
	consts "tensortapestry.org/tapc/backends/constants"
	"tensortapestry.org/tapc/backends/cpu"
	"tensortapestry.org/tapc/backends/cpu/cputest"
	"tensortapestry.org/tapc/backends/cpu/toolchain"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/internal/testkit"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/passes/apply"
	"tensortapestry.org/tapc/passes/fuse"
	"tensortapestry.org/tapc/passes/lower"
	"tensortapestry.org/tapc/passes/memory"
	"tensortapestry.org/tapc/passes/tile"
)

// attentionSize is the size of an attention.
type attentionSize struct{ batch, heads, queries, keys, depth, width int }

// written is an attention written out as products and a softmax, of an element type: queries and keys, scaled, plus a bias for
// each query and key.
func (s attentionSize) written(d string) string {
	b, h, q, k := s.batch, s.heads, s.queries, s.keys
	scores := func(name string) string { return typed(d, name, b, h, q, k) }
	return typed(d, "q", b, h, q, s.depth) + typed(d, "k", b, h, s.depth, k) + typed(d, "v", b, h, k, s.width) + typed(d, "m", q, k) +
		scores("s") + scores("t") + scores("p") + typed(d, "y", b, h, q, s.width) +
		`%a = operation op:matmul (X: %q, Y: %k) -> (Z: %s)
%b = operation op:add (tensors: [%s, %m]) -> (result: %t)
%c = operation op:softmax {dims: [3]} (tensor: %t) -> (result: %p)
%d = operation op:matmul (X: %p, Y: %v) -> (Z: %y)
`
}

// kernel is an attention as one operation.
func (s attentionSize) kernel(attributes string) string {
	return tensorText("Q", s.batch, s.heads, s.queries, s.depth) + tensorText("K", s.batch, s.heads, s.keys, s.depth) +
		tensorText("V", s.batch, s.heads, s.keys, s.width) + tensorText("Y", s.batch, s.heads, s.queries, s.width) +
		fmt.Sprintf("%%o = operation op:attention {%s} (K: %%K, Q: %%Q, V: %%V) -> (Y: %%Y)\n", attributes)
}

func chainGraphs() map[string]string {
	masked := attentionSize{1, 2, 40, 51, 8, 24}.kernel("")
	masked = strings.Replace(typed("boolean", "M", 40, 51)+masked, "V: %V)", "V: %V, mask: %M)", 1)
	shared := strings.NewReplacer("%K = tensor float32 [0:2, 0:6", "%K = tensor float32 [0:2, 0:2", "%V = tensor float32 [0:2, 0:6", "%V = tensor float32 [0:2, 0:2").
		Replace(attentionSize{2, 6, 33, 45, 24, 40}.kernel("causal: true"))
	return map[string]string{
		"shared heads":     shared,
		"one head for all": strings.NewReplacer("K = tensor float32 [0:1, 0:4", "K = tensor float32 [0:1, 0:1", "V = tensor float32 [0:1, 0:4", "V = tensor float32 [0:1, 0:1").Replace(attentionSize{1, 4, 33, 45, 24, 16}.kernel("")),
		"small blocks":     attentionSize{1, 3, 37, 70, 19, 21}.written("float32"),
		"float64":          attentionSize{2, 1, 41, 33, 24, 8}.written("float64"),
		"long lines":       attentionSize{1, 1, 30, 1700, 8, 40}.written("float32"),
		"threads":          attentionSize{1, 2, 150, 90, 32, 32}.written("float32"),
		"kernel":           attentionSize{1, 2, 70, 90, 33, 20}.kernel(""),
		"causal":           attentionSize{1, 2, 50, 50, 16, 16}.kernel("causal: true"),
		"capped":           attentionSize{1, 2, 33, 47, 16, 24}.kernel("softcap: 2.5"),
		"lines of no key":  attentionSize{1, 2, 60, 45, 16, 16}.kernel("causal: true"),
		"a mask":           masked,
		"one query":        attentionSize{1, 3, 1, 64, 16, 16}.kernel(""),
		"log_softmax":      strings.Replace(attentionSize{1, 2, 37, 45, 16, 16}.written("float32"), "op:softmax", "op:log_softmax", 1),
	}
}

// Chains of products are carried out by blocks, and give what the reference gives. They take turns.
func TestChains(t *testing.T) {
	all, runs := chainGraphs(), testkit.Turns(t, 2)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if !runs() {
			continue
		}
		graph := all[name]
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cc := cputest.Compiler(t)
			src, err := cpu.Emit(cputest.Scheduled(t, graph), "test", "test")
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(src.C, " block = ") {
				t.Errorf("a chain was not recognised:\n%s", src.C)
			}
			load := (&consts.Loader{}).Load
			conformance.Graph(t, cputest.Operations(t, graph), cputest.Device, load, cputest.Strictly(cc)(load))
		})
	}
}

// They give the same on processors with other vectors, and when clang compiles them; these take turns.
func TestChainsElsewhere(t *testing.T) {
	graph := attentionSize{1, 2, 45, 70, 19, 21}.written("float32")
	runs := testkit.Turns(t, 3)
	for _, x := range []struct{ name, cc, cpu string }{{"baseline", "gcc", "baseline"}, {"AVX2", "gcc", "x86-64-v3"}, {"clang", "clang", "native"}} {
		if !runs() {
			continue
		}
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			cc := cputest.Compiler(t, x.cc)
			load := (&consts.Loader{}).Load
			conformance.Graph(t, cputest.Operations(t, graph), cputest.Device, load, cputest.Executes(cc, x.cpu, cputest.Strict)(load))
		})
	}
}

// apart is cputest.Scheduled without any joining.
func apart(t *testing.T, graph string) *ir.Graph {
	t.Helper()
	g := cputest.Operations(t, graph)
	apply.Run(g)
	if err := lower.Run(g, kernels.Builtin(), lower.Options{Target: schedule.CPU}); err != nil {
		t.Fatal(err)
	}
	if _, err := fuse.Run(g, fuse.Options{May: func(ir.NodeID) bool { return false }}); err != nil {
		t.Fatal(err)
	}
	if err := tile.Run(g, tile.Options{Choosers: cpu.Choosers()}); err != nil {
		t.Fatal(err)
	}
	if _, err := memory.Run(g); err != nil {
		t.Fatal(err)
	}
	return g
}

// results builds a graph without constants, runs it on random inputs and gives all outputs.
func results(t *testing.T, cc *toolchain.Compiler, g *ir.Graph, threads int) []byte {
	t.Helper()
	src, err := cpu.Prepare(g, "test", "test")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	exe, out := filepath.Join(dir, "program"), filepath.Join(dir, "y.npy")
	if err := cpu.Build(context.Background(), cc, src, nil, exe, cpu.Options{Version: "test", CPU: "native"}); err != nil {
		t.Fatal(err)
	}
	if text, err := exec.Command(exe, "--random", "7", "--threads", fmt.Sprint(threads), "--output", "y="+out).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	data, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// A chain computes each value as its parts do on their own, in the same order, whatever the number of threads is.
func TestChainsAreExact(t *testing.T) {
	cc := cputest.Compiler(t)
	for name, graph := range map[string]string{
		"several blocks": attentionSize{1, 3, 300, 200, 40, 24}.written("float32"),
		"long lines":     attentionSize{1, 1, 50, 1700, 64, 70}.written("float32"),
		"float64":        attentionSize{1, 2, 70, 130, 100, 24}.written("float64"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := results(t, cc, apart(t, graph), 1)
			for _, threads := range []int{1, 2, 5} {
				if !bytes.Equal(results(t, cc, cputest.Scheduled(t, graph), threads), want) {
					t.Errorf("%d threads: the results are others than those of the parts", threads)
				}
			}
		})
	}
}

// The scores of an attention are in memory for a block of queries at a time, for each thread.
func TestChainMemory(t *testing.T) {
	s := attentionSize{1, 8, 2048, 2048, 64, 64}
	memory := func(g *ir.Graph) (arena, thread int64) {
		arena, thread, err := cpu.MemoryOf(g)
		if err != nil {
			t.Fatal(err)
		}
		return arena, thread
	}
	scores, operands := int64(8*2048*2048*4), int64(8*2048*64*4)
	if arena, _ := memory(apart(t, s.written("float32"))); arena < 2*scores {
		t.Errorf("the parts need %d bytes, expected two arrays of scores, %d each", arena, scores)
	}
	arena, thread := memory(cputest.Scheduled(t, s.written("float32")))
	if thread == 0 || thread > scores/64 || arena > 2*operands+thread+1<<20 {
		t.Errorf("%d bytes, of them %d for a thread; expected not much more than the panels of keys and values, %d each", arena, thread, operands)
	}
}
