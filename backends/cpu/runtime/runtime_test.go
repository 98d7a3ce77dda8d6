package rt

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/tensorfile"
)

func TestFiles(t *testing.T) {
	files := Files()
	for _, name := range []string{Header, Main, "internal.h", "pool.c"} {
		if len(files[name]) == 0 {
			t.Errorf("%s is missing", name)
		}
	}
	if names := Sources(false); len(names) == 0 || strings.Contains(strings.Join(names, " "), Main) {
		t.Errorf("a library's sources: %v", names)
	}
	if a := Digest(); len(a) != 64 || a != Digest() {
		t.Errorf("digest %q", a)
	}
}

// Generated code includes the header, and the one that it includes, in every file.
func TestHeaderStaysLight(t *testing.T) {
	light := []string{"#include <stddef.h>", "#include <stdint.h>", `#include "tapc_library.h"`}
	for _, name := range []string{Header, "tapc_library.h"} {
		for line := range strings.Lines(string(Files()[name])) {
			if line = strings.TrimSpace(line); strings.HasPrefix(line, "#include") && !slices.Contains(light, line) {
				t.Errorf("%s: %s: generated code would compile slowly", name, line)
			}
		}
	}
}

// An executable's random inputs, of every dtype, are Random's.
func TestRandomIsTheSameInC(t *testing.T) {
	const n = 105
	each(t, func(t *testing.T, c toolchain) {
		dir := t.TempDir()
		for _, set := range []struct{ define, file string }{{"ALL", "all.npz"}, {"NARROW", "narrow.safetensors"}, {"WIDE", "wide.npz"}} {
			program := build(t, c, "copy.c", true, "-D"+set.define)
			for _, seed := range []uint64{0, 7, 1<<64 - 1} {
				succeed(t, dir, program, "--random", fmt.Sprint(seed), "--outputs", set.file)
				compareRandom(t, filepath.Join(dir, set.file), seed, n)
			}
		}
	})
}

func compareRandom(t *testing.T, path string, seed uint64, n int64) {
	t.Helper()
	f, err := tensorfile.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, info := range f.Tensors() {
		dtype, err := scalar.ParseDType(info.Name)
		if err != nil {
			t.Fatal(err)
		}
		got, err := f.Load(info.Name)
		if err != nil {
			t.Fatal(err)
		}
		if want := Random(dtype, seed, info.Name, n); string(want) != string(got.Data) {
			t.Errorf("seed %d, %s:\nGo % x\nC  % x", seed, info.Name, want[:16], got.Data[:16])
		}
	}
}

// Values of the function, computed apart from it by its definition: a change would break every recorded result.
func TestRandomValues(t *testing.T) {
	for _, c := range []struct {
		dtype scalar.DType
		seed  uint64
		name  string
		want  string
	}{
		{scalar.Float32, 1, "x", "74fd13bf784d4a3ea6b9493f"},
		{scalar.Int8, 1, "x", "fb0106"},
		{scalar.Bool, 2, "x", "010100"},
	} {
		if got := fmt.Sprintf("%x", Random(c.dtype, c.seed, c.name, 3)); got != c.want {
			t.Errorf("%s %d %q: %s, want %s", c.dtype, c.seed, c.name, got, c.want)
		}
	}
	if Random(scalar.Float32, 1, "x", 0) != nil || Random(scalar.Int8, 1, "x", -1) != nil {
		t.Error("no elements: expected nothing")
	}
}

// The run-time library reads every code of a narrow float as package scalar does.
func TestFormatsAreTheSameInC(t *testing.T) {
	out := succeed(t, t.TempDir(), build(t, one(t, plain), "codes.c", false))
	lines := strings.Split(strings.TrimSpace(out), "\n")
	for _, d := range scalar.DTypes() {
		if _, ok := d.Format(); !ok {
			continue
		}
		for code, v := range scalar.NarrowValues(d) {
			bits := math.Float64bits(v)
			if math.IsNaN(v) {
				bits = 0
			}
			if want := fmt.Sprintf("%v %d %d", d, code, bits); len(lines) == 0 || lines[0] != want {
				t.Fatalf("%q, want %q: %v", lines[0], want, v)
			}
			lines = lines[1:]
		}
	}
	if len(lines) > 0 {
		t.Errorf("unexpected: %q", lines[0])
	}
}

