package tiling_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tensortapestry.org/tapc/ir/zspace"
	"tensortapestry.org/tapc/ir/zspace/tiling"
	"tensortapestry.org/tapc/ir/zspace/zspacetest"
)

func ranges(t testing.TB, texts ...string) []zspace.Range {
	t.Helper()
	var out []zspace.Range
	for _, s := range texts {
		out = append(out, zspacetest.Parse(t, s))
	}
	return out
}

func TestCheck(t *testing.T) {
	pinwheel := []string{"[0:1, 0:2]", "[0:2, 2:3]", "[2:3, 1:3]", "[1:3, 0:1]"}
	for name, c := range map[string]struct {
		whole string
		parts []string
		want  string
	}{
		"gap and overlap of equal size": {"[0:12]", []string{"[0:4]", "[3:7]", "[8:12]"}, "overlap: parts 0 and 1 share zr[3:4]"},
		"gap inside":                    {"[0:12]", []string{"[8:12]", "[0:4]"}, "gap: no part covers zr[4:8]"},
		"gap at the border":             {"[0:12, 0:3]", []string{"[0:12, 0:2]"}, "gap: no part covers zr[0:12, 2:3]"},
		"no parts":                      {"[0:2, 0:3]", nil, "gap: no part covers zr[0:2, 0:3]"},
		"beyond the end":                {"[0:4]", []string{"[0:4]", "[4:6]"}, "outside: part 1 has zr[4:6] beyond the whole"},
		"before the start":              {"[0:4]", []string{"[-2:4]"}, "outside: part 0 has zr[-2:0] beyond the whole"},
		"pinwheel":                      {"[0:3, 0:3]", append(pinwheel[:4:4], "[1:2, 1:2]"), ""},
		"pinwheel without its hub":      {"[0:3, 0:3]", pinwheel, "gap: no part covers zr[1:2, 1:2]"},
		"the same part twice":           {"[0:3]", []string{"[0:3]", "[0:3]"}, "overlap: parts 0 and 1 share zr[0:3]"},
		"three deep":                    {"[0:3]", []string{"[0:3]", "[1:1]", "[0:2]", "[0:1]"}, "overlap: parts 0 and 2 share zr[0:2]"},
		"scalar":                        {"[]", []string{"[]"}, ""},
		"scalar twice":                  {"[]", []string{"[]", "[]"}, "overlap: parts 0 and 1 share zr[]"},
		"scalar never":                  {"[]", nil, "gap: no part covers zr[]"},
		"empty whole":                   {"[3:3, 0:5]", nil, ""},
		"empty whole, empty parts":      {"[3:3, 0:5]", []string{"[3:3, 0:5]", "[3:3, 0:5]"}, ""},
		"empty whole, a part":           {"[3:3, 0:5]", []string{"[3:4, 0:5]"}, "outside: part 0 has zr[3:4, 0:5] beyond the whole"},
		"an empty part elsewhere":       {"[0:2]", []string{"[9:9]", "[0:2]"}, ""},
		"volumes beyond 64 bits": {"[0:1099511627776, 0:1099511627776]",
			[]string{"[0:1099511627776, 0:1]", "[0:1099511627776, 1:1099511627776]"}, ""},
		"one cell in 2^80": {"[0:1099511627776, 0:1099511627776]",
			[]string{"[0:1099511627776, 0:5]", "[0:7, 5:6]", "[8:1099511627776, 5:6]", "[0:1099511627776, 6:1099511627776]"},
			"gap: no part covers zr[7:8, 5:6]"},
		"ends of the space": {"[-9223372036854775808:-1, 9223372036854775806:9223372036854775807]",
			[]string{"[-9223372036854775808:-2, 9223372036854775806:9223372036854775807]", "[-2:-1, 9223372036854775806:9223372036854775807]"}, ""},
	} {
		fault, err := tiling.Check(zspacetest.Parse(t, c.whole), ranges(t, c.parts...))
		got := ""
		if fault != nil {
			got = fault.String()
		}
		if err != nil || got != c.want {
			t.Errorf("%s: %q, %v; want %q", name, got, err, c.want)
		}
	}
}

