// Command whole is a plugin for tapc that takes part in searches for plans: it prefers operations and tensors that are in few pieces.
//
// It is an example of a mutator and a cost term. Both see trials: a value for each gene, whose meaning is said in words. See docs/plugins.md and docs/search.md.
package main

import (
	"context"
	"math/rand/v2"
	"slices"
	"strings"

	"tensortapestry.org/tapc/plugins"
)

func main() { plugins.Serve(plugin()) }

func plugin() plugins.Plugin {
	return plugins.Plugin{
		Name:     "whole",
		Version:  "1.0.0",
		Doc:      "Prefers plans that cut little.",
		Mutators: []plugins.Mutator{{Name: "mend", Doc: "leave an operation or a tensor whole that is cut", On: "an operation or a tensor", Mutate: mend}},
		Terms:    []plugins.Term{{Name: "pieces", Doc: "a microsecond for each operation and tensor that is cut, as for what a program needs to look after it", Objective: "time", Cost: pieces}},
	}
}

// cut says whether a value of a gene cuts something along an axis of the mesh.
func cut(g *plugins.Gene, value int) bool {
	return slices.ContainsFunc(strings.Split(g.Values[value], ", "), func(axis string) bool {
		_, to, is := strings.Cut(axis, "=")
		return is && to != "-"
	})
}

func mend(_ context.Context, s *plugins.Space, r *rand.Rand, trial []int) bool {
	from := r.IntN(len(trial))
	for n := range trial {
		i := (from + n) % len(trial)
		g := &s.Genes[i]
		whole := slices.IndexFunc(g.Values, func(v string) bool {
			return strings.Contains(v, "=") && strings.Count(v, "=-") == strings.Count(v, "=")
		})
		if whole >= 0 && cut(g, trial[i]) {
			trial[i] = whole
			return true
		}
	}
	return false
}

func pieces(_ context.Context, s *plugins.Space, trial []int) (seconds float64, _ error) {
	for i, v := range trial {
		if cut(&s.Genes[i], v) {
			seconds += 1e-6
		}
	}
	return seconds, nil
}
