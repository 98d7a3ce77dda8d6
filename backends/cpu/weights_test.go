package cpu_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"tensortapestry.org/tapc/backends/cpu"
	"tensortapestry.org/tapc/backends/cpu/cabi"
	"tensortapestry.org/tapc/backends/cpu/cputest"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/tensorfile"
)

// A program whose constants are in a file beside it gives the same, and says what is wrong with a file that is missing or not its own.
func TestWeightsFile(t *testing.T) {
	cc := cputest.Compiler(t)
	g := cputest.Scheduled(t, `%x = tensor float32 [0:3]
%w = tensor float32 [0:3]
%y = tensor float32 [0:3]
%c = operation op:constant {value: [1, 2, 4]} -> (result: %w)
%m = operation op:mul (tensors: [%x, %w]) -> (result: %y)
`)
	src, err := cpu.Prepare(g, "test", "test")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	exe := filepath.Join(dir, "program")
	load := func(c tensorops.Const) (tensorfile.Tensor, error) {
		return tensorfile.Tensor{DType: tensorops.TensorOf(g, c.Tensor).Type(), Shape: []int64{3}, Data: []byte{0, 0, 128, 63, 0, 0, 0, 64, 0, 0, 128, 64}}, nil
	}
	weights := exe + cabi.WeightsSuffix
	if err := cpu.Build(context.Background(), cc, src, load, exe, cpu.Options{Version: "test", CPU: "baseline", Weights: weights}); err != nil {
		t.Fatal(err)
	}
	run := func(want string) {
		t.Helper()
		out, _ := exec.Command(exe, "--random", "1").CombinedOutput()
		if !strings.Contains(string(out), want) {
			t.Errorf("expected %q, found %s", want, out)
		}
	}
	plain := filepath.Join(dir, "plain")
	if err := cpu.Build(context.Background(), cc, src, load, plain, cpu.Options{Version: "test", CPU: "baseline"}); err != nil {
		t.Fatal(err)
	}
	same, err := exec.Command(plain, "--random", "1").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, same)
	}
	run(string(same))
	data, err := os.ReadFile(weights)
	if err != nil {
		t.Fatal(err)
	}
	data[1] ^= 1 // of a constant
	if err := os.WriteFile(weights, data, 0o600); err != nil {
		t.Fatal(err)
	}
	run("it is damaged")
	data[len(data)-1] ^= 1 // of the digest
	if err := os.WriteFile(weights, data, 0o600); err != nil {
		t.Fatal(err)
	}
	run("it does not belong to this program")
	if err := os.Remove(weights); err != nil {
		t.Fatal(err)
	}
	run("No such file or directory")
}

// A constant without elements has a place too.
func TestEmptyConstant(t *testing.T) {
	cc := cputest.Compiler(t)
	g := cputest.Scheduled(t, `%c = tensor float32 [0:0]
%y = tensor float32 [0:0]
%k = operation op:constant {value: []} -> (result: %c)
%m = operation op:copy (tensor: %c) -> (result: %y)
`)
	src, err := cpu.Prepare(g, "test", "test")
	if err != nil {
		t.Fatal(err)
	}
	load := func(tensorops.Const) (tensorfile.Tensor, error) {
		return tensorfile.Tensor{DType: scalar.Float32, Shape: []int64{0}, Data: []byte{}}, nil
	}
	exe := filepath.Join(t.TempDir(), "program")
	if err := cpu.Build(context.Background(), cc, src, load, exe, cpu.Options{Version: "test", CPU: "baseline"}); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(exe).CombinedOutput(); err != nil || !strings.Contains(string(out), "shape [0]") {
		t.Errorf("%v: %s", err, out)
	}
}
