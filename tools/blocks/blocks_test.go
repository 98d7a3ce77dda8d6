package blocks_test

import (
	"context"
	"encoding/binary"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"tensortapestry.org/tapc/frontends/onnx/onnxtest"
	"tensortapestry.org/tapc/internal/testkit"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/tensorfile"
	"tensortapestry.org/tapc/tools/blocks"
)

func TestFind(t *testing.T) {
	list, err := blocks.Find("a\n```sh\necho\n```\n<!-- file x -->\n````text\n```\n````\n<!-- not run: why -->\n```go\n```\n<!-- run by p -->\nno\n```c\n```\n")
	if err != nil || len(list) != 4 {
		t.Fatal(list, err)
	}
	for i, want := range []blocks.Block{{Line: 3, Language: "sh", Text: "echo\n"}, {Line: 7, Language: "text", Text: "```\n", File: "x"}, {Line: 11, Language: "go", Reason: "why"}, {Line: 15, Language: "c"}} {
		if list[i] != want {
			t.Errorf("%+v, expected %+v", list[i], want)
		}
	}
	for _, bad := range []string{"```sh\n", "<!-- fiel x -->\n```sh\n```\n", "<!-- file  -->\n```\n```\n"} {
		if _, err := blocks.Find(bad); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
	if got := blocks.Commands("$ a | b\nc\nd\n$ e\n"); len(got) != 2 || got[0] != (blocks.Command{Line: "a | b", Output: "c\nd\n"}) || got[1].Line != "e" {
		t.Error(got)
	}
}

// elsewhere are pages whose blocks are made of, or run by, other tests.
var elsewhere = map[string]string{
	"docs/cli.md":       "cmd/tapc makes it of the commands",
	"docs/kernels.md":   "dialects/tensorops/kernels computes its cases",
	"docs/rewrites.md":  "passes/simplify makes it of its rules",
	"docs/libraries.md": "tools/libraries runs it",
	"cmd/tapc/plugintemplate/go/README.md.tmpl":     "cmd/tapc runs it",
	"cmd/tapc/plugintemplate/python/README.md.tmpl": "plugins/examples/python runs it",
}

// readmes are the pages of folders.
func readmes(t *testing.T, root string) (list []string) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if e.IsDir() && (e.Name() == "venv" || strings.HasPrefix(e.Name(), ".")) {
			return filepath.SkipDir
		}
		if name, _ := filepath.Rel(root, path); strings.HasPrefix(e.Name(), "README.md") && elsewhere[filepath.ToSlash(name)] == "" {
			list = append(list, filepath.ToSlash(name))
		}
		return err
	})
	if err != nil || len(list) == 0 {
		t.Fatal(list, err)
	}
	return list
}

// models are what model.onnx is on a page.
var models = map[string]string{
	"README.md":               `g (float["batch", 3] x) => (float["batch", 3] y) { y = Softmax(x) }`,
	"docs/tutorial-models.md": `g (float["batch", 3] x) => (float["batch", 3] y) { y = Softmax(x) }`,
	"docs/programs.md":        `g (float["batch", 3] x) => (float["batch", 3] y) { y = Softmax(x) }`,
	"docs/sizes.md":           `g (float["batch", "seq"] x) => (float["batch", "seq"] y) { y = Softmax(x) }`,
}

// TestPages runs the blocks of README.md and docs.
func TestPages(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	docs, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil || len(docs) == 0 {
		t.Fatal(docs, err)
	}
	pages := append(readmes(t, root), "CONTRIBUTING.md")
	for _, d := range docs {
		if name := "docs/" + filepath.Base(d); elsewhere[name] == "" {
			pages = append(pages, name)
		}
	}
	for _, name := range pages {
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join(root, name))
			if err != nil {
				t.Fatal(err)
			}
			list, err := blocks.Find(string(text))
			if err != nil {
				t.Fatal(err)
			}
			p := page{T: t, root: root, name: name}
			for _, b := range list {
				p.run(b)
			}
		})
	}
}

// page is a page whose blocks are run, in a folder of its own.
type page struct {
	*testing.T
	root, name, dir string
}

// program is tapc, built once.
var program = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "tapc-blocks-")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "tapc")
	return path, exec.Command("go", "build", "-o", path, "../../cmd/tapc").Run()
})

func TestMain(m *testing.M) {
	status := m.Run()
	if ran {
		if path, err := program(); err == nil {
			os.RemoveAll(filepath.Dir(path))
		}
	}
	os.Exit(status)
}

var ran bool

