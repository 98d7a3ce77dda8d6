package dot_test

import (
	"bytes"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tensortapestry.org/tapc/dialects"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/internal/testkit"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/dot"
	"tensortapestry.org/tapc/ir/irtest"
	"tensortapestry.org/tapc/ir/loomjson"
)

var update = flag.Bool("update", false, "write the expected drawings anew")

func example(t *testing.T, name string) *ir.Graph {
	t.Helper()
	data, err := os.ReadFile("../../examples/" + name + ".loom.json")
	if err != nil {
		t.Fatal(err)
	}
	g, err := loomjson.Read(data, name, dialects.Registry())
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func draw(t interface{ Fatal(...any) }, g *ir.Graph, o dot.Options) string {
	var b bytes.Buffer
	if err := dot.Write(&b, g, o); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestExamples(t *testing.T) {
	for _, c := range []struct {
		example, file string
		options       dot.Options
	}{
		{"operation-expression", "operation", dot.Options{}},
		{"application-expression", "application", dot.Options{}},
		{"linear-relu-4", "shards", dot.Options{HideOperations: true, NoTags: true, NoIDs: true}},
		{"linear-relu-4", "operations", dot.Options{HideShards: true}},
	} {
		t.Run(c.file, func(t *testing.T) {
			got := draw(t, example(t, c.example), c.options)
			file := filepath.Join("testdata", c.file+".dot")
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			layout(t, got)
		})
	}
}

// layout lets Graphviz itself read the text, where it is installed.
func layout(t testing.TB, text string) {
	t.Helper()
	program := testkit.Program(t, testkit.Graphviz, "dot")
	cmd := exec.Command(program, "-Tcanon")
	cmd.Stdin = strings.NewReader(text)
	if out, err := cmd.CombinedOutput(); err != nil || bytes.Contains(out, []byte("Error")) {
		t.Errorf("%v: %.2000s\nin\n%s", err, out, text)
	}
}

// parses lets Graphviz read the text without laying it out, which crashes it on some graphs that make no sense.
func parses(t testing.TB, text string) {
	t.Helper()
	cmd := exec.Command(testkit.Program(t, testkit.Graphviz, "nop"), "-p")
	cmd.Stdin = strings.NewReader(text)
	if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("%v: %.2000s\nin\n%s", err, out, text)
	}
}

// Any graph can be drawn, whatever its labels and however its references dangle, and always in the same way: the order of the
// nodes in the graph does not matter.
func TestAnyGraph(t *testing.T) {
	var last, curved string
	rapid.Check(t, func(t *rapid.T) {
		g := irtest.Random(t, irtest.Schedule)
		last, curved = draw(t, g, dot.Options{}), draw(t, g, dot.Options{Curves: true})
		for n := range g.Nodes() {
			n.SetUUID(g.UUIDOf(n))
		}
		var b bytes.Buffer
		if err := loomjson.Write(&b, g); err != nil {
			t.Fatal(err)
		}
		h, err := loomjson.Read(b.Bytes(), "again", dialects.Registry())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(last, draw(t, h, dot.Options{})); diff != "" {
			t.Fatal(diff)
		}
	})
	parses(t, last)
	parses(t, curved)
}

// TestManyNodes draws edges with right angles up to 200 nodes, and curves beyond.
func TestManyNodes(t *testing.T) {
	for nodes, want := range map[int]string{200: `splines="ortho"`, 201: `splines="spline"`} {
		g := ir.New()
		for range nodes {
			g.Add(&tensorops.Note{Message: "m"}, "")
		}
		if got := draw(t, g, dot.Options{}); !strings.Contains(got, want) {
			t.Errorf("%d nodes: expected %s in\n%.300s", nodes, want, got)
		}
	}
}

func TestAlias(t *testing.T) {
	for id, want := range map[string]string{
		"00000000-0000-4000-8000-000000000001": "funny:date:41",
		"26434d32-ccbc-442f-9d78-8bf158b00c6b": "purple:cherry:17",
		"2fa3fe28-2d47-47b6-8767-27c7dadbb18c": "green:cat:31",
		"80000000-0000-0000-0000-000000000000": "red:bird:41", // the minimum counts as the maximum
	} {
		u, err := ir.ParseUUID(id)
		if err != nil {
			t.Fatal(err)
		}
		if got := dot.Alias(u, 0); id[0] != '8' && got != want {
			t.Errorf("Alias(%s) = %s, want %s", id, got, want)
		} else if id[0] == '8' {
			max, _ := ir.ParseUUID("7fffffff-0000-0000-0000-000000000000")
			if got != dot.Alias(max, 0) {
				t.Errorf("Alias(%s) = %s, want that of the maximum, %s", id, got, dot.Alias(max, 0))
			}
		}
	}
}
