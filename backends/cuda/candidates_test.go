package cuda

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"tensortapestry.org/tapc/backends/cexpr"
	"tensortapestry.org/tapc/backends/conformance"
	"tensortapestry.org/tapc/backends/cuda/emu"
	"tensortapestry.org/tapc/backends/cuda/toolchain"
	"tensortapestry.org/tapc/dialects"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/nest"
	"tensortapestry.org/tapc/dialects/schedule/whole"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/tensorfile"
	"tensortapestry.org/tapc/ir/text"
)

// kernelCases are kernels of each algorithm, of extents that tiles divide and that they do not.
var kernelCases = map[string]string{
	"gemm": `tapc 1
%x = tensor float32 [0:70, 0:100]
%w = tensor float32 [0:100, 0:72]
%b = tensor float32 [0:1, 0:72]
%z = tensor float32 [0:70, 0:72]
%s = tensor float32 [0:70, 0:72]
%y = tensor float32 [0:70, 0:72]
operation op:matmul (X: %x, W: %w) -> (Z: %z)
operation op:add (tensors: [%z, %b]) -> (result: %s)
operation op:relu (tensor: %s) -> (result: %y)
`,
	"long sum": `tapc 1
%x = tensor float32 [0:5, 0:1000]
%w = tensor float32 [0:1000, 0:33]
%y = tensor float32 [0:5, 0:33]
operation op:matmul (X: %x, W: %w) -> (Z: %y)
`,
	"attention": `tapc 1
%q = tensor float32 [0:2, 0:3, 0:37, 0:24]
%k = tensor float32 [0:2, 0:3, 0:45, 0:24]
%v = tensor float32 [0:2, 0:3, 0:45, 0:20]
%y = tensor float32 [0:2, 0:3, 0:37, 0:20]
operation op:attention (Q: %q, K: %k, V: %v) -> (Y: %y)
`,
	"softmax": `tapc 1
%x = tensor float32 [0:7, 0:100]
%y = tensor float32 [0:7, 0:100]
operation op:softmax (tensor: %x) -> (result: %y)
`,
	"doubles": `tapc 1
%x = tensor float64 [0:3, 0:70]
%y = tensor float64 [0:3, 0:70]
operation op:softmax (tensor: %x) -> (result: %y)
`,
	"odd doubles": `tapc 1
%x = tensor float64 [0:9, 0:25]
%w = tensor float64 [0:25, 0:19]
%y = tensor float64 [0:9, 0:19]
operation op:matmul (X: %x, W: %w) -> (Z: %y)
`,
	"long lines": `tapc 1
%x = tensor float32 [0:2, 0:60000]
%y = tensor float32 [0:2, 0:1]
operation op:sum {dims: [1], keepdims: true} (tensor: %x) -> (result: %y)
`,
}

// TestCandidates runs every candidate of each kernel in the emulation, and compares the results with the reference evaluator's. The real
// compiler takes them too.
func TestCandidates(t *testing.T) {
	for name, source := range kernelCases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g, err := text.Read([]byte(source), name, dialects.Registry())
			if err != nil {
				t.Fatal(err)
			}
			var all *candidates
			var ways []conformance.Execute
			for way := range 11 {
				ways = append(ways, func(t *testing.T, g *ir.Graph, in map[string]tensorfile.Tensor) map[string]tensorfile.Tensor {
					if all == nil {
						all = compileCandidates(t, g)
					}
					return emulated(t, g, in, nil, all.program, all.steps(way))
				})
			}
			conformance.Graph(t, g, conformance.Device{Type: schedule.CUDA}, nil, ways...)
			if len(all.kernels) > len(ways) {
				t.Errorf("%d candidates, and %d were run", len(all.kernels), len(ways))
			}
			if _, _, err := toolchain.ForTest(t).CompileCubin(context.Background(), all.source.CUDA, Target, toolchain.Options{}); err != nil {
				t.Errorf("%v\n%s", err, all.source.CUDA)
			}
		})
	}
}

// candidates is a program with a kernel for each candidate of the one kernel of a graph that has any.
type candidates struct {
	source  *Source
	program *emu.Program
	all     []Step // of the program, with the kernel as it is without a config
	kernels []Step
}

func compileCandidates(t *testing.T, g *ir.Graph) *candidates {
	t.Helper()
	plain, err := Emit(g, "test", "test")
	if err != nil {
		t.Fatal(err)
	}
	e := &emitter{g: g, w: cexpr.NewWriter(), buffers: whole.Buffers(g)}
	var code strings.Builder
	for n := range g.Nodes() {
		k, ok := n.Body.(*schedule.Kernel)
		if !ok {
			continue
		}
		a := nest.Analyze(k, e.buffers)
		for i, c := range Candidates(a) {
			if _, err := Tree("k", a, &c); err != nil {
				continue
			}
			text, err := e.kernel(fmt.Sprintf("c%d", i), n.ID, a, &c)
			if err != nil {
				t.Fatal(err)
			}
			code.WriteString(text + "\n")
		}
	}
	if len(e.src.Steps) < 3 {
		t.Fatalf("%d candidates", len(e.src.Steps))
	}
	e.write("test", "test", code.String())
	return &candidates{&e.src, compiled(t, &e.src), plain.Steps, e.src.Steps}
}

// steps gives those of the program with one of the candidates.
func (c *candidates) steps(which int) []Step {
	kernel := c.kernels[which%len(c.kernels)]
	var out []Step
	for _, s := range c.all {
		if s.ScheduledNode == kernel.ScheduledNode {
			s = kernel
		}
		out = append(out, s)
	}
	return out
}
