package copies

import (
	"slices"
	"testing"

	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/ir/check/checktest"
)

// What transfers copy, in runs.
func TestOf(t *testing.T) {
	buffer := func(box string, strides ...int64) *schedule.Buffer {
		return &schedule.Buffer{DType: "float32", Range: checktest.Range(box), Strides: strides}
	}
	for _, c := range []struct {
		name     string
		t        schedule.Transfer
		from, to *schedule.Buffer
		want     Copy
	}{
		{"all", schedule.Transfer{}, buffer("[0:4, 0:3]", 3, 1), buffer("[0:4, 0:3]", 3, 1), Copy{Bytes: 48}},
		{"rows", schedule.Transfer{Range: checktest.Range("[1:3, 0:3]")}, buffer("[0:4, 0:3]", 3, 1), buffer("[1:3, 0:3]", 3, 1), Copy{From: 12, Bytes: 24}},
		{"columns", schedule.Transfer{Range: checktest.Range("[0:4, 1:3]")}, buffer("[0:4, 0:3]", 3, 1), buffer("[0:4, 1:3]", 2, 1),
			Copy{From: 4, Bytes: 8, Steps: []Step{{4, 12, 8}}}},
		{"transposed", schedule.Transfer{}, buffer("[0:2, 0:3]", 3, 1), buffer("[0:2, 0:3]", 1, 2), Copy{Bytes: 4, Steps: []Step{{3, 4, 8}, {2, 12, 4}}}},
		{"nothing", schedule.Transfer{Range: checktest.Range("[1:1, 0:3]")}, buffer("[0:4, 0:3]", 3, 1), buffer("[0:4, 0:3]", 3, 1), Copy{}},
	} {
		got := Of(&c.t, c.from, c.to)
		if !equalCopies(got, c.want) {
			t.Errorf("%s: %+v, expected %+v", c.name, got, c.want)
		}
	}
}

func equalCopies(a, b Copy) bool {
	if a.From != b.From || a.To != b.To || a.Bytes != b.Bytes || len(a.Steps) != len(b.Steps) {
		return false
	}
	for i := range a.Steps {
		if a.Steps[i] != b.Steps[i] {
			return false
		}
	}
	return true
}

// Part gives the elements of a box, row by row.
func TestPart(t *testing.T) {
	data := []byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}
	if got := Part(data, "int8", checktest.Range("[5:8, -1:3]"), checktest.Range("[6:8, 0:2]")); !slices.Equal(got, []byte{5, 6, 9, 10}) {
		t.Errorf("%v", got)
	}
}
