package cuda

import (
	"context"
	"encoding/binary"
	"errors"
	"io/fs"
	"math"
	"os"
	"strings"
	"testing"

	"tensortapestry.org/tapc/backends"
	"tensortapestry.org/tapc/backends/constants"
	"tensortapestry.org/tapc/backends/cuda/toolchain"
	"tensortapestry.org/tapc/backends/tune"
	"tensortapestry.org/tapc/dialects"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/nest"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/internal/cudashim/fake"
	"tensortapestry.org/tapc/internal/filecache"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/ir/text"
	"tensortapestry.org/tapc/ir/zspace"
	"tensortapestry.org/tapc/passes/lower"
	"tensortapestry.org/tapc/passes/standard"
	"tensortapestry.org/tapc/passes/tile"
)

// sums is a kernel with few configs: of rows of three elements, by one, two or four lanes each.
const sums = `tapc 1
%x = tensor float32 [0:4, 0:3]
%y = tensor float32 [0:4, 0:1]
operation op:sum {dims: [1], keepdims: true} (tensor: %x) -> (result: %y)
`

func scheduled(t *testing.T) *ir.Graph {
	t.Helper()
	g, err := text.Read([]byte(sums), "test.tap", dialects.Registry())
	if err == nil {
		err = standard.Run(g, kernels.Builtin(), lower.Options{Target: schedule.CUDA}, Chooser{})
	}
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// few is a lab that offers what the back end lists alone, and by whose clock a launch takes 10 µs for each thread. spoil changes programs before they run.
type few struct {
	backends.Lab
	spoil func(number int, p *program)
	built int
}

type listed struct{ Chooser }

func (few) Chooser() tile.Chooser { return listed{} }

func (c listed) Check(a *nest.Analysis, config *schedule.Config) ([]schedule.Workspace, error) {
	for _, x := range c.Candidates(a) {
		if x.Config.String() == config.String() {
			return c.Chooser.Check(a, config)
		}
	}
	return nil, errors.New("it is not listed")
}

func (f *few) Build(ctx context.Context, g *ir.Graph) (backends.KernelProgram, error) {
	p, err := f.Lab.Build(ctx, g)
	if f.built++; err == nil && f.spoil != nil {
		f.spoil(f.built, p.(*program))
	}
	return p, err
}

type shelf map[filecache.Key][]byte

func (s shelf) Look(key filecache.Key) ([]byte, error) {
	if x, ok := s[key]; ok {
		return x, nil
	}
	return nil, fs.ErrNotExist
}

func (s shelf) Put(key filecache.Key, content []byte) error { s[key] = content; return nil }

// tuned tunes the graph with what a store has.
func tuned(t *testing.T, ctx context.Context, l backends.Lab, store tune.Store, each func(tune.Trial)) (*ir.Graph, *tune.Result, error) {
	t.Helper()
	g := scheduled(t)
	s := tune.Settings{Lab: l, Store: store, Warn: func(d diag.Diagnostic) { t.Error(d) }, Done: func(*tune.Result) {},
		Trial: func(_ *tune.Result, x tune.Trial) { each(x) }}
	list, err := tune.Kernels(g, s)
	if err != nil || len(list) != 1 {
		t.Fatalf("%d kernels, %v", len(list), err)
	}
	err = tune.Run(ctx, list, s)
	tune.Apply(g, list)
	return g, list[0], err
}

func nothing(tune.Trial) {}

// TestLab measures on the driver that needs no GPU, by the program tapc-cuda and kernels that the emulation compiles: the whole road but for the GPU.
func TestLab(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a cgo program")
	}
	toolchain.ForTest(t) // for the headers
	dir := t.TempDir()
	if err := fake.BuildMachine(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	for name, value := range fake.Environment(dir) {
		t.Setenv(name, value)
	}
	t.Setenv("TAPC_EMU_CLOCK", "threads")
	here := func(t *testing.T) *few {
		l, err := newLab(t.Context(), backends.LabRequest{Dir: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		return &few{Lab: l}
	}
	t.Run("values", func(t *testing.T) { checkValues(t, here(t)) })
	t.Run("tune", func(t *testing.T) { checkTune(t, here) })
	t.Run("kernels that fail", func(t *testing.T) { checkFailing(t, here(t)) })
	t.Run("other machines", func(t *testing.T) { checkHolds(t, here(t).Lab.(*lab)) })
}

// checkValues: a program computes what its kernel says, of numbers at random.
func checkValues(t *testing.T, l *few) {
	g := scheduled(t)
	if _, err := l.Build(t.Context(), g); err == nil {
		t.Error("a graph with transfers is built")
	}
	for n := range g.Nodes() {
		if _, ok := n.Body.(*schedule.Kernel); ok {
			k, err := tune.Isolate(g, n.ID)
			if err != nil {
				t.Fatal(err)
			}
			g = k.Graph
			break
		}
	}
	p, err := l.Build(t.Context(), g)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Remove()
	values, err := p.Values(t.Context())
	if err != nil || len(values) != 1 {
		t.Fatalf("%d values, %v", len(values), err)
	}
	in, err := constants.Random(&tensorops.Tensor{DType: "float32", Range: zspace.MustShape(12)})
	if err != nil {
		t.Fatal(err)
	}
	at := func(data []byte, i int) float32 { return math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:])) }
	for _, got := range values {
		for row := range 4 {
			if want := at(in.Data, 3*row) + at(in.Data, 3*row+1) + at(in.Data, 3*row+2); at(got.Data, row) != want {
				t.Errorf("row %d is %v, want %v", row, at(got.Data, row), want)
			}
		}
	}
	if seconds, err := p.Time(t.Context()); err != nil || math.Abs(seconds-256*10e-6) > 1e-9 {
		t.Errorf("it takes %v s, want 256 lanes of 10 µs: %v", seconds, err)
	}
}

