package host_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"tensortapestry.org/tapc/dialects"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/loomjson"
	"tensortapestry.org/tapc/plugins/host"
)

// built is where the programs of the tests are.
var built string

func TestMain(m *testing.M) {
	host.Supervise()
	os.Exit(run(m))
}

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "tapc-host-test-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	built = dir
	return m.Run()
}

// linearRelu builds the example plugin once.
var linearRelu = sync.OnceValues(func() (string, error) { return build("../examples/linear-relu") })

func build(pkg string) (string, error) {
	path := filepath.Join(built, filepath.Base(pkg))
	cmd := exec.Command("go", "build", "-o", path, pkg)
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
