package main

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"tensortapestry.org/tapc/dialects/tensorops/kernels"
)

// A case names the inputs that its program has, each with a file: of a choice those of the first branch, which build takes.
func TestCorpus(t *testing.T) {
	for name, want := range map[string][]string{"choice": {"t0"}, "less": {"t0", "t1"}} {
		d, ok := kernels.Builtin().Find(name)
		if !ok {
			t.Fatalf("no kernel %s", name)
		}
		g, err := declared(d, d.Cases[0])
		if err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		if err := g.write(dir); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(filepath.Join(dir, "case.json"))
		if err != nil {
			t.Fatal(err)
		}
		var c corpusCase
		if err := json.Unmarshal(text, &c); err != nil {
			t.Fatal(err)
		}
		if found := slices.Sorted(maps.Keys(c.Inputs)); !slices.Equal(found, want) || len(c.Outputs) != 1 {
			t.Errorf("%s: inputs %v and %d outputs, expected %v and one", name, found, len(c.Outputs), want)
		}
		for _, file := range append(slices.Collect(maps.Values(c.Inputs)), "graph.tap") {
			if _, err := os.Stat(filepath.Join(dir, file)); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}
