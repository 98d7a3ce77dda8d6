package zspace_test

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tensortapestry.org/tapc/ir/zspace"
	"tensortapestry.org/tapc/ir/zspace/zspacetest"
)

func TestNewRangeRefuses(t *testing.T) {
	_, err := zspace.NewRange(zspace.Point{0, 5}, zspace.Point{10, 0})
	if e := new(zspace.ExtentError); !errors.As(err, &e) || e.Dim != 1 || e.Start != 5 || e.End != 0 {
		t.Errorf("a negative extent beside a positive one: %v", err)
	}
	_, err = zspace.NewRange(zspace.Point{0}, zspace.Point{1, 2})
	if e := new(zspace.RankError); !errors.As(err, &e) {
		t.Errorf("different lengths: %v", err)
	}
	_, err = zspace.NewRange(zspace.Point{-1}, zspace.Point{math.MaxInt64})
	if !errors.Is(err, zspace.ErrOverflow) {
		t.Errorf("extent of 2^63: %v", err)
	}
	_, err = zspace.FromShape(1, -1)
	if e := new(zspace.NegativeError); !errors.As(err, &e) || e.Dim != 1 || e.Value != -1 {
		t.Errorf("negative shape: %v", err)
	}
}

func TestNewRangeCopies(t *testing.T) {
	start, end := zspace.Point{0}, zspace.Point{5}
	r := must(zspace.NewRange(start, end))
	start[0], end[0] = 3, 4
	if r.String() != "zr[0:5]" {
		t.Errorf("the range changed with its arguments: %v", r)
	}
}

func TestRangeFacts(t *testing.T) {
	for _, c := range []struct {
		text, shape string
		size        int64
		empty       bool
	}{
		{"zr[]", "‖‖", 1, false},
		{"zr[0:2, -1:3]", "‖2, 4‖", 8, false},
		{"zr[4:4]", "‖0‖", 0, true},
		{"zr[0:9223372036854775807, 0:9223372036854775807, 1:1]",
			"‖9223372036854775807, 9223372036854775807, 0‖", 0, true},
		{"zr[-9223372036854775808:-1]", "‖9223372036854775807‖", math.MaxInt64, false},
	} {
		r := rng(t, c.text)
		size, err := r.Size()
		if err != nil || r.String() != c.text || r.ShapeString() != c.shape || size != c.size || r.Empty() != c.empty {
			t.Errorf("%s: got %v %s size %d, %v empty %v", c.text, r, r.ShapeString(), size, err, r.Empty())
		}
		if r.BigSize().Cmp(big.NewInt(c.size)) != 0 {
			t.Errorf("%s: BigSize %v, want %d", c.text, r.BigSize(), c.size)
		}
	}
}

func TestSizeBeyond64Bits(t *testing.T) {
	r := zspace.MustShape(1<<40, 1<<40)
	if _, err := r.Size(); !errors.Is(err, zspace.ErrOverflow) {
		t.Errorf("Size of 2^80: %v", err)
	}
	if want := new(big.Int).Lsh(big.NewInt(1), 80); r.BigSize().Cmp(want) != 0 {
		t.Errorf("BigSize of 2^80: %v", r.BigSize())
	}
}

func TestContains(t *testing.T) {
	for _, c := range []struct {
		outer, inner string
		want         bool
	}{
		{"[0:5, 0:5]", "[1:5, 0:2]", true},
		{"[0:5, 0:5]", "[1:6, 0:2]", false},
		{"[0:5]", "[5:5]", true},  // empty, on the border
		{"[0:5]", "[6:6]", false}, // empty, beyond it
		{"[3:3]", "[3:3]", true},
		{"[3:3]", "[3:4]", false},
		{"[]", "[]", true},
		{"[]", "[0:1]", false}, // no dimensions do not contain everything
		{"[0:1]", "[]", false},
	} {
		if got := rng(t, c.outer).Contains(rng(t, c.inner)); got != c.want {
			t.Errorf("%s contains %s: %v", c.outer, c.inner, got)
		}
	}
}

func TestContainsPoint(t *testing.T) {
	for _, c := range []struct {
		r    string
		p    zspace.Point
		want bool
	}{
		{"[0:2, 0:3]", zspace.Point{1, 2}, true},
		{"[0:2, 0:3]", zspace.Point{1, 3}, false}, // on the exclusive end in one dimension only
		{"[0:2, 0:3]", zspace.Point{2, 0}, false},
		{"[0:0]", zspace.Point{0}, false},
		{"[]", zspace.Point{}, true},
		{"[0:2]", zspace.Point{}, false},
	} {
		if got := rng(t, c.r).ContainsPoint(c.p); got != c.want {
			t.Errorf("%s contains %v: %v", c.r, c.p, got)
		}
	}
}

