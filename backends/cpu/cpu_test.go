package cpu

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"tensortapestry.org/tapc/backends/conformance"
	"tensortapestry.org/tapc/backends/reference"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/tensorfile"
)

func TestConformance(t *testing.T) { conformance.Run(t, schedule.CPU, executeWith(nil)) }

// executeWith gives the function that builds a scheduled graph, with every warning an error and with sanitizers, and runs it.
func executeWith(load reference.Constants) conformance.Execute {
	return func(t *testing.T, g *ir.Graph, in map[string]tensorfile.Tensor) map[string]tensorfile.Tensor {
		t.Helper()
		return execute(t, g, in, func(c tensorops.Const) (tensorfile.Tensor, error) { return load(c, tensorops.TensorOf(g, c.Tensor)) })
	}
}

func execute(t *testing.T, g *ir.Graph, in map[string]tensorfile.Tensor, load LoadConst) map[string]tensorfile.Tensor {
	t.Helper()
	cc, err := FindCompiler()
	if err != nil {
		t.Skip(err)
	}
	src, err := Emit(g, "test", "test")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	exe := filepath.Join(dir, "program")
	err = cc.Build(context.Background(), src, load, exe, Options{Version: "test", CPU: "native",
		Flags: []string{"-Wall", "-Wextra", "-Werror", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"}})
	if err != nil {
		t.Fatalf("%v\n%s", err, src.C)
	}
	args := []string{"--threads", "2"}
	for name, x := range in {
		path := filepath.Join(dir, "in-"+name+".npy")
		if err := tensorfile.WriteNPY(path, x); err != nil {
			t.Fatal(err)
		}
		args = append(args, "--input", name+"="+path)
	}
	program, err := tensorops.ProgramOf(g)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range program.Outputs {
		name := o.Name
		args = append(args, "--output", name+"="+filepath.Join(dir, "out-"+name+".npy"))
	}
	if out, err := exec.Command(exe, args...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	got := map[string]tensorfile.Tensor{}
	for _, o := range program.Outputs {
		name := o.Name
		f, err := tensorfile.Open(filepath.Join(dir, "out-"+name+".npy"))
		if err != nil {
			t.Fatal(err)
		}
		if got[name], err = f.Load(f.Tensors()[0].Name); err != nil {
			t.Fatal(err)
		}
	}
	if os.Getenv("TAPC_KEEP_C") != "" {
		t.Log(src.C)
	}
	return got
}
