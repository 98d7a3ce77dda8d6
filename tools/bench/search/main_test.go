package main

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"tensortapestry.org/tapc/internal/testkit"
	"tensortapestry.org/tapc/search"
	"tensortapestry.org/tapc/tools/bench/search/graphs"
)

// With any seed, of which a quarter has its turn, at least 99 % of the hypervolume of all plans is found. With -short, of the smaller spaces and fewer seeds.
func TestSearchAgainstAll(t *testing.T) {
	seeds, most := uint64(20), 200_000
	if testing.Short() {
		seeds, most = 3, 2000
	}
	turn := testkit.Turns(t, 4)
	for _, c := range graphs.Smalls {
		x, err := space(c)
		if err != nil {
			t.Fatal(err)
		}
		all, worst, plans, ok := x.Enumerate(most)
		if !ok {
			continue
		}
		seeds := seeds
		if plans > most/2 { // the command searches them with all seeds
			seeds = min(seeds, 3)
		}
		for k := range worst {
			worst[k] *= 1.1
		}
		for seed := range seeds {
			if !turn() {
				continue
			}
			s := search.Run(context.Background(), x, search.Options{Seed: seed, Rounds: -1})
			if part := s.Frontier.Volume(worst) / all.Volume(worst); part < 0.99 {
				t.Errorf("%s, seed %d: %.4f of the hypervolume after %d trials", c.Name, seed, part, s.Tried)
			}
		}
	}
}

// A table is replaced between its lines, and a file without them is left as it is.
func TestReplace(t *testing.T) {
	name := filepath.Join(t.TempDir(), "page.md")
	for text, want := range map[string]string{
		"a\n" + begin + "old\n" + end + "b\n": "a\n" + begin + "\nnew\n\n" + end + "b\n",
		"a\n" + begin + "b\n":                 "",
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		err := replace(name, "new\n")
		got, _ := os.ReadFile(name)
		if want == "" && (err == nil || string(got) != text) || want != "" && (err != nil || string(got) != want) {
			t.Errorf("%q: %v, %q", text, err, got)
		}
	}
}
