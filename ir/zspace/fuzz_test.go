package zspace_test

import (
	"testing"

	"pgregory.net/rapid"

	"tensortapestry.org/tapc/ir/zspace"
	"tensortapestry.org/tapc/ir/zspace/tiling"
)

func FuzzParseRange(f *testing.F) {
	for _, s := range []string{"zr[0:2, -1:3]", "[]", "[5:0]", "zr[0:9223372036854775808]", "[0:2,", "zr [ 1 : 2 ] x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		r, err := zspace.ParseRange(s)
		if err != nil {
			return
		}
		if err := r.Validate(); err != nil {
			t.Fatalf("%q gives an invalid range: %v", s, err)
		}
		if back, err := zspace.ParseRange(r.String()); err != nil || !back.Equal(r) {
			t.Fatalf("%q: %v prints as %v, %v", s, r, back, err)
		}
	})
}

func FuzzParseProjectionMap(f *testing.F) {
	for _, s := range []string{
		"(d0, d1) -> [d0 + 10, 2*d1] + [1, 5]", "() -> [] + []", "() -> [3] + [0]", "(d0) -> [-d0 - -3*d0] + [1]",
		"(d0) -> [-9223372036854775808*d0] + [1]", "(d0,d1) -> (d0 + d1)", "(d0) -> [d0 +] + [1]",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if a, err := zspace.ParseAffineMap(s); err == nil {
			if back, err := zspace.ParseAffineMap(a.String()); err != nil || !back.Equal(a) {
				t.Fatalf("%q: %v prints as %v, %v", s, a, back, err)
			}
		}
		p, err := zspace.ParseProjectionMap(s)
		if err != nil {
			return
		}
		if err := p.Validate(); err != nil {
			t.Fatalf("%q gives an invalid projection: %v", s, err)
		}
		if back, err := zspace.ParseProjectionMap(p.String()); err != nil || !back.Equal(p) {
			t.Fatalf("%q: %v prints as %v, %v", s, p, back, err)
		}
	})
}

// The properties that are judged by counting cells, driven by the fuzzer.

func FuzzHull(f *testing.F)      { f.Fuzz(rapid.MakeFuzz(checkHull)) }
func FuzzCollision(f *testing.F) { f.Fuzz(rapid.MakeFuzz(checkCollision)) }
func FuzzSplit(f *testing.F)     { f.Fuzz(rapid.MakeFuzz(checkSplits)) }
func FuzzShardable(f *testing.F) { f.Fuzz(rapid.MakeFuzz(checkShardable)) }

// No operation on numbers from anywhere panics or gives an invalid value.
func FuzzExtremes(f *testing.F) { f.Fuzz(rapid.MakeFuzz(checkExtremes)) }

func TestExtremes(t *testing.T) { rapid.Check(t, checkExtremes) }

func checkExtremes(t *rapid.T) {
	number := rapid.OneOf(rapid.Int64(), rapid.Int64Range(-3, 3))
	point := func(n int, name string) zspace.Point { return rapid.SliceOfN(number, n, n).Draw(t, name) }
	rows, cols := rapid.IntRange(0, 3).Draw(t, "rows"), rapid.IntRange(0, 3).Draw(t, "cols")
	m := make(zspace.Matrix, rows)
	for k := range m {
		m[k] = point(cols, "row")
	}
	r := zspace.Range{Start: point(cols, "start"), End: point(cols, "end")}
	p := zspace.ProjectionMap{AffineMap: zspace.AffineMap{Projection: m, Offset: point(rows, "offset")}, Shape: point(rows, "shape")}
	out, err := p.Apply(r)
	if err == nil && out.Validate() != nil {
		t.Fatalf("%v of %v gives an invalid range %v", p, r, out)
	}
	if _, found, _, err := p.FindCollision(r, 100); err != nil && found {
		t.Fatalf("%v of %v: found with %v", p, r, err)
	}
	p.ShardableDims(r)
	if r.Validate() != nil {
		return
	}
	if cols > 0 {
		parts, err := r.Split(0, max(1, r.Shape()[0]/3))
		if err != nil {
			t.Fatal(err)
		}
		if fault := must(tiling.Check(r, parts)); fault != nil {
			t.Fatalf("%v split: %v", r, fault)
		}
	}
	if moved, err := r.Translate(point(cols, "delta")); err == nil && !moved.Shape().Equal(r.Shape()) {
		t.Fatalf("%v moved: %v", r, moved)
	}
}
