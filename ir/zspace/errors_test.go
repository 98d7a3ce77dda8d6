package zspace_test

import (
	"testing"

	"tensortapestry.org/tapc/ir/zspace"
)

// Every error says what was expected and what was found.
func TestErrorTexts(t *testing.T) {
	r := zspace.MustShape(4, 4)
	for want, err := range map[string]error{
		"[1 1] is not a permutation of 2 dimensions: entry 1 repeats 1":            second(r.Permute([]int{1, 1})),
		"[0 2] is not a permutation of 2 dimensions: entry 1 is out of bounds":     second(r.Permute([]int{0, 2})),
		"[0] is not a permutation of 2 dimensions: it has 1 entries":               second(r.Permute([]int{0})),
		"no dimension 2 in 2 dimensions":                                           second(r.Split(2, 1)),
		"split of dimension 1: chunk size 0, expected 1 or more":                   second(r.Split(-1, 0)),
		"split of dimension 0: sizes sum to 3, expected the extent 4":              second(r.SplitSizes(0, []int64{1, 2})),
		"split of dimension 0: sizes exceed the extent 4 at part 1":                second(r.SplitSizes(0, []int64{3, 2})),
		"grid counts: expected 2 dimensions, found 1":                              second(r.Grid([]int64{1})),
		"ranges to bound: empty":                                                   second(zspace.Bounding()),
		"inclusive end of zr[0:0]: empty":                                          second(zspace.MustShape(0).InclusiveEnd()),
		"shape: dimension 1 is -2, expected 0 or more":                             second(zspace.FromShape(1, -2)),
		"matrix row 1 has 2 entries, expected 1 as in row 0":                       second(zspace.NewAffineMap(zspace.Matrix{{1}, {1, 2}}, nil)),
		"dimension 0: 9223372036854775807 + 1: result does not fit in 64 bits":     second(zspace.Point{1<<63 - 1}.Add(zspace.Point{1})),
		"split of dimension 0 into 9999999 parts, at most 4194304: too many parts": second(zspace.MustShape(9999999).Split(0, 1)),
	} {
		if err == nil || err.Error() != want {
			t.Errorf("%v\nwant %s", err, want)
		}
	}
}

func TestMustShapePanics(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("MustShape(-1) returned")
		}
	}()
	zspace.MustShape(-1)
}
