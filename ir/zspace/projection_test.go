package zspace_test

import (
	"errors"
	"math"
	"testing"

	"pgregory.net/rapid"

	"tensortapestry.org/tapc/ir/zspace"
	"tensortapestry.org/tapc/ir/zspace/zspacetest"
)

func TestMatrixForms(t *testing.T) {
	for name, c := range map[string]struct {
		m          zspace.Matrix
		rows, cols int
		fits       []int
	}{
		"no rows":    {zspace.Matrix{}, 0, 0, []int{0, 1, 7}},
		"no columns": {zspace.Matrix{{}, {}}, 2, 0, []int{0}},
		"2×3":        {zspace.Matrix{{1, 2, 3}, {4, 5, 6}}, 2, 3, []int{3}},
		"identity":   {zspace.Identity(2), 2, 2, []int{2}},
	} {
		if c.m.Rows() != c.rows || c.m.Cols() != c.cols {
			t.Errorf("%s: %d×%d", name, c.m.Rows(), c.m.Cols())
		}
		for _, rank := range c.fits {
			if !c.m.Fits(rank) {
				t.Errorf("%s does not fit rank %d", name, rank)
			}
		}
		if c.rows > 0 && c.m.Fits(c.cols+1) {
			t.Errorf("%s fits a rank beyond its columns", name)
		}
	}
}

