package zspace_test

import (
	"testing"

	"tensortapestry.org/tapc/ir/zspace"
	"tensortapestry.org/tapc/ir/zspace/tiling"
)

// The geometric defects of the original Loom, each by the number that the
// specification gives it (section 18): what the original got wrong is right here.
func TestLoomDefects(t *testing.T) {
	refused := func(err error) bool { return err != nil }
	whole := zspace.MustShape(12)
	sums := must(tiling.Check(whole, []zspace.Range{rng(t, "[0:4]"), rng(t, "[3:7]"), rng(t, "[8:12]")}))
	hole := must(tiling.Check(whole, []zspace.Range{rng(t, "[0:4]"), rng(t, "[5:12]")}))
	_, collision, _, err := proj(t, "(d0, d1) -> [d0] + [1]").FindCollision(zspace.MustShape(2, 2), 0)
	if err != nil {
		t.Fatal(err)
	}
	noRows := must(zspace.NewProjectionMap(must(zspace.NewAffineMap(zspace.Matrix{}, zspace.Point{})), zspace.Point{}))
	noCols := proj(t, "() -> [3] + [2]")
	for name, ok := range map[string]bool{
		"4 index of another rank is an error": refused(second(proj(t, "(d0) -> [d0] + [1]").Apply(zspace.MustShape(1, 1)))),
		"5 coordinates beyond 32 bits":        rng(t, "[0:4294967303]").End[0] == 4294967303,
		"5 volumes beyond 32 bits":            must(zspace.MustShape(1<<31, 2).Size()) == 1<<32,
		"5 no wrap at 64 bits":                refused(second(zspace.MustShape(1<<32, 1<<32).Size())),
		"7 one negative extent":               refused(second(zspace.NewRange(zspace.Point{0, 5}, zspace.Point{10, 0}))),
		"8 a point on the exclusive end":      !zspace.MustShape(2, 3).ContainsPoint(zspace.Point{1, 3}),
		"8 no dimensions contain [0:1]":       !zspace.MustShape().Contains(zspace.MustShape(1)),
		"9 coverage is not a sum":             sums != nil && sums.Kind == tiling.Overlap && sums.Witness.Text() == "[3:4]",
		"10 a gap is called a gap":            hole != nil && hole.Kind == tiling.Gap && hole.Witness.Text() == "[4:5]",
		"11 mixed signs": must(proj(t, "(d0, d1) -> [d0 - d1] + [1]").Apply(zspace.MustShape(4, 3))).Text() ==
			"[-2:4]",
		"12 a scalar tensor under any index": must(noRows.Apply(zspace.MustShape(7, 8))).Text() == "[]",
		"12 a scalar index":                  must(noCols.Apply(zspace.MustShape())).Text() == "[3:5]",
		"13 a row too long":                  refused(second(zspace.NewAffineMap(zspace.Matrix{{1}, {1, 2}}, zspace.Point{0, 0}))),
		"13 a row too short":                 refused(second(zspace.NewAffineMap(zspace.Matrix{{1, 2}, {1}}, zspace.Point{0, 0}))),
		"14 chunks by ceiling":               len(must(zspace.MustShape(10).Split(0, 4))) == 3,
		"14 chunks in two dimensions":        len(must(zspace.MustShape(2, 5).Split(1, 3))) == 2,
		"15 a permutation is not a sum":      refused(second(zspace.MustShape(1, 2, 3).Permute([]int{1, 1, 1}))),
		"23 outputs that are not injective":  collision,
		"no broadcasting of points":          refused(second(zspace.Point{1, 2}.Add(zspace.Point{5}))),
	} {
		if !ok {
			t.Errorf("defect %s", name)
		}
	}
}