func (p *page) run(b blocks.Block) {
	switch {
	case b.Reason != "" || b.RunBy != "":
		if info, err := os.Stat(filepath.Join(p.root, b.RunBy)); err != nil || !info.IsDir() {
			p.Errorf("%s:%d: no package %s", p.name, b.Line, b.RunBy)
		}
	case b.File != "":
		p.need()
		path := filepath.Join(p.dir, filepath.FromSlash(b.File))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			p.Fatal(err)
		}
		p.write(path, []byte(b.Text))
	case b.Language == "sh":
		if testing.Short() {
			return
		}
		p.need()
		for line := range strings.Lines(b.Text) {
			if strings.Contains(line, "--against=onnxruntime") && os.Getenv("TAPC_PEERS_PYTHON") == "" {
				continue // it needs what the machine may lack; cmd/tapc/compare has its tests
			}
			if out, err := p.shell(line); err != nil {
				p.Fatalf("%s:%d: %s%v\n%s", p.name, b.Line, line, err, out)
			}
		}
	case b.Language == "console":
		if testing.Short() {
			return
		}
		p.need()
		for _, c := range blocks.Commands(b.Text) {
			out, err := p.shell(c.Line)
			if _, exits := err.(*exec.ExitError); err != nil && !exits || !same(c.Line, c.Output, out) {
				p.Fatalf("%s:%d: %s\nprints\n%s%v\nexpected\n%s", p.name, b.Line, c.Line, out, err, c.Output)
			}
		}
	case b.Language == "python" || b.Language == "go" || b.Language == "c" || b.Language == "yaml" || b.Language == "json":
		p.Errorf("%s:%d: a block of %s that nothing runs: a comment before it says why, or who does", p.name, b.Line, b.Language)
	}
}

// need makes the folder: a copy of what the repository has, as commands write there, model.onnx, and values for it.
func (p *page) need() {
	if p.dir != "" {
		return
	}
	testkit.Program(p, testkit.Compilers, "cc")
	ran = true
	p.dir = p.TempDir()
	entries, err := os.ReadDir(p.root)
	if err != nil {
		p.Fatal(err)
	}
	args := []string{"-R"}
	for _, e := range entries {
		if e.Name() != ".git" {
			args = append(args, filepath.Join(p.root, e.Name()))
		}
	}
	if out, err := exec.Command("cp", append(args, p.dir)...).CombinedOutput(); err != nil {
		p.Fatalf("%v\n%s", err, out)
	}
	text := models[p.name]
	if text == "" {
		return
	}
	model, err := onnxtest.Model("<ir_version: 8, opset_import: [\"\": 17]>\n" + text)
	if err != nil {
		p.Fatal(err)
	}
	p.write(filepath.Join(p.dir, "model.onnx"), model)
	x := tensorfile.Tensor{DType: scalar.Float32, Shape: []int64{8, 3}}
	if strings.Contains(text, "seq") {
		x.Shape[1] = 128
	}
	for i := range x.Shape[0] * x.Shape[1] {
		x.Data = binary.LittleEndian.AppendUint32(x.Data, math.Float32bits(float32(i)))
	}
	data, err := tensorfile.NPY(x)
	if err != nil {
		p.Fatal(err)
	}
	p.write(filepath.Join(p.dir, "x.npy"), data)
}

func (p *page) write(path string, data []byte) {
	if err := os.WriteFile(path, data, 0o600); err != nil {
		p.Fatal(err)
	}
}

// ofClone are the ways to call tapc in a clone.
var ofClone = regexp.MustCompile(`(^|[|] )(go run ./cmd/tapc|[.]/tapc) `)

// shell runs a line, with tapc where a clone would build it, and gives what it prints on both of its outputs. What Go compiles in the copy is what
// "./do lint" and the test of tools/release compile elsewhere: -trimpath leaves folders out of it.
func (p *page) shell(line string) (string, error) {
	tapc, err := program()
	if err != nil {
		p.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", ofClone.ReplaceAllString(line, "${1}tapc "))
	cmd.Dir, cmd.WaitDelay = p.dir, time.Second
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-trimpath", "PATH="+filepath.Dir(tapc)+string(os.PathListSeparator)+os.Getenv("PATH"))
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// same says whether a command prints what a page says. Times and sizes of files are the machine's.
func same(command, want, got string) bool {
	if strings.Contains(command, "--bench") || strings.HasPrefix(command, "ls ") {
		return strings.Count(want, "\n") == strings.Count(got, "\n")
	}
	return want == got
}
