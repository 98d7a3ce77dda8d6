package main

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"tensortapestry.org/tapc/cmd/tapc/app"
	"tensortapestry.org/tapc/cmd/tapc/inspect"
	"tensortapestry.org/tapc/cmd/tapc/portfiles"
	"tensortapestry.org/tapc/cmd/tapc/recorded"
	"tensortapestry.org/tapc/internal/testkit"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/tensorfile"
)

// TestFlagsOfRecords holds each flag of build to be one that records have or leave out.
func TestFlagsOfRecords(t *testing.T) {
	c, _, err := root(app.New(nil, nil, nil)).Find([]string{"build"})
	if err != nil {
		t.Fatal(err)
	}
	c.InheritedFlags()
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if !recorded.Known(f.Name) {
			t.Errorf("--%s: cmd/tapc/recorded/flags.go does not say whether it changes what is built", f.Name)
		}
	})
}

// modelFolder makes a folder with a model, weights beside it, and a file to bind elsewhere.
func modelFolder(t *testing.T, at string) (model, bound string) {
	t.Helper()
	dir := filepath.Join(at, "models")
	if err := os.MkdirAll(filepath.Join(at, "elsewhere"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(dir, "data"), 0o755); err != nil {
		t.Fatal(err)
	}
	text := `tapc 1
%x = tensor float32 [0:4, 0:16]
%w = tensor float32 [0:16, 0:8]
%b = tensor float32 [0:8]
%s = tensor float32 [0:4, 0:8]
%y = tensor float32 [0:4, 0:8]
operation op:constant {file: "data/w.npz", key: "w"} -> (result: %w)
operation op:matmul (X: %x, W: %w) -> (Z: %s)
operation op:add (tensors: [%s, %b]) -> (result: %y)
`
	model, bound = filepath.Join(dir, "model.tap"), filepath.Join(at, "elsewhere", "b.npz")
	if err := os.WriteFile(model, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	for path, x := range map[string]struct {
		name  string
		shape []int64
	}{filepath.Join(dir, "data", "w.npz"): {"w", []int64{16, 8}}, bound: {"b", []int64{8}}} {
		n := int64(4)
		for _, s := range x.shape {
			n *= s
		}
		if err := portfiles.Write(path, map[string]tensorfile.Tensor{x.name: {DType: scalar.Float32, Shape: x.shape, Data: make([]byte, n)}}); err != nil {
			t.Fatal(err)
		}
	}
	return model, bound
}

// contents gives the files in a folder and below.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		out[strings.TrimPrefix(path, dir)] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestSameBytes builds each kind of program in two folders, of names of different lengths, with different numbers of cores and nothing in the
// cache: the bytes are the same.
func TestSameBytes(t *testing.T) {
	testkit.Program(t, testkit.Compilers, "cc")
	root := t.TempDir()
	var built []map[string]string
	for i, name := range []string{"a", "a folder of another name"} {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1 + 4*i))
		at, out := filepath.Join(root, name), filepath.Join(root, name, "out")
		if err := os.MkdirAll(out, 0o755); err != nil {
			t.Fatal(err)
		}
		t.Setenv("TAPC_CACHE", filepath.Join(at, "cache"))
		model, bound := modelFolder(t, at)
		for name, flags := range map[string][]string{"exe": {"--cpu=portable"}, "split": {"--cpu=baseline", "--weights=file"}, "lib.so": {"--cpu=baseline", "--emit=lib"},
			"obj.o": {"--cpu=baseline", "--emit=obj"}, "c.c": {"--emit=c"}, "folder": {"--emit=c"}} {
			words := slices.Concat([]string{"build", model, "--bind=" + bound, "--output=" + filepath.Join(out, name)}, flags)
			if status, _, stderr := tapc(t, "", words...); status != 0 {
				t.Fatal(stderr)
			}
		}
		built = append(built, contents(t, out))
	}
	if len(built[0]) < 15 || len(built[0]) != len(built[1]) {
		t.Errorf("%d and %d files", len(built[0]), len(built[1]))
	}
	for name, text := range built[0] {
		if built[1][name] != text {
			t.Errorf("%s differs", name)
		}
		if strings.Contains(text, root) || strings.Contains(text, os.TempDir()) {
			t.Errorf("%s has the name of a folder of this machine in it", name)
		}
	}
}

// TestRecord looks at what a program says of the files that it is made from, and builds it again.
func TestRecord(t *testing.T) {
	testkit.Program(t, testkit.Compilers, "cc")
	t.Setenv(asTapc, "1") // rebuild runs this program
	at := t.TempDir()
	model, bound := modelFolder(t, at)
	program, from := filepath.Join(at, "program"), filepath.Join(at, "models")
	if status, _, stderr := tapc(t, "", "build", model, "--bind", bound, "--cpu=baseline", "--timing", "-o", program); status != 0 {
		t.Fatal(stderr)
	}
	f, err := inspect.Read(program)
	if err != nil {
		t.Fatal(err)
	}
	made := f.Programs[0].Made
	want := []string{"build", "model.tap", "--bind=b.npz", "--cpu=baseline"}
	if !slices.Equal(made.Command, want) || len(made.Inputs) != 3 || made.Inputs[2].Name != "data/w.npz" || made.Output != "exe" || !slices.Equal(made.Processors, []string{"x86-64"}) && runtime.GOARCH == "amd64" {
		t.Errorf("%+v", made)
	}
	if status, out, stderr := tapc(t, "", "rebuild", program, "--check", "--from", from); status != 1 || !strings.Contains(stderr, "b.npz: error: a file that the program was made from can not be read") {
		t.Errorf("%d %s %s", status, out, stderr)
	}
	if err := os.Rename(bound, filepath.Join(from, "b.npz")); err != nil {
		t.Fatal(err)
	}
	if status, out, stderr := tapc(t, "", "rebuild", program, "--check", "--from", from); status != 0 || !strings.Contains(out, "built again, the same") {
		t.Errorf("%d %s %s", status, out, stderr)
	}
	data, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	changed := filepath.Join(at, "changed")
	data[len(data)-1] ^= 1
	if err := os.WriteFile(changed, data, 0o755); err != nil {
		t.Fatal(err)
	}
	if status, out, stderr := tapc(t, "", "rebuild", changed, "--check", "--from", from); status != 1 || !strings.Contains(stderr, "TAP2707") {
		t.Errorf("%d %s %s", status, out, stderr)
	}
	if err := os.WriteFile(model, []byte("tapc 1\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if status, _, stderr := tapc(t, "", "rebuild", program, "--check", "--from", from); status != 1 || !strings.Contains(stderr, "model.tap: error: it is not the file") || strings.Contains(stderr, "w.npz") {
		t.Errorf("%d %s", status, stderr)
	}
	status, out, _ := tapc(t, "", "inspect", "--json", program)
	var all struct{ Programs []map[string]any }
	if err := json.Unmarshal([]byte(out), &all); status != 0 || err != nil || all.Programs[0]["kernels"] == nil {
		t.Errorf("%d %v %s", status, err, out)
	}
}
