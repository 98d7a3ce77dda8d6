package cpu_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"tensortapestry.org/tapc/backends/cpu"
	"tensortapestry.org/tapc/backends/cpu/cputest"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/internal/testkit"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/tensorfile"
)

func TestTargets(t *testing.T) {
	cc := cputest.Compiler(t)
	for _, c := range []struct{ names, want string }{
		{"x86-64-v3", "x86-64-v3"}, {"x86-64-v4,x86-64", "x86-64-v4 x86-64"}, {"baseline", "x86-64"},
		{"portable", "x86-64-v4 x86-64-v3 x86-64"}, {"haswell", "haswell"},
	} {
		got, err := cc.Targets(context.Background(), c.names)
		if err != nil {
			t.Skip(err) // another processor, or a compiler that does not know it
		}
		var names []string
		for _, x := range got {
			names = append(names, x.Name)
		}
		if strings.Join(names, " ") != c.want {
			t.Errorf("%s: got %v, want %s", c.names, names, c.want)
		}
	}
	for _, bad := range []string{"nonsense", "x86-64,x86-64-v3", "haswell,x86-64"} {
		if _, err := cc.Targets(context.Background(), bad); err == nil {
			t.Errorf("--cpu=%s is accepted", bad)
		}
	}
}

const user = `#include <stdio.h>
#include "small.h"
int main(void) {
  float in[12], out[12];
  const void *inputs[] = {in};
  void *outputs[] = {out};
  char error[200];
  for (int i = 0; i < 12; i++) in[i] = (float)(i - 6);
  tapc_instance *x = small_create(2, error, sizeof error);
  if (!x) return puts(error), 1;
  if (small_run(x, inputs, outputs, error, sizeof error)) return puts(error), 1;
  small_destroy(x);
  for (int i = 0; i < 12; i++) printf("%g ", out[i]);
  puts(small_describe()[0] == '{' ? "described" : "");
  return 0;
}
`

// TestLibrary links a C program with a shared library and with an object file.
func TestLibrary(t *testing.T) {
	cc := cputest.Compiler(t)
	g := cputest.Scheduled(t, "%x = tensor float32 [0:12]\n%y = tensor float32 [0:12]\n%r = operation op:relu (tensor: %x) -> (result: %y)\n")
	src, err := cpu.Prepare(g, "small", "test")
	if err != nil {
		t.Fatal(err)
	}
	load := func(tensorops.Const) (tensorfile.Tensor, error) { return tensorfile.Tensor{}, nil }
	builds := map[string]cpu.Builder{"libsmall.so": cpu.BuildLibrary, "small.o": cpu.BuildObject}
	for file, build := range builds {
		t.Run(file, func(t *testing.T) {
			dir := t.TempDir()
			if err := build(context.Background(), cc, src, load, filepath.Join(dir, file), cpu.Options{Version: "test"}); err != nil {
				t.Fatal(err)
			}
			header := strings.TrimSuffix(file, filepath.Ext(file)) + ".h"
			if err := os.Rename(filepath.Join(dir, header), filepath.Join(dir, "small.h")); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, "user.c"), []byte(user), 0o644); err != nil {
				t.Fatal(err)
			}
			exe := filepath.Join(dir, "user")
			args := []string{"-std=c11", "-Wall", "-Wextra", "-Werror", filepath.Join(dir, "user.c"), filepath.Join(dir, file), "-pthread", "-lm", "-o", exe}
			if out, err := exec.Command(cc.Path, args...).CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			out, err := exec.Command(exe).CombinedOutput()
			if want := "0 0 0 0 0 0 0 1 2 3 4 5 described\n"; err != nil || string(out) != want {
				t.Errorf("%v: got %q, want %q", err, out, want)
			}
			symbols, err := exec.Command("nm", "-D", "--defined-only", filepath.Join(dir, file)).Output()
			if err == nil && file == "libsmall.so" && strings.Count(string(symbols), "\n") != 8 {
				t.Errorf("the library exports\n%s", symbols)
			}
		})
	}
}

