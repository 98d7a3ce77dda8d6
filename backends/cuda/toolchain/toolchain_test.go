package toolchain

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tensortapestry.org/tapc/internal/testkit"
)

const twoKernels = `
extern "C" __global__ void scale(float* x, float a, int n) {
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n) x[i] *= a;
}
extern "C" __global__ void __launch_bounds__(256) rev(float* x) {
	__shared__ float s[256];
	s[threadIdx.x] = x[threadIdx.x];
	__syncthreads();
	x[threadIdx.x] = s[255 - threadIdx.x];
}
`

func TestCompileCubin(t *testing.T) {
	tc := ForTest(t)
	cubin, info, err := tc.CompileCubin(t.Context(), twoKernels, "sm_90", Options{})
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.HasPrefix(cubin, []byte("\x7fELF")) {
		t.Errorf("cubin begins with %q, expected an ELF file", cubin[:min(4, len(cubin))])
	}
	if len(info.Kernels) != 2 || info.Kernels[0].Name != "rev" || info.Kernels[1].Name != "scale" {
		t.Fatalf("kernels: %+v, expected rev and scale", info.Kernels)
	}
	rev, ok := info.Kernel("rev")
	if !ok || rev.StaticShared != 1024 || rev.Barriers != 1 || rev.Registers < 4 || rev.SpillStores != 0 {
		t.Errorf("rev: %+v, expected 1024 bytes of shared memory, one barrier, no spills", rev)
	}
	if scale, _ := info.Kernel("scale"); scale.StaticShared != 0 || scale.Barriers != 0 {
		t.Errorf("scale: %+v, expected no shared memory and no barrier", scale)
	}
	again, _, err := tc.CompileCubin(t.Context(), twoKernels, "sm_90", Options{})
	if err != nil || !bytes.Equal(cubin, again) {
		t.Errorf("compiling twice gave different bytes (error %v)", err)
	}
}

func TestCompileOtherForms(t *testing.T) {
	tc := ForTest(t)
	ptx, err := tc.CompilePTX(t.Context(), twoKernels, "sm_90", Options{LineInfo: true})
	if err != nil || !strings.Contains(ptx, ".visible .entry scale(") || !strings.Contains(ptx, ".target sm_90") {
		t.Errorf("PTX: error %v, text\n%s", err, ptx)
	}
	fat, err := tc.CompileFatbin(t.Context(), twoKernels, []string{"sm_80", "sm_90", "compute_90"}, Options{FastMath: true, NoFMA: true})
	if err != nil || len(fat) == 0 {
		t.Errorf("fatbin: %d bytes, error %v", len(fat), err)
	}
	cubin, _, err := tc.CompileCubin(t.Context(), twoKernels, "sm_80", Options{Defines: []string{"UNUSED=1"}})
	if err != nil {
		t.Fatal(err)
	}
	sass, err := tc.Disassemble(t.Context(), cubin)
	testkit.Need(t, testkit.CUDA, err)
	if !strings.Contains(sass, "Function : scale") || !strings.Contains(sass, "EXIT") {
		t.Errorf("disassembly: %s", sass)
	}
}

func TestCompileReportsSpills(t *testing.T) {
	tc := ForTest(t)
	const src = `extern "C" __global__ void fat(float* x) {
	float v[40];
	#pragma unroll
	for (int i = 0; i < 40; i++) v[i] = x[i * 1024 + threadIdx.x];
	__syncthreads();
	#pragma unroll
	for (int i = 0; i < 40; i++) v[i] = fmaf(v[i], v[(i + 13) % 40], v[(i + 7) % 40]);
	#pragma unroll
	for (int i = 0; i < 40; i++) x[i * 1024 + threadIdx.x] = v[i];
}`
	_, info, err := tc.CompileCubin(t.Context(), src, "sm_90", Options{MaxRegisters: 24})
	if err != nil {
		t.Fatal(err)
	}
	fat, _ := info.Kernel("fat")
	if fat.Registers > 24 || fat.SpillStores == 0 || fat.SpillLoads == 0 {
		t.Errorf("%+v, expected at most 24 registers and spills", fat)
	}
}

func TestCompileErrors(t *testing.T) {
	tc := ForTest(t)
	_, _, err := tc.CompileCubin(t.Context(), "__global__ void k() { undeclared(); }", "sm_90", Options{})
	var refused *CompileError
	if !errors.As(err, &refused) {
		t.Fatalf("error %v, expected a *CompileError", err)
	}
	if !strings.Contains(refused.Output, "kernel.cu(1)") || !strings.Contains(refused.Output, "undeclared") {
		t.Errorf("output %q, expected kernel.cu(1) and the name", refused.Output)
	}
	if strings.Contains(err.Error(), os.TempDir()) {
		t.Errorf("the error names a temporary folder: %v", err)
	}
	if _, _, err := tc.CompileCubin(t.Context(), "", "compute_90", Options{}); err == nil {
		t.Error("a cubin for compute_90: expected an error")
	}
	if _, err := tc.CompilePTX(t.Context(), "", "sm_90 -o /x", Options{}); err == nil {
		t.Error("an architecture with a space: expected an error")
	}
	done, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := tc.CompilePTX(done, twoKernels, "sm_90", Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: error %v", err)
	}
}

