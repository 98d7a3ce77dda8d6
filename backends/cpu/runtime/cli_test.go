package rt

import (
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/tensorfile"
)

func int32s(shape []int64, values ...int32) tensorfile.Tensor {
	t := tensorfile.Tensor{DType: scalar.Int32, Shape: shape}
	for _, v := range values {
		t.Data = binary.LittleEndian.AppendUint32(t.Data, uint32(v))
	}
	return t
}

func float32s(shape []int64, values ...float32) tensorfile.Tensor {
	t := tensorfile.Tensor{DType: scalar.Float32, Shape: shape}
	for _, v := range values {
		t.Data = binary.LittleEndian.AppendUint32(t.Data, math.Float32bits(v))
	}
	return t
}

// addInputs are good inputs of testdata/add.c.
func addInputs() map[string]tensorfile.Tensor {
	return map[string]tensorfile.Tensor{
		"a": int32s([]int64{2, 3}, 1, 2, 3, 4, 5, math.MaxInt32),
		"b": int32s([]int64{2, 3}, 10, 20, 30, 40, -50, 1),
		"x": float32s([]int64{4}, 0.5, 1, -2, 3),
		"y": float32s([]int64{4}, 0.25, 1, 2, float32(math.Inf(1))),
	}
}

var addOutputs = map[string]tensorfile.Tensor{
	"c":    int32s([]int64{2, 3}, 11, 22, 33, 44, -45, math.MinInt32),
	"z":    float32s([]int64{4}, 0.75, 2, 0, float32(math.Inf(1))),
	"less": {DType: scalar.Bool, Shape: []int64{4}, Data: []byte{0, 0, 1, 1}},
}

const addPrinted = `c: int32, shape [2, 3], range [-40:-38, 20:23]
  [[11, 22, 33],
   [44, -45, -2147483648]]
z: float32, shape [4]
  [0.75, 2, 0, inf]
  largest: inf at [3]
less: boolean, shape [4]
  [false, false, true, true]
`

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// writeInputs writes the inputs of add.c in every format.
func writeInputs(t testing.TB, dir string) {
	t.Helper()
	all := addInputs()
	for name, tensor := range all {
		must(t, tensorfile.WriteNPY(filepath.Join(dir, name+".npy"), tensor))
	}
	must(t, tensorfile.WriteNPZ(filepath.Join(dir, "all.npz"), all))
	must(t, tensorfile.WriteSafetensors(filepath.Join(dir, "all.safetensors"), all))
	must(t, tensorfile.WriteNPZ(filepath.Join(dir, "other.npz"), map[string]tensorfile.Tensor{"p": all["a"], "q:r": all["b"]}))
	must(t, tensorfile.WriteNPZ(filepath.Join(dir, "single.npz"), map[string]tensorfile.Tensor{"whatever": all["a"]}))
}

func TestInputsInEveryForm(t *testing.T) {
	each(t, func(t *testing.T, c toolchain) {
		dir, add := t.TempDir(), build(t, c, "add.c", true)
		writeInputs(t, dir)
		rest := []string{"--input", "b=b.npy", "--input=x=x.npy", "--input", "y=y.npy"}
		for _, args := range [][]string{
			append([]string{"--input", "a=a.npy"}, rest...),
			append([]string{"--input", "a=all.npz"}, rest...),
			append([]string{"--input", "a=all.npz:a"}, rest...),
			append([]string{"--input", "a=other.npz:p"}, rest...),
			append([]string{"--input", "a=single.npz"}, rest...),
			append([]string{"--input", "a=all.safetensors:a"}, rest...),
			{"--inputs", "all.npz"},
			{"--input", "all.npz"},
			{"--inputs", "all.safetensors"},
			{"--inputs", "all.npz", "--input", "a=a.npy", "--threads", "3"},
			{"--inputs", "all.npz", "--random", "1", "--threads=1"},
		} {
			if diff := cmp.Diff(addPrinted, succeed(t, dir, add, args...)); diff != "" {
				t.Errorf("%v (-want +got)\n%s", args, diff)
			}
		}
	})
}

