package cpu_test

import (
	"fmt"
	"slices"
	"testing"

	"tensortapestry.org/tapc/backends/codegen"
	"tensortapestry.org/tapc/backends/conformance"
	"tensortapestry.org/tapc/backends/cpu/configs"
	"tensortapestry.org/tapc/backends/cpu/cputest"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/nest"
	"tensortapestry.org/tapc/dialects/schedule/whole"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/tensorfile"
)

// candidateCases are kernels of each algorithm, of extents that tiles divide and that they do not.
var candidateCases = map[string]string{
	"gemm":       gemm(2, 29, 70, 300),
	"whole gemm": gemm(1, 96, 256, 64),
	"doubles": `%x = tensor float64 [0:7, 0:9]
%w = tensor float64 [0:9, 0:33]
%y = tensor float64 [0:7, 0:33]
operation op:matmul (X: %x, W: %w) -> (Z: %y)
`,
	"attention": `%q = tensor float32 [0:2, 0:3, 0:37, 0:24]
%k = tensor float32 [0:2, 0:3, 0:45, 0:24]
%v = tensor float32 [0:2, 0:3, 0:45, 0:20]
%y = tensor float32 [0:2, 0:3, 0:37, 0:20]
operation op:attention (Q: %q, K: %k, V: %v) -> (Y: %y)
`,
	"long attention": `%q = tensor float32 [0:1, 0:1, 0:12, 0:16]
%k = tensor float32 [0:1, 0:1, 0:600, 0:16]
%v = tensor float32 [0:1, 0:1, 0:600, 0:16]
%y = tensor float32 [0:1, 0:1, 0:12, 0:16]
operation op:attention (Q: %q, K: %k, V: %v) -> (Y: %y)
`,
	"softmax": `%x = tensor float32 [0:7, 0:100]
%y = tensor float32 [0:7, 0:100]
operation op:softmax (tensor: %x) -> (result: %y)
`,
	"softmax of doubles": `%x = tensor float64 [0:3, 0:64]
%y = tensor float64 [0:3, 0:64]
operation op:softmax (tensor: %x) -> (result: %y)
`,
	"layer norm": `%x = tensor float32 [0:4, 0:5, 0:70]
%s = tensor float32 [0:70]
%y = tensor float32 [0:4, 0:5, 0:70]
operation op:layer_norm {axis: 2} (X: %x, scale: %s) -> (Y: %y)
`,
	"long lines": `%x = tensor float32 [0:2, 0:60000]
%y = tensor float32 [0:2, 0:1]
operation op:sum {dims: [1], keepdims: true} (tensor: %x) -> (result: %y)
`,
	"greatest": `%x = tensor int16 [0:5, 0:37]
%y = tensor int16 [0:5]
operation op:reduce_max {dims: [1]} (tensor: %x) -> (result: %y)
`,
}

// TestCandidates runs every candidate of each kernel, all in one program, and compares the results with the reference evaluator's.
func TestCandidates(t *testing.T) {
	cc := cputest.Compiler(t)
	for name, source := range candidateCases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const copies = 8
			g := cputest.Operations(t, cputest.Together(slices.Repeat([]string{source}, copies)...))
			conformance.Graph(t, g, cputest.Device, nil, func(t *testing.T, g *ir.Graph, in map[string]tensorfile.Tensor) map[string]tensorfile.Tensor {
				buffers, which := whole.Buffers(g), 0
				for n := range g.Nodes() {
					k, ok := n.Body.(*schedule.Kernel)
					if !ok {
						continue
					}
					a := nest.Analyze(k, buffers)
					all := candidatesOf(a)
					if len(all) == 0 {
						continue
					}
					if len(all) > copies {
						t.Fatalf("%d candidates, and %d are run", len(all), copies)
					}
					if c := all[which%len(all)]; which < copies {
						if err := (configs.Chooser{}).State(a, &c); err != nil {
							t.Errorf("%s: %v", &c, err)
							continue
						}
						k.Configs = []schedule.Config{c}
					}
					which++
				}
				if which != copies {
					t.Errorf("%d kernels have candidates, expected %d", which, copies)
				}
				return cputest.Executes(cc, "native", []string{"-O1"})(nil)(t, g, in)
			})
		})
	}
}