func TestFindSaysWhatToInstall(t *testing.T) {
	t.Setenv(HomeVariable, t.TempDir())
	_, err := Find()
	var missing *NotFoundError
	if !errors.As(err, &missing) || !strings.Contains(err.Error(), "tools/cuda/install.sh") {
		t.Errorf("empty home: error %v", err)
	}
	t.Setenv(HomeVariable, "")
	t.Setenv("PATH", t.TempDir())
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	if _, err := os.Stat("/usr/local/cuda/bin/nvcc"); err == nil {
		t.Skip("/usr/local/cuda is there")
	}
	if _, err = Find(); !errors.As(err, &missing) || len(missing.Tried) != 3 {
		t.Errorf("nothing anywhere: error %v", err)
	}
}

// A compiler in a cache that others can write is not run.
func TestFindDistrustsCache(t *testing.T) {
	if _, err := os.Stat("/usr/local/cuda/bin/nvcc"); err == nil {
		t.Skip("/usr/local/cuda is there")
	}
	cache := t.TempDir()
	dir := filepath.Join(cache, "tapc", "cuda")
	fakeNVCC(t, dir, "echo 'Cuda compilation tools, release 12.4, V12.4.131'")
	t.Setenv(HomeVariable, "")
	t.Setenv("PATH", "/usr/bin:/bin")
	if _, err := exec.LookPath("nvcc"); err == nil {
		t.Skip("nvcc is on the PATH")
	}
	t.Setenv("XDG_CACHE_HOME", cache)
	t.Setenv("NVCC_CCBIN", "cc")
	if _, err := Find(); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{dir, filepath.Join(dir, "bin"), filepath.Join(dir, "bin", "nvcc")} {
		for mode, want := range map[os.FileMode]string{0o777: "0777", 0o755: ""} {
			if err := os.Chmod(path, mode); err != nil {
				t.Fatal(err)
			}
			if _, err := Find(); want != "" && (err == nil || !strings.Contains(err.Error(), path+": expected that others can not write it")) || want == "" && err != nil {
				t.Errorf("%s with permissions %#o: found %v", path, mode, err)
			}
			if err := os.Chmod(path, 0o755); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestFindUsesHome(t *testing.T) {
	home := t.TempDir()
	fakeNVCC(t, home, "echo 'Cuda compilation tools, release 12.4, V12.4.131'")
	t.Setenv(HomeVariable, home)
	t.Setenv("NVCC_CCBIN", "cc")
	got, err := Find()
	if err != nil {
		t.Fatal(err)
	}
	if got.Version != "12.4.131" || filepath.Base(got.NVCC) != "nvcc" {
		t.Errorf("found %+v, expected version 12.4.131", got)
	}
	if _, err := got.tool("no-such-tool"); err == nil {
		t.Error("a tool that is not there: expected an error")
	}
	fakeNVCC(t, home, "echo broken >&2; exit 3")
	var missing *NotFoundError
	if _, err := Find(); err == nil || errors.As(err, &missing) || !strings.Contains(err.Error(), "broken") {
		t.Errorf("a toolkit that does not run: error %v, expected its own words", err)
	}
}

func fakeNVCC(t *testing.T, home, body string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Join(home, "bin"), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(home, "bin", "nvcc"), []byte("#!/bin/sh\n"+body+"\n"), 0o777); err != nil {
		t.Fatal(err)
	}
}

func TestParseInfo(t *testing.T) {
	const log = `kernel.cu(3): warning #177-D: variable "q" was declared but never referenced
ptxas info    : 48 bytes gmem, 16 bytes cmem[4]
ptxas info    : Compiling entry function 'b' for 'sm_80'
ptxas info    : Function properties for b
    40 bytes stack frame, 8 bytes spill stores, 12 bytes spill loads
ptxas info    : Used 32 registers, used 2 barriers, 40 bytes cumulative stack size, 4096+0 bytes smem, 372 bytes cmem[0], 4 bytes cmem[2]
ptxas info    : Compiling entry function 'a' for 'sm_80'
ptxas info    : Function properties for a
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 4 registers
`
	got, err := ParseInfo(log)
	if err != nil {
		t.Fatal(err)
	}
	want := Info{
		Kernels: []KernelInfo{
			{Name: "a", Registers: 4},
			{Name: "b", Registers: 32, Barriers: 2, Stack: 40, SpillStores: 8, SpillLoads: 12, StaticShared: 4096, Constant: 376},
		},
		Warnings: []string{`kernel.cu(3): warning #177-D: variable "q" was declared but never referenced`},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if _, err := ParseInfo("Compiling entry function 'a' for 'sm_80'\n: Used 99999999999999999999 registers"); err == nil {
		t.Error("a number too large: expected an error")
	}
}
