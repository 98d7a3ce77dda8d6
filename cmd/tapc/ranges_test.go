package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tensortapestry.org/tapc/backends/cpu/cabi"
	"tensortapestry.org/tapc/backends/cpu/cputest"
	"tensortapestry.org/tapc/backends/cpu/toolchain"
	"tensortapestry.org/tapc/frontends/onnx/onnxtest"
	"tensortapestry.org/tapc/internal/testkit"
)

// built compiles a model at some sizes of n to an executable, and skips the test where there is no C compiler.
func built(t *testing.T, dir, model, sizes string) string {
	t.Helper()
	_, err := toolchain.FindCompiler(t.Context())
	testkit.Need(t, testkit.Compilers, err)
	file := filepath.Join(dir, "model.onnx")
	if err := os.WriteFile(file, onnxtest.Must("<ir_version: 8, opset_import: [\"\": 17]>\n"+model), 0o600); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(dir, "n"+strings.NewReplacer(".", "_", ",", "_").Replace(sizes))
	if status, _, stderr := tapc(t, "", "build", file, "--dim", "n="+sizes, "-o", out); status != 0 {
		t.Fatalf("%s\n%s", stderr, model)
	}
	return out
}

// outputs runs a program at a size, and gives the file of its outputs.
func outputs(t *testing.T, program string, n int64) []byte {
	t.Helper()
	file := filepath.Join(t.TempDir(), "out.npz")
	if out, err := command(t, program, "--random", "3", "--threads", "2", "--dim", fmt.Sprintf("n=%d", n), "--outputs", file).CombinedOutput(); err != nil {
		t.Fatalf("n=%d: %v: %s", n, err, out)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// same holds a program for a range to versions with code of their own, which are for each size what a program of that size is.
func same(t *testing.T, model string, sizes int64) {
	t.Helper()
	dir := t.TempDir()
	all := built(t, dir, model, fmt.Sprintf("1..%d", sizes))
	for n := int64(1); n <= sizes; n += 8 {
		own := built(t, dir, model, fmt.Sprintf("%d..%d", n, min(sizes, n+7)))
		for at := n; at <= min(sizes, n+7); at++ {
			if !bytes.Equal(outputs(t, all, at), outputs(t, own, at)) {
				t.Errorf("other values at n=%d of\n%s", at, model)
			}
		}
	}
}

// TestRanges computes along, across and over a dimension of many sizes.
func TestRanges(t *testing.T) {
	same(t, `net (float[n, 6] x, float[1, 2, n] s, int64[n] i, float[2, n, 8] h)
=> (float[n, 5] product, float[n, 6] soft, float[n, 6] over, float[1, 6] sum, float[a, 3] merged, float[6, n] turned, float[b, 6] both, float[1, 2, n] conv,
    float[n, 6] running, float[n, 4] rows, float[2, n, 8] attention, float[n] own, float[6, 6] inner, float[n, n] outer)
<float[6, 5] w = {1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3}, int64[2] three = {-1, 3}, int64 zero = {0},
 float[2, 2, 3] f = {1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3}, float[3, 4] table = {1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3}, int64[1] m = {3}>
{
  p = MatMul(x, w) product = Relu(p)
  soft = Softmax<axis = 1>(x)
  over = Softmax<axis = 0>(x)
  sum = ReduceMean<axes = [0]>(x)
  merged = Reshape(x, three)
  turned = Transpose<perm = [1, 0]>(x)
  both = Concat<axis = 0>(x, over)
  conv = Conv<pads = [1, 1]>(s, f)
  running = CumSum(x, zero)
  j = Mod(i, m) rows = Gather<axis = 0>(table, j)
  ht = Transpose<perm = [0, 2, 1]>(h) e = MatMul(h, ht) g = Softmax<axis = -1>(e) attention = MatMul(g, h)
  shape = Shape(i) count = Cast<to = 1>(shape) own = Expand(count, shape)
  inner = MatMul(turned, x)
  outer = MatMul(x, turned)
}`, map[bool]int64{true: 12, false: 40}[testing.Short()])
}

// TestRandomRanges does what TestRanges does with random graphs.
func TestRandomRanges(t *testing.T) {
	if testing.Short() {
		t.Skip("random graphs take a while")
	}
	for seed := range uint64(4) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { same(t, randomModel(rand.New(rand.NewPCG(seed, 16))), 20) })
	}
}

