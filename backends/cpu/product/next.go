package product

import (
	"tensortapestry.org/tapc/backends/cpu/blocking"
	"tensortapestry.org/tapc/dialects/schedule"
)

// addresses lists, as parameters, from which address on and in which steps a register tile fetches what later ones read: maybe from beyond what there is, so
// they are numbers.
func addresses(p *Product) string {
	switch p.Cut.Prefetch {
	case schedule.PrefetchNothing:
		return ""
	case schedule.PrefetchColumns:
		return ", uintptr_t next"
	}
	return ", uintptr_t next, uintptr_t step"
}

// pace is how many values of the reduction each block of a tile fetches of the next columns, so that the tiles of a piece fetch all.
func pace(b *blocking.Blocking) int64 {
	n := b.TilesDown() * blocks(b)
	return (b.Cut.Fold + n - 1) / n
}

// blocks is how many blocks a run of the reduction has.
func blocks(b *blocking.Blocking) int64 { return (b.Cut.Fold + b.Cut.Block - 1) / b.Cut.Block }
