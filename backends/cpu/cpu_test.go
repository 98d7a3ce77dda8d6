package cpu

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"tensortapestry.org/tapc/backends/conformance"
	"tensortapestry.org/tapc/backends/cpu/toolchain"
	"tensortapestry.org/tapc/backends/reference"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/internal/testkit"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/tensorfile"
)

func TestConformance(t *testing.T) {
	cc := compiler(t)
	conformance.Run(t, onCPU, executeWith(cc)(nil))
}

// TestExamples runs the example graphs, built by one compiler or the other.
func TestExamples(t *testing.T) {
	chosen := testkit.Rotation(t) % 2
	for i, name := range []string{"gcc", "clang"} {
		if uint64(i) != chosen && !testkit.Full() {
			continue
		}
		t.Run(name, func(t *testing.T) {
			cc := compiler(t, name)
			conformance.Examples(t, "../..", onCPU, executeWith(cc))
		})
	}
}

// compiler gives the C compiler of a name, or the one that programs are built with.
func compiler(t testing.TB, name ...string) *toolchain.Compiler {
	t.Helper()
	cc, err := toolchain.FindCompiler(t.Context())
	if len(name) > 0 {
		cc, err = toolchain.Find(t.Context(), name...)
	}
	testkit.Need(t, testkit.Compilers, err)
	return cc
}

// executeWith gives the function that builds a scheduled graph, with every warning an error and with sanitizers, and runs it.
func executeWith(cc *toolchain.Compiler) func(load reference.Constants) conformance.Execute {
	return executeFor(cc, "native", strict)
}

// executeFor is executeWith for a processor, with other flags; what programs are arguments of, such as an emulator, comes last.
func executeFor(cc *toolchain.Compiler, cpu string, flags []string, runner ...string) func(load reference.Constants) conformance.Execute {
	return func(load reference.Constants) conformance.Execute {
		return func(t *testing.T, g *ir.Graph, in map[string]tensorfile.Tensor) map[string]tensorfile.Tensor {
			t.Helper()
			testkit.NeedSanitizers(t, cc.Path, flags...)
			src, err := Emit(g, "test", "test")
			if err != nil {
				t.Fatal(err)
			}
			exe := filepath.Join(t.TempDir(), "program")
			err = Build(context.Background(), cc, src, func(c tensorops.Const) (tensorfile.Tensor, error) {
				return load(c, tensorops.TensorOf(g, c.Tensor))
			}, exe, Options{Version: "test", CPU: cpu, Flags: flags})
			if err != nil {
				t.Fatalf("%v\n%s", err, src.C)
			}
			if len(runner) == 0 {
				needProcessor(t, cc, cpu)
			}
			return executeThreads(t, append(slices.Clone(runner), exe), g, in, "2")
		}
	}
}

// needProcessor skips a test whose program this machine's processor cannot execute: it was built, and that is all.
func needProcessor(t *testing.T, cc *toolchain.Compiler, cpu string) {
	t.Helper()
	targets, err := cc.Targets(context.Background(), cpu)
	if err != nil {
		t.Fatal(err)
	}
	if least := targets[len(targets)-1]; !runs(t, cc, least) {
		t.Skipf("this processor has not all of %s: programs for it were built, not executed", least.Name)
	}
}

// pattern has compilers fill arrays on stacks, as TAPC_MEMORY=poison fills memory: with numbers near -10³⁸ or -10⁻¹³.
const pattern = "-ftrivial-auto-var-init=pattern"

var strict = []string{"-Wall", "-Wextra", "-Werror", "-O1", pattern, "-fsanitize=address,undefined", "-fno-sanitize-recover=all"}

// TestMain has programs share out the smallest kernel, as finely as they can (backends/cpu/runtime/csrc/pool.c).
func TestMain(m *testing.M) {
	os.Setenv("TAPC_POOL", "eager")
	os.Exit(m.Run())
}

// executeThreads runs a program, which may be an argument of another, on files.
func executeThreads(t *testing.T, command []string, g *ir.Graph, in map[string]tensorfile.Tensor, threads string) map[string]tensorfile.Tensor {
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

// TestViews builds views around windows, which take turns.
func TestViews(t *testing.T) {
	conformance.Views(t, onCPU, 4, executeWith(compiler(t))(nil))
}