func TestCheckRefuses(t *testing.T) {
	_, err := tiling.Check(zspace.MustShape(4), ranges(t, "[0:4]", "[0:4, 0:1]"))
	if e := new(zspace.RankError); !errors.As(err, &e) || e.What != "part 1" {
		t.Errorf("a part of another rank: %v", err)
	}
	reversed := zspace.Range{Start: zspace.Point{4}, End: zspace.Point{0}}
	for name, err := range map[string]error{
		"whole": second(tiling.Check(reversed, nil)),
		"part":  second(tiling.Check(zspace.MustShape(4), []zspace.Range{reversed})),
	} {
		if e := new(zspace.ExtentError); !errors.As(err, &e) {
			t.Errorf("reversed %s: %v", name, err)
		}
	}
	err = second(tiling.Check(zspace.MustShape(1), []zspace.Range{{Start: zspace.Point{1}, End: zspace.Point{0}}}))
	if want := "part 0: dimension 0: start 1 is beyond end 0"; err == nil || err.Error() != want {
		t.Errorf("%v\nwant %s", err, want)
	}
	if got := fmt.Sprint(tiling.Overlap, tiling.Gap, tiling.Outside, tiling.FaultKind(0)); got != "overlap gap outside FaultKind(0)" {
		t.Error(got)
	}
}

func TestTilingOfManyDimensions(t *testing.T) {
	shape, counts := make([]int64, 12), make([]int64, 12)
	for i := range shape {
		shape[i], counts[i] = 4, 2
	}
	whole := zspace.MustShape(shape...)
	parts := must(whole.Grid(counts))
	if fault := must(tiling.Check(whole, parts)); fault != nil {
		t.Fatalf("4096 blocks in 12 dimensions: %v", fault)
	}
	missing := parts[1234]
	fault := must(tiling.Check(whole, append(parts[:1234:1234], parts[1235:]...)))
	if fault == nil || fault.Kind != tiling.Gap || !fault.Witness.Equal(missing) {
		t.Fatalf("without %v: %v", missing, fault)
	}
}

// genTiling cuts whole at random planes, so that the parts tile it, and shuffles.
func genTiling(t *rapid.T, whole zspace.Range) []zspace.Range {
	parts := []zspace.Range{whole}
	for range rapid.IntRange(0, 6).Draw(t, "cuts") {
		i := rapid.IntRange(0, len(parts)-1).Draw(t, "which")
		if whole.Rank() == 0 {
			break
		}
		d := rapid.IntRange(0, whole.Rank()-1).Draw(t, "dim")
		at := rapid.Int64Range(parts[i].Start[d], parts[i].End[d]).Draw(t, "at")
		low, high := parts[i].Clone(), parts[i].Clone()
		low.End[d], high.Start[d] = at, at
		parts = append(slices.Delete(parts, i, i+1), low, high)
	}
	return rapid.Permutation(parts).Draw(t, "order")
}

// Any way of cutting a box tiles it; the order of the parts does not matter.
func TestCutsTile(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		whole := zspacetest.Range(t, rapid.IntRange(0, 4).Draw(t, "rank"), "whole")
		parts := genTiling(t, whole)
		if fault := must(tiling.Check(whole, parts)); fault != nil {
			t.Fatalf("%v by %v: %v", whole, parts, fault)
		}
	})
}

// The verdict agrees with counting cells, and every cell of a witness shows the
// fault.
func TestTilingByCells(t *testing.T) { rapid.Check(t, checkTiling) }

func checkTiling(t *rapid.T) {
	rank := rapid.IntRange(0, 3).Draw(t, "rank")
	whole := zspacetest.Range(t, rank, "whole")
	parts := genTiling(t, whole)
	for range rapid.IntRange(0, 2).Draw(t, "damages") {
		i := rapid.IntRange(0, len(parts)-1).Draw(t, "which")
		parts[i] = zspacetest.Range(t, rank, "damage")
	}
	fault := must(tiling.Check(whole, parts))
	held, inside := zspacetest.Count(parts), zspacetest.Count([]zspace.Range{whole})
	if fault == nil {
		if diff := cmp.Diff(inside, held); diff != "" {
			t.Fatalf("%v by %v passes: %s", whole, parts, diff)
		}
		return
	}
	if fault.Witness.Empty() {
		t.Fatalf("%v by %v: witness without cells: %v", whole, parts, fault)
	}
	for p := range fault.Witness.Points() {
		if !shows(fault, whole, parts, held, p) {
			t.Fatalf("%v by %v: %v does not show %v", whole, parts, p, fault)
		}
	}
}