// registerTiles are those to choose from, by lanes of a vector: rows, and vectors of columns. Each has as many accumulators as the registers of
// a processor with such vectors leave room for.
var registerTiles = map[int64][][2]int64{16: {{12, 2}, {6, 4}}, 8: {{6, 2}, {4, 3}}, 4: {{6, 2}}}

// candidatesOf gives configs of a kernel, of each algorithm that it can have.
func candidatesOf(a *nest.Analysis) []schedule.Config {
	var out []schedule.Config
	add := func(stages ...schedule.Stage) {
		out = append(out, schedule.Config{Target: configs.Any, Stages: stages})
	}
	if c, ok := nest.Of[*nest.Contraction](a.Forms); ok {
		for _, lanes := range lanesOf(c.Sum.Type) {
			for _, t := range registerTiles[lanes] {
				for _, tasks := range []int64{2, 8} {
					add(contractionStage(a.Kernel, c, tasks*t[0], t, tasks/2, lanes))
				}
			}
		}
		return out
	}
	if c, ok := nest.Of[*nest.BackToBack](a.Forms); ok && c.Middle != nil {
		for _, lanes := range lanesOf(c.First.Sum.Type) {
			t := registerTiles[lanes][0]
			for _, tiles := range []int64{1, 4} {
				rows := tiles * t[0]
				add(contractionStage(c.Stages[0], c.First, rows, t, 1, lanes), reductionStage(rows, lanes), contractionStage(c.Stages[2], c.Last, rows, t, 1, lanes))
			}
		}
		return out
	}
	if r, ok := nest.Of[*nest.Rows](a.Forms); ok && !r.Free {
		for _, lanes := range []int64{16, 8} {
			for _, lines := range []int64{1, 8} {
				add(reductionStage(lines, lanes))
			}
		}
	}
	return out
}

// lanesOf gives the lanes of vectors of a type that micro-kernels have, those of the widest first.
func lanesOf(d scalar.DType) []int64 {
	var out []int64
	for _, bytes := range []int64{64, 32} {
		lanes := bytes / int64(d.Size())
		if _, ok := codegen.VectorMicros[microOf(d, lanes)]; ok {
			out = append(out, lanes)
		}
	}
	return out
}

// microOf names the micro-kernel of a type with so many lanes.
func microOf(d scalar.DType, lanes int64) string {
	return fmt.Sprintf("%sx%d", map[scalar.DType]string{scalar.Float32: "f32", scalar.Float64: "f64"}[d], lanes)
}

// contractionStage has tasks of some rows and of so many register tiles of columns.
func contractionStage(k *schedule.Kernel, c *nest.Contraction, rows int64, t [2]int64, across, lanes int64) schedule.Stage {
	cols := t[1] * lanes
	return schedule.Stage{Algorithm: schedule.Contraction, Micro: microOf(c.Sum.Type, lanes),
		Tiles:      []schedule.Tiling{{Role: schedule.RoleM, Sizes: []int64{rows, t[0]}}, {Role: schedule.RoleN, Sizes: []int64{across * cols, cols}}},
		Placements: []schedule.Placement{{Operand: k.Operands[c.Right].Name, Scope: schedule.PrivateScope, Depth: 1}}}
}

func reductionStage(lines, lanes int64) schedule.Stage {
	return schedule.Stage{Algorithm: schedule.Reduction, Tiles: []schedule.Tiling{
		{Role: schedule.RoleLine, Sizes: []int64{lines}}, {Role: schedule.RoleElement, Sizes: []int64{lanes}}}}
}
