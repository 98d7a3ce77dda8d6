package cputest_test

import (
	"fmt"
	"slices"
	"sync/atomic"
	"testing"

	"tensortapestry.org/tapc/backends/conformance"
	"tensortapestry.org/tapc/backends/cpu/configs"
	"tensortapestry.org/tapc/backends/cpu/cputest"
	"tensortapestry.org/tapc/backends/cpu/isa"
	"tensortapestry.org/tapc/backends/cpu/toolchain"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/nest"
	"tensortapestry.org/tapc/dialects/schedule/whole"
	"tensortapestry.org/tapc/internal/testkit"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/tensorfile"
)

// larger are kernels that have more candidates than the small cases of the library: register tiles, packings, rows of a block.
var larger = []struct{ name, graph string }{
	{"gemm", `%x = tensor float32 [0:29, 0:300]
%w = tensor float32 [0:300, 0:133]
%b = tensor float32 [0:133]
%y = tensor float32 [0:29, 0:133]
%r = tensor float32 [0:29, 0:133]
operation op:linear (x: %x, A: %w, b: %b) -> (result: %y)
operation op:relu (tensor: %y) -> (result: %r)
`},
	{"sums in parts", `%x = tensor float32 [0:40, 0:1100]
%w = tensor float32 [0:1100, 0:70]
%y = tensor float32 [0:40, 0:70]
operation op:matmul (X: %x, W: %w) -> (Z: %y)
`},
	{"doubles, the left factor strided", `%x = tensor float64 [0:70, 0:40]
%t = tensor float64 [0:40, 0:70]
%w = tensor float64 [0:70, 0:45]
%y = tensor float64 [0:40, 0:45]
operation op:permute {perm: [1, 0]} (tensor: %x) -> (result: %t)
operation op:matmul (X: %t, W: %w) -> (Z: %y)
`},
	{"convolution", `%x = tensor float32 [0:2, 0:6, 0:19, 0:19]
%w = tensor float32 [0:35, 0:6, 0:3, 0:3]
%y = tensor float32 [0:2, 0:35, 0:19, 0:19]
operation op:conv {groups: 1, pads: [1, 1], strides: [1, 1], dilations: [1, 1]} (X: %x, W: %w) -> (Y: %y)
`},
	{"a transpose, and what is added to it", `%x = tensor float32 [0:37, 0:83]
%b = tensor float32 [0:83, 0:37]
%t = tensor float32 [0:83, 0:37]
%y = tensor float32 [0:83, 0:37]
operation op:permute {perm: [1, 0]} (tensor: %x) -> (result: %t)
operation op:add (tensors: [%t, %b]) -> (result: %y)
`},
	{"bytes", `%x = tensor int8 [0:37, 0:200]
%w = tensor int8 [0:200, 0:101]
%y = tensor int32 [0:37, 0:101]
operation op:matmul_integer (A: %x, B: %w) -> (Y: %y)
`},
	{"attention", `%q = tensor float32 [0:1, 0:2, 0:67, 0:24]
%k = tensor float32 [0:1, 0:2, 0:45, 0:24]
%v = tensor float32 [0:1, 0:2, 0:45, 0:20]
%y = tensor float32 [0:1, 0:2, 0:67, 0:20]
operation op:attention (Q: %q, K: %k, V: %v) -> (Y: %y)
`},
	{"lines that share loops, lanes reduced", `%x = tensor float32 [0:11, 0:96]
%w = tensor uint8 [0:23, 0:3, 0:16]
%s = tensor float32 [0:23, 0:3]
%y = tensor float32 [0:11, 0:23]
%r = tensor float32 [0:11, 0:23]
operation op:matmul_packed (X: %x, W: %w, scale: %s) -> (result: %y)
operation op:relu (tensor: %y) -> (result: %r)
`},
	{"lines that share loops, lanes free", `%x = tensor float32 [0:11, 0:300, 0:1]
%e = tensor int32 [0:300, 0:37]
%f = tensor float32 [0:300, 0:37]
%z = tensor float32 [0:11, 0:300, 0:37]
%a = tensor float32 [0:11, 0:300, 0:37]
%y = tensor float32 [0:11, 0:37]
operation op:cast {dtype: "float32"} (tensor: %e) -> (result: %f)
operation op:sub (a: %x, b: %f) -> (result: %z)
operation op:abs (tensor: %z) -> (result: %a)
operation op:sum {dims: [1]} (tensor: %a) -> (result: %y)
`},
}

