package cpu_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"tensortapestry.org/tapc/backends/conformance"
	"tensortapestry.org/tapc/backends/cpu"
	"tensortapestry.org/tapc/backends/cpu/configs"
	"tensortapestry.org/tapc/backends/cpu/cputest"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/nest"
	"tensortapestry.org/tapc/dialects/schedule/whole"
	"tensortapestry.org/tapc/internal/testkit"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/tensorfile"
)

// configured gives the kernels of a graph a config of one contraction: tiles of tasks and of registers, and a micro-kernel.
func configured(g *ir.Graph, m, n [2]int64, micro, packed string) {
	for node := range g.Nodes() {
		if k, ok := node.Body.(*schedule.Kernel); ok {
			k.Configs = []schedule.Config{{Target: configs.Any, Stages: []schedule.Stage{{Algorithm: schedule.Contraction, Micro: micro,
				Tiles:      []schedule.Tiling{{Role: schedule.RoleM, Sizes: m[:]}, {Role: schedule.RoleN, Sizes: n[:]}},
				Placements: []schedule.Placement{{Operand: packed, Scope: schedule.PrivateScope, Depth: 1}}}}}}
			_ = (configs.Chooser{}).State(nest.Analyze(k, whole.Buffers(g)), &k.Configs[0]) // some cannot be carried out
		}
	}
}

// gemm is a product with an epilogue, of batch matrices of m × k and k × n.
func gemm(batch, m, n, k int64) string {
	z := fmt.Sprintf("[0:%d, 0:%d, 0:%d]", batch, m, n)
	return fmt.Sprintf(`%%x = tensor float32 [0:%d, 0:%d, 0:%d]
%%w = tensor float32 [0:%d, 0:%d, 0:%d]
%%b = tensor float32 [0:1, 0:1, 0:%d]
%%z = tensor float32 %s
%%s = tensor float32 %s
%%y = tensor float32 %s
operation op:matmul (X: %%x, W: %%w) -> (Z: %%z)
operation op:add (tensors: [%%z, %%b]) -> (result: %%s)
operation op:relu (tensor: %%s) -> (result: %%y)
`, batch, m, k, batch, k, n, n, z, z, z)
}

// TestConfigs runs products by configs, which take turns, and compares them with the reference evaluator: what is decided changes no bit of
// the results.
func TestConfigs(t *testing.T) {
	cc := cputest.Compiler(t)
	type config struct {
		m, n  [2]int64
		micro string
	}
	configs := []config{{[2]int64{96, 12}, [2]int64{64, 32}, "f32x16"}, {[2]int64{8, 8}, [2]int64{48, 48}, "f32x16"}, {[2]int64{6, 3}, [2]int64{32, 16}, "f32x8"}, {[2]int64{1, 1}, [2]int64{4, 4}, "f32x4"}}
	runs := testkit.Turns(t, 2)
	for _, size := range [][4]int64{{1, 70, 73, 300}, {2, 24, 64, 64}, {3, 5, 3, 1}, {1, 13, 31, 4096}} {
		chosen := slices.DeleteFunc(slices.Clone(configs), func(config) bool { return !runs() })
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			t.Parallel()
			g := cputest.Operations(t, gemm(size[0], size[1], size[2], size[3]))
			plain := cputest.Strictly(cc)(nil)
			var first map[string]tensorfile.Tensor
			ways := []conformance.Execute{func(t *testing.T, g *ir.Graph, in map[string]tensorfile.Tensor) map[string]tensorfile.Tensor {
				first = plain(t, g, in)
				return first
			}}
			for _, c := range chosen {
				ways = append(ways, func(t *testing.T, g *ir.Graph, in map[string]tensorfile.Tensor) map[string]tensorfile.Tensor {
					configured(g, c.m, c.n, c.micro, "Y")
					out := plain(t, g, in)
					if !bytes.Equal(out["y"].Data, first["y"].Data) {
						t.Errorf("%v, %v, %s: other bits than without a config", c.m, c.n, c.micro)
					}
					return out
				})
			}
			conformance.Graph(t, g, cputest.Device, nil, ways...)
		})
	}
}

// TestConfigsRefused gives kernels configs that they cannot be carried out by.
func TestConfigsRefused(t *testing.T) {
	tests := []struct {
		m, n          [2]int64
		micro, packed string
		want          string
	}{
		{[2]int64{12, 12}, [2]int64{32, 32}, "f32x32", "Y", `no micro-kernel "f32x32"`},
		{[2]int64{12, 12}, [2]int64{32, 32}, "f64x8", "Y", "for float32"},
		{[2]int64{12, 12}, [2]int64{24, 24}, "f32x16", "Y", "no whole vectors of 16"},
		{[2]int64{12, 5}, [2]int64{32, 32}, "f32x16", "Y", "whole register tiles"},
		{[2]int64{12, 12}, [2]int64{32, 32}, "f32x16", "X", "the right operand is packed"},
	}
	for _, x := range tests {
		g := cputest.Scheduled(t, gemm(1, 24, 64, 64))
		configured(g, x.m, x.n, x.micro, x.packed)
		if _, err := cpu.Emit(g, "test", "test"); err == nil || !strings.Contains(err.Error(), x.want) || !strings.Contains(err.Error(), "TAP0903") {
			t.Errorf("%v, want %q", err, x.want)
		}
	}
}

// TestConfigsOfOtherTypes goes on with the sums in other types: those that there are vectors of, and one that there are none of, which is refused.
func TestConfigsOfOtherTypes(t *testing.T) {
	cc := cputest.Compiler(t)
	const product = `%%x = tensor %[1]s [0:13, 0:70]
%%w = tensor %[1]s [0:70, 0:37]
%%b = tensor %[1]s [0:13, 0:37]
%%z = tensor %[1]s [0:13, 0:37]
%%y = tensor %[2]s [0:13, 0:37]
operation op:matmul (X: %%x, W: %%w) -> (Z: %%z)
operation op:%[3]s -> (result: %%y)
`
	for _, x := range []struct{ from, to, operation, micro string }{
		{"float32", "int8", `cast {dtype: "int8"} (tensor: %z)`, "f32x16"},
		{"float64", "boolean", "greater (a: %z, b: %b)", "f64x8"},
	} {
		t.Run(x.to, func(t *testing.T) {
			t.Parallel()
			g := cputest.Operations(t, fmt.Sprintf(product, x.from, x.to, x.operation))
			conformance.Graph(t, g, cputest.Device, nil, func(t *testing.T, g *ir.Graph, in map[string]tensorfile.Tensor) map[string]tensorfile.Tensor {
				configured(g, [2]int64{12, 4}, [2]int64{32, 16}, x.micro, "Y")
				return cputest.Strictly(cc)(nil)(t, g, in)
			})
		})
	}
	g := cputest.Scheduled(t, fmt.Sprintf(product, "float32", "float16", `cast {dtype: "float16"} (tensor: %z)`))
	configured(g, [2]int64{12, 4}, [2]int64{32, 16}, "f32x16", "Y")
	if _, err := cpu.Emit(g, "test", "test"); err == nil || !strings.Contains(err.Error(), "no vectors") || !strings.Contains(err.Error(), "TAP0903") {
		t.Errorf("%v, expected TAP0903: there are no vectors of float16", err)
	}
}
