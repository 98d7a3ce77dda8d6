package tile

import (
	"fmt"

	"tensortapestry.org/tapc/dialects/schedule/cost"
	"tensortapestry.org/tapc/dialects/schedule/nest"
)

const (
	leastChannels = 16 // fewer leave lanes of vectors empty
	payPercent    = 90 // of the direct convolution's cost at most
)

// transformedSize gives the size of tiles with which a convolution costs least, or 0 if that is not so much less than the direct one's as to
// pay. Large tiles save more products, but have more weights to read, and more results that nobody wants at the edges.
func transformedSize(w *nest.Winograd) int64 {
	best, least := int64(0), 1.0
	for _, m := range transformedSizes {
		if part, why := transformedPart(w, m); why == nil && part < least {
			best, least = m, part
		}
	}
	return best
}

// transformedSizes are those of tiles of results that there are transformations for.
var transformedSizes = []int64{2, 4}

// transformedPart gives the time of a convolution on transformed tiles of a size as a part of the most that pays, or the reason why it does not
// pay however long it takes.
func transformedPart(w *nest.Winograd, m int64) (part float64, why error) {
	if w.In.Extent < leastChannels || w.Out.Extent < leastChannels {
		return 0, fmt.Errorf("%d channels and %d of results leave lanes of vectors empty, which take %d", w.In.Extent, w.Out.Extent, leastChannels)
	}
	images := nest.Points(nest.Followed(w.Batch, w.Views[w.Filter], false)) // that part filters
	weights := nest.SaturatingProduct(w.In.Extent, w.Out.Extent)
	pixels := nest.SaturatingProduct(images, w.Down.Extent, w.Across.Extent)
	if weights > 1<<28 || pixels > 1<<28 {
		return 0, fmt.Errorf("it is too large: %d weights at each point and %d results of a channel", weights, pixels)
	}
	return cost.Transformed(w, m).Sum() / (cost.Direct(w).Sum() * payPercent / 100), nil
}
