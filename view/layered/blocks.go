package layered

const (
	window    = 12 // boxes that must be the same for a repetition to be looked for
	looks     = 24 // earlier places with the same boxes that are tried
	leastSize = 4  // boxes of a block
	leastRun  = 24 // boxes of all instances of a block together
)

// run is a part of the order that repeats: instances of so many boxes each.
type run struct{ start, size, instances int }

func (r run) end() int { return r.start + r.size*r.instances }

// runs finds what repeats, by hashes of the classes along the order: at each place the period is taken that covers most.
func (w *work) runs() (found []run) {
	h := w.hash()
	at := map[uint64][]int{} // places, ascending
	n := len(w.order)
	for i := 0; i+window <= n; i++ {
		key := h.of(i, i+window)
		at[key] = append(at[key], i)
	}
	for i := 0; i+window <= n; {
		best := w.longest(h, at[h.of(i, i+window)], i)
		if best.instances < 2 || best.size*best.instances < leastRun {
			i++
			continue
		}
		best = w.turn(best)
		found = append(found, best)
		i = best.end()
	}
	return found
}

// longest gives the run from a place on that covers most of the order; of those that cover about as much, that with the smallest block.
func (w *work) longest(h *hashes, places []int, i int) (best run) {
	from := lowerBound(places, i+1)
	for _, j := range places[from:min(from+looks, len(places))] {
		size := j - i
		if size < leastSize {
			continue
		}
		r := run{i, size, 1}
		for end := r.end(); end+size <= len(w.order) && h.of(i, j) == h.of(end, end+size); end += size {
			r.instances++
		}
		if r.instances > 1 && 10*r.size*r.instances > 11*best.size*best.instances {
			best = r
		}
	}
	return best
}

// turn lets a run begin where the fewest edges lead from one instance to the next, even if that costs an instance.
func (w *work) turn(r run) run {
	best := 0
	for shift := 1; shift < r.size && r.instances > 2; shift++ {
		if w.crossing[r.start+r.size+shift] < w.crossing[r.start+r.size+best] {
			best = shift
		}
	}
	if best > 0 {
		r.start, r.instances = r.start+best, r.instances-1
	}
	return r
}

// lowerBound gives the place of the first number that is not less.
func lowerBound(sorted []int, x int) int {
	lo, hi := 0, len(sorted)
	for lo < hi {
		if mid := (lo + hi) / 2; sorted[mid] < x {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo
}

// hashes tells whether two parts of the order have the same classes, in constant time.
type hashes struct{ prefix, power []uint64 }

const base = 0x9e3779b97f4a7c15 | 1

func (w *work) hash() *hashes {
	h := &hashes{make([]uint64, len(w.order)+1), make([]uint64, len(w.order)+1)}
	h.power[0] = 1
	for i, box := range w.order {
		c := mix(w.Boxes[box].Class + uint64(len(w.before.of(box))))
		h.prefix[i+1], h.power[i+1] = h.prefix[i]*base+c, h.power[i]*base
	}
	return h
}

func (h *hashes) of(from, to int) uint64 { return h.prefix[to] - h.prefix[from]*h.power[to-from] }

func mix(x uint64) uint64 {
	x ^= x >> 31
	x *= 0xbf58476d1ce4e5b9
	x ^= x >> 27
	return x * 0x94d049bb133111eb
}