func TestOutputsInEveryForm(t *testing.T) {
	each(t, func(t *testing.T, c toolchain) {
		dir, add := t.TempDir(), build(t, c, "add.c", true)
		writeInputs(t, dir)
		inputs := []string{"--inputs", "all.npz"}
		for _, out := range [][]string{
			{"--output", "c=c.npy", "--output", "z=z.npz", "--output=less=less.safetensors"},
			{"--outputs", "o.npz"},
			{"--outputs", "o.safetensors", "--output", "z=z2.npy"},
		} {
			if text := succeed(t, dir, add, append(inputs, out...)...); text != "" {
				t.Errorf("%v: printed %q", out, text)
			}
		}
		for file, name := range map[string]string{"c.npy": "c", "z.npz": "z", "z2.npy": "z", "less.safetensors": "less"} {
			f, err := tensorfile.Open(filepath.Join(dir, file))
			must(t, err)
			got, err := f.Load("")
			must(t, err)
			if diff := cmp.Diff(addOutputs[name], got); diff != "" {
				t.Errorf("%s (-want +got)\n%s", file, diff)
			}
		}
		// The archives are, byte for byte, those that the compiler writes, but for the order of .npz entries.
		must(t, tensorfile.WriteSafetensors(filepath.Join(dir, "go.safetensors"), addOutputs))
		sameFile(t, filepath.Join(dir, "o.safetensors"), filepath.Join(dir, "go.safetensors"))
		must(t, tensorfile.WriteNPZ(filepath.Join(dir, "go.npz"), map[string]tensorfile.Tensor{"z": addOutputs["z"]}))
		sameFile(t, filepath.Join(dir, "z.npz"), filepath.Join(dir, "go.npz"))
		must(t, tensorfile.WriteNPY(filepath.Join(dir, "go.npy"), addOutputs["c"]))
		sameFile(t, filepath.Join(dir, "c.npy"), filepath.Join(dir, "go.npy"))
		noPartFiles(t, dir)
	})
}

func sameFile(t *testing.T, got, want string) {
	t.Helper()
	a, err := os.ReadFile(got)
	must(t, err)
	b, err := os.ReadFile(want)
	must(t, err)
	if diff := cmp.Diff(b, a); diff != "" {
		t.Errorf("%s and %s differ (-want +got)\n%s", got, want, diff)
	}
}

func noPartFiles(t *testing.T, dir string) {
	t.Helper()
	if left, _ := filepath.Glob(filepath.Join(dir, "*.part-*")); left != nil {
		t.Errorf("left behind: %v", left)
	}
}

// Every dtype goes through every format that can hold it, unchanged.
func TestEveryDTypeThroughFiles(t *testing.T) {
	each(t, func(t *testing.T, c toolchain) {
		dir := t.TempDir()
		for define, formats := range map[string][]string{"ALL": {"npz", "safetensors"}, "NARROW": {"safetensors"}, "WIDE": {"npz"}} {
			program := build(t, c, "copy.c", true, "-D"+define)
			for _, format := range formats {
				succeed(t, dir, program, "--random", "5", "--outputs", "first."+format)
				succeed(t, dir, program, "--inputs", "first."+format, "--outputs", "second."+format)
				sameFile(t, filepath.Join(dir, "first."+format), filepath.Join(dir, "second."+format))
			}
		}
	})
}

const shown = `scalar: float64, shape []
  0.1
empty: float32, shape [0, 4]
  no elements
cube: int8, shape [2, 2, 2]
  [[[-3, -2],
    [-1, 0]],
   [[1, 2],
    [3, 4]]]
scores: float32, shape [1, 1000], range [0:1, -500:500]
  -0.5, -0.25, -0.16666667, ..., -0.000501002, -0.0005005005, -0.0005
  min -0.5, max 0.1, mean -0.00364154
  largest: 0.1 at [0, -83]
counts: uint64, shape [65]
  0, 1, 2, ..., 62, 63, 64
  min 0, max 18446744073709551615, mean 2.83796e+17
special: float32, shape [3]
  [nan, -inf, 0.5]
  largest: 0.5 at [2]
wave: complex64, shape [2]
  [1-2i, 0.25+3i]
flags: boolean, shape [3]
  [true, false, true]
halves: float16, shape [3]
  [1, 5.9605e-08, inf]
  largest: inf at [2]
eights: float8_e4m3, shape [3]
  [1, -2, 0.00195]
  largest: 1 at [0]
`

func TestPrinting(t *testing.T) {
	each(t, func(t *testing.T, c toolchain) {
		dir, show := t.TempDir(), build(t, c, "show.c", true)
		scalar := tensorfile.Tensor{DType: scalar.Float64, Data: binary.LittleEndian.AppendUint64(nil, math.Float64bits(0.1))}
		must(t, tensorfile.WriteNPY(filepath.Join(dir, "s.npy"), scalar))
		for _, args := range [][]string{{"--input", "s=s.npy"}, {"--input", "s.npy"}} { // one input needs no name
			if diff := cmp.Diff(shown, succeed(t, dir, show, args...)); diff != "" {
				t.Errorf("%v (-want +got)\n%s", args, diff)
			}
		}
	})
}

