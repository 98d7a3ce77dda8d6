package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"tensortapestry.org/tapc/backends/cuda/emu"
	"tensortapestry.org/tapc/backends/cuda/toolchain"
	"tensortapestry.org/tapc/internal/cudashim/fake"
	"tensortapestry.org/tapc/internal/cudashim/launchlist"
	"tensortapestry.org/tapc/internal/testkit"
)

// Rows are scaled to sum 1: a kernel with a reduction in dynamic shared memory, more of it than
// kernels have without asking, and one that spoils its input.
const kernels = `
extern "C" __global__ void normalize(const float* x, float* y, int columns, double floor) {
  extern __shared__ float s[];
  const int t = threadIdx.x;
  const float* row = x + blockIdx.x * columns;
  s[t] = 0.0f;
  for (int i = t; i < columns; i += blockDim.x) s[t] += row[i];
  __syncthreads();
  for (int step = blockDim.x / 2; step > 0; step /= 2) {
    if (t < step) s[t] += s[t + step];
    __syncthreads();
  }
  for (int i = t; i < columns; i += blockDim.x) y[blockIdx.x * columns + i] = row[i] / (s[0] + (float)floor);
}
extern "C" __global__ void twice(float* x, unsigned n) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] *= 2.0f;
}
extern "C" __global__ void stuck(float* x) {
  if (threadIdx.x == 0) __syncthreads();
}
`

const rows, columns = 7, 100

func testList() *launchlist.List {
	zero := uint8(0)
	return &launchlist.List{
		Version: launchlist.Version, Module: "kernels.so", Warmup: 1, Repeat: 3,
		Buffers: []launchlist.Buffer{{Name: "x", Bytes: 4 * rows * columns, File: "x.bin"}, {Name: "y", Bytes: 4*rows*columns + 64, Byte: &zero}},
		Launches: []launchlist.Launch{
			{Kernel: "twice", Grid: launchlist.Dim{11, 1, 1}, Block: launchlist.Dim{64, 1, 1}, Args: []launchlist.Arg{launchlist.At("x", 0), launchlist.U32(rows * columns)}},
			{Kernel: "normalize", Grid: launchlist.Dim{rows, 1, 1}, Block: launchlist.Dim{64, 1, 1}, Shared: 100 << 10,
				Args: []launchlist.Arg{launchlist.At("x", 0), launchlist.At("y", 64), launchlist.I32(columns), launchlist.F64(0.5)}},
		},
		Outputs: []launchlist.Output{{Buffer: "y", File: "y.bin"}, {Buffer: "x", File: "x2.bin"}},
	}
}

func inputs() []float32 {
	x := make([]float32, rows*columns)
	for i := range x {
		x[i] = float32(i%17) + 0.25
	}
	return x
}

// bench is a folder with a list's files, and the program and driver to run it with.
type bench struct {
	program, driver, dir string
}

// newBench builds tapc-cuda with its CUDA body, the driver without a GPU, and the kernels as a module.
func newBench(t *testing.T, flags ...string) bench {
	t.Helper()
	if testing.Short() {
		t.Skip("builds a cgo program")
	}
	toolchain.ForTest(t) // for the headers
	b := bench{program: filepath.Join(t.TempDir(), "tapc-cuda"), driver: t.TempDir(), dir: t.TempDir()}
	build := exec.CommandContext(t.Context(), "../../tools/cuda/build.sh", append([]string{b.program}, flags...)...)
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if err := fake.Build(t.Context(), b.driver); err != nil {
		t.Fatal(err)
	}
	p, err := emu.Compile(t.Context(), kernels, emu.Options{Shared: true})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	module, err := os.ReadFile(p.Path)
	if err != nil {
		t.Fatal(err)
	}
	b.write(t, "kernels.so", module)
	b.write(t, "x.bin", emu.Bytes(inputs()))
	return b
}

func (b bench) write(t *testing.T, name string, data []byte) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(b.dir, name), data, 0o666); err != nil {
		t.Fatal(err)
	}
}

func (b bench) floats(t *testing.T, name string) []float32 {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(b.dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return emu.Values[float32](data)
}

// run runs a list and returns what the program printed and its exit status.
func (b bench) run(t *testing.T, p *launchlist.List, args ...string) (stdout, stderr string, status int) {
	t.Helper()
	path := filepath.Join(b.dir, "launches.json")
	if err := p.Write(path); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), b.program, append(append([]string{"run"}, args...), path)...)
	cmd.Env = append(os.Environ(), "LD_LIBRARY_PATH="+b.driver)
	var out, problems bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &problems
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return out.String(), problems.String(), cmd.ProcessState.ExitCode()
}

func checkOutputs(t *testing.T, y, x2 []float32) {
	t.Helper()
	x := inputs()
	for r := range rows {
		sum := 0.5
		for c := range columns {
			sum += 2 * float64(x[r*columns+c])
		}
		for c := range columns {
			i := r*columns + c
			want := 2 * float64(x[i]) / sum
			if got := float64(y[16+i]); math.Abs(got-want) > 1e-6 {
				t.Fatalf("y[%d] is %v, expected %v", i, got, want)
			}
			if x2[i] != 2*x[i] {
				t.Fatalf("x[%d] is %v after the first pass, expected %v", i, x2[i], 2*x[i])
			}
		}
	}
	for i := range 16 {
		if y[i] != 0 {
			t.Fatalf("y[%d] is %v, expected the 0 that the buffer began with", i, y[i])
		}
	}
}

