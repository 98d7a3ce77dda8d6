package emu

import (
	"context"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"tensortapestry.org/tapc/backends/cuda/toolchain"
	"tensortapestry.org/tapc/internal/cudashim/launchlist"
	"tensortapestry.org/tapc/internal/testkit"
)

// compiled keeps the programs of a test run: compiling takes a second, and tests share texts.
var compiled struct {
	sync.Mutex
	programs map[string]*Program
}

func TestMain(m *testing.M) {
	compiled.programs = map[string]*Program{}
	code := m.Run()
	for _, p := range compiled.programs {
		p.Close()
	}
	os.Exit(code)
}

// right are the texts of kernels that are right. Tests share one program of all of them.
const right = "handoff.cu matmul.cu reduce.cu saxpy.cu softmax.cu"

// source gives the text of files of testdata, one after the other.
func source(t *testing.T, files string) string {
	t.Helper()
	var all []byte
	for _, file := range strings.Fields(files) {
		text, err := os.ReadFile(filepath.Join("testdata", file))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, text...)
	}
	return string(all)
}

// program compiles files of testdata, once for all tests.
func program(t *testing.T, files string, opts Options) *Program {
	t.Helper()
	_, err := HostCompiler()
	testkit.Need(t, testkit.Compilers, err)
	if testing.Short() && opts.Check != None {
		t.Skip("programs with sanitizers are slow to build")
	}
	key := files + opts.Check.String()
	for _, d := range opts.Defines {
		key += " " + d
	}
	compiled.Lock()
	defer compiled.Unlock()
	if p := compiled.programs[key]; p != nil {
		return p
	}
	p, err := Compile(context.Background(), source(t, files), opts)
	if err != nil {
		t.Fatal(err)
	}
	compiled.programs[key] = p
	return p
}

func run(t *testing.T, p *Program, seed uint64, buffers []Buffer, launches ...launchlist.Launch) {
	t.Helper()
	if _, err := p.Run(t.Context(), buffers, launches, Settings{Seed: seed}); err != nil {
		t.Fatalf("seed %d: %v", seed, err)
	}
}

func launch(kernel string, grid, block, shared int64, args ...launchlist.Arg) launchlist.Launch {
	return launchlist.Launch{Kernel: kernel, Grid: launchlist.Dim{grid, 1, 1}, Block: launchlist.Dim{block, 1, 1}, Shared: shared, Args: args}
}

func random(n int, seed uint64) []float32 {
	r := rand.New(rand.NewPCG(seed, 1))
	v := make([]float32, n)
	for i := range v {
		v[i] = r.Float32()*2 - 1
	}
	return v
}

// near reports the first element that differs by more than tolerance, relative to the larger of 1 and
// what is wanted.
func near(t *testing.T, what string, got, want []float32, tolerance float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d elements, expected %d", what, len(got), len(want))
	}
	for i := range want {
		g, w := float64(got[i]), float64(want[i])
		if !(math.Abs(g-w) <= tolerance*max(1, math.Abs(w))) {
			t.Fatalf("%s: element %d is %v, expected %v", what, i, g, w)
		}
	}
}

// seeds are the thread orders that every correct kernel must not depend on; 0 is ascending.
var seeds = []uint64{0, 1, 2, 77}

func TestSaxpy(t *testing.T) {
	p := program(t, right, Options{})
	for _, n := range []int{1, 3, 4, 511, 512, 513, 5000} {
		x, y := random(n, 1), random(n, 2)
		want := make([]float32, n)
		for i := range want {
			want[i] = 1.5*x[i] + y[i]
		}
		for _, seed := range seeds {
			buffers := []Buffer{{"x", Bytes(x)}, {"y", Bytes(y)}}
			run(t, p, seed, buffers, launch("saxpy", int64(n+511)/512, 128, 0, launchlist.I32(int32(n)), launchlist.F32(1.5), launchlist.At("x", 0), launchlist.At("y", 0)))
			near(t, "saxpy", Values[float32](buffers[1].Data), want, 1e-7)
		}
	}
}

// matmul runs the tiled product and returns Z and, from Go, what it must be.
func matmul(t *testing.T, p *Program, seed uint64, m, n, k int) (got, want []float32) {
	t.Helper()
	x, w := random(m*k, 3), random(k*n, 4)
	want = make([]float32, m*n)
	for i := range m {
		for j := range n {
			sum := 0.0
			for l := range k {
				sum += float64(x[i*k+l]) * float64(w[l*n+j])
			}
			want[i*n+j] = float32(sum)
		}
	}
	buffers := []Buffer{{"x", Bytes(x)}, {"w", Bytes(w)}, {"z", make([]byte, 4*m*n)}}
	run(t, p, seed, buffers, launchlist.Launch{
		Kernel: "matmul", Grid: launchlist.Dim{int64(n+15) / 16, int64(m+15) / 16, 1}, Block: launchlist.Dim{16, 16, 1},
		Args: []launchlist.Arg{launchlist.At("x", 0), launchlist.At("w", 0), launchlist.At("z", 0), launchlist.I32(int32(m)), launchlist.I32(int32(n)), launchlist.I32(int32(k))},
	})
	return Values[float32](buffers[2].Data), want
}