func TestInformation(t *testing.T) {
	each(t, func(t *testing.T, c toolchain) {
		add := build(t, c, "add.c", true)
		dir := t.TempDir()
		if got := succeed(t, dir, add, "--describe"); got != "{\"name\": \"add\"}\n" {
			t.Errorf("--describe: %q", got)
		}
		if got := succeed(t, dir, add, "--version"); !regexp.MustCompile(`^add, compiled by tapc \S+\n$`).MatchString(got) {
			t.Errorf("--version: %q", got)
		}
		help := succeed(t, dir, add, "--help")
		for _, want := range []string{
			"Usage: " + filepath.Base(add) + " [FLAGS]", "adds two pairs of tensors", "  a  int32 [2, 3], range [-40:-38, 20:23], 24 bytes\n",
			"  less  boolean [4], 4 bytes\n", "--input NAME=FILE", "--inputs FILE", "--output NAME=FILE", "--outputs FILE", "--random SEED",
			"--bench N", "--profile", "--threads N", "--describe", "--version", "Example:\n  " + filepath.Base(add) + " --input a=a.npy",
		} {
			if !strings.Contains(help, want) {
				t.Errorf("--help lacks %q:\n%s", want, help)
			}
		}
		if help != succeed(t, dir, add, "-h") {
			t.Error("-h differs from --help")
		}
	})
}

func TestBench(t *testing.T) {
	each(t, func(t *testing.T, c toolchain) {
		add, dir := build(t, c, "add.c", true), t.TempDir()
		number := `\d+(\.\d+)?(e-\d+)?`
		want := regexp.MustCompile(`^bench: median ` + number + ` ms, p10 ` + number + ` ms, p90 ` + number + ` ms \(20 runs, 2 threads\)\n$`)
		if got := succeed(t, dir, add, "--bench", "20", "--random", "1", "--threads", "2", "--output", "z=z.npy"); !want.MatchString(got) {
			t.Errorf("got %q", got)
		}
		if _, err := os.Stat(filepath.Join(dir, "z.npy")); err != nil {
			t.Error(err)
		}
		if got := succeed(t, dir, add, "--bench", "20", "--warm-up", "0", "--random", "1", "--threads", "2", "--output", "z=z.npy"); !want.MatchString(got) {
			t.Errorf("without a warm-up: got %q", got)
		}
		lines := strings.Split(succeed(t, dir, add, "--bench", "5", "--random", "1", "--profile", "--output", "z=z.npy"), "\n")
		if len(lines) != 4 || !strings.HasPrefix(lines[0], "bench: median ") {
			t.Fatalf("--profile: %q", lines)
		}
		step := regexp.MustCompile(`^ *\d+\.\d{4} ms +\d+\.\d % {2}step (0: c = a \+ b|1: z = x \+ y)$`)
		first, second := step.FindStringSubmatch(lines[1]), step.FindStringSubmatch(lines[2])
		if first == nil || second == nil || first[1] == second[1] {
			t.Errorf("--profile: %q", lines)
		}
	})
}

