package cpu_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"tensortapestry.org/tapc/backends/cpu"
	"tensortapestry.org/tapc/backends/cpu/cputest"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/internal/testkit"
	"tensortapestry.org/tapc/passes/lower"
	"tensortapestry.org/tapc/passes/standard"
)

// TestUnitedReductionsKeepBits: reductions of one tensor, along its rows and its columns, are fewer kernels than operations, and give the bits that each gives
// of a tensor of its own; with places among them, whose vectors have fewer lanes. So do readers along several loops that compute again what they read.
func TestUnitedReductionsKeepBits(t *testing.T) {
	cc := cputest.Compiler(t)
	seed := uint64(1)
	if testkit.Full() {
		seed = testkit.Rotation(t)
	}
	rng := rand.New(rand.NewPCG(seed, 18))
	rows, cols := near(rng, 200), near(rng, 1100)
	one, many := unitedCase(rows, cols, true), unitedCase(rows, cols, false)
	a, b := cputest.Operations(t, one), cputest.Operations(t, many)
	x := cputest.RandomInputs(t, a)
	unusual(rng, x["x"])
	y := cputest.RandomInputs(t, b)
	for name := range y {
		y[name] = x["x"]
	}
	lowered := a.Clone()
	if err := standard.Run(lowered, kernels.Builtin(), lower.Options{}, cpu.Choosers()...); err != nil {
		t.Fatal(err)
	}
	n := 0
	for node := range lowered.Nodes() {
		if b, ok := node.Body.(*schedule.Buffer); ok && b.Space == schedule.Arena {
			t.Error("a result is stored that readers compute again")
		}
		if k, ok := node.Body.(*schedule.Kernel); ok {
			n += strings.Count(k.Name, "+")
		}
	}
	if all := strings.Count(one, "operation"); n < all/3 {
		t.Errorf("%d of %d operations are part of another's kernel", n, all)
	}
	want := cputest.Run(t, []string{native(t, cc, b)}, b, y, "1")
	exe := native(t, cc, a)
	for _, threads := range []string{"1", "3"} {
		for name, z := range cputest.Run(t, []string{exe}, a, x, threads) {
			if z.DType.IsFloat() && otherBits(want[name], z) >= 0 || !z.DType.IsFloat() && !bytes.Equal(want[name].Data, z.Data) {
				t.Errorf("%s, %s threads: element %d has other bits than of a kernel by itself", name, threads, otherBits(want[name], z))
			}
		}
	}
}

// unitedCase reduces one tensor in many ways, or a tensor for each.
func unitedCase(rows, cols int64, same bool) string {
	var b strings.Builder
	if same {
		fmt.Fprintf(&b, "%%x = tensor float32 %s\n", cputest.Box(rows, cols))
	}
	for dim, n := range []int64{cols, rows} {
		for i, kernel := range []string{"sum", "sum_square", "mean", "variance", "reduce_max", "arg_max", "log_sum_exp", "l1_norm", "arg_min", "l2_norm", "deviation"} {
			x, y, d := fmt.Sprintf("x%d_%d", dim, i), fmt.Sprintf("y%d_%d", dim, i), "float32"
			if strings.HasPrefix(kernel, "arg") {
				d = "int64"
			}
			if same {
				x = "x"
			} else {
				fmt.Fprintf(&b, "%%%s = tensor float32 %s\n", x, cputest.Box(rows, cols))
			}
			fmt.Fprintf(&b, "%%%s = tensor %s %s\noperation op:%s {dims: [%d]} (tensor: %%%s) -> (result: %%%s)\n", y, d, cputest.Box(n), kernel, dim, x, y)
		}
	}
	for i, kernel := range []string{"sum {dims: [1]}", "variance {dims: [0]}", "sum_square {dims: [0]}", "mean {dims: [1]}"} {
		x, e := fmt.Sprintf("u%d", i), fmt.Sprintf("e%d", i)
		if same {
			x, e = "x", "e"
		} else {
			fmt.Fprintf(&b, "%%%s = tensor float32 %s\n", x, cputest.Box(rows, cols))
		}
		if !same || i == 0 {
			fmt.Fprintf(&b, "%%%s = tensor float32 %s\noperation op:relu (tensor: %%%s) -> (result: %%%s)\n", e, cputest.Box(rows, cols), x, e)
		}
		n := []int64{rows, cols, cols, rows}[i]
		fmt.Fprintf(&b, "%%z%d = tensor float32 %s\noperation op:%s (tensor: %%%s) -> (result: %%z%d)\n", i, cputest.Box(n), kernel, e, i)
	}
	return b.String()
}
