package classic

import (
	"math"

	"tensortapestry.org/tapc/frontends/foreign"
	"tensortapestry.org/tapc/frontends/mapping"
	"tensortapestry.org/tapc/ir/scalar"
)

// The tests that forest_leaves makes in the time of a step of a row to its next node, less than was measured: about 0.8 ns for a test of up to blockRows
// rows, 4 ns for a step of each; and at most, with many rows.
const (
	testsForStep     = 4
	mostTestsForStep = 60
)

// mostTests bounds the tables.
const mostTests = 1 << 20

// atOnce maps a forest whose tests are all made, which is faster up to a size; ok is false for any other.
func (f *forest) atOnce(r *mapping.Region, x foreign.Value) (y foreign.Value, ok bool, err error) {
	d, rows := x.Tensor.DType, x.Tensor.Shape[0]
	if d != scalar.Float32 && d != scalar.Float64 {
		return y, false, nil
	}
	f, ok = f.atMost(d)
	if !ok {
		return y, false, nil
	}
	most := min(mostTests, min(mostTestsForStep, testsForStep*rows)*int64(len(f.roots))*max(1, f.depth))
	trees, ok := f.pieces(most)
	if !ok {
		return y, false, nil
	}
	t := f.tabled(trees, x.Tensor)
	if int64(len(t.feature)) > most || int64(len(t.values)) > maxScores {
		return y, false, nil
	}
	columns, err := r.Eval("forest_columns", x, t.missing(), foreign.IntValue(min(rows, blockRows)))
	if err != nil {
		return y, true, err
	}
	leaves, err := r.Eval("forest_leaves_of", columns, foreign.IntValue(t.tests), foreign.IntsValue(t.feature), floatsValue(t.split), foreign.IntsValue(t.rest),
		foreign.IntsValue(t.skip), foreign.IntValue(t.layers))
	if err != nil {
		return y, true, err
	}
	y, err = r.Eval("forest_result", leaves, x, floatsValue(t.values), foreign.IntValue(t.groups), foreign.IntValue(f.targets),
		foreign.IntValue(f.aggregate), foreign.IntValue(int64(len(f.roots))), foreign.IntValue(f.transform))
	return y, true, err
}

// blockRows is how many rows are side by side at least, if there are as many: the lanes of the widest vectors, so that several blocks have
// the loads of a test in common.
const blockRows = 16

// tables are what forest_leaves and forest_scores read: the tests of trees, one tree beside the other and one layer of pieces behind the other, and values[target, tree, leaf]. The
// trees are in groups, either one or one for each target.
type tables struct {
	tests, trees, layers, groups int64
	feature, rest, skip          []int64
	split, values                []float64
	features                     int64
	tracks, tracksNot            bool // whether there are tests that what is missing passes, and that it does not
}

// missing is what a missing feature becomes for the tests that it passes, once or beside the features as they are.
func (t *tables) missing() foreign.Value {
	switch {
	case !t.tracks:
		return floatsValue(nil)
	case !t.tracksNot:
		return floatsValue([]float64{math.Inf(-1)})
	}
	return floatsValue([]float64{math.Inf(-1), 0})
}

// tabled arranges trees: those that give to one target beside each other, if all of them do and the targets have about as many. Where some
// have several pieces, the others get as many, or every piece is a tree by itself if they would be more than half as many again.
func (f *forest) tabled(trees [][]piece, x *foreign.Tensor) *tables {
	t := &tables{tests: 1, layers: 1, groups: 1, features: x.Shape[1]}
	pieces := 0
	for _, tree := range trees {
		t.layers, pieces = max(t.layers, int64(len(tree))), pieces+len(tree)
		for _, p := range tree {
			t.tests = max(t.tests, int64(len(p.tests)))
		}
	}
	if 2*int(t.layers)*len(trees) > 3*pieces {
		trees, t.layers = apart(trees), 1
	}
	if own := f.byTarget(trees); own != nil {
		trees, t.groups = own, f.targets
	}
	t.trees = int64(len(trees))
	n := t.tests * t.layers * t.trees
	t.feature, t.rest, t.split, t.skip = make([]int64, n), make([]int64, n), make([]float64, n), make([]int64, t.layers*t.trees)
	for i := range t.rest {
		t.rest[i] = -1
	}
	t.look(f, trees)
	for i, tree := range trees {
		for layer, p := range tree {
			t.fill(f, layer*len(trees)+i, p)
		}
	}
	t.give(f, trees, x.DType)
	return t
}

