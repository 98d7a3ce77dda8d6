package price

import (
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/nest"
	"tensortapestry.org/tapc/ir"
)

// Bytes of the instructions of a kernel, about: of one that goes along rows once, of each sweep of one that goes along them several times, and of products.
const (
	codeOfRow     = 500
	codeOfSweep   = 1000
	codeOfProduct = 3000
)

// codeOf is how many bytes the instructions of a kernel are, about. Each kernel of a program has its own.
func codeOf(k *schedule.Kernel, buffers map[ir.NodeID]*schedule.Buffer) float64 {
	r, ok := nest.Of[*nest.Rows](nest.Classify(k, buffers))
	switch {
	case !ok:
		return codeOfProduct
	case r.Free:
		return codeOfRow
	}
	return codeOfSweep * float64(sweepsOf(k, r))
}

// fetching is how many times as long instructions take as data that is read from the same cache: they are asked for one line after the other.
const fetching = 2.5

// instructions is the time in which those of a kernel arrive from behind the caches that each unit has for itself, where those of all kernels are not in these, from which
// they arrive while others are carried out.
func (x *pricing) instructions(bytes float64, h *history) (terms []Term) {
	if !x.kind.Has(schedule.Thread) {
		return nil
	}
	list := levels(x.device, 1)
	for i, p := range parts(list, distance{own: h.code, all: h.memory.code}) {
		if l := list[i]; !l.own && p > 0 {
			terms = append(terms, Term{"instructions from " + l.name, over(fetching*p*bytes, l.alone)})
		}
	}
	return terms
}