func shows(f *tiling.Fault, whole zspace.Range, parts []zspace.Range, held map[string]int, p zspace.Point) bool {
	switch f.Kind {
	case tiling.Overlap:
		return f.I < f.J && whole.ContainsPoint(p) && parts[f.I].ContainsPoint(p) && parts[f.J].ContainsPoint(p)
	case tiling.Outside:
		return f.J == -1 && parts[f.I].ContainsPoint(p) && !whole.ContainsPoint(p)
	case tiling.Gap:
		return f.I == -1 && f.J == -1 && whole.ContainsPoint(p) && held[p.String()] == 0
	}
	return false
}

func TestSubtract(t *testing.T) {
	for name, c := range map[string]struct {
		whole    string
		parts    []string
		limit    int
		want     []string
		complete bool
	}{
		"nothing left":     {"[0:4]", []string{"[0:3]", "[2:9]"}, 9, nil, true},
		"no parts":         {"[0:4]", nil, 9, []string{"[0:4]"}, true},
		"middle":           {"[0:9]", []string{"[3:5]"}, 9, []string{"[0:3]", "[5:9]"}, true},
		"limit":            {"[0:9]", []string{"[3:5]"}, 1, []string{"[0:3]"}, false},
		"limit just right": {"[0:9]", []string{"[3:5]"}, 2, []string{"[0:3]", "[5:9]"}, true},
		"limit none":       {"[0:9]", nil, 0, nil, false},
		"limit none, full": {"[0:9]", []string{"[0:9]"}, 0, nil, true},
		"empty whole":      {"[0:0]", nil, 0, nil, true},
		"scalar":           {"[]", nil, 1, []string{"[]"}, true},
		"scalar taken":     {"[]", []string{"[]"}, 1, nil, true},
		"other rank":       {"[0:2]", []string{"[0:2, 0:2]"}, 9, []string{"[0:2]"}, true},
	} {
		rest, complete := tiling.Subtract(zspacetest.Parse(t, c.whole), ranges(t, c.parts...), c.limit)
		if diff := cmp.Diff(c.want, texts(rest)); diff != "" || complete != c.complete {
			t.Errorf("%s: complete %v %s", name, complete, diff)
		}
	}
}

// What is left, and what the parts hold of whole, tile whole.
func TestSubtractByCells(t *testing.T) { rapid.Check(t, checkSubtract) }

func checkSubtract(t *rapid.T) {
	rank := rapid.IntRange(0, 3).Draw(t, "rank")
	whole := zspacetest.Range(t, rank, "whole")
	parts := zspacetest.Ranges(t, rank, "part")
	rest, complete := tiling.Subtract(whole, parts, 1000)
	if !complete {
		t.Fatalf("%v less %v: more than 1000 boxes", whole, parts)
	}
	want, held := zspacetest.Count([]zspace.Range{whole}), zspacetest.Count(parts)
	for c := range held {
		delete(want, c)
	}
	if diff := cmp.Diff(want, zspacetest.Count(rest)); diff != "" {
		t.Fatalf("%v less %v: %v %s", whole, parts, rest, diff)
	}
	if few, complete := tiling.Subtract(whole, parts, 1); len(few) > 1 || complete != (len(rest) <= 1) {
		t.Fatalf("limit 1: %v, %v", few, complete)
	}
}

// The properties that are judged by counting cells, driven by the fuzzer.

func FuzzTiling(f *testing.F)   { f.Fuzz(rapid.MakeFuzz(checkTiling)) }
func FuzzSubtract(f *testing.F) { f.Fuzz(rapid.MakeFuzz(checkSubtract)) }

func texts(rs []zspace.Range) []string {
	var out []string
	for _, r := range rs {
		out = append(out, r.Text())
	}
	return out
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func second[T any](_ T, err error) error { return err }

// What is missing is the first box that is left.
func TestMissing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rank := rapid.IntRange(0, 3).Draw(t, "rank")
		whole := zspacetest.Range(t, rank, "whole")
		parts := zspacetest.Ranges(t, rank, "part")
		rest, _ := tiling.Subtract(whole, parts, 1000)
		box, some := tiling.Missing(whole, parts...)
		if some != (len(rest) > 0) || some && !box.Equal(rest[0]) {
			t.Fatalf("%v less %v: %v, %v, and %v is left", whole, parts, box, some, rest)
		}
	})
}