func TestIntersectVectors(t *testing.T) {
	for _, c := range []struct {
		a, b, want string
		overlaps   bool
	}{
		{"[0:5]", "[5:10]", "zr[5:5]", false},
		{"[0:5]", "[6:10]", "", false},
		{"[0:5, 0:5]", "[3:9, -2:1]", "zr[3:5, 0:1]", true},
		{"[]", "[]", "zr[]", true},
		{"[]", "[0:1]", "", false},
		{"[0:5]", "[2:2]", "zr[2:2]", false},
	} {
		got, ok := rng(t, c.a).Intersect(rng(t, c.b))
		if ok != (c.want != "") || ok && got.String() != c.want {
			t.Errorf("%s ∩ %s = %v, %v; want %q", c.a, c.b, got, ok, c.want)
		}
		if o := rng(t, c.a).Overlaps(rng(t, c.b)); o != c.overlaps {
			t.Errorf("%s overlaps %s: %v", c.a, c.b, o)
		}
	}
}

func TestBoundingProductPermuteVectors(t *testing.T) {
	if got := must(zspace.Bounding(rng(t, "[0:5]"), rng(t, "[100:100]"))); got.String() != "zr[0:100]" {
		t.Errorf("bounding: %v", got)
	}
	if got := rng(t, "[2:5]").Product(rng(t, "[10:20, 4:8]")); got.String() != "zr[2:5, 10:20, 4:8]" {
		t.Errorf("product: %v", got)
	}
	if got := must(rng(t, "[5:8, 6:9, 7:10]").Permute([]int{1, 2, 0})); got.String() != "zr[6:9, 7:10, 5:8]" {
		t.Errorf("permute: %v", got)
	}
}

func TestBoundingRefuses(t *testing.T) {
	if _, err := zspace.Bounding(); !errors.Is(err, zspace.ErrEmpty) {
		t.Errorf("of nothing: %v", err)
	}
	_, err := zspace.Bounding(rng(t, "[0:1]"), rng(t, "[]"))
	if e := new(zspace.RankError); !errors.As(err, &e) {
		t.Errorf("of different ranks: %v", err)
	}
	far := must(zspace.NewRange(zspace.Point{math.MinInt64}, zspace.Point{math.MinInt64}))
	if _, err := zspace.Bounding(far, rng(t, "[0:1]")); !errors.Is(err, zspace.ErrOverflow) {
		t.Errorf("too wide: %v", err)
	}
}

func TestPermutationIsExact(t *testing.T) {
	r := zspace.MustShape(1, 2, 3)
	for _, perm := range [][]int{{1, 1, 1}, {0, 1}, {0, 1, 2, 3}, {0, 1, 3}, {-1, 0, 1}, {0, 0, 3}, nil} {
		_, err := r.Permute(perm)
		if e := new(zspace.PermutationError); !errors.As(err, &e) || e.Rank != 3 {
			t.Errorf("Permute(%v): %v, want a PermutationError", perm, err)
		}
	}
	if got := must(zspace.MustShape().Permute(nil)); got.Rank() != 0 {
		t.Errorf("no dimensions: %v", got)
	}
}

func TestTranslate(t *testing.T) {
	if got := must(rng(t, "[0:3, 2:2]").Translate(zspace.Point{-10, 4})); got.String() != "zr[-10:-7, 6:6]" {
		t.Error(got)
	}
	if got, err := rng(t, "[0:3, 0:3]").Translate(zspace.Point{5}); err == nil {
		t.Errorf("a single coordinate was broadcast: %v", got)
	}
	if _, err := rng(t, "[0:3]").Translate(zspace.Point{math.MaxInt64 - 2}); !errors.Is(err, zspace.ErrOverflow) {
		t.Errorf("end beyond 64 bits: %v", err)
	}
	if got := must(rng(t, "[0:3]").Translate(zspace.Point{math.MaxInt64 - 3})); got.End[0] != math.MaxInt64 {
		t.Errorf("end at the largest value: %v", got)
	}
}

