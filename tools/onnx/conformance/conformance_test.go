package conformance

import (
	"context"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tensortapestry.org/tapc/backends/cpu/toolchain"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/frontends/onnx"
	"tensortapestry.org/tapc/frontends/onnx/onnxtest"
	"tensortapestry.org/tapc/internal/testkit"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/tensorfile"
)

func floats(shape []int64, list ...float64) tensorfile.Tensor {
	t := tensorfile.Tensor{DType: scalar.Float32, Shape: shape}
	for _, f := range list {
		t.Data = binary.LittleEndian.AppendUint32(t.Data, math.Float32bits(float32(f)))
	}
	return t
}

func ints(list ...int64) tensorfile.Tensor {
	t := tensorfile.Tensor{DType: scalar.Int64, Shape: []int64{int64(len(list))}}
	for _, n := range list {
		t.Data = binary.LittleEndian.AppendUint64(t.Data, uint64(n))
	}
	return t
}

// folder writes a test: a model, its inputs and the outputs that it must give.
func folder(t *testing.T, text string, in, out []tensorfile.Tensor) string {
	t.Helper()
	dir := t.TempDir()
	set := filepath.Join(dir, "test_data_set_0")
	if err := os.Mkdir(set, 0o755); err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{filepath.Join(dir, "model.onnx"): onnxtest.Must("<ir_version: 8, opset_import: [\"\": 17]>\n" + text)}
	for side, list := range map[string][]tensorfile.Tensor{"input_": in, "output_": out} {
		for i, x := range list {
			data, err := onnx.WriteTensor("", x)
			if err != nil {
				t.Fatal(err)
			}
			files[filepath.Join(set, side+string(rune('0'+i))+".pb")] = data
		}
	}
	for path, data := range files {
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestStatus(t *testing.T) {
	x := floats([]int64{2}, 1, 100)
	for name, c := range map[string]struct {
		text    string
		in, out []tensorfile.Tensor
		want    Status
		reason  string
	}{
		"pass":      {`g (float[2] x) => (float[2] y) { y = Neg(x) }`, []tensorfile.Tensor{x}, []tensorfile.Tensor{floats([]int64{2}, -1, -100)}, Pass, ""},
		"tolerance": {`g (float[2] x) => (float[2] y) { y = Neg(x) }`, []tensorfile.Tensor{x}, []tensorfile.Tensor{floats([]int64{2}, -1.0009, -100)}, Pass, ""},
		"near miss": {`g (float[2] x) => (float[2] y) { y = Neg(x) }`, []tensorfile.Tensor{x}, []tensorfile.Tensor{floats([]int64{2}, -1.002, -100)}, Wrong, "element 0 of 2 is -1, expected -1.002"},
		"rounding":  {`g (float[2] x) => (float[2] y) { z = Sub(x, x) y = Add(x, z) }`, []tensorfile.Tensor{floats([]int64{2}, 0.000001, 100)}, []tensorfile.Tensor{floats([]int64{2}, 0.000009, 100)}, Near, ""},
		"shape":     {`g (float[2] x) => (float[2] y) { y = Neg(x) }`, []tensorfile.Tensor{x}, []tensorfile.Tensor{floats([]int64{2, 1}, -1, -100)}, Wrong, "expected float32[2 1], found float32[2]"},
		"type":      {`g (float[2] x) => (int64[2] y) { y = Neg(x) }`, []tensorfile.Tensor{x}, []tensorfile.Tensor{ints(-1, -100)}, Wrong, "expected int64[2], found float32[2]"},
		"known":     {`g (float[2] x, int64[2] s) => (float[a, b] y) { y = Reshape(x, s) }`, []tensorfile.Tensor{x, ints(1, 2)}, []tensorfile.Tensor{floats([]int64{1, 2}, 1, 100)}, Bound, ""},
		"refused":   {`g (float[2] x) => (float[2] y) { y = Frobnicate(x) }`, []tensorfile.Tensor{x}, []tensorfile.Tensor{x}, Refused, "Frobnicate@17 can not be mapped: no rule maps it"},
		"random":    {`g (float[2] x) => (float[2] y) { y = RandomUniformLike(x) }`, []tensorfile.Tensor{x}, []tensorfile.Tensor{x}, Drawn, ""},
		"random shape": {`g (float[2] x) => (float[2] y) { y = RandomUniformLike(x) }`, []tensorfile.Tensor{x}, []tensorfile.Tensor{floats([]int64{1}, 1)}, Wrong,
			"expected float32[1], found float32[2]"},
	} {
		t.Run(name, func(t *testing.T) {
			r := Test(context.Background(), folder(t, c.text, c.in, c.out), Options{})
			if r.Status != c.want || !strings.Contains(r.Reason, c.reason) {
				t.Errorf("found %s: %s, expected %s: %s", r.Status, r.Reason, c.want, c.reason)
			}
		})
	}
}

func TestNaNAndInfinity(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	for _, c := range []struct {
		want, got float64
		ok        bool
	}{{inf, inf, true}, {inf, -inf, false}, {inf, 1e30, false}, {nan, nan, true}, {nan, 0, false}, {0, nan, false}} {
		err := Close(floats([]int64{1}, c.want), floats([]int64{1}, c.got), 1e-3, 1e-7)
		if (err == nil) != c.ok {
			t.Errorf("%v beside %v: %v", c.got, c.want, err)
		}
	}
}

// TestSuite runs the suite itself, where its folders are: TAPC_ONNX names them, separated as in PATH. tools/onnx/nodetests.py
// writes ONNX's node tests. Each test is evaluated as it is imported, and again after all passes of a compilation, and ends as
// testdata/verdicts.txt says; those that are not there pass. -update writes that file anew.
func TestSuite(t *testing.T) {
	folders := suite(t)
	verdicts := readVerdicts(t)
	found := map[string]Status{}
	var results []Result
	for _, d := range folders {
		r := Test(context.Background(), d, Options{})
		results, found[r.Name] = append(results, r), r.Status
		if want := verdicts.of(r.Name); r.Status != want && !*update {
			t.Errorf("%s: %s: %s; expected: %s", r.Name, r.Status, r.Reason, want)
		}
		if r.Status == Refused && strings.Contains(r.Reason, "no rule maps it") {
			t.Errorf("%s is refused without a reason: %s", r.Name, r.Reason)
		}
		if s := Test(context.Background(), d, Options{Run: Scheduled(kernels.Builtin())}); s.Status != r.Status {
			t.Errorf("%s: %s after all passes: %s; %s before", s.Name, s.Status, s.Reason, r.Status)
		}
	}
	if *update {
		writeVerdicts(t, found)
	}
	t.Log("\n" + Table(results))
}

// suite lists the folders of the suite's tests.
func suite(t *testing.T) (folders []string) {
	t.Helper()
	roots := os.Getenv("TAPC_ONNX")
	if roots == "" {
		testkit.Need(t, testkit.ONNX, errors.New("TAPC_ONNX names no folders of ONNX's tests"))
	}
	for _, root := range filepath.SplitList(roots) {
		dirs, err := Find(root)
		if err != nil {
			t.Fatal(err)
		}
		folders = append(folders, dirs...)
	}
	return folders
}

// TestPrograms builds programs of the suite's tests, which take turns, and runs them.
func TestPrograms(t *testing.T) {
	folders := suite(t)
	cc, err := toolchain.FindCompiler(t.Context())
	testkit.Need(t, testkit.Compilers, err)
	verdicts, runs := readVerdicts(t), testkit.Turns(t, 60)
	for _, d := range folders {
		name := filepath.Base(d)
		if !runs() || verdicts.of(name) == Refused {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if r := Test(context.Background(), d, Options{Run: Compiled(cc, kernels.Builtin(), []string{"-O1"})}); !r.passed() {
				t.Errorf("%s: %s", r.Status, r.Reason)
			}
		})
	}
}

var update = flag.Bool("update", false, "write testdata/verdicts.txt anew")

// verdicts say how the tests that do not just pass end, by name.
type verdicts map[string]Status

func (v verdicts) of(name string) Status {
	if s, ok := v[name]; ok {
		return s
	}
	return Pass
}

const verdictFile = "testdata/verdicts.txt"

// readVerdicts reads lines of a name, a colon and a status.
func readVerdicts(t *testing.T) verdicts {
	t.Helper()
	text, err := os.ReadFile(verdictFile)
	if err != nil {
		t.Fatal(err)
	}
	v := verdicts{}
	for line := range strings.Lines(string(text)) {
		name, status, ok := strings.Cut(strings.TrimSpace(line), ": ")
		if !ok || v[name] != "" {
			t.Fatalf("%s: %q: expected a name and a status, once", verdictFile, line)
		}
		v[name] = Status(status)
	}
	return v
}

func writeVerdicts(t *testing.T, found map[string]Status) {
	t.Helper()
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(found)) {
		if s := found[name]; s != Pass {
			fmt.Fprintf(&b, "%s: %s\n", name, s)
		}
	}
	if err := os.WriteFile(verdictFile, []byte(b.String()), 0o666); err != nil {
		t.Fatal(err)
	}
}
