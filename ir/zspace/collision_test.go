package zspace_test

import (
	"errors"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"tensortapestry.org/tapc/ir/zspace"
	"tensortapestry.org/tapc/ir/zspace/zspacetest"
)

func TestFindCollision(t *testing.T) {
	for _, c := range []struct {
		m, index string
		want     string // "A B Cell", or empty
	}{
		{"(d0, d1) -> [d0, d1] + [1, 1]", "[0:9, 0:9]", ""},
		{"(d0, d1) -> [d0] + [1]", "[0:9, 0:9]", "[0, 0] [0, 1] [0]"}, // d1 ignored
		{"(d0, d1) -> [d0] + [1]", "[0:9, 4:5]", ""},                  // d1 ignored, but of extent one
		{"(d0) -> [d0] + [2]", "[3:9]", "[3] [4] [4]"},                // a step less than the shape
		{"(d0) -> [-d0] + [2]", "[3:9]", "[3] [4] [-3]"},
		{"(d0) -> [2*d0] + [2]", "[0:9]", ""},
		{"(d0, d1) -> [d0 - d1] + [1]", "[0:4, 0:3]", "[0, 0] [1, 1] [0]"},
		{"(d0, d1) -> [d0, 0] + [1, 0]", "[0:9, 0:9]", ""}, // boxes without cells
		{"(d0) -> [0] + [1]", "[0:0]", ""},
		{"(d0) -> [0] + [1]", "[0:1]", ""},
		{"() -> [0] + [5]", "[]", ""},
		{"(d0, d1, d2) -> [5000*d0 + 50*d1 + d2] + [1]", "[0:1000, 0:100, 0:50]", ""},
		{"(d0, d1, d2) -> [d0 + 50*d1 + 5000*d2] + [1]", "[0:50, 0:100, 0:1000]", ""},
		{"(d0, d1, d2) -> [5000*d0 + 50*d1 + d2] + [1]", "[0:1000, 0:100, 0:51]", "[0, 99, 50] [1, 0, 0] [5000]"},
		// skews that only linear algebra settles at this size
		{"(d0, d1) -> [d0 + d1, d0 - d1] + [1, 1]", "[0:1000000000, 0:1000000000]", ""},
		{"(d0, d1) -> [1000*d0 + 1001*d1, 1001*d0 + 1002*d1] + [1, 1]", "[0:1000000000, 0:1000000000]", ""},
		{"(d0, d1) -> [1000*d0 + 1001*d1, 1001*d0 + 1002*d1] + [2, 2]", "[0:1000000000, 0:1000000000]", "[0, 1] [1, 0] [1001, 1002]"},
		{"(d0, d1) -> [1000003*d0 + 1000033*d1] + [1]", "[0:1000000, 0:1000000]", ""},
		{"(d0, d1) -> [1000003*d0 + 1000033*d1] + [1]", "[0:1000034, 0:1000004]", "[0, 1000003] [1000033, 0] [1000036000099]"},
	} {
		got, found, decided, err := proj(t, c.m).FindCollision(rng(t, c.index), zspace.SearchBudget)
		text := ""
		if found {
			text = got.A.String() + " " + got.B.String() + " " + got.Cell.String()
		}
		if err != nil || !decided || text != c.want {
			t.Errorf("%s over %s: %q, decided %v, %v; want %q", c.m, c.index, text, decided, err, c.want)
		}
	}
}

func TestFindCollisionScalarTensor(t *testing.T) {
	scalar := must(zspace.NewProjectionMap(must(zspace.NewAffineMap(nil, nil)), nil))
	c, found, decided, err := scalar.FindCollision(rng(t, "[0:2, 7:9]"), 0)
	if err != nil || !found || !decided || c.A.String()+c.B.String()+c.Cell.String() != "[0, 7][1, 7][]" {
		t.Errorf("%v, %v, %v, %v", c, found, decided, err)
	}
	if _, found, decided, err := scalar.FindCollision(rng(t, "[0:1]"), 0); err != nil || found || !decided {
		t.Errorf("one point: %v, %v, %v", found, decided, err)
	}
}

func TestFindCollisionLimits(t *testing.T) {
	hard := proj(t, "(d0, d1, d2) -> [1000003*d0 + 1000033*d1 - 1999993*d2, d0 + 2*d1 + 3*d2] + [7, 1]")
	r := rng(t, "[0:30000, 0:30000, 0:30000]")
	if _, found, decided, err := hard.FindCollision(r, 0); err != nil || found || decided {
		t.Errorf("without a budget: %v, %v, %v; want undecided", found, decided, err)
	}
	wide := proj(t, "(d0) -> [4*d0] + [1]")
	if _, _, _, err := wide.FindCollision(rng(t, "[0:9223372036854775807]"), 9); !errors.Is(err, zspace.ErrOverflow) {
		t.Errorf("overflow: %v", err)
	}
	if _, _, _, err := wide.FindCollision(zspace.MustShape(1, 1), 9); err == nil {
		t.Error("an index of another rank is accepted")
	}
	far := proj(t, "(d0, d1) -> [d0 + d1] + [1]")
	index := rng(t, "[-9223372036854775808:-4611686018427387904, 4611686018427387904:9223372036854775807]")
	c, found, decided, err := far.FindCollision(index, zspace.SearchBudget)
	if err == nil && (!found || !decided || c.A.Equal(c.B)) {
		t.Errorf("at the ends of the space: %v, %v, %v", c, found, decided)
	}
}

// Small cases agree with comparing every pair of points, and a witness is true.
func TestCollisionByPairs(t *testing.T) {
	rapid.Check(t, checkCollision)
}

func checkCollision(t *rapid.T) {
	rows, cols := rapid.IntRange(0, 3).Draw(t, "rows"), rapid.IntRange(0, 3).Draw(t, "cols")
	p, r := genProjection(t, rows, cols), zspacetest.Range(t, cols, "index")
	c, found, decided, err := p.FindCollision(r, zspace.SearchBudget)
	if err != nil || !decided {
		t.Fatalf("%v over %v: decided %v, %v", p, r, decided, err)
	}
	if want := collides(p, r); found != want {
		t.Fatalf("%v over %v: found %v, want %v", p, r, found, want)
	}
	if !found {
		return
	}
	a, b := must(p.ApplyPoint(c.A)), must(p.ApplyPoint(c.B))
	if slices.Compare(c.A, c.B) >= 0 || !r.ContainsPoint(c.A) || !r.ContainsPoint(c.B) || !a.ContainsPoint(c.Cell) || !b.ContainsPoint(c.Cell) {
		t.Fatalf("%v over %v: false witness %v", p, r, c)
	}
}

func collides(p zspace.ProjectionMap, r zspace.Range) bool {
	var boxes []zspace.Range
	for x := range r.Points() {
		box := must(p.ApplyPoint(x))
		for _, b := range boxes {
			if b.Overlaps(box) {
				return true
			}
		}
		boxes = append(boxes, box)
	}
	return false
}