func TestInclusiveEnd(t *testing.T) {
	if got := must(rng(t, "[0:3, -5:-2]").InclusiveEnd()); !got.Equal(zspace.Point{2, -3}) {
		t.Error(got)
	}
	if got := must(rng(t, "[]").InclusiveEnd()); len(got) != 0 {
		t.Error(got)
	}
	if _, err := rng(t, "[0:3, 1:1]").InclusiveEnd(); !errors.Is(err, zspace.ErrEmpty) {
		t.Error(err)
	}
}

func TestPointsOrder(t *testing.T) {
	for text, want := range map[string][]string{
		"[0:2, -1:1]": {"[0, -1]", "[0, 0]", "[1, -1]", "[1, 0]"},
		"[]":          {"[]"},
		"[0:2, 1:1]":  nil,
		"[9223372036854775805:9223372036854775807]": {"[9223372036854775805]", "[9223372036854775806]"},
	} {
		if diff := cmp.Diff(want, zspacetest.Cells(rng(t, text))); diff != "" {
			t.Errorf("%s: %s", text, diff)
		}
	}
	for range zspace.MustShape(1<<40, 1<<40).Points() {
		break // stops at once, whatever the size
	}
}

func TestInvalidLiteral(t *testing.T) {
	wide := zspace.Range{Start: zspace.Point{math.MinInt64}, End: zspace.Point{math.MaxInt64}}
	if err := wide.Validate(); !errors.Is(err, zspace.ErrOverflow) {
		t.Errorf("Validate: %v", err)
	}
	if got := wide.Shape(); got[0] != math.MaxInt64 {
		t.Errorf("the extent of an invalid literal wrapped: %v", got)
	}
}

// The relations between ranges agree with those between their cells.
func TestRelationsByCells(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rank := rapid.IntRange(0, 3).Draw(t, "rank")
		a, b := zspacetest.Range(t, rank, "a"), zspacetest.Range(t, rank, "b")
		n := zspacetest.Count([]zspace.Range{a, b})
		shared := len(zspacetest.Cells(a)) + len(zspacetest.Cells(b)) - len(n)
		if a.Overlaps(b) != (shared > 0) {
			t.Fatalf("Overlaps %v, %d cells shared", a.Overlaps(b), shared)
		}
		both, ok := a.Intersect(b)
		if got := len(zspacetest.Cells(both)); ok && got != shared || !ok && shared > 0 {
			t.Fatalf("Intersect %v, %v with %d cells, want %d", both, ok, got, shared)
		}
		if !b.Empty() && a.Contains(b) != (shared == len(zspacetest.Cells(b))) {
			t.Fatalf("Contains %v, %d cells of %d shared", a.Contains(b), shared, len(zspacetest.Cells(b)))
		}
		box := must(zspace.Bounding(a, b))
		if !box.Contains(a) || !box.Contains(b) {
			t.Fatalf("Bounding %v does not contain both", box)
		}
		if size := must(a.Size()); int(size) != len(zspacetest.Cells(a)) || a.Empty() != (size == 0) {
			t.Fatalf("Size %d, %d cells", size, len(zspacetest.Cells(a)))
		}
	})
}

func TestPermuteInverse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := zspacetest.Range(t, rapid.IntRange(0, 5).Draw(t, "rank"), "r")
		perm := genPerm(t, r.Rank())
		inverse := make([]int, len(perm))
		for i, p := range perm {
			inverse[p] = i
		}
		moved := must(r.Permute(perm))
		if back := must(moved.Permute(inverse)); !back.Equal(r) {
			t.Fatalf("%v by %v and back: %v", r, perm, back)
		}
		for i, p := range perm {
			if moved.Start[i] != r.Start[p] || moved.End[i] != r.End[p] {
				t.Fatalf("dimension %d of %v is not dimension %d of %v", i, moved, p, r)
			}
		}
	})
}

func TestCorners(t *testing.T) {
	r := zspace.Range{Start: zspace.Point{-1, 4, 2}, End: zspace.Point{3, 5, 9}}
	for most, want := range map[int]string{4: "[[-1:0, 4:5, 2:3] [2:3, 4:5, 2:3] [-1:0, 4:5, 8:9] [2:3, 4:5, 8:9]]", 3: "[[-1:0, 4:5, 2:3] [2:3, 4:5, 2:3]]"} {
		var got []string
		for _, c := range r.Corners(most) {
			got = append(got, c.Text())
		}
		if fmt.Sprint(got) != want {
			t.Errorf("at most %d: %v, expected %s", most, got, want)
		}
	}
}
