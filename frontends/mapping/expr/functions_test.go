package expr

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"tensortapestry.org/tapc/frontends/foreign"
)

func TestEinsumLabels(t *testing.T) {
	good := map[string][]int64{"ij,jk->ik": {2, 2}, "i,i": {1, 1}, "...ij->...ji": {4}, "ii": {2}, "b...,b...->...": {3, 3}, "->": {0}}
	for eq, ranks := range good {
		if _, err := einsumLabels(nil, []foreign.Value{foreign.StringValue(eq), foreign.IntsValue(ranks)}); err != nil {
			t.Errorf("%s: %v", eq, err)
		}
	}
	bad := map[string][]int64{"ij,jk->ik": {2}, "ij->ijk": {2}, "ij->ii": {2}, "i1->i": {2}, "ijk": {2}, "i...j...": {4}}
	for eq, ranks := range bad {
		if _, err := einsumLabels(nil, []foreign.Value{foreign.StringValue(eq), foreign.IntsValue(ranks)}); err == nil {
			t.Errorf("%s is accepted for ranks %v", eq, ranks)
		}
	}
	v, err := einsumLabels(nil, []foreign.Value{foreign.StringValue("ba"), foreign.IntsValue([]int64{2})})
	if out, _ := v.List[1].Ints(); err != nil || len(out) != 2 || out[0] != 'a' {
		t.Errorf("without an arrow the labels are in alphabetical order: %v %v", out, err)
	}
}

// The weights of every cell add up to 1, and places lie inside the input.
func TestResizeTaps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int64Range(1, 9).Draw(t, "cells")
		m := rapid.Int64Range(1, 9).Draw(t, "extent")
		coordinates := rapid.SampledFrom([]string{"half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel", "half_pixel_symmetric", "tf_crop_and_resize"}).Draw(t, "coordinates")
		mode := rapid.SampledFrom([]string{"nearest", "linear", "cubic"}).Draw(t, "mode")
		nearest := rapid.SampledFrom([]string{"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"}).Draw(t, "nearest")
		v, err := resizeTaps(nil, []foreign.Value{foreign.IntValue(n), foreign.IntValue(m), foreign.FloatValue(float64(m) / float64(n)), foreign.StringValue(coordinates), foreign.StringValue(mode), foreign.StringValue(nearest),
			foreign.FloatValue(-0.75), foreign.BoolValue(rapid.Bool().Draw(t, "antialias")), foreign.BoolValue(rapid.Bool().Draw(t, "exclude")), foreign.FloatValue(0), foreign.FloatValue(1)})
		if err != nil {
			t.Fatal(err)
		}
		for o := range m {
			total := 0.0
			for _, tap := range v.List[0].List {
				if at := tap.List[0].List[o].Int; at < 0 || at >= n {
					t.Fatalf("place %d of %d", at, n)
				}
				total += tap.List[1].List[o].Float
			}
			if math.Abs(total-1) > 1e-9 {
				t.Fatalf("the weights of cell %d add up to %v", o, total)
			}
		}
	})
}
