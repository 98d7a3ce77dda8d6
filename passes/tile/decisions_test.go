package tile_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"tensortapestry.org/tapc/dialects"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/nest"
	"tensortapestry.org/tapc/dialects/schedule/whole"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/permission"
	"tensortapestry.org/tapc/ir/text"
	"tensortapestry.org/tapc/passes/lower"
	"tensortapestry.org/tapc/passes/standard"
	"tensortapestry.org/tapc/passes/tile"
)

var update = flag.Bool("update", false, "write testdata/decisions.txt anew")

// targets are the levels of x86-64, with the sizes that backends/cpu has for them.
var targets = []target{
	{"v4", tile.Target{Vector: 64, Registers: 32, L2: 1 << 20}},
	{"v3", tile.Target{Vector: 32, Registers: 16, L2: 1 << 19}},
	{"v2", tile.Target{Vector: 16, Registers: 16, L2: 1 << 19}},
}

type target struct {
	name string
	tile.Target
}

// TestDecisions holds what is decided for many shapes to a table: a change of it has to be seen to be meant.
func TestDecisions(t *testing.T) {
	const path = "testdata/decisions.txt"
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, _ := strings.Cut(string(file), "\ncase ")
	out, cases := head, 0
	for c := range strings.SplitSeq(rest, "\ncase ") {
		cases++
		graph, want, _ := strings.Cut(c, "\n----\n")
		title, graph, _ := strings.Cut(graph, "\n")
		got := decisions(t, title, graph)
		if got != strings.TrimSpace(want) && !*update {
			t.Errorf("%s: expected\n%s\nfound\n%s", title, strings.TrimSpace(want), got)
		}
		out += fmt.Sprintf("\ncase %s\n%s\n----\n%s\n", title, graph, got)
	}
	if cases < 40 {
		t.Errorf("%d cases, expected 40 or more", cases)
	}
	if *update {
		if err := os.WriteFile(path, []byte(out), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// decisions describes what is decided for each kernel of a graph.
func decisions(t *testing.T, title, graph string) string {
	t.Helper()
	g, err := text.Read([]byte("tapc 1\n"+graph), title, dialects.Registry())
	if err != nil {
		t.Fatalf("%s: %v", title, err)
	}
	_, words, _ := strings.Cut(title, " allow ")
	allow := permission.Set(0)
	if words != "" {
		if allow, err = permission.Parse(words); err != nil {
			t.Fatal(err)
		}
	}
	if err := standard.Run(g, kernels.Builtin(), lower.Options{Allow: allow}); err != nil {
		t.Fatalf("%s: %v", title, err)
	}
	buffers := whole.Buffers(g)
	var lines []string
	for n := range g.Nodes() {
		if k, ok := n.Body.(*schedule.Kernel); ok {
			lines = append(lines, describe(t, title, k, buffers)...)
		}
	}
	return strings.Join(lines, "\n")
}

// describe describes what each target makes of a kernel.
func describe(t *testing.T, title string, k *schedule.Kernel, buffers map[ir.NodeID]*schedule.Buffer) []string {
	a := nest.Analyze(k, buffers)
	var names []string
	for _, f := range a.Forms {
		name := f.Name()
		if c, ok := f.(*nest.Contraction); ok {
			name += copies(c)
		}
		if !k.Allow.Has(f.Needs()) {
			name += " if allowed"
		}
		names = append(names, name)
	}
	head := fmt.Sprintf("%s: %s", k.Name, strings.Join(append(names, "loops"), ", "))
	if k.Sums > 0 {
		head += fmt.Sprintf(" | sums of %d", k.Sums)
	}
	lines := []string{head}
	for _, x := range targets {
		lines = append(lines, fmt.Sprintf("  %s %s", x.name, considered(t, title, x, a)))
	}
	return lines
}

// copies says which copies a contraction makes besides packing, and whether accumulators are transposed.
func copies(c *nest.Contraction) string {
	out := ""
	if c.Padded != nil {
		out += " (left padded)"
	}
	if c.Window != nil {
		out += " (right from windows)"
	}
	if c.Computed != nil {
		out += " (right computed)"
	}
	if c.Transposed {
		out += " (accumulators transposed)"
	}
	return out
}