// randomModel gives a graph of operations on matrices of n rows.
func randomModel(r *rand.Rand) string {
	var b strings.Builder
	b.WriteString("net (float[n, 4] t0) => (float[a, b] y)\n<float[4, 4] w = {1, 2, -3, 4, 5, 6, 7, -8, 9, 1, -2, 3, 4, 5, 6, 7}, float[4, 9] v = {" +
		strings.TrimSuffix(strings.Repeat("0.5, -1, 2, ", 12), ", ") + "}, float[9, 4] u = {" + strings.TrimSuffix(strings.Repeat("0.25, 1, -2, ", 12), ", ") +
		"}, int64[2] four = {-1, 4}, int64 zero = {0}, int64[1] one = {1}, int64[1] end = {1000}, int64[1] down = {0}>\n{\n")
	templates := []string{"MatMul(%[1]s, w)", "Relu(%[1]s)", "Softmax<axis = 1>(%[1]s)", "Softmax<axis = 0>(%[1]s)", "Add(%[1]s, %[2]s)", "Tanh(%[1]s)",
		"Mul(%[1]s, %[2]s)", "CumSum(%[1]s, zero)", "Max(%[1]s, %[2]s)"}
	chains := [][]string{
		{"Transpose<perm = [1, 0]>(%[1]s)", "Reshape(%[1]s, four)"},
		{"MatMul(%[1]s, v)", "Sigmoid(%[1]s)", "MatMul(%[1]s, u)"},
		{"ReduceSum<keepdims = 1>(%[1]s, down)", "Add(%[1]s, %[2]s)"},
		{"ReduceMax<axes = [1], keepdims = 1>(%[1]s)", "Sub(%[2]s, %[1]s)"},
		{"Transpose<perm = [1, 0]>(%[1]s)", "MatMul(%[2]s, %[1]s)", "Softmax<axis = 1>(%[1]s)", "MatMul(%[1]s, %[2]s)"},
	}
	last, next := "t0", 1
	for range 6 {
		chain := []string{templates[r.IntN(len(templates))]}
		if r.IntN(2) == 0 {
			chain = chains[r.IntN(len(chains))]
		}
		at := last
		for _, c := range chain {
			name := fmt.Sprintf("c%d", next)
			next++
			fmt.Fprintf(&b, "  %[3]s = "+c+"\n", at, map[bool]string{true: last, false: "t0"}[len(chain) > 1], name)
			at = name
		}
		last = at
	}
	fmt.Fprintf(&b, "  k = Concat<axis = 0>(%s, t0)\n  y = Identity(k)\n}", last)
	return b.String()
}

// TestMemoryOfRanges holds programs for many sizes to the memory that they state: no size has more, the greatest has not much less, and its arena is
// that of the program for it alone.
func TestMemoryOfRanges(t *testing.T) {
	cc, err := toolchain.FindCompiler(t.Context())
	testkit.Need(t, testkit.Compilers, err)
	peakOf, dir := cputest.Peak(t, cc), t.TempDir()
	const great = 1500
	for name, model := range map[string]string{
		"outer": `net (float[n, 8] x) => (float[n, n] y) { r = Transpose<perm = [1, 0]>(x) p = MatMul(x, r) s = Softmax<axis = 0>(p) y = MatMul(s, p) }`,
		"rows": `net (float[n, 2048] x) => (float[n, 2048] y) <int64 along = {1}> { s = Softmax<axis = 1>(x) c = CumSum(s, along) t = Transpose<perm = [1, 0]>(c)
			m = Softmax<axis = 1>(t) y = Transpose<perm = [1, 0]>(m) }`,
	} {
		t.Run(name, func(t *testing.T) {
			all, one := built(t, dir, model, fmt.Sprintf("1..9,%d", great)), built(t, dir, model, fmt.Sprint(great))
			s, alone := memoryOf(t, all), memoryOf(t, one)
			if s.Arena != alone.Arena || s.Peak < alone.Peak {
				t.Errorf("%+v are stated, and for %d alone %+v", s, great, alone)
			}
			for _, n := range []int64{1, 9, great} {
				for _, threads := range []int64{1, 3} {
					peak := peakOf(all, "--random", "1", "--threads", fmt.Sprint(threads), "--dim", fmt.Sprintf("n=%d", n), "--outputs", filepath.Join(dir, "out.npz"))
					limit := s.Peak + (threads-1)*s.Thread + min(1, threads-1)*s.Threads + s.Workspaces.More(threads, 1)
					t.Logf("n=%d, %d threads: %d of %d bytes", n, threads, peak, limit)
					const unsure = 64 * 4096 // what the system's count of pages is off by
					if peak > limit+unsure {
						t.Errorf("n=%d, %d threads: %d bytes, stated are %d", n, threads, peak, limit)
					}
					if n == great && threads == 1 && peak < limit-limit/10 {
						t.Errorf("%d bytes, and %d are stated", peak, limit)
					}
				}
			}
		})
	}
}

// statedMemory is what a program says of its memory.
type statedMemory struct {
	Arena      int64 `json:"arena_bytes"`
	Peak       int64 `json:"peak_bytes"`
	Thread     int64 `json:"thread_bytes"`
	Threads    int64 `json:"threads_bytes"`
	Workspaces cabi.Workspaces
}

// memoryOf asks a program what memory it has.
func memoryOf(t *testing.T, program string) (s statedMemory) {
	t.Helper()
	out, err := command(t, program, "--describe").Output()
	if err == nil {
		err = json.Unmarshal(out, &s)
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}
