package zspace_test

import (
	"testing"

	"tensortapestry.org/tapc/ir/zspace"
	"tensortapestry.org/tapc/ir/zspace/zspacetest"
)

func rng(t testing.TB, s string) zspace.Range { return zspacetest.Parse(t, s) }

func proj(t testing.TB, s string) zspace.ProjectionMap {
	t.Helper()
	p, err := zspace.ParseProjectionMap(s)
	if err != nil {
		t.Fatalf("ParseProjectionMap(%q): %v", s, err)
	}
	return p
}

// The projections listed in the Loom specification's vectors.
func TestProjectionVectors(t *testing.T) {
	three := "(d0, d1) -> [d0 + 10, d1 + 20, d0 + d1 + 30] + [4, 4, 1]"
	for _, c := range []struct{ m, index, want string }{
		{three, "[5:6, 6:7]", "zr[15:19, 26:30, 41:42]"},
		{three, "[5:7, 6:8]", "zr[15:20, 26:31, 41:44]"},
		{"(d0) -> [-d0] + [2]", "[0:4]", "zr[-3:2]"},
		{"(d0) -> [2*d0] + [3]", "[0:4]", "zr[0:9]"},
		{"(d0, d1) -> [d0 - d1] + [1]", "[0:4, 0:3]", "zr[-2:4]"},
		{"(d0, d1) -> [d0, 0] + [1, 5]", "[0:0, 0:3]", "zr[0:0, 0:5]"},
		// a linear operation and one of its shards
		{"(d0, d1) -> [d0 - 40, 20] + [1, 12]", "[0:100, 0:32]", "zr[-40:60, 20:32]"},
		{"(d0, d1) -> [d0 - 40, 20] + [1, 12]", "[50:100, 16:32]", "zr[10:60, 20:32]"},
		{"(d0, d1) -> [0, d1] + [12, 1]", "[50:100, 16:32]", "zr[0:12, 16:32]"},
		{"(d0, d1) -> [d1] + [1]", "[50:100, 16:32]", "zr[16:32]"},
		{"(d0, d1) -> [d0, d1] + [1, 1]", "[50:100, 16:32]", "zr[50:100, 16:32]"},
		// relative matmul
		{"(d0, d1) -> [d0 - 10, 4] + [1, 4]", "[0:3, 0:5]", "zr[-10:-7, 4:8]"},
	} {
		got, err := proj(t, c.m).Apply(rng(t, c.index))
		if err != nil || got.String() != c.want {
			t.Errorf("%s of %s = %v, %v; want %s", c.m, c.index, got, err, c.want)
		}
	}
}

// An empty index in the reading of the original: empty in every dimension.
func TestApplyEmptyLoomVectors(t *testing.T) {
	for _, c := range []struct{ m, index, loom, own string }{
		{"(d0, d1) -> [d0 + 10, d1 + 20, d0 + d1 + 30] + [4, 4, 1]", "[5:5, 6:6]",
			"zr[15:15, 26:26, 41:41]", "zr[15:15, 26:26, 41:41]"},
		{"(d0, d1) -> [d0, d1] + [1, 1]", "[2:2, 3:7]", "zr[2:2, 3:3]", "zr[2:2, 3:7]"},
	} {
		p, r := proj(t, c.m), rng(t, c.index)
		loom, err := p.ApplyEmptyLoom(r)
		if err != nil || loom.String() != c.loom {
			t.Errorf("ApplyEmptyLoom: %s of %s = %v, %v; want %s", c.m, c.index, loom, err, c.loom)
		}
		own, err := p.Apply(r)
		if err != nil || own.String() != c.own {
			t.Errorf("Apply: %s of %s = %v, %v; want %s", c.m, c.index, own, err, c.own)
		}
	}
}