func TestUsageErrors(t *testing.T) {
	each(t, func(t *testing.T, c toolchain) {
		add, dir := build(t, c, "add.c", true), t.TempDir()
		for want, args := range map[string][]string{
			"no flag is named --inptu; did you mean --input?":                                                  {"--inptu", "a=a.npy"},
			"no flag is named --frobnicate (see":                                                               {"--frobnicate=3"},
			"unexpected argument \"a.npy\": inputs are given as --input NAME=FILE":                             {"a.npy"},
			"--threads: expected a whole number from 1 to 1024, found \"0\"":                                   {"--threads", "0"},
			"--threads: expected a whole number from 1 to 1024, found \"2x\"":                                  {"--threads", "2x"},
			"--bench: expected a whole number from 1 to 10000000, found \"-1\"":                                {"--bench=-1"},
			"--random: expected a whole number from 0 to 18446744073709551615, found \"18446744073709551616\"": {"--random", "18446744073709551616"},
			"--profile: expected --bench N beside it":                                                          {"--profile"},
			"--warm-up: expected --bench N beside it":                                                          {"--warm-up", "5"},
			"--warm-up: expected a whole number from 0 to 60000, found \"60001\"":                              {"--bench", "1", "--warm-up", "60001"},
			"--random: expected a value after it":                                                              {"--random"},
			"--help takes no value":                                                                            {"--help=yes"},
			"--input a is given twice":                                                                         {"--input", "a=1.npy", "--input", "a=2.npy"},
			"--input a: expected a file after":                                                                 {"--input", "a="},
			"--output c is given twice":                                                                        {"--output", "c=1.npy", "--output", "c=2.npy"},
			"--random is given twice":                                                                          {"--random", "1", "--random=1"},
			"--threads is given twice":                                                                         {"--threads", "1", "--threads", "2"},
			"--bench is given twice":                                                                           {"--bench=3", "--random", "1", "--bench=3"},
			"--profile is given twice":                                                                         {"--profile", "--bench", "1", "--profile"},
			"--pin is given twice":                                                                             {"--pin", "--pin"},
			"pin: expected a core for each of 1000 threads, found ":                                            {"--random", "1", "--threads", "1000", "--pin"},
			"--describe is given twice":                                                                        {"--describe", "--describe"},
			"--outputs is given twice":                                                                         {"--outputs", "1.npz", "--outputs", "2.npz"},
			"--output: expected NAME=FILE, found \"c.npy\"":                                                    {"--output", "c.npy"},
			"--output: expected a file name that ends in .npy, .npz or .safetensors, found \"c.txt\"":          {"--output", "c=c.txt"},
			"--outputs: expected a file name that ends in .npz or .safetensors, found \"c.npy\"":               {"--outputs", "c.npy"},
			"expected a file for each --output, found o.npz twice":                                             {"--output", "c=o.npz", "--outputs", "o.npz"},
		} {
			fail(t, dir, add, 2, want, args...)
		}
		narrow := build(t, c, "copy.c", true, "-DNARROW")
		fail(t, dir, narrow, 2, `output "bfloat16": o.npz cannot hold bfloat16; expected a file name that ends in .safetensors`, "--random", "1", "--outputs", "o.npz")
		wide := build(t, c, "copy.c", true, "-DWIDE")
		fail(t, dir, wide, 2, `o.safetensors cannot hold complex128; expected a file name that ends in .npy or .npz`, "--random", "1", "--outputs", "o.safetensors")
	})
}

// TestEveryFlag takes the flags from --help: each is refused where it is given twice, but for those of which there is one for each tensor or file,
// and a misspelt one is told the nearest.
func TestEveryFlag(t *testing.T) {
	each(t, func(t *testing.T, c toolchain) {
		add, dir := build(t, c, "add.c", true), t.TempDir()
		many := []string{"--input", "--inputs", "--output"}
		values := map[string]string{"": "", " FILE": "o.npz", " SEED": "1", " N": "1", " CORES": "0"}
		found := 0
		for _, m := range regexp.MustCompile(`(?m)^  (--[a-z]+)(?:,? -h|( [A-Z][A-Z=:]*))?  `).FindAllStringSubmatch(succeed(t, dir, add, "--help"), -1) {
			flag := m[1]
			found++
			fail(t, dir, add, 2, "did you mean "+flag+"?", flag[:3]+flag[4:])
			if slices.Contains(many, flag) {
				continue
			}
			args := []string{flag}
			if m[2] != "" {
				value := values[m[2]]
				if value == "" {
					t.Fatalf("%s takes %s: add a value to this test", flag, m[2])
				}
				args = append(args, value)
			}
			fail(t, dir, add, 2, flag+" is given twice", append(args, args...)...)
		}
		if found < 12 {
			t.Errorf("--help has %d flags", found)
		}
	})
}

func TestProgramFailures(t *testing.T) {
	each(t, func(t *testing.T, c toolchain) {
		add, dir := build(t, c, "add.c", true), t.TempDir()
		must(t, tensorfile.WriteNPY(filepath.Join(dir, "big.npy"), float32s([]int64{4}, 0, 2e30, 0, 0)))
		must(t, tensorfile.WriteNPY(filepath.Join(dir, "low.npy"), float32s([]int64{4}, 0, -2e30, 0, 0)))
		fail(t, dir, add, 1, "x: expected elements of at most 1e30", "--random", "1", "--input", "x=big.npy", "--output", "c=c.npy")
		fail(t, dir, add, 3, "the program failed with code 7", "--random", "1", "--input", "x=low.npy", "--outputs", "o.npz")
		if left, _ := os.ReadDir(dir); len(left) != 2 {
			t.Errorf("left behind: %v", left)
		}
	})
}

func TestOutOfMemory(t *testing.T) {
	c := one(t, plain)
	dir := t.TempDir()
	show := build(t, c, "show.c", true, "-DARENA=((size_t)1<<60)")
	fail(t, dir, show, 3, "out of memory: 1152921504606846976 bytes for intermediate values could not be had", "--random", "1", "--output", "cube=c.npy")
	noPartFiles(t, dir)
}