func TestMatmul(t *testing.T) {
	p := program(t, right, Options{})
	for _, size := range [][3]int{{1, 1, 1}, {16, 16, 16}, {17, 33, 50}, {64, 48, 80}} {
		for _, seed := range seeds {
			got, want := matmul(t, p, seed, size[0], size[1], size[2])
			near(t, "matmul", got, want, 1e-5)
		}
	}
}

// A barrier left out at the end of a loop goes unnoticed in some orders; the seeds find it.
func TestMissingBarrierShowsUp(t *testing.T) {
	p := program(t, "matmul.cu", Options{Defines: []string{"FORGET_BARRIER"}})
	wrong := 0
	for seed := range uint64(4) {
		got, want := matmul(t, p, seed+1, 32, 32, 64)
		for i := range want {
			if math.Abs(float64(got[i]-want[i])) > 1e-3 {
				wrong++
				break
			}
		}
	}
	if wrong == 0 {
		t.Error("a product without its second barrier was right under 4 seeds, expected wrong values")
	}
}

func TestReduce(t *testing.T) {
	p := program(t, right, Options{})
	x := random(10000, 5)
	sum, above := 0.0, uint32(0)
	for _, v := range x {
		sum += float64(v)
		if v > 0.25 {
			above++
		}
	}
	for _, seed := range seeds {
		buffers := []Buffer{{"x", Bytes(x)}, {"sum", make([]byte, 4)}, {"above", make([]byte, 4)}}
		run(t, p, seed, buffers, launch("reduce", 3, 256, 0,
			launchlist.At("x", 0), launchlist.At("sum", 0), launchlist.At("above", 0), launchlist.I64(int64(len(x))), launchlist.F32(0.25)))
		near(t, "sum", Values[float32](buffers[1].Data), []float32{float32(sum)}, 1e-4)
		if got := Values[uint32](buffers[2].Data)[0]; got != above {
			t.Errorf("seed %d: %d elements above, expected %d", seed, got, above)
		}
	}
}

func TestSoftmax(t *testing.T) {
	p := program(t, right, Options{})
	const rows, columns = 5, 300
	x := random(rows*columns, 6)
	want := make([]float32, len(x))
	for r := range rows {
		sum := 0.0
		for _, v := range x[r*columns : (r+1)*columns] {
			sum += math.Exp(float64(v))
		}
		for c := range columns {
			want[r*columns+c] = float32(math.Exp(float64(x[r*columns+c])) / sum)
		}
	}
	for _, block := range []int64{32, 96, 512} {
		for _, seed := range seeds {
			buffers := []Buffer{{"x", Bytes(x)}, {"y", make([]byte, 4*len(x))}}
			run(t, p, seed, buffers, launch("softmax", rows, block, 4*columns, launchlist.At("x", 0), launchlist.At("y", 0), launchlist.I32(columns)))
			near(t, "softmax", Values[float32](buffers[1].Data), want, 1e-6)
		}
	}
}

// Every text that the emulation is tested on is CUDA: the real compiler takes it too.
func TestRealCompilerAgrees(t *testing.T) {
	tc := toolchain.ForTest(t)
	device, err := filepath.Abs("../ptx")
	if err != nil {
		t.Fatal(err)
	}
	for file, kernels := range map[string][]string{
		"saxpy.cu": {"saxpy"}, "matmul.cu": {"matmul"}, "reduce.cu": {"reduce"}, "softmax.cu": {"softmax"},
		"handoff.cu": {"handoff", "votes"}, "types.cu": {"types", "halves", "math"}, "wrong.cu": {"exits_early", "recursion"},
		"tensor.cu": {"product_bf16", "product_f16", "product_tf32", "partial_copy"},
	} {
		_, info, err := tc.CompileCubin(t.Context(), source(t, file), "sm_90", toolchain.Options{IncludeDirs: []string{device}})
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		for _, k := range kernels {
			if _, ok := info.Kernel(k); !ok {
				t.Errorf("%s: no kernel %s among %+v", file, k, info.Kernels)
			}
		}
	}
}