const (
	oneOf  = 16 // one in so many graphs runs
	copies = 8  // of a larger graph in one program, each by a candidate of its own
)

// TestEveryCandidate carries kernels out by all that they can be carried out as, chosen or not, and compares the values with the reference
// evaluator's: the kernels of the library, and larger ones. With each rotation it is another candidate, another graph and another kind of processor.
func TestEveryCandidate(t *testing.T) {
	cc, rotation := cputest.Compiler(t), int(testkit.Rotation(t)%(1<<20))
	for i, level := range cc.Machine.Levels {
		if !testkit.Full() && i != rotation%len(cc.Machine.Levels) {
			continue
		}
		t.Run(level.Name, func(t *testing.T) {
			runs := testkit.Turns(t, len(larger))
			for _, c := range larger {
				if runs() {
					t.Run(c.name, func(t *testing.T) { everyCandidate(t, cc, level, c.graph, rotation) })
				}
			}
			t.Run("library", func(t *testing.T) {
				rounds(t, rotation, func(t *testing.T, x *carrier) {
					conformance.Declared(t, cputest.Device, oneOf, x.execute(cc, level))
				}, 1)
			})
		})
	}
}

// everyCandidate carries out copies of a graph together.
func everyCandidate(t *testing.T, cc *toolchain.Compiler, level isa.Target, graph string, rotation int) {
	rounds(t, rotation, func(t *testing.T, x *carrier) {
		g := cputest.Operations(t, cputest.Together(slices.Repeat([]string{graph}, copies)...))
		conformance.Graph(t, g, cputest.Device, nil, x.execute(cc, level))
	}, copies)
}

// rounds runs a round, or all until every candidate was there. A round is of some candidates of each kernel.
func rounds(t *testing.T, rotation int, run func(t *testing.T, x *carrier), of int) {
	if !testkit.Full() {
		run(t, &carrier{first: rotation * of, of: of})
		return
	}
	for first, most := 0, int64(1); int64(first) < most; first += of {
		x := &carrier{first: first, of: of}
		t.Run(fmt.Sprint("from ", first), func(t *testing.T) { run(t, x) })
		most = x.most.Load()
	}
}

// carrier gives kernels configs: of so many that follow each other, one each a candidate from the first on. Most is how many a kernel has.
type carrier struct {
	first, of int
	most      atomic.Int64
}

func (x *carrier) execute(cc *toolchain.Compiler, level isa.Target) conformance.Execute {
	run := cputest.Executes(cc, level.Name, []string{"-O1"})(nil)
	return func(t *testing.T, g *ir.Graph, in map[string]tensorfile.Tensor) map[string]tensorfile.Tensor {
		buffers, number := whole.Buffers(g), 0
		for n := range g.Nodes() {
			if k, ok := n.Body.(*schedule.Kernel); ok {
				a := nest.Analyze(k, buffers)
				k.Configs = nil
				x.give(t, a, configs.Chooser{For: level}, number)
				if level.Target != isa.Scheduled.Target {
					x.give(t, a, configs.Chooser{For: isa.Scheduled}, number)
				}
				number++
			}
		}
		return run(t, g, in)
	}
}

// give gives a kernel, the one of a number, a config for a target.
func (x *carrier) give(t *testing.T, a *nest.Analysis, c configs.Chooser, number int) {
	var all []*schedule.Config
	for _, y := range c.Candidates(a) {
		if c.State(a, y.Config) == nil {
			all = append(all, y.Config)
		}
	}
	if len(all) == 0 {
		t.Fatalf("%s has no candidates", a.Kernel.Name)
	}
	for most := x.most.Load(); most < int64(len(all)) && !x.most.CompareAndSwap(most, int64(len(all))); most = x.most.Load() {
	}
	a.Kernel.Configs = append(a.Kernel.Configs, *all[(x.first+number%x.of)%len(all)])
}
