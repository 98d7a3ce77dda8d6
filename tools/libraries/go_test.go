//go:build linux || darwin || freebsd

package libraries_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"tensortapestry.org/tapc/library"
)

const mixed = `tapc 1
%x = tensor float32 [0:4, 0:3]
%h = tensor bfloat16 [0:4]
%n = tensor int64 []
%b = tensor boolean [0:2]
%e = tensor float64 [0:0]
operation op:import {names: ["x", "h", "n", "b", "e"]} -> (result: [%x, %h, %n, %b, %e])
%y = tensor float32 [0:4, 0:3]
%g = tensor bfloat16 [0:4]
%m = tensor int64 []
%c = tensor boolean [0:2]
operation op:relu (tensor: %x) -> (result: %y)
operation op:neg (tensor: %h) -> (result: %g)
operation op:neg (tensor: %n) -> (result: %m)
operation op:not (tensor: %b) -> (result: %c)
operation op:export {names: ["y", "g", "m", "c"]} (tensor: [%y, %g, %m, %c])
`

const table = `tapc 1
%i = tensor int32 [0:2]
%t = tensor float32 [0:3]
%y = tensor float32 [0:2]
%place = tensor int64 []
%found = tensor int32 []
%index = tensor int64 []
operation op:first_outside {low: 0, high: 3} (indices: %i) -> (place: %place)
operation op:gather (tensor: %i, indices: %place) -> (result: %found)
operation op:cast {dtype: "int64"} (tensor: %found) -> (result: %index)
operation op:check {of: "input i", shape: [2], low: 0, high: 3, offset: 0, stride: 1} (place: %place, index: %index)
operation op:gather (tensor: %t, indices: %i) -> (result: %y)
`

