package images_test

import (
	"slices"
	"testing"

	"tensortapestry.org/tapc/ir/zspace"
	"tensortapestry.org/tapc/ir/zspace/images"
)

func box(start, end int64) zspace.Range {
	return zspace.Range{Start: zspace.Point{start}, End: zspace.Point{end}}
}

// every is what 2i, or 2i + 1, writes over 0 to below 5.
func every(offset int64) images.Image {
	return images.Written(zspace.AffineMap{Projection: [][]int64{{2}}, Offset: []int64{offset}}, box(0, 5), box(offset, 9+offset))
}

func TestMeet(t *testing.T) {
	if cell, found, decided := every(0).Meet(every(1)); found || !decided {
		t.Errorf("even and odd cells share %v (decided: %v)", cell, decided)
	}
	if cell, found, _ := every(0).Meet(images.Box(box(3, 5))); !found || !slices.Equal(cell, zspace.Point{4}) {
		t.Errorf("found %v, %v", cell, found)
	}
	if cell, found, decided := every(0).Meet(images.Box(box(3, 4))); found || !decided {
		t.Errorf("found %v (decided: %v)", cell, decided)
	}
}

func TestCover(t *testing.T) {
	if v, rest := images.Cover(box(0, 10), []images.Image{every(0), every(1)}); v != images.Covered {
		t.Errorf("found %v, without %v", v, rest)
	}
	if v, rest := images.Cover(box(0, 10), []images.Image{every(0), images.Box(box(9, 10))}); v != images.Uncovered || rest.Start[0]%2 == 0 {
		t.Errorf("found %v, without %v", v, rest)
	}
}
