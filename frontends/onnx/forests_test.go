package onnx_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/frontends/onnx"
	"tensortapestry.org/tapc/frontends/onnx/onnxtest"
)

// grove is random trees as the lists of TreeEnsembleRegressor.
type grove struct {
	tree, id, feature, yes, no, missing, toTree, toNode, toTarget []int64
	split, weight                                                 []float64
	modes                                                         []string
	rng                                                           *rand.Rand
	tests                                                         []string
	targets                                                       int64
	own                                                           bool // a tree gives to one target
}

// grow adds a node and what is below it, and gives the next node's number.
func (g *grove) grow(tree, id int64, leaves int) int64 {
	at := len(g.tree)
	g.tree, g.id, g.feature = append(g.tree, tree), append(g.id, id), append(g.feature, g.rng.Int64N(3))
	g.split, g.missing = append(g.split, float64(g.rng.IntN(9)-4)/2), append(g.missing, g.rng.Int64N(2))
	g.yes, g.no, g.modes = append(g.yes, 0), append(g.no, 0), append(g.modes, "LEAF")
	if leaves == 1 {
		for t := range g.targets {
			if t == tree%g.targets || !g.own {
				g.toTree, g.toNode, g.toTarget = append(g.toTree, tree), append(g.toNode, id), append(g.toTarget, t)
				g.weight = append(g.weight, float64(g.rng.IntN(1000)))
			}
		}
		return id + 1
	}
	left := 1 + g.rng.IntN(leaves-1)
	if g.rng.IntN(3) == 0 {
		left = leaves / 2
	}
	g.modes[at] = g.tests[g.rng.IntN(len(g.tests))]
	g.yes[at] = id + 1
	g.no[at] = g.grow(tree, id+1, left)
	return g.grow(tree, g.no[at], leaves-left)
}

// score is what a row of features gets for a target, by the standard's words.
func (g *grove) score(x []float32, target int64, join func(a, b float64) float64) float64 {
	total := math.NaN()
	for i := range g.tree {
		if g.id[i] != 0 {
			continue
		}
		at := i
		for g.modes[at] != "LEAF" {
			v, s := x[g.feature[at]], float32(g.split[at])
			holds := map[string]bool{"BRANCH_LEQ": v <= s, "BRANCH_LT": v < s, "BRANCH_GTE": v >= s, "BRANCH_GT": v > s, "BRANCH_EQ": v == s}[g.modes[at]]
			if holds || v != v && g.missing[at] != 0 {
				at = i + int(g.yes[at])
			} else {
				at = i + int(g.no[at])
			}
		}
		for k := range g.toTree {
			if g.toTree[k] == g.tree[at] && g.toNode[k] == g.id[at] && g.toTarget[k] == target {
				if total != total {
					total = g.weight[k]
				} else {
					total = join(total, g.weight[k])
				}
			}
		}
	}
	return total
}

func list[T any](values []T, format string) string {
	words := make([]string, len(values))
	for i, v := range values {
		words[i] = fmt.Sprintf(format, v)
	}
	return "[" + strings.Join(words, ", ") + "]"
}

func (g *grove) text(rows int, join string) string {
	return treeHead + fmt.Sprintf(`g (float[%d] flat) => (float[%d, %d] y) <int64[2] s = {%d, 3}> { x = Reshape(flat, s) y = ai.onnx.ml.TreeEnsembleRegressor<n_targets = %d,
  aggregate_function = %q, nodes_treeids = %s, nodes_nodeids = %s, nodes_featureids = %s, nodes_values = %s, nodes_modes = %s, nodes_truenodeids = %s, nodes_falsenodeids = %s,
  nodes_missing_value_tracks_true = %s, target_treeids = %s, target_nodeids = %s, target_ids = %s, target_weights = %s>(x) }`, 3*rows, rows, g.targets, rows, g.targets, join,
		list(g.tree, "%d"), list(g.id, "%d"), list(g.feature, "%d"), list(g.split, "%.1f"), list(g.modes, "%q"), list(g.yes, "%d"), list(g.no, "%d"), list(g.missing, "%d"),
		list(g.toTree, "%d"), list(g.toNode, "%d"), list(g.toTarget, "%d"), list(g.weight, "%.1f"))
}

// Trees whose tests are all made give what the walk from their roots gives: with more leaves than a word has bits, on blocks of rows,
// with what is missing here and there. Trees that test for equal numbers, or are large for few rows, are walked.
func TestForests(t *testing.T) {
	order := []string{"BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT"}
	add := func(a, b float64) float64 { return a + b }
	for _, c := range []struct {
		name   string
		tests  []string
		leaves []int
		rows   int
		target int64
		own    bool
		join   string
		both   func(a, b float64) float64
		atOnce bool
	}{
		{"small", order[:1], []int{1, 2, 5, 32}, 9, 1, false, "SUM", add, true},
		{"deep", order, []int{33, 100, 31}, 16, 1, false, "SUM", add, true},
		{"blocks", order[1:2], []int{3, 4}, 1000, 1, false, "SUM", add, true},
		{"targets", order, []int{40, 64, 7}, 8, 2, false, "SUM", add, true},
		{"own targets", order, []int{20, 30, 33, 8, 60, 10}, 8, 3, true, "SUM", add, true},
		{"unequal targets", order, []int{9, 8, 33, 100}, 8, 2, true, "SUM", add, true},
		{"least", order, []int{40, 12, 7}, 8, 2, false, "MIN", math.Min, true},
		{"greatest", order, []int{40, 12, 33, 5}, 8, 2, true, "MAX", math.Max, true},
		{"equal", []string{"BRANCH_EQ"}, []int{5, 3}, 8, 1, false, "SUM", add, false},
		{"one row", order[:1], []int{3, 5}, 1, 1, false, "SUM", add, true},
		{"one row of many", order[:1], []int{400}, 1, 1, false, "SUM", add, false},
	} {
		g := &grove{rng: rand.New(rand.NewPCG(1, 2)), tests: c.tests, targets: c.target, own: c.own}
		for i, n := range c.leaves {
			g.grow(int64(i), 0, n)
		}
		x := make([]float32, 3*c.rows)
		for i := range x {
			x[i] = []float32{float32(g.rng.IntN(19)-9) / 4, float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1))}[max(0, g.rng.IntN(20)-16)]
		}
		var want []float64
		for r := range c.rows {
			for target := range c.target {
				want = append(want, g.score(x[3*r:3*r+3], target, c.both))
			}
		}
		t.Run(c.name, func(t *testing.T) {
			text := g.text(c.rows, c.join)
			expect(t, run(t, text, onnx.Options{}, map[string][]float32{"flat": x})["y"], want...)
			m, err := onnx.Read(onnxtest.Must(text), "model.onnx")
			if err != nil {
				t.Fatal(err)
			}
			graph, _, err := onnx.Import(context.Background(), m, onnx.Options{})
			if err != nil {
				t.Fatal(err)
			}
			var kernels []string
			for n := range graph.Nodes() {
				if op, ok := n.Body.(*tensorops.Operation); ok {
					kernels = append(kernels, op.Kernel)
				}
			}
			if slices.Contains(kernels, "op:forest_leaves") != c.atOnce {
				t.Errorf("expected forest_leaves: %v, found %v", c.atOnce, kernels)
			}
		})
	}
}
