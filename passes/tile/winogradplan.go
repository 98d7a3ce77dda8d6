package tile

import "tensortapestry.org/tapc/dialects/schedule"

// panelValues is how many columns of constant filters stand side by side, on every target: register tiles are some panels wide, or
// some tiles are as wide as one.
const panelValues = 16

// mostOut is how many channels of results a piece has at most: more would leave less of the second cache to its tiles.
const mostOut = 128

// winogradPlan is how a convolution of transformed tiles is cut: a piece is some rows and columns of tiles, and some channels of
// their results.
type winogradPlan struct {
	down, across int64 // tiles of a piece
	out, width   int64 // channels of results, of a piece and of a register tile
}

// BindWinograd cuts a convolution into tiles of w.Size, and into pieces of which the transformed image and the unfinished results stay
// in the second cache.
func (t Target) BindWinograd(k *schedule.Kernel, w *Winograd) {
	clear(k)
	p := t.planWinograd(w)
	bind := schedule.Serial
	if work(k) >= productWork {
		bind = schedule.Thread
	}
	for _, d := range w.Batch {
		k.Loops[d.Inner()].Levels = []schedule.Level{{Tile: 1, Bind: bind}}
	}
	w.Down.bind(k, bind, p.down*w.Size, w.Size, 1)
	w.Across.bind(k, bind, p.across*w.Size, w.Size, 1)
	w.Out.bind(k, bind, p.out, p.width, t.lanes(4))
	block := w.In.Extent
	if block > SumBlock*3/2 {
		block = SumBlock
	}
	k.Loops[w.In.Inner()].Levels = []schedule.Level{{Tile: w.In.Extent}, {Tile: block}, {Tile: 1}}
}

// planWinograd chooses the sizes.
func (t Target) planWinograd(w *Winograd) winogradPlan {
	down, across := w.Down.Tiles(w.Size), w.Across.Tiles(w.Size)
	lanes := t.lanes(4)
	vectors := t.registerTile(min(down*across, 2*maxRows), w.Out.Extent, lanes, w.In.Extent, maxRows, false).Vectors
	for panelValues%(vectors*lanes) != 0 && vectors*lanes%panelValues != 0 {
		vectors--
	}
	p := winogradPlan{down: down, across: across, width: vectors * lanes}
	p.out = min(roundUp(w.Out.Extent, p.width), roundDown(mostOut, p.width))
	most := max(1, t.L2*3/4/(4*w.Points()*(w.In.Extent+p.out)))
	if p.across > most { // whole vectors of pixels, where they are neighbours
		p.across = even(across, most, max(1, panelValues/w.Size))
	}
	p.down = evenly(down, max(1, most/p.across))
	count := func() int64 {
		n := ((down + p.down - 1) / p.down) * ((across + p.across - 1) / p.across) * ((w.Out.Extent + p.out - 1) / p.out)
		for _, d := range w.Batch {
			n = saturatingProduct(n, d.Extent)
		}
		return n
	}
	for count() < fewPieces {
		switch {
		case p.down > 1 && p.down*p.across >= 2*maxRows:
			p.down = evenly(down, (p.down+1)/2)
		case p.out > p.width:
			p.out = roundUp(p.out/2, p.width)
		default:
			return p
		}
	}
	return p
}

// evenly gives the size of about equal pieces, none greater than most, that an extent is cut into.
func evenly(extent, most int64) int64 {
	pieces := (extent + most - 1) / most
	return (extent + pieces - 1) / pieces
}

// WinogradRows is how many tiles a register tile of some vectors of channels has, where a piece has so many tiles.
func (t Target) WinogradRows(tiles, vectors int64) int64 {
	return evenly(tiles, max(1, min(maxRows, (t.Registers-spare-vectors)/vectors)))
}