// Outputs that cannot be written: one line, status, and no file.
// With TAPC_MEMORY=poison what a run reads unwritten, and what it leaves unwritten, is NaN: in every run, not only the first.
func TestPoisonedMemory(t *testing.T) {
	program := build(t, one(t, plain), "stale.c", true)
	for wish, want := range map[string]string{"poison": "ffffffffffffffffffffffffffffffff", "": "0000000000000000"} {
		t.Run(wish, func(t *testing.T) {
			t.Setenv("TAPC_MEMORY", wish)
			dir := t.TempDir()
			succeed(t, dir, program, "--bench", "2", "--output", "y=y.npy")
			f, err := tensorfile.Open(filepath.Join(dir, "y.npy"))
			must(t, err)
			defer f.Close()
			y, err := f.Load(f.Tensors()[0].Name)
			must(t, err)
			if got := fmt.Sprintf("%x", y.Data); !strings.HasPrefix(got, want) {
				t.Errorf("found %s, expected %s", got, want)
			}
		})
	}
}

func TestWriteFailures(t *testing.T) {
	c := one(t, plain)
	add, show, dir := build(t, c, "add.c", true), build(t, c, "show.c", true), t.TempDir()
	fail(t, dir, add, 2, "cannot write none/c.npy: No such file or directory", "--random", "1", "--output", "c=none/c.npy")
	must(t, os.Mkdir(filepath.Join(dir, "d.npy"), 0o755))
	fail(t, dir, add, 2, "cannot write d.npy: expected a regular file or none there, found a directory", "--random", "1", "--output", "z=z.npy", "--output", "c=d.npy")
	if runtime.GOOS == "linux" {
		r := run(t, dir, "/bin/sh", "-c", show+" --random 1 >/dev/full")
		if r.status != 3 || !strings.Contains(r.errors, "cannot write to standard output: No space left on device") {
			t.Errorf("full standard output: %+v", r)
		}
		write(t, filepath.Join(dir, "scores.npy"), []byte("before"))
		r = run(t, dir, "/bin/sh", "-c", "ulimit -f 1; exec "+show+" --random 1 --output cube=cube.npy --output scores=scores.npy")
		if r.status != 3 || !strings.Contains(r.errors, "cannot write scores.npy: File too large") {
			t.Errorf("a limit on file sizes: %+v", r)
		}
	}
	if left, _ := os.ReadDir(dir); len(left) != 2 {
		t.Errorf("left behind: %v", left)
	}
	if data, _ := os.ReadFile(filepath.Join(dir, "scores.npy")); string(data) != "before" {
		t.Errorf("the file that was there: %q", data)
	}
}

// A run that is killed leaves nothing.
func TestKilled(t *testing.T) {
	add, dir := build(t, one(t, plain), "add.c", true), t.TempDir()
	cmd := exec.Command(add, "--random", "1", "--bench", "10000000", "--output", "c=c.npy")
	cmd.Dir = dir
	must(t, cmd.Start())
	time.Sleep(50 * time.Millisecond)
	must(t, cmd.Process.Kill())
	if cmd.Wait() == nil {
		t.Error("it ended before it was killed")
	}
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

// Written files get the permissions that any new file gets.
func TestOutputPermissions(t *testing.T) {
	add, dir := build(t, one(t, plain), "add.c", true), t.TempDir()
	succeed(t, dir, add, "--random", "1", "--output", "c=c.npy")
	info, err := os.Stat(filepath.Join(dir, "c.npy"))
	must(t, err)
	mask := syscall.Umask(0)
	syscall.Umask(mask)
	if want := os.FileMode(0o666 &^ mask); info.Mode() != want {
		t.Errorf("mode %v, want %v", info.Mode(), want)
	}
}

// Any number of threads gives the same bytes, more threads than cores too.
func TestThreadsGiveTheSameBytes(t *testing.T) {
	add, dir := build(t, one(t, plain), "add.c", true), t.TempDir()
	t.Setenv("TAPC_POOL", "eager")
	succeed(t, dir, add, "--random", "9", "--outputs", "1.npz", "--threads", "1")
	for _, n := range []string{"2", "5", "40"} {
		succeed(t, dir, add, "--random", "9", "--outputs", n+".npz", "--threads", n)
		sameFile(t, filepath.Join(dir, n+".npz"), filepath.Join(dir, "1.npz"))
	}
}

// BenchmarkStart is what a small run costs in all.
func BenchmarkStart(b *testing.B) {
	add, dir := build(b, one(b, plain), "add.c", true), b.TempDir()
	for b.Loop() {
		cmd := exec.Command(add, "--random", "1", "--output", "c=c.npy")
		cmd.Dir = dir
		must(b, cmd.Run())
	}
}