func TestRunListOnFakeDriver(t *testing.T) {
	b := newBench(t, "-race")
	stdout, stderr, status := b.run(t, testList())
	if status != 0 {
		t.Fatalf("exit status %d: %s", status, stderr)
	}
	checkOutputs(t, b.floats(t, "y.bin"), b.floats(t, "x2.bin"))
	var r report
	if err := json.Unmarshal([]byte(stdout), &r); err != nil {
		t.Fatal(err)
	}
	if r.Device.ComputeCapability != "9.0" || len(r.PassesMS) != 3 || len(r.Launches) != 2 || len(r.Launches[1].MS) != 3 || !(r.PassesMS[0] > 0) {
		t.Errorf("report %+v, expected 3 times of passes and of 2 launches", r)
	}
	t.Run("faults", func(t *testing.T) { checkFaults(t, b) })
}

// The emulation runs the same list without a driver, to the same bytes.
func TestEmulationRunsSameList(t *testing.T) {
	_, err := emu.HostCompiler()
	testkit.Need(t, testkit.Compilers, err)
	p, err := emu.Compile(t.Context(), kernels, emu.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	b := bench{dir: t.TempDir()}
	b.write(t, "x.bin", emu.Bytes(inputs()))
	if _, err := p.RunList(t.Context(), testList(), b.dir, emu.Settings{Seed: 5}); err != nil {
		t.Fatal(err)
	}
	checkOutputs(t, b.floats(t, "y.bin"), b.floats(t, "x2.bin"))
}

func checkFaults(t *testing.T, b bench) {
	cases := []struct {
		name   string
		change func(p *launchlist.List)
		status int
		want   string
	}{
		{"short file", func(p *launchlist.List) { p.Buffers[0].Bytes -= 4 }, exitInput, "buffer x: x.bin: expected 2796 bytes, found 2800"},
		{"no file", func(p *launchlist.List) { p.Buffers[0].File = "none" }, exitInput, "buffer x: open"},
		{"no module", func(p *launchlist.List) { p.Module = "none" }, exitInput, "module: open"},
		{"bad module", func(p *launchlist.List) { p.Module = "x.bin" }, exitDevice, "loading module x.bin on compute capability 9.0: NoBinaryForGpu"},
		{"no kernel", func(p *launchlist.List) { p.Launches[0].Kernel = "none" }, exitInput, "launches[0]: kernel none: NotFound"},
		{"too much shared", func(p *launchlist.List) { p.Launches[1].Shared = 300 << 10 }, exitInput, "307200 bytes of dynamic shared memory, tapc emulated GPU has 232448"},
		{"too much memory", func(p *launchlist.List) { p.Buffers[1].Bytes = launchlist.MaxBytes / 2 }, exitDevice, "OutOfMemory"},
		{"bad kernel", func(p *launchlist.List) {
			p.Launches[1] = launchlist.Launch{Kernel: "stuck", Grid: launchlist.Dim{1, 1, 1}, Block: launchlist.Dim{32, 1, 1}, Args: []launchlist.Arg{launchlist.At("x", 0)}}
		}, exitDevice, "launches[1] of kernel stuck: LaunchFailed"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			p := testList()
			c.change(p)
			if err := os.Remove(filepath.Join(b.dir, "y.bin")); err != nil && !os.IsNotExist(err) {
				t.Fatal(err)
			}
			_, stderr, status := b.run(t, p)
			if status != c.status || !strings.Contains(stderr, c.want) {
				t.Errorf("exit status %d and %q, expected %d and %q", status, stderr, c.status, c.want)
			}
			if _, err := os.Stat(filepath.Join(b.dir, "y.bin")); err == nil {
				t.Error("an output was written")
			}
		})
	}
	if _, stderr, status := b.run(t, testList(), "-device", "3"); status != exitDevice || !strings.Contains(stderr, "device 3: InvalidDevice") {
		t.Errorf("device 3: exit status %d and %q", status, stderr)
	}
}

// Without a driver the loader ends the program before it begins; it must say what is missing.
func TestNoDriver(t *testing.T) {
	b := newBench(t, "-race") // as above, so that go has it built already
	cmd := exec.CommandContext(t.Context(), b.program, "devices")
	cmd.Env = append(os.Environ(), "LD_LIBRARY_PATH=")
	out, err := cmd.CombinedOutput()
	if err == nil {
		t.Skip("this machine has a driver")
	}
	if !strings.Contains(string(out), "libcuda.so.1") {
		t.Errorf("printed %q, expected the library's name", out)
	}
}

func TestCommandLine(t *testing.T) {
	bad := filepath.Join(t.TempDir(), "launches.json")
	if err := os.WriteFile(bad, []byte(`{"version": 7}`), 0o666); err != nil {
		t.Fatal(err)
	}
	cases := []struct {
		args   []string
		status int
		want   string
	}{
		{nil, exitUsage, "usage:"},
		{[]string{"frobnicate"}, exitUsage, "usage:"},
		{[]string{"run"}, exitUsage, "usage:"},
		{[]string{"run", "-device", "x", bad}, exitUsage, "usage:"},
		{[]string{"run", "a", "b"}, exitUsage, "usage:"},
		{[]string{"devices", "all"}, exitUsage, "usage:"},
		{[]string{"run", bad}, exitInput, "version: 7, expected 1"},
		{[]string{"run", filepath.Join(t.TempDir(), "none")}, exitInput, "no such file"},
	}
	for _, c := range cases {
		var stdout, stderr bytes.Buffer
		if status := run(c.args, strings.NewReader(""), &stdout, &stderr); status != c.status || !strings.Contains(stderr.String(), c.want) || stdout.Len() > 0 {
			t.Errorf("%q: exit status %d, %q, expected %d and %q", c.args, status, stderr.String(), c.status, c.want)
		}
	}
	var stdout, stderr bytes.Buffer
	if status := run([]string{"help"}, strings.NewReader(""), &stdout, &stderr); status != 0 || stdout.String() != usage {
		t.Errorf("help: exit status %d, %q", status, stdout.String())
	}
}
