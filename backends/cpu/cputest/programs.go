// Package cputest builds scheduled graphs as programs of the CPU back end and runs them, for tests. Its own tests are those of the whole
// library of kernels, of the examples and of other machines; what one form of kernel does is tested in backends/cpu.
package cputest

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"tensortapestry.org/tapc/backends/conformance"
	"tensortapestry.org/tapc/backends/cpu"
	"tensortapestry.org/tapc/backends/cpu/toolchain"
	"tensortapestry.org/tapc/backends/reference"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/internal/testkit"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/tensorfile"
)

// Main runs the tests of a package, and gives the exit status: programs share out the smallest kernel, as finely as they can
// (backends/cpu/runtime/csrc/pool.c).
func Main(m *testing.M) int {
	os.Setenv("TAPC_POOL", "eager")
	return m.Run()
}

// Compiler gives the C compiler of a name, or the one that programs are built with.
func Compiler(t testing.TB, name ...string) *toolchain.Compiler {
	t.Helper()
	cc, err := toolchain.FindCompiler(t.Context())
	if len(name) > 0 {
		cc, err = toolchain.Find(t.Context(), name...)
	}
	testkit.Need(t, testkit.Compilers, err)
	return cc
}

// Cross gives a compiler for AArch64 and an emulator.
func Cross(t *testing.T, compiler string) (*toolchain.Compiler, testkit.Cross) {
	t.Helper()
	tools := testkit.CrossAArch64(t, compiler)
	cc, err := toolchain.NamedCompiler(t.Context(), tools.Compiler)
	if err != nil {
		t.Fatal(err)
	}
	return cc, tools
}

// Pattern has compilers fill arrays on stacks, as TAPC_MEMORY=poison fills memory: with numbers near -10³⁸ or -10⁻¹³.
const Pattern = "-ftrivial-auto-var-init=pattern"

// Strict makes every warning an error and asks for sanitizers.
var Strict = []string{"-Wall", "-Wextra", "-Werror", "-O1", Pattern, "-fsanitize=address,undefined", "-fno-sanitize-recover=all"}

// Strictly gives the function that builds a scheduled graph, with every warning an error and with sanitizers, and runs it.
func Strictly(cc *toolchain.Compiler) func(load reference.Constants) conformance.Execute {
	return Executes(cc, "native", Strict)
}

// Executes is Strictly for a processor, with other flags; what programs are arguments of, such as an emulator, comes last.
func Executes(cc *toolchain.Compiler, processor string, flags []string, runner ...string) func(load reference.Constants) conformance.Execute {
	return func(load reference.Constants) conformance.Execute {
		return func(t *testing.T, g *ir.Graph, in map[string]tensorfile.Tensor) map[string]tensorfile.Tensor {
			t.Helper()
			testkit.NeedSanitizers(t, cc.Path, flags...)
			targets, err := cc.Targets(context.Background(), processor)
			if err != nil {
				t.Fatal(err)
			}
			src, err := cpu.Prepare(g, "test", "test")
			if err != nil {
				t.Fatal(err)
			}
			exe := filepath.Join(t.TempDir(), "program")
			err = cpu.Build(context.Background(), cc, src, func(c tensorops.Const) (tensorfile.Tensor, error) {
				return load(c, tensorops.TensorOf(g, c.Tensor))
			}, exe, cpu.Options{Version: "test", CPU: processor, Flags: flags})
			if err != nil {
				if text, failed := src.Text(targets[0]); failed == nil {
					t.Log(text.C)
				}
				t.Fatal(err)
			}
			if len(runner) == 0 {
				needProcessor(t, cc, processor)
			}
			return Run(t, append(slices.Clone(runner), exe), g, in, "2")
		}
	}
}

// needProcessor skips a test whose program this machine's processor cannot execute: it was built, and that is all.
func needProcessor(t *testing.T, cc *toolchain.Compiler, processor string) {
	t.Helper()
	targets, err := cc.Targets(context.Background(), processor)
	if err != nil {
		t.Fatal(err)
	}
	if least := targets[len(targets)-1]; !Runs(t, cc, least) {
		t.Skipf("this processor has not all of %s: programs for it were built, not executed", least.Name)
	}
}

// Run runs a program, which may be an argument of another, on files.
func Run(t *testing.T, command []string, g *ir.Graph, in map[string]tensorfile.Tensor, threads string) map[string]tensorfile.Tensor {
	t.Helper()
	dir := t.TempDir()
	args := append(command[1:len(command):len(command)], "--threads", threads)
	for name, x := range in {
		path := filepath.Join(dir, "in-"+name+suffix(x.DType))
		write := tensorfile.WriteNPY
		if suffix(x.DType) != ".npy" {
			write = func(path string, x tensorfile.Tensor) error {
				return tensorfile.WriteSafetensors(path, map[string]tensorfile.Tensor{name: x})
			}
		}
		if err := write(path, x); err != nil {
			t.Fatal(err)
		}
		args = append(args, "--input", name+"="+path)
	}
	program, err := tensorops.ProgramOf(g)
	if err != nil {
		t.Fatal(err)
	}
	files, types := map[string]string{}, map[string]scalar.DType{}
	for _, o := range program.Outputs {
		types[o.Name] = tensorops.TensorOf(g, o.Tensor).Type()
		files[o.Name] = filepath.Join(dir, "out-"+o.Name+suffix(types[o.Name]))
		args = append(args, "--output", o.Name+"="+files[o.Name])
	}
	cmd := exec.Command(command[0], args...)
	cmd.Env = append(os.Environ(), "TAPC_MEMORY=poison") // what is read unwritten shows
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	got := map[string]tensorfile.Tensor{}
	for name, path := range files {
		f, err := tensorfile.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		x, err := f.Load(f.Tensors()[0].Name)
		if err == nil {
			got[name], err = x.As(types[name])
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return got
}

// suffix is the ending of a file that holds a tensor of an element type: NumPy has no floats of 8 bits.
func suffix(d scalar.DType) string {
	if d == scalar.BFloat16 || d.IsFloat() && d.Bits() == 8 {
		return ".safetensors"
	}
	return ".npy"
}
