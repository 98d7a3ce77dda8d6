package tile

import (
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/cost"
	"tensortapestry.org/tapc/dialects/schedule/nest"
)

const (
	mostOut    = 128 // channels of results of a piece at most: more would leave less of the second cache to its tiles
	leastTiles = 32  // tiles of a piece, if there are as many, where filters come from beyond the second cache: so often each is used
)

// winogradPlan is how a convolution of transformed tiles is cut: a piece is some rows and columns of tiles, or some whole images, and some
// channels of their results.
type winogradPlan struct {
	images       int64 // of a piece; one if it has not all tiles of an image
	down, across int64 // tiles of a piece
	out, width   int64 // channels of results, of a piece and of a register tile
}

// WinogradStage cuts a convolution into tiles of w.Size, and into parts of which the transformed image and the unfinished results stay
// in the second cache.
func (t Target) WinogradStage(k *schedule.Kernel, w *nest.Winograd) schedule.Stage {
	p := t.planWinograd(w)
	s := schedule.Stage{Algorithm: schedule.Transformed, Threads: work(k) >= productWork}
	if i := w.Images(); i >= 0 {
		s.Tiles = tiling(schedule.RoleImage, w.Batch[i], p.images)
	}
	s.Tiles = append(s.Tiles, tiling(schedule.RoleDown, w.Down.Dim, p.down*w.Size, w.Size)...)
	s.Tiles = append(s.Tiles, tiling(schedule.RoleAcross, w.Across.Dim, p.across*w.Size, w.Size)...)
	s.Tiles = append(s.Tiles, tiling(schedule.RoleN, w.Out, p.out, p.width, t.lanes(4))...)
	return s
}

// planWinograd chooses the sizes.
func (t Target) planWinograd(w *nest.Winograd) winogradPlan {
	down, across := w.Down.Tiles(w.Size), w.Across.Tiles(w.Size)
	lanes := t.lanes(4)
	vectors := min(leastVectors, (w.Out.Extent+lanes-1)/lanes) // more would have fewer tiles to share filters that come from far away
	p := winogradPlan{images: 1, down: down, across: across, width: vectors * lanes}
	p.out = min(roundUp(w.Out.Extent, p.width), roundDown(mostOut, p.width))
	far := nest.SaturatingProduct(4*w.Points(), w.In.Extent, w.Out.Extent) > t.L2 // filters, which every block of tiles reads again
	most := max(1, t.L2*3/4/(4*w.Points()*(w.In.Extent+p.out)))
	if far {
		most = max(most, leastTiles)
	}
	if p.across > most { // whole vectors of pixels, where they are neighbours
		p.across = even(across, most, max(1, lanes/w.Size))
	}
	p.down = even(down, max(1, most/p.across), 1)
	images := int64(1)
	if i := w.Images(); i >= 0 {
		images = w.Batch[i].Extent
		p.images = even(images, max(1, most/(down*across)), 1)
	}
	count := func() int64 {
		n := ((down + p.down - 1) / p.down) * ((across + p.across - 1) / p.across) * ((w.Out.Extent + p.out - 1) / p.out)
		for i, d := range w.Batch {
			if i != w.Images() {
				n = nest.SaturatingProduct(n, d.Extent)
			}
		}
		return nest.SaturatingProduct(n, (images+p.images-1)/p.images)
	}
	for count() < fewPieces {
		switch tall := p.down > 1 && p.down*p.across >= 2*maxRows; {
		case p.images > 1 && !far:
			p.images = even(images, (p.images+1)/2, 1)
		case tall && !far:
			p.down = even(down, (p.down+1)/2, 1)
		case p.out > p.width:
			p.out = roundUp(p.out/2, p.width)
		default:
			return p
		}
	}
	return p
}

// WinogradRows is how many tiles a register tile of some vectors of channels has, where a piece has so many tiles.
func (t Target) WinogradRows(tiles, vectors int64) int64 {
	return even(tiles, max(1, min(maxRows, (t.Registers-cost.Spare-vectors)/vectors)), 1)
}
