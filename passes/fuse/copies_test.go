package fuse_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"tensortapestry.org/tapc/dialects"
	"tensortapestry.org/tapc/dialects/schedule/moves"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/ir/text"
	"tensortapestry.org/tapc/passes/pipeline"
	"tensortapestry.org/tapc/passes/standard"
)

var update = flag.Bool("update", false, "write testdata/copies.txt anew")

// TestCopies holds how much sequences of selectors copy before their readers, or behind what they come from, to a table.
func TestCopies(t *testing.T) {
	const path = "testdata/copies.txt"
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, _ := strings.Cut(string(file), "\ncase ")
	out, cases := head, 0
	for c := range strings.SplitSeq(rest, "\ncase ") {
		cases++
		graph, rest, _ := strings.Cut(c, "\n----\n")
		want, reason, explained := strings.Cut(strings.TrimSpace(rest), " because ")
		title, graph, _ := strings.Cut(graph, "\n")
		got := fmt.Sprint(copied(t, title, graph))
		if got != want && !*update {
			t.Errorf("%s: expected %s bytes, found %s", title, want, got)
		}
		switch copies := got != "0"; {
		case copies && reason == "":
			t.Errorf("%s: %s bytes are copied: expected a reason behind the number", title, got)
		case copies:
			got += " because " + reason
		case explained && !*update:
			t.Errorf("%s: expected no reason for what is not copied, found %q", title, reason)
		}
		out += fmt.Sprintf("\ncase %s\n%s\n----\n%s\n", title, graph, got)
	}
	if cases < 30 {
		t.Errorf("%d cases, expected 30 or more", cases)
	}
	if *update {
		if err := os.WriteFile(path, []byte(out), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// copied is how many bytes the kernels that the standard pipeline makes of a graph only move.
func copied(t *testing.T, title, graph string) int64 {
	t.Helper()
	g, err := text.Read([]byte("tapc 1\n"+graph), title, dialects.Registry())
	if err != nil {
		t.Fatalf("%s: %v", title, err)
	}
	table := standard.Table(kernels.Builtin())
	p, err := pipeline.ParsePipeline(table.Standard(pipeline.Request{Last: pipeline.ScheduledKernels, Simplify: true,
		Facts: map[pipeline.Fact][]string{pipeline.Target: {"cpu"}}}), table)
	if err != nil {
		t.Fatal(err)
	}
	r, err := (&pipeline.Runner{}).Run(context.Background(), p, g)
	if err != nil {
		t.Fatalf("%s: %v", title, err)
	}
	return moves.Bytes(r.Graph)
}