// libraryOf builds the library of a graph.
func libraryOf(t *testing.T, name, graph string, flags ...string) string {
	t.Helper()
	dir := t.TempDir()
	file, out := filepath.Join(dir, name+".tap"), filepath.Join(dir, "lib"+name+".so")
	write(t, file, graph)
	do(t, dir, nil, append([]string{tapc(t), "build", file, "--emit=lib", "-o", out}, flags...)...)
	return out
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func opened(t *testing.T, path string, o library.Options) *library.Model {
	t.Helper()
	m, err := library.Open(path, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	return m
}

// refused holds an error to a status and a text.
func refused(t *testing.T, err error, status library.Status, want string) {
	t.Helper()
	var e *library.Error
	if !errors.As(err, &e) || e.Status != status || !strings.Contains(e.Text, want) {
		t.Errorf("got %v, want status %d and %q", err, status, want)
	}
}

func arguments() library.Values {
	return library.Values{"x": []float32{-1, 2, -3, 4, -5, 6, -7, 8, -9, 10, -11, 12}, "h": []uint16{0x3f80, 0, 0x4000, 0xbf80}, "n": []int64{5},
		"b": []bool{true, false}, "e": []float64(nil)}
}

func TestGoValues(t *testing.T) {
	ctx := context.Background()
	path := libraryOf(t, "mixed", mixed)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", t.TempDir())
	inside, err := library.OpenBytes(data, library.Options{Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer inside.Close()
	if left, err := os.ReadDir(os.TempDir()); err != nil || len(left) > 0 {
		t.Errorf("%v: OpenBytes left %v", err, left)
	}
	for _, m := range []*library.Model{opened(t, path, library.Options{Threads: 2}), inside} {
		if m.Name() != "mixed" || len(m.Inputs()) != 5 || m.Inputs()[1].DType != "bfloat16" || !slices.Equal(m.Outputs()[0].Shape, []int64{4, 3}) ||
			!strings.Contains(m.Description(), `"abi": 1`) {
			t.Errorf("the model is %s", m.Description())
		}
		out := m.MakeOutputs()
		if err := m.Run(ctx, arguments(), out); err != nil {
			t.Fatal(err)
		}
		if y := out["y"].([]float32); !slices.Equal(y, []float32{0, 2, 0, 4, 0, 6, 0, 8, 0, 10, 0, 12}) {
			t.Error(y)
		}
		if g, n, c := out["g"].([]uint16), out["m"].([]int64), out["c"].([]bool); !slices.Equal(g, []uint16{0xbf80, 0x8000, 0xc000, 0x3f80}) ||
			n[0] != -5 || c[0] || !c[1] {
			t.Error(g, n, c)
		}
	}
}

// TestGoEachType holds the table of types to what tapc says of each that it has.
func TestGoEachType(t *testing.T) {
	types := []string{"boolean", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "bfloat16", "float32", "float64",
		"float8_e4m3", "float8_e5m2", "complex64", "complex128", "int4", "uint4", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e8m0",
		"float6_e2m3", "float6_e3m2", "float4_e2m1", "int2", "uint2"}
	graph := "tapc 1\n"
	for _, x := range types {
		graph += "%" + x + " = tensor " + x + " [0:3]\n%y" + x + " = tensor " + x + " [0:3]\noperation op:copy (tensor: %" + x + ") -> (result: %y" + x + ")\n"
	}
	m := opened(t, libraryOf(t, "types", graph), library.Options{Threads: 1})
	in := library.Values{}
	for _, x := range m.Inputs() {
		in[x.Name] = x.Make()
	}
	if err := m.Run(context.Background(), in, m.MakeOutputs()); err != nil || len(in) != len(types) {
		t.Errorf("%v, with %d inputs", err, len(in))
	}
}

func TestGoRefuses(t *testing.T) {
	ctx := context.Background()
	m := opened(t, libraryOf(t, "mixed", mixed), library.Options{Threads: 1})
	for _, c := range []struct {
		name  string
		value any
		want  string
	}{
		{"x", []float64{1}, `input "x": expected []float32 for float32, found []float64`},
		{"x", make([]float32, 11), `input "x": expected 12 elements for the shape [4 3], found 11`},
		{"x", [12]float32{}, "found [12]float32"},
		{"x", nil, "found <nil>"},
		{"z", []float32{1}, `no input is named "z": expected ["x" "h" "n" "b" "e"]`},
	} {
		in := arguments()
		in[c.name] = c.value
		refused(t, m.Run(ctx, in, m.MakeOutputs()), library.BadArgument, c.want)
	}
	in := arguments()
	delete(in, "b")
	refused(t, m.Run(ctx, in, m.MakeOutputs()), library.BadArgument, `input "b" is missing: expected 2 elements of bool`)
	in["bb"] = []bool{true, false}
	refused(t, m.Run(ctx, in, m.MakeOutputs()), library.BadArgument, `no input is named "bb", did you mean "b": expected`)
	out := m.MakeOutputs()
	delete(out, "g")
	refused(t, m.Run(ctx, arguments(), out), library.BadArgument, `output "g" is missing`)
	in, out = arguments(), m.MakeOutputs()
	out["y"] = in["x"]
	refused(t, m.Run(ctx, in, out), library.BadArgument, "overlaps input x")
	gather := opened(t, libraryOf(t, "table", table), library.Options{})
	in = library.Values{"i": []int32{2, 3}, "t": []float32{1, 2, 3}}
	refused(t, gather.Run(ctx, in, gather.MakeOutputs()), library.BadInput, "input i: index 3 at [1] is out of range: expected 0 to 2")
}

func TestGoOpenRefuses(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "text.so"), "no library")
	_, err := library.Open(filepath.Join(dir, "none.so"), library.Options{})
	refused(t, err, library.BadLibrary, "no such file")
	_, err = library.Open(filepath.Join(dir, "text.so"), library.Options{})
	refused(t, err, library.BadLibrary, "text.so")
	_, err = library.OpenBytes([]byte("no library"), library.Options{})
	refused(t, err, library.BadLibrary, "library.so")
	_, err = library.Open(filepath.Join(dir, "text.so"), library.Options{Threads: -1})
	refused(t, err, library.BadArgument, "-1 threads")
	_, err = library.Open(libraryOf(t, "mixed", mixed), library.Options{Threads: 1 << 20})
	refused(t, err, library.Failed, "threads: expected 1 to 1024, found 1048576")
	again := libraryOf(t, "mixed", mixed)
	m := opened(t, again, library.Options{})
	second := opened(t, again, library.Options{})
	do(t, dir, nil, "cp", "--remove-destination", libraryOf(t, "table", table), again)
	_, err = library.Open(again, library.Options{})
	refused(t, err, library.BadLibrary, "was written anew while it is open")
	if err := errors.Join(m.Close(), second.Close()); err != nil {
		t.Error(err)
	}
	if m := opened(t, again, library.Options{}); m.Name() != "table" {
		t.Errorf("found %s", m.Name())
	}
	whole, err := os.ReadFile(again)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{5000, len(whole) / 2, len(whole) - 1} { // the system would end this process
		_, err := library.OpenBytes(whole[:n], library.Options{})
		refused(t, err, library.BadLibrary, "is truncated")
	}
	for name, c := range map[string]struct{ text, want string }{
		"version":  {`struct { int abi; } t = {2}; void *tapc_library_of(void) { return &t; }`, "has version 2 of the library interface: expected version 1"},
		"other":    {`int other;`, "is no library of tapc's"},
		"nothing":  {`void *tapc_library_of(void) { return 0; }`, "has version 0"},
		"describe": {describing("{"), "its description can not be read"},
		"type":     {describing(`{\"inputs\": [{\"name\": \"x\", \"dtype\": \"float3\", \"shape\": [], \"bytes\": 4}]}`), `"x" has the unknown type "float3"`},
		"bytes":    {describing(`{\"inputs\": [{\"name\": \"x\", \"dtype\": \"float32\", \"shape\": [2], \"bytes\": 4}]}`), `"x" has 4 bytes: expected 8`},
		"shape":    {describing(`{\"inputs\": [{\"name\": \"x\", \"dtype\": \"float32\", \"shape\": [-2], \"bytes\": 4}]}`), `"x" has the shape [-2]`},
	} {
		write(t, filepath.Join(dir, name+".c"), c.text)
		do(t, dir, nil, "cc", "-shared", "-fPIC", name+".c", "-o", name+".so")
		_, err := library.Open(filepath.Join(dir, name+".so"), library.Options{})
		refused(t, err, library.BadLibrary, c.want)
	}
}

// describing is a library that has a description and nothing else.
func describing(text string) string {
	return `#include <stddef.h>
struct { int abi; size_t bytes; const char *name, *description; void *f[3]; } t = {1, sizeof t, "", "` + text + `"};
void *tapc_library_of(void) { return &t; }`
}

// TestGoPin binds threads to cores: who runs is bound while a run lasts, and where there are fewer cores than threads there is no model.
func TestGoPin(t *testing.T) {
	path := libraryOf(t, "mixed", mixed)
	m := opened(t, path, library.Options{Threads: 1, Pin: true})
	out := m.MakeOutputs()
	if err := m.Run(context.Background(), arguments(), out); err != nil || out["m"].([]int64)[0] != -arguments()["n"].([]int64)[0] {
		t.Error(out["m"], err)
	}
	for _, c := range []struct {
		o    library.Options
		want string
	}{
		{library.Options{Threads: 1000, Pin: true}, "pin: expected a core for each of 1000 threads, found "},
		{library.Options{Threads: 1, Instances: 1000, Pin: true}, " threads, found "},
		{library.Options{Threads: 600, Instances: 2, Pin: true}, ""},
	} {
		_, err := library.Open(path, c.o)
		refused(t, err, library.BadArgument, c.want)
	}
}

// TestGoThreads runs one model from many goroutines, with an instance and with several, and closes it meanwhile.
func TestGoThreads(t *testing.T) {
	path := libraryOf(t, "mixed", mixed)
	ctx := context.Background()
	for _, n := range []int{1, 3} {
		m := opened(t, path, library.Options{Threads: 2, Instances: n})
		var group sync.WaitGroup
		for i := range 8 {
			group.Go(func() {
				in, out := arguments(), m.MakeOutputs()
				for j := range 50 {
					in["n"] = []int64{int64(i*100 + j)}
					if err := m.Run(ctx, in, out); err != nil || out["m"].([]int64)[0] != -int64(i*100+j) {
						t.Error(i, j, out["m"], err)
						return
					}
				}
			})
		}
		group.Wait()
		for range 8 {
			group.Go(func() {
				in, out := arguments(), m.MakeOutputs()
				for {
					if err := m.Run(ctx, in, out); err != nil {
						refused(t, err, library.BadArgument, "is closed")
						return
					}
				}
			})
		}
		time.Sleep(time.Millisecond)
		if err := errors.Join(m.Close(), m.Close()); err != nil {
			t.Error(err)
		}
		group.Wait()
	}
	m := opened(t, path, library.Options{Threads: 1})
	over, cancel := context.WithCancel(ctx)
	cancel()
	for range 3 { // whether an instance is idle or not
		if err := m.Run(over, arguments(), m.MakeOutputs()); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	}
}