// apart makes a tree of every piece.
func apart(trees [][]piece) (out [][]piece) {
	for _, tree := range trees {
		for i := range tree {
			out = append(out, tree[i:i+1])
		}
	}
	return out
}

// look finds out what becomes of features that are missing.
func (t *tables) look(f *forest, trees [][]piece) {
	for _, tree := range trees {
		for _, p := range tree {
			for _, b := range p.tests {
				t.tracks, t.tracksNot = t.tracks || f.missing[b.node] != 0, t.tracksNot || f.missing[b.node] == 0
			}
		}
	}
}

// fill writes the tests of the piece in a column.
func (t *tables) fill(f *forest, column int, p piece) {
	for k, b := range p.tests {
		at := int64(k)*t.layers*t.trees + int64(column)
		t.feature[at], t.split[at], t.rest[at] = f.feature[b.node], f.split[b.node], int64(int32(b.rest))
		if t.tracks && t.tracksNot && f.missing[b.node] != 0 {
			t.feature[at] += t.features
		}
	}
	for _, leaf := range p.leaves {
		if leaf >= 0 {
			break
		}
		t.skip[column]++
	}
}

// give writes what the leaves give to the targets: those of a tree with several pieces have one number after the other.
func (t *tables) give(f *forest, trees [][]piece, d scalar.DType) {
	leaves, most := make([][]int64, len(trees)), 1
	for i, tree := range trees {
		for _, p := range tree {
			for _, leaf := range p.leaves {
				if leaf >= 0 || t.layers == 1 {
					leaves[i] = append(leaves[i], leaf)
				}
			}
		}
		most = max(most, len(leaves[i]))
	}
	given, each, nothing := f.table(d), t.trees/t.groups, f.nothing(d)
	for target := range f.targets {
		at := int64(0)
		if t.groups > 1 {
			at = target * each
		}
		for _, list := range leaves[at : at+each] {
			for leaf := range most {
				v := nothing
				if leaf < len(list) && list[leaf] >= 0 {
					v = given[list[leaf]*f.targets+target]
				}
				t.values = append(t.values, v)
			}
		}
	}
}

// byTarget gives the trees target by target, as many for each, some of them without pieces; nil if trees give to several targets, or
// more than a third of them would have none.
func (f *forest) byTarget(trees [][]piece) [][]piece {
	own := make([][][]piece, f.targets)
	for _, tree := range trees {
		to, ok := f.target(tree)
		if !ok {
			return nil
		}
		if to >= 0 {
			own[to] = append(own[to], tree)
		}
	}
	most := 1
	for _, list := range own {
		most = max(most, len(list))
	}
	if f.targets == 1 || most*int(f.targets) > len(trees)+len(trees)/2 {
		return nil
	}
	var all [][]piece
	for _, list := range own {
		all = append(append(all, list...), make([][]piece, most-len(list))...)
	}
	return all
}

// target is the one that a tree gives to, -1 if it gives nothing; ok is false if there are several.
func (f *forest) target(tree []piece) (to int64, ok bool) {
	to = -1
	for _, p := range tree {
		for _, leaf := range p.leaves {
			for _, t := range f.values[leaf] {
				if to >= 0 && to != t.id {
					return to, false
				}
				to = t.id
			}
		}
	}
	return to, true
}
