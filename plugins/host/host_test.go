package host_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"tensortapestry.org/tapc/dialects"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/loomjson"
	"tensortapestry.org/tapc/passes/lower"
	"tensortapestry.org/tapc/passes/pipeline"
	"tensortapestry.org/tapc/passes/standard"
	"tensortapestry.org/tapc/plugins/host"
	"tensortapestry.org/tapc/plugins/supervise"
)

// built is where the programs of the tests are.
var built string

func TestMain(m *testing.M) {
	if os.Getenv(unsupervised) == "" {
		supervise.Main()
	}
	if path := os.Getenv(asHost); path != "" {
		runAsHost(path)
		return
	}
	os.Exit(run(m))
}

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "tapc-host-test-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	built = dir
	tmp := filepath.Join(dir, "tmp")
	if err := os.Mkdir(tmp, 0o700); err != nil {
		panic(err)
	}
	os.Setenv("TMPDIR", tmp)
	code := m.Run()
	if left := leftovers(tmp); code == 0 && len(left) > 0 {
		fmt.Println("FAIL: left behind:", left)
		return 1
	}
	return code
}

// leftovers gives what the tests left: files in the temporary directory, and children of this process, zombies too.
func leftovers(tmp string) []string {
	var left []string
	for deadline := time.Now().Add(5 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		left = nil
		entries, _ := os.ReadDir(tmp)
		for _, e := range entries {
			left = append(left, e.Name())
		}
		stats, _ := filepath.Glob("/proc/[0-9]*/stat")
		for _, f := range stats {
			text, _ := os.ReadFile(f)
			fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
			if len(fields) > 1 && fields[1] == strconv.Itoa(os.Getpid()) {
				left = append(left, strings.TrimSpace(string(text)))
			}
		}
		if len(left) == 0 {
			break
		}
	}
	return left
}

// linearRelu builds the example plugin once.
var linearRelu = sync.OnceValues(func() (string, error) { return build("../examples/linear-relu") })

// asUser makes this test program one that runs as an ordinary user, and says where the programs of the tests are.
const asUser = "TAPC_HOST_TEST_AS_USER"

func build(pkg string) (string, error) {
	path := filepath.Join(built, filepath.Base(pkg))
	if dir := os.Getenv(asUser); dir != "" {
		return filepath.Join(dir, filepath.Base(pkg)), nil
	}
	cmd := exec.Command("go", "build", "-ldflags=-s -w", "-o", path, pkg)
	cmd.Stderr = os.Stderr
	return path, cmd.Run()
}

// program gives the path of a program that must build.
func program(t testing.TB, build func() (string, error)) string {
	t.Helper()
	path, err := build()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func open(t testing.TB, path string, opts host.Options) *host.Plugin {
	t.Helper()
	p, err := host.Start(context.Background(), path, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p
}

func load(t testing.TB, name string) *ir.Graph {
	t.Helper()
	text, err := os.ReadFile("../../examples/" + name)
	if err != nil {
		t.Fatal(err)
	}
	g, err := loomjson.Read(text, name, dialects.Registry())
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func TestRunPass(t *testing.T) {
	p := open(t, program(t, linearRelu), host.Options{})
	g := load(t, "linear-relu.loom.json")
	nodes := g.Len()
	a, err := p.RunPass(context.Background(), "linear-relu", nil, g)
	if err != nil {
		t.Fatal(err)
	}
	if a.Unchanged || a.Graph.Len() != nodes-2 || a.Graph.File != g.File {
		t.Errorf("answer %+v with %d nodes of file %q", a, a.Graph.Len(), a.Graph.File)
	}
	if len(a.Counts) != 1 || a.Counts[0] != (host.Count{Name: "merged", Value: 1}) {
		t.Errorf("counts are %v", a.Counts)
	}
	if g.Len() != nodes {
		t.Error("the graph before was changed")
	}
	again, err := p.RunPass(context.Background(), "linear-relu", nil, a.Graph)
	if err != nil || !again.Unchanged || again.Graph != a.Graph {
		t.Errorf("the second run gives %+v, %v", again, err)
	}
}

// TestLongTemporaryDirectory starts a plugin where the paths of its sockets are as long as they can be, and would be longer.
func TestLongTemporaryDirectory(t *testing.T) {
	base, err := os.MkdirTemp("/tmp", "t-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(base)
	for length := 44; length <= 60; length += 2 {
		dir := filepath.Join(base, strings.Repeat("d", length-len(base)-1))
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		t.Setenv("TMPDIR", dir)
		p, err := host.Start(context.Background(), program(t, linearRelu), host.Options{})
		if err != nil {
			t.Errorf("%d bytes: %v", len(dir), err)
			continue
		}
		p.Close()
	}
}

// running gives the processes of a program: those whose command line names it.
func running(path string) []string {
	var pids []string
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, f := range files {
		if text, err := os.ReadFile(f); err == nil && strings.HasPrefix(string(text), path+"\x00") {
			pids = append(pids, filepath.Base(filepath.Dir(f)))
		}
	}
	return pids
}

func textLog(w io.Writer) *slog.Logger {
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

// schedule takes a graph with applications to Scheduled Kernels.
func schedule(t testing.TB, g *ir.Graph) {
	t.Helper()
	for _, s := range standard.Steps(kernels.Builtin(), lower.Options{}) {
		if s.Name == "fuse" {
			continue // there must be several kernels
		}
		if err := s.Run(g); err != nil {
			t.Fatal(err)
		}
	}
	if found := pipeline.ScheduledKernels.Environment().Verify(context.Background(), g); found.HasErrors() {
		t.Fatal(found)
	}
}