// TestLibraryWithoutHeader: where a header can not be written there is no library either, nor its constants.
func TestLibraryWithoutHeader(t *testing.T) {
	cc := cputest.Compiler(t)
	src, err := cpu.Prepare(cputest.Scheduled(t, `%x = tensor float32 [0:4]
%y = tensor float32 [0:4]
%c = tensor float32 [0:4]
operation op:constant {file: "w", key: "c"} -> (result: %c)
operation op:add (tensors: [%x, %c]) -> (result: %y)
`), "small", "test")
	if err != nil {
		t.Fatal(err)
	}
	load := func(tensorops.Const) (tensorfile.Tensor, error) {
		return tensorfile.Tensor{DType: scalar.Float32, Shape: []int64{4}, Data: make([]byte, 16)}, nil
	}
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "libsmall.h"), 0o755); err != nil {
		t.Fatal(err)
	}
	library := filepath.Join(dir, "libsmall.so")
	o := cpu.Options{Version: "test", Weights: library + ".weights"}
	if err := cpu.BuildLibrary(context.Background(), cc, src, load, library, o); err == nil || !strings.Contains(err.Error(), "libsmall.h") {
		t.Errorf("expected an error of the header, found %v", err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("files are left: %v, %v", left, err)
	}
	if err := os.Remove(filepath.Join(dir, "libsmall.h")); err != nil {
		t.Fatal(err)
	}
	if err := cpu.BuildLibrary(context.Background(), cc, src, load, library, o); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 3 {
		t.Errorf("expected library, header and constants, found %v, %v", left, err)
	}
}

// TestLibraryUse uses a library as its header says, and wrongly, under the sanitizers: instances of many threads of their own, one
// that they share, and addresses that can not be right.
func TestLibraryUse(t *testing.T) {
	cc := cputest.Compiler(t)
	src, err := cpu.Prepare(cputest.Scheduled(t, `%x = tensor float32 [0:40, 0:33]
%t = tensor float32 [0:33, 0:40]
%g = tensor float32 [0:40, 0:40]
%m = tensor float32 [0:40, 0:33]
%y = tensor float32 [0:40, 0:33]
%s = tensor float32 [0:40]
%a = operation op:permute{perm: [1, 0]} (tensor: %x) -> (result: %t)
%b = operation op:matmul (X: %x, Y: %t) -> (Z: %g)
%c = operation op:matmul (X: %g, Y: %x) -> (Z: %m)
%d = operation op:softmax{dims: [1]} (tensor: %m) -> (result: %y)
%e = operation op:sum{dims: [1]} (tensor: %m) -> (result: %s)
`), "use", "test")
	if err != nil {
		t.Fatal(err)
	}
	want := `threads
2 expected an instance, found NULL
2 expected the addresses of 1 inputs, found NULL
2 expected the addresses of 2 outputs, found NULL
2 input x: expected a buffer of 5280 bytes, found NULL
2 output y: expected a buffer of 5280 bytes, found NULL
2 input x: expected an address that is a multiple of 4, found one that is not
2 output s: expected an address that is a multiple of 4, found one that is not
2 output y: expected a buffer apart from all others, found one that overlaps input x
2 output s: expected a buffer apart from all others, found one that overlaps output y
2 output s: expected a buffer apart from all others, found one that overlaps output y
done
`
	load := func(tensorops.Const) (tensorfile.Tensor, error) { return tensorfile.Tensor{}, nil }
	for _, sanitizers := range []string{"address,undefined", "thread"} {
		t.Run(sanitizers, func(t *testing.T) {
			t.Parallel()
			flags := []string{"-Wall", "-Wextra", "-Werror", "-O1", "-g", "-fsanitize=" + sanitizers, "-fno-sanitize-recover=all"}
			testkit.NeedSanitizers(t, cc.Path, flags...)
			dir := t.TempDir()
			lib := filepath.Join(dir, "use.so")
			if err := cpu.BuildLibrary(context.Background(), cc, src, load, lib, cpu.Options{Version: "test", Flags: flags}); err != nil {
				t.Fatal(err)
			}
			exe := filepath.Join(dir, "program")
			args := append(flags, "-std=c11", "-I", dir, filepath.Join("testdata", "libraryuse.c"), lib, "-pthread", "-o", exe)
			if out, err := exec.Command(cc.Path, args...).CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			if out, err := exec.Command(exe).CombinedOutput(); err != nil || string(out) != want {
				t.Errorf("%v: found\n%s\nexpected\n%s", err, out, want)
			}
		})
	}
}