func TestMatrixPermute(t *testing.T) {
	m := zspace.Matrix{{1, 2, 3}, {4, 5, 6}}
	if got := must(m.PermuteInput([]int{2, 0, 1})); !got.Equal(zspace.Matrix{{3, 1, 2}, {6, 4, 5}}) {
		t.Errorf("columns: %v", got)
	}
	out := must(m.PermuteOutput([]int{1, 0}))
	if !out.Equal(zspace.Matrix{{4, 5, 6}, {1, 2, 3}}) {
		t.Errorf("rows: %v", out)
	}
	out[0][0] = 99
	if m[1][0] != 4 {
		t.Error("a permuted matrix shares memory")
	}
	for name, err := range map[string]error{
		"columns by sum": second(m.PermuteInput([]int{1, 1, 1})),
		"rows short":     second(m.PermuteOutput([]int{0})),
		"no rows":        second(zspace.Matrix{}.PermuteInput([]int{1, 1})),
	} {
		if e := new(zspace.PermutationError); !errors.As(err, &e) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := (zspace.Matrix{}).PermuteInput([]int{1, 0}); err != nil {
		t.Errorf("a matrix without rows fits any permutation: %v", err)
	}
	ragged := zspace.Matrix{{1, 2}, {3}}
	if e := new(zspace.RaggedError); !errors.As(second(ragged.PermuteInput([]int{1, 0})), &e) || e.Row != 1 {
		t.Errorf("ragged: %v", e)
	}
}

func TestMapsRefuse(t *testing.T) {
	asRank := new(*zspace.RankError)
	square := zspace.Identity(2)
	a := must(zspace.NewAffineMap(square, zspace.Point{0, 0}))
	p := must(zspace.NewProjectionMap(a, zspace.Point{1, 1}))
	ragged := zspace.AffineMap{Projection: zspace.Matrix{{1, 2}, {3}}, Offset: zspace.Point{0, 0}}
	reversed := zspace.Range{Start: zspace.Point{0, 5}, End: zspace.Point{5, 0}}
	for name, c := range map[string]struct {
		err  error
		want any
	}{
		"row too short":       {second(zspace.NewAffineMap(zspace.Matrix{{1, 2}, {3}}, zspace.Point{0, 0})), new(*zspace.RaggedError)},
		"row too long":        {second(zspace.NewAffineMap(zspace.Matrix{{1}, {2, 3}}, zspace.Point{0, 0})), new(*zspace.RaggedError)},
		"offset short":        {second(zspace.NewAffineMap(square, zspace.Point{0})), asRank},
		"offset without rows": {second(zspace.NewAffineMap(nil, zspace.Point{0})), asRank},
		"shape long":          {second(zspace.NewProjectionMap(a, zspace.Point{1, 1, 1})), asRank},
		"shape negative":      {second(zspace.NewProjectionMap(a, zspace.Point{1, -1})), new(*zspace.NegativeError)},
		"ragged apply":        {second(ragged.Apply(zspace.Point{1, 2})), new(*zspace.RaggedError)},
		"ragged projection":   {second(zspace.ProjectionMap{AffineMap: ragged, Shape: zspace.Point{1, 1}}.Apply(zspace.MustShape(2, 2))), new(*zspace.RaggedError)},
		"apply other rank":    {second(a.Apply(zspace.Point{1})), asRank},
		"index other rank":    {second(p.Apply(zspace.MustShape(2))), asRank},
		"point other rank":    {second(p.ApplyPoint(zspace.Point{1, 2, 3})), asRank},
		"loom other rank":     {second(p.ApplyEmptyLoom(zspace.MustShape(0))), asRank},
		"reversed index":      {second(p.Apply(reversed)), new(*zspace.ExtentError)},
		"translate":           {second(p.Translate(zspace.Point{5})), asRank},
		"compose":             {second(a.Compose(must(zspace.NewAffineMap(zspace.Identity(3), make(zspace.Point, 3))))), asRank},
	} {
		if !errors.As(c.err, c.want) {
			t.Errorf("%s: %v, want %T", name, c.err, c.want)
		}
	}
	if _, _, err := a.Hull(rng(t, "[0:0, 0:1]")); !errors.Is(err, zspace.ErrEmpty) {
		t.Errorf("hull of an empty range: %v", err)
	}
}

func TestConstructorsCopy(t *testing.T) {
	m, off, shape := zspace.Matrix{{1}}, zspace.Point{2}, zspace.Point{3}
	p := must(zspace.NewProjectionMap(must(zspace.NewAffineMap(m, off)), shape))
	m[0][0], off[0], shape[0] = 7, 8, 9
	if p.String() != "(d0) -> [d0 + 2] + [3]" {
		t.Errorf("the map changed with its arguments: %v", p)
	}
}

func TestScalarProjections(t *testing.T) {
	scalarTensor := zspace.ProjectionMap{AffineMap: zspace.AffineMap{Projection: zspace.Matrix{}, Offset: zspace.Point{}}, Shape: zspace.Point{}}
	if got := must(scalarTensor.Apply(zspace.MustShape(3, 4))); got.String() != "zr[]" {
		t.Errorf("scalar tensor: %v", got)
	}
	scalarIndex := proj(t, "() -> [3, 4] + [1, 2]")
	if got := must(scalarIndex.Apply(zspace.MustShape())); got.String() != "zr[3:4, 4:6]" {
		t.Errorf("scalar index: %v", got)
	}
}

func TestProjectionOverflow(t *testing.T) {
	const top = "9223372036854775807"
	for name, c := range map[string]struct{ m, index string }{
		"product":      {"(d0) -> [4*d0] + [1]", "[0:" + top + "]"},
		"offset":       {"(d0) -> [d0 + " + top + "] + [1]", "[1:2]"},
		"shape":        {"(d0) -> [d0] + [2]", "[9223372036854775805:" + top + "]"},
		"extent":       {"(d0, d1) -> [d0 - d1] + [1]", "[0:" + top + ", 0:" + top + "]"},
		"empty":        {"(d0) -> [2*d0] + [1]", "[" + top + ":" + top + "]"},
		"below bottom": {"(d0) -> [-d0 - 9223372036854775807] + [1]", "[0:3]"},
	} {
		if got, err := proj(t, c.m).Apply(rng(t, c.index)); !errors.Is(err, zspace.ErrOverflow) {
			t.Errorf("%s: %v, %v; want overflow", name, got, err)
		}
	}
	// At the very edge it still fits.
	if got, err := proj(t, "(d0) -> [d0] + [1]").Apply(rng(t, "[9223372036854775805:"+top+"]")); err != nil || got.End[0] != math.MaxInt64 {
		t.Errorf("the last cell: %v, %v", got, err)
	}
}

// A sum is judged by its exact value: terms beyond 64 bits that cancel are fine.
func TestOverflowOnlyOfTheResult(t *testing.T) {
	a := must(zspace.NewAffineMap(zspace.Matrix{{4, -4, 1}}, zspace.Point{-1}))
	got, err := a.Apply(zspace.Point{math.MaxInt64, math.MaxInt64, 10})
	if err != nil || got[0] != 9 {
		t.Errorf("4·max - 4·max + 9 = %v, %v", got, err)
	}
	if _, err := a.Apply(zspace.Point{math.MaxInt64, math.MinInt64, 0}); !errors.Is(err, zspace.ErrOverflow) {
		t.Errorf("4·max - 4·min: %v", err)
	}
}

func TestTranslateAndCompose(t *testing.T) {
	p := proj(t, "(d0, d1) -> [d0, 0] + [1, 4]")
	if got := must(p.Translate(zspace.Point{-10, 4})); !got.Equal(proj(t, "(d0, d1) -> [d0 - 10, 4] + [1, 4]")) {
		t.Errorf("translate: %v", got)
	}
	if p.String() != "(d0, d1) -> [d0, 0] + [1, 4]" {
		t.Errorf("translate changed its receiver: %v", p)
	}
	rapid.Check(t, func(t *rapid.T) {
		n := [3]int{rapid.IntRange(0, 3).Draw(t, "a"), rapid.IntRange(1, 3).Draw(t, "b"), rapid.IntRange(0, 3).Draw(t, "c")}
		a, b := genProjection(t, n[0], n[1]).AffineMap, genProjection(t, n[1], n[2]).AffineMap
		x := make(zspace.Point, n[2])
		for i := range x {
			x[i] = rapid.Int64Range(-9, 9).Draw(t, "x")
		}
		direct := must(a.Apply(must(b.Apply(x))))
		if n[0] == 0 {
			x = x[:0] // a composed map without rows has no stated width
		}
		if got := must(must(a.Compose(b)).Apply(x)); !got.Equal(direct) {
			t.Fatalf("(%v ∘ %v) of %v = %v, want %v", a, b, x, got, direct)
		}
	})
}

// The hull is the least box around the boxes of all points.
func TestHullByPoints(t *testing.T) {
	rapid.Check(t, checkHull)
}

func checkHull(t *rapid.T) {
	rows, cols := rapid.IntRange(0, 3).Draw(t, "rows"), rapid.IntRange(0, 3).Draw(t, "cols")
	p, r := genProjection(t, rows, cols), zspacetest.Range(t, cols, "index")
	got := must(p.Apply(r))
	var boxes []zspace.Range
	for x := range r.Points() {
		boxes = append(boxes, must(p.ApplyPoint(x)))
	}
	if len(boxes) == 0 {
		checkEmptyHull(t, p, r, got)
		return
	}
	if want := must(zspace.Bounding(boxes...)); !got.Equal(want) {
		t.Fatalf("%v of %v = %v, want %v", p, r, got, want)
	}
	if loom := must(p.ApplyEmptyLoom(r)); !loom.Equal(got) {
		t.Fatalf("ApplyEmptyLoom of a range with cells: %v, want %v", loom, got)
	}
	lo, hi, err := p.AffineMap.Hull(r)
	if err != nil {
		t.Fatal(err)
	}
	for k := range lo {
		if lo[k] != got.Start[k] || hi[k]+p.Shape[k] != got.End[k] {
			t.Fatalf("Hull %v %v beside %v", lo, hi, got)
		}
	}
}

// For an empty index, each row is that of the projection of the index with its
// empty dimensions widened to one, unless it depends on one of those.
func checkEmptyHull(t *rapid.T, p zspace.ProjectionMap, r, got zspace.Range) {
	wide := r.Clone()
	for j := range wide.Start {
		wide.End[j] = max(wide.End[j], wide.Start[j]+1)
	}
	hull, start := must(p.Apply(wide)), must(p.AffineMap.Apply(r.Start))
	for k, row := range p.AffineMap.Projection {
		s, e := hull.Start[k], hull.End[k]
		for j, c := range row {
			if c != 0 && r.Start[j] == r.End[j] {
				s, e = start[k], start[k]
			}
		}
		if got.Start[k] != s || got.End[k] != e {
			t.Fatalf("%v of %v = %v, dimension %d should be %d:%d", p, r, got, k, s, e)
		}
	}
	if loom := must(p.ApplyEmptyLoom(r)); !loom.Start.Equal(start) || !loom.End.Equal(start) {
		t.Fatalf("ApplyEmptyLoom: %v, want nothing at %v", loom, start)
	}
}
