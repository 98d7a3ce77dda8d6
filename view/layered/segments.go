package layered

const (
	fewBoxes  = 10 // of a segment
	manyBoxes = 32
)

// part is a segment in the making: a part of the order.
type part struct {
	from, to int
	block    Block
}

// segments cuts the order: at the instances of blocks, and elsewhere where few edges are cut. A graph of few boxes is one segment.
func (w *work) segments() (parts []part) {
	at, block := 0, 0
	if len(w.order) > manyBoxes {
		for _, r := range w.runs() {
			parts = append(parts, w.pieces(at, r.start)...)
			block++
			parts = append(parts, w.instances(r, block)...)
			at = r.end()
		}
	}
	return append(parts, w.pieces(at, len(w.order))...)
}

// instances gives the segments of a run: each instance is cut as the first is.
func (w *work) instances(r run, number int) (parts []part) {
	first := w.pieces(r.start, r.start+r.size)
	for i := range r.instances {
		for j, p := range first {
			parts = append(parts, part{p.from + i*r.size, p.to + i*r.size, Block{number, i, r.instances, j, len(first)}})
		}
	}
	return parts
}

// pieces cuts a part of the order into segments of fewBoxes to manyBoxes, where the fewest edges are cut.
func (w *work) pieces(from, to int) (parts []part) {
	for to-from > manyBoxes {
		cut := from + fewBoxes
		for c := cut; c <= min(from+manyBoxes, to-fewBoxes/2); c++ {
			if w.crossing[c] <= w.crossing[cut] {
				cut = c
			}
		}
		parts = append(parts, part{from: from, to: cut})
		from = cut
	}
	if from < to {
		parts = append(parts, part{from: from, to: to})
	}
	return parts
}