// checkTune: what takes the fewest threads is chosen; a second run measures nothing and gives the same; one that was interrupted goes on where it was.
func checkTune(t *testing.T, here func(*testing.T) *few) {
	store := shelf{}
	first, r, err := tuned(t, t.Context(), here(t), store, nothing)
	if err != nil {
		t.Fatal(err)
	}
	if best := r.Entry.Best().String(); !r.Tuned() || !r.Complete() || best != "reduction, line 32, element 4" || r.Entry.Gain.Ratio != 0.5 {
		t.Errorf("chosen %s, %+v of %+v", best, r.Entry.Gain, r.Entry.Trials)
	}
	text := func(g *ir.Graph) string {
		src, err := Emit(g, "test", "")
		if err != nil {
			t.Fatal(err)
		}
		return src.CUDA
	}
	if got := text(first); !strings.Contains(got, "reduction, line 32, element 4") || got == text(scheduled(t)) {
		t.Errorf("what was found is not emitted:\n%s", got)
	}
	again := here(t)
	second, r2, err := tuned(t, t.Context(), again, store, nothing)
	if err != nil || again.built > 0 || r2.Measured > 0 || text(second) != text(first) {
		t.Errorf("the second run built %d programs, %d races: %v", again.built, r2.Measured, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	half := shelf{}
	_, r3, err := tuned(t, ctx, here(t), half, func(tune.Trial) { cancel() })
	if !errors.Is(err, context.Canceled) || r3.Measured != 1 || len(half) != 1 {
		t.Fatalf("an interrupted run: %d races, %d entries, %v", r3.Measured, len(half), err)
	}
	rest, r4, err := tuned(t, t.Context(), here(t), half, nothing)
	if err != nil || len(r4.Entry.Trials) != len(r.Entry.Trials) || r4.Measured != len(r.Entry.Trials)-1 || text(rest) != text(first) {
		t.Errorf("after an interrupted run: %d races, %v", r4.Measured, err)
	}
}

// trap is a kernel that ends its process.
const trap = `extern "C" __global__ void k0(const float* x, float* y) { __trap(); }
extern "C" __global__ void k1(const float* x, float* y) { __trap(); }
`

// checkFailing: a kernel that fails is refused with what the driver says, and the others are measured.
func checkFailing(t *testing.T, l *few) {
	inner := l.Lab.(*lab)
	module, _, err := inner.nvcc.CompileCubin(t.Context(), trap, inner.arch, toolchain.Options{})
	if err != nil {
		t.Fatal(err)
	}
	l.spoil = func(number int, p *program) {
		if number == 3 { // behind the default, which is built twice
			if err := os.WriteFile(inner.path(p.file("cubin")), module, 0o666); err != nil {
				t.Fatal(err)
			}
		}
	}
	_, r, err := tuned(t, t.Context(), l, shelf{}, nothing)
	if err != nil {
		t.Fatal(err)
	}
	first := r.Entry.Trials[0]
	if first.Outcome != tune.Refused || !strings.Contains(first.Reason, "LaunchFailed") {
		t.Errorf("the first trial: %+v", first)
	}
	if !r.Complete() || !r.Tuned() {
		t.Errorf("nothing was found after it: %+v", r.Entry.Trials)
	}
}

// checkHolds: times hold for a GPU, its driver and a compiler; the code is without remarks, and with the launch.
func checkHolds(t *testing.T, l *lab) {
	seen := map[string]bool{}
	for _, change := range []func(*lab){func(*lab) {}, func(l *lab) { l.runner.Device.Name = "another" }, func(l *lab) { l.runner.Device.Multiprocessors++ },
		func(l *lab) { l.runner.Device.ComputeCapability = "9.1" }, func(l *lab) { l.runner.Device.Driver++ }, func(l *lab) { l.nvcc.Version = "1" }} {
		other, runner, nvcc := *l, *l.runner, *l.nvcc
		other.runner, other.nvcc = &runner, &nvcc
		change(&other)
		holds, err := other.Holds()
		if text := strings.Join(holds, "\n"); err != nil || seen[text] {
			t.Errorf("%q holds for two machines: %v", text, err)
		}
		seen[strings.Join(holds, "\n")] = true
	}
	if _, err := newLab(t.Context(), backends.LabRequest{Threads: 2}); err == nil || diag.ExitStatus(err) != diag.ExitUsage {
		t.Errorf("two threads of a GPU: %v", err)
	}
}
