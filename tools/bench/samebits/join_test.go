package main

import (
	"context"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/internal/testkit"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/tensorfile"
)

// Cases that are built alike are joined, up to a number; models and cases that are built otherwise are not.
func TestGroups(t *testing.T) {
	alike := testCase{Inputs: map[string]string{}}
	cut := testCase{Inputs: map[string]string{}, Build: []string{"-O0", "--shard=op0=2"}}
	whole := testCase{Inputs: map[string]string{}, Build: []string{"-O0"}}
	list := []testCase{alike, cut, alike, {}, whole, alike}
	if got, want := groups(list, 2), [][]int{{0, 2}, {1, 4}, {3}, {5}}; !reflect.DeepEqual(got, want) {
		t.Errorf("%v, expected %v", got, want)
	}
	if got := groups(list, 1); len(got) != len(list) {
		t.Errorf("%v, expected each alone", got)
	}
}

// written writes a case: a graph whose tensors are float32 of four elements, x and z given.
func written(t *testing.T, dir, name string, outputs []string, build []string, operations string) testCase {
	t.Helper()
	c := testCase{name: name, dir: filepath.Join(dir, name), Build: build, Inputs: map[string]string{"x": "x.npy", "z": "z.npy"}, Outputs: map[string]string{}}
	c.file = filepath.Join(c.dir, "graph.tap")
	for _, o := range outputs {
		c.Outputs[o] = o + ".npy"
	}
	if err := os.MkdirAll(c.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	text := "tapc 1\n"
	for _, tensor := range []string{"a", "b", "x", "y", "z"} {
		if strings.Contains(operations, "%"+tensor) {
			text += "%" + tensor + " = tensor float32 [0:4]\n"
		}
	}
	if err := os.WriteFile(c.file, []byte(text+operations), 0o644); err != nil {
		t.Fatal(err)
	}
	for file, from := range map[string]float64{"x.npy": 1, "z.npy": 5} {
		x := tensorfile.Tensor{DType: scalar.Float32, Shape: []int64{4}, Data: make([]byte, 16)}
		for i := range 4 {
			scalar.FloatValue(scalar.Float32, from+float64(i)).Encode(x.Data[4*i:])
		}
		if err := tensorfile.WriteNPY(filepath.Join(c.dir, file), x); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

// chain has one output that a difference is subtracted for, and one that none is.
const chain = `%op0 = operation op:sub (a: %x, b: %z) -> (result: %a)
%op1 = operation op:abs (tensor: %a) -> (result: %y)
%op2 = operation op:mul (tensors: [%x, %z]) -> (result: %b)
`

const plain = `%op0 = operation op:add (tensors: [%x, %z]) -> (result: %y)
`

// A joined graph is one that the kernels agree with; it has the operations, shards, inputs and outputs of all cases under names of their own.
func TestJoin(t *testing.T) {
	dir := t.TempDir()
	list := []testCase{
		written(t, dir, "one", []string{"y"}, []string{"-O0", "--shard=op0=2"}, plain),
		written(t, dir, "two", []string{"b", "y"}, []string{"-O0", "--shard=op2=4"}, chain),
	}
	at := filepath.Join(dir, "joined")
	if err := os.Mkdir(at, 0o755); err != nil {
		t.Fatal(err)
	}
	one, err := join(at, list)
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"-O0", "--shard=g0.op0=2", "--shard=g1.op2=4"}; !slices.Equal(one.Build, want) {
		t.Errorf("built by %v, expected %v", one.Build, want)
	}
	g, err := readGraph(one.file)
	if err != nil {
		t.Fatal(err)
	}
	if found := tensorops.Environment().Verify(context.Background(), g); found.HasErrors() {
		t.Error(found)
	}
	for output, want := range map[string][]string{"g0.y": {"add"}, "g1.y": {"abs", "sub"}, "g1.b": {"mul"}} {
		if found := one.above(output); !slices.Equal(found, want) {
			t.Errorf("%s is computed by %v, expected %v", output, found, want)
		}
		if one.Outputs[output] == "" {
			t.Errorf("no output %s", output)
		}
	}
	for name, file := range one.Inputs {
		if _, err := os.Stat(filepath.Join(at, file)); err != nil {
			t.Errorf("input %s: %v", name, err)
		}
	}
	if len(one.Inputs) != 4 {
		t.Errorf("%d inputs, expected 4", len(one.Inputs))
	}
}

// Of cases that are joined, those that differ are named, with the outputs that do and the kernels above them; a case that one side refuses spoils no
// other. NEW is the compiler with a difference planted: it takes every sub for an add, and it knows no tanh.
func TestPlantedDifference(t *testing.T) {
	cc := testkit.Program(t, testkit.Compilers, "cc")
	tools := t.TempDir()
	tapc, planted := filepath.Join(tools, "tapc"), filepath.Join(tools, "planted")
	if text, err := exec.Command("go", "build", "-o", tapc, "../../../cmd/tapc").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	script := fmt.Sprintf(`#!/bin/sh
grep -q op:tanh "$2" && { echo "error: no tanh" >&2; exit 1; }
file=${2%%.tap}-planted.tap
sed -e 's/op:sub \(.*\)(a: \(.*\), b: \(.*\)) ->/op:add \1(tensors: [\2, \3]) ->/' "$2" > "$file"
shift 2
exec %q build "$file" "$@"
`, tapc)
	if err := os.WriteFile(planted, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, own := range []bool{true, false} {
		if !own && !testkit.Full() {
			continue
		}
		t.Run(fmt.Sprint("own compiler ", own), func(t *testing.T) {
			dir := t.TempDir()
			list := []testCase{
				written(t, dir, "same", []string{"y"}, nil, plain),
				written(t, dir, "chain", []string{"b", "y"}, nil, chain),
				written(t, dir, "refused", []string{"y"}, nil, "%op0 = operation op:tanh (tensor: %x) -> (result: %a)\n%op1 = operation op:add (tensors: [%a, %z]) -> (result: %y)\n"),
				written(t, dir, "constant", []string{"a", "y"}, nil, "%op1 = operation op:ones {shape: [4]} -> (result: %a)\n"+plain),
			}
			p := pair{tapc: [2]string{tapc, planted}}
			libraries, err := p.libraries(t.Context(), list)
			if err != nil {
				t.Fatal(err)
			}
			for side := range p.own {
				if own {
					p.own[side], err = newCompiler(t.Context(), cc+" -O0 -march=native -ffp-contract=off", p.tapc[side], filepath.Join(dir, fmt.Sprint("library", side)), libraries[side])
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			got := p.together(t.Context(), list)
			for i, want := range []verdict{sameBit, differs, differs, sameBit} {
				if got[i].verdict != want || (got[i].err != nil) != (list[i].name == "refused") {
					t.Errorf("%s: verdict %d (%v), expected %d", list[i].name, got[i].verdict, got[i].err, want)
				}
			}
			want := []differing{{"y", "in 4 of 4 elements by 6.7e-01 of the greatest", []string{"abs", "sub"}}} // 4 for all, or 6, 8, 10 and 12
			if found := got[1].outputs; !reflect.DeepEqual(found, want) {
				t.Errorf("of the chain %v differ, expected %v", found, want)
			}
			s := settings{}
			if s.report(list, got) {
				t.Error("the report takes what differs for the same")
			}
			if s.allow = "sub,tanh"; s.report(list[:2], got[:2]) != true {
				t.Error("a kernel that may differ is held against the commit")
			}
		})
	}
}

// How far tensors are apart is said beside the greatest number; what is NaN or infinite on one side alone is counted.
func TestApart(t *testing.T) {
	file := func(d scalar.DType, numbers ...float64) string {
		x := tensorfile.Tensor{DType: d, Shape: []int64{int64(len(numbers))}, Data: make([]byte, d.Size()*len(numbers))}
		for i, n := range numbers {
			scalar.FloatValue(d, n).Encode(x.Data[i*d.Size():])
		}
		path := filepath.Join(t.TempDir(), "x.npy")
		if err := tensorfile.WriteNPY(path, x); err != nil {
			t.Fatal(err)
		}
		return path
	}
	nan, inf := math.NaN(), math.Inf(1)
	for _, c := range []struct {
		a, b string
		want string
	}{
		{file(scalar.Float32, 1, 8, nan), file(scalar.Float32, 1, 6, nan), "in 1 of 3 elements by 2.5e-01 of the greatest"},
		{file(scalar.Float64, 1, inf, 2), file(scalar.Float64, nan, inf, inf), "in 2 of 3 elements by 0.0e+00 of the greatest, 2 numbers infinite or NaN on one side alone"},
		{file(scalar.Float32, nan, 2), file(scalar.Float32, math.Copysign(nan, -1), 2), ""},
		{file(scalar.Float32, 1), file(scalar.Float64, 1), "in its type or shape, float32 [1] and float64 [1]"},
	} {
		if found, err := apart(c.a, c.b); err != nil || found != c.want {
			t.Errorf("%q (%v), expected %q", found, err, c.want)
		}
	}
}
