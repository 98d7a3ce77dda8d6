package classic

import (
	"math"
	"slices"
	"sort"

	"tensortapestry.org/tapc/ir/scalar"
)

// pieceBits is how many leaves of a tree the kernel forest_leaves tells apart, with a bit for each.
const pieceBits = 32

// piece is neighbouring leaves of a tree and the tests that lead to them. Each leaf has a bit, from the lowest on. So has every subtree left
// of them that a test of the piece leads to, and all that is right of them has one together: those are the leaf -1.
type piece struct {
	tests  []branch
	leaves []int64
}

// branch is a test of a piece: its node, and the bits that are left where it fails.
type branch struct {
	node int64
	rest uint32
}

// turn is a step from a node to one of its branches.
type turn struct {
	node  int64
	right bool
}

// atMost gives a forest that leads to the same leaves by tests for at most a number of type d, float32 or float64; ok is false where a
// test is none. Less than a number is at most the one before it; a test for greater numbers has its branches changed, and with these where a feature that is missing leads.
func (f *forest) atMost(d scalar.DType) (g *forest, ok bool) {
	all := *f
	g = &all
	g.missing, g.split, g.yes, g.no = slices.Clone(f.missing), slices.Clone(f.split), slices.Clone(f.yes), slices.Clone(f.no)
	for n, test := range f.test {
		if f.values[int64(n)] != nil {
			continue
		}
		s := &g.split[n]
		if d == scalar.Float32 {
			*s = float64(float32(*s))
		}
		if !math.IsNaN(*s) && (test == greater || test == greaterEqual) { // no number passes any test for NaN
			g.yes[n], g.no[n], g.missing[n] = f.no[n], f.yes[n], 1-f.missing[n]
		}
		if test == less || test == greaterEqual {
			*s = before(*s, d)
		}
		if test > greater || math.IsNaN(*s) && g.missing[n] != 0 { // what is missing becomes a number, which must pass
			return nil, false
		}
	}
	return g, true
}

// before gives the greatest number of a type that is less than x, NaN if there is none.
func before(x float64, d scalar.DType) float64 {
	least := math.Inf(-1)
	switch {
	case x == least:
		return math.NaN()
	case d == scalar.Float32:
		return float64(math.Nextafter32(float32(x), float32(least)))
	}
	return math.Nextafter(x, least)
}

// pieces cuts the trees, in their order; ok is false if they have more tests than a number, or a leaf is behind so many that its bit has no place.
func (f *forest) pieces(tests int64) (trees [][]piece, ok bool) {
	for _, root := range f.roots {
		paths, ok := f.paths(root, tests)
		if !ok {
			return nil, false
		}
		tree := pieces(paths, pieceBits)
		if even := pieces(paths, (len(paths)-1)/max(1, len(tree))+1); len(even) == len(tree) {
			tree = even
		}
		for _, p := range tree {
			tests -= int64(len(p.tests))
		}
		if len(tree) == 0 || tests < 0 {
			return nil, false
		}
		trees = append(trees, tree)
	}
	return trees, true
}

// pieces cuts a tree into pieces of a number of leaves, or fewer; none if a piece would have no leaf.
func pieces(paths [][]turn, most int) (tree []piece) {
	for first := 0; first < len(paths); {
		p, next := cut(paths, first, most)
		if next == first {
			return nil
		}
		tree, first = append(tree, p), next
	}
	return tree
}

// paths gives the turns to every leaf below a root, from left to right, and behind them the leaf; ok is false if there are more leaves than a number.
func (f *forest) paths(root, most int64) (all [][]turn, ok bool) {
	for stack := [][]turn{{{node: root}}}; len(stack) > 0; {
		path := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		end := len(path) - 1
		n := path[end].node
		if f.values[n] != nil {
			all = append(all, path)
			if int64(len(all)) > most+1 {
				return nil, false
			}
			continue
		}
		for _, right := range []bool{true, false} {
			to := map[bool]int64{false: f.yes[n], true: f.no[n]}[right]
			stack = append(stack, append(append(slices.Clone(path[:end]), turn{n, right}), turn{node: to}))
		}
	}
	return all, true
}

// cut makes a piece of a number of leaves from a first one on, or as many as have bits.
func cut(paths [][]turn, first, most int) (p piece, next int) {
	room := pieceBits
	for _, t := range paths[first] {
		if t.right {
			room--
		}
	}
	next = len(paths)
	if room < next-first {
		next = first + max(0, room-1)
	}
	next = min(next, first+most)
	if next > first {
		p.add(paths, span{0, len(paths)}, span{first, next}, 0)
		if next < len(paths) {
			p.leaves = append(p.leaves, -1)
		}
	}
	return p, next
}

// span is leaves by their places: from first to before end.
type span struct{ first, end int }

// add adds what is below the turns that some leaves have in common, of which those in a span are in the piece.
func (p *piece) add(paths [][]turn, below, in span, turns int) {
	at := paths[below.first][turns]
	if turns == len(paths[below.first])-1 {
		p.leaves = append(p.leaves, at.node)
		return
	}
	middle := below.first + sort.Search(below.end-below.first, func(i int) bool { return paths[below.first+i][turns].right })
	bit := len(p.leaves)
	if middle <= in.first {
		p.leaves = append(p.leaves, -1)
	} else {
		p.add(paths, span{below.first, middle}, in, turns+1)
	}
	taken := uint32(1)<<len(p.leaves) - uint32(1)<<bit // of 32 bits, all: 0 - 1
	p.tests = append(p.tests, branch{at.node, ^taken})
	if middle < in.end {
		p.add(paths, span{middle, below.end}, in, turns+1)
	}
}