// Every float is in [-1, 1) and the mean and spread are those of the uniform distribution.
func TestRandomDistribution(t *testing.T) {
	const n = 4096
	for _, dtype := range scalar.DTypes() {
		if !dtype.IsFraction() {
			continue
		}
		data, sum, squares := Random(dtype, 3, "x", n), 0.0, 0.0
		for i := range n {
			v := scalar.Decode(dtype, data[i*dtype.Size():]).Float()
			if !(v >= -1 && v < 1) {
				t.Fatalf("%s: element %d is %v", dtype, i, v)
			}
			sum += v
			squares += v * v
		}
		step := 0.0
		if f, ok := dtype.Format(); ok { // steps are coarse: the mean is half a step low
			step = math.Ldexp(1, -f.Mantissa)
		}
		if mean := sum/n + step/2; mean < -0.03 || mean > 0.03 {
			t.Errorf("%s: mean %v", dtype, mean)
		}
		if spread := squares/n - step*step/6; spread < 0.31 || spread > 0.36 {
			t.Errorf("%s: mean square %v, want about 1/3", dtype, spread)
		}
	}
}

func TestPoolUnderThreadSanitizer(t *testing.T) {
	for _, cc := range compilers(t) {
		for _, variant := range []string{"-DTAPC_FUTEX", "-DTAPC_NO_FUTEX"} {
			t.Run(cc+variant, func(t *testing.T) {
				c := toolchain{cc: cc, flags: append([]string{variant}, thread...), lean: true}
				for _, test := range []string{"pooltest.c", "devicestest.c"} {
					if out := succeed(t, t.TempDir(), build(t, c, test, false)); out != "ok\n" {
						t.Error(test, out)
					}
				}
			})
		}
	}
}

func TestPoolUnderAddressSanitizer(t *testing.T) {
	each(t, func(t *testing.T, c toolchain) {
		for _, test := range []string{"pooltest.c", "devicestest.c"} {
			if out := succeed(t, t.TempDir(), build(t, c, test, false)); out != "ok\n" {
				t.Error(test, out)
			}
		}
	})
}

// What threads of their own second caches keep is not written past them.
func TestFar(t *testing.T) {
	each(t, func(t *testing.T, c toolchain) {
		if out := succeed(t, t.TempDir(), build(t, c, "fartest.c", false)); out != "ok\n" {
			t.Error(out)
		}
	})
}

// The library compiles without a warning at other levels of optimization, where compilers see other things.
func TestNoWarnings(t *testing.T) {
	for _, cc := range compilers(t) {
		for _, level := range []string{"-O0", "-O3"} {
			library(t, toolchain{cc: cc, flags: append([]string{level}, strict...)})
		}
	}
}

// Every source is in one unit, and units compile without a warning.
func TestUnits(t *testing.T) {
	count := map[string]int{}
	for _, u := range Units(true) {
		for _, line := range strings.Split(u.Text, "\n") {
			if name, ok := strings.CutPrefix(line, "#line 1 "); ok {
				count[strings.Trim(name, `"`)]++
			}
		}
	}
	for _, name := range Sources(true) {
		if count[name] != 1 {
			t.Errorf("%s is in %d units", name, count[name])
		}
	}
	for _, cc := range compilers(t) {
		for _, executable := range []bool{true, false} {
			for _, u := range Units(executable) {
				dir := library(t, toolchain{cc: cc, flags: plain})
				path := filepath.Join(dir, u.Name)
				if err := os.WriteFile(path, []byte(u.Text), 0o644); err != nil {
					t.Fatal(err)
				}
				args := slices.Concat(u.Flags, strict, []string{"-c", path, "-o", filepath.Join(t.TempDir(), "unit.o")})
				if err := compile(cc, args...); err != nil {
					t.Error(err)
				}
			}
		}
	}
}

// What a shared library needs is in Sources(false) and nothing of it is missing.
func TestSharedLibrary(t *testing.T) {
	c := one(t, plain)
	lib := library(t, c)
	args := append([]string{"-shared", "-fPIC", "-Wl,-z,defs", "-I", lib, filepath.Join("testdata", "add.c"), "-o", filepath.Join(t.TempDir(), "add.so")}, c.flags...)
	for _, name := range Sources(false) {
		args = append(args, filepath.Join(lib, name))
	}
	if err := compile(c.cc, args...); err != nil {
		t.Fatal(err)
	}
}

func write(t testing.TB, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
}
