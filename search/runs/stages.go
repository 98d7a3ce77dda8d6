package runs

import (
	"cmp"
	"math"
)

// Step is what an operation writes and reads.
type Step []Operand

// Operand is a tensor that is written or read, and bytes of it. An unstored one is between operations that become one kernel.
type Operand struct {
	Tensor        int
	Out, Unstored bool
	Bytes         float64
}

// List is operations that follow each other, of which some repeat.
type List struct {
	Steps   []Step
	Repeats Run
}

// Mark notes which tensors are between operations that become one kernel.
func (l *List) Mark(unstored func(tensor int) bool) {
	for _, s := range l.Steps {
		for k := range s {
			s[k].Unstored = unstored(s[k].Tensor)
		}
	}
}

// Stages divides a list into so many stages, and gives the first step of each but the first. No stage ends between steps that become one kernel, if that can be. Where enough parts
// repeat, stages begin at one place of these: that where the least is read of what was made before and, of such, loads are the most even.
func (l *List) Stages(n int) (ends []int) {
	load := l.loads()
	least, most := crossing{kernels: math.MaxInt}, math.Inf(1)
	r := l.Repeats
	for p := r.From; p < r.From+r.Period; p++ {
		c := l.crossing(p + r.Period) // in the second part, as the first may read what others do not
		if c.compare(least) > 0 {
			continue
		}
		list, highest := evenly(load, p, min(r.From+r.Length, len(l.Steps)-1), r.Period, n)
		if list != nil && (c.compare(least) < 0 || highest < most) {
			ends, least, most = list, c, highest
		}
	}
	if ends == nil {
		ends = l.between(load, n)
	}
	return ends
}

// between divides a list in which too little repeats.
func (l *List) between(load []float64, n int) (ends []int) {
	places, at := []int{0}, []float64{0}
	for i := 1; i < len(l.Steps); i++ {
		if l.crossing(i).kernels == 0 {
			places, at = append(places, i), append(at, load[i])
		}
	}
	list, _ := evenly(append(at, load[len(load)-1]), 1, len(places)-1, 1, n)
	if list == nil { // too few kernels
		ends, _ = evenly(load, 1, len(l.Steps)-1, 1, n)
	}
	for _, i := range list {
		ends = append(ends, places[i])
	}
	return ends
}

// crossing is what is made before a step and read there or behind it: how many tensors that are inside of kernels, and the bytes of all.
type crossing struct {
	kernels int
	bytes   float64
}

func (c crossing) compare(d crossing) int {
	return cmp.Or(cmp.Compare(c.kernels, d.kernels), cmp.Compare(c.bytes, d.bytes))
}

func (l *List) crossing(at int) (sum crossing) {
	made := map[int]float64{}
	for i, s := range l.Steps {
		for _, o := range s {
			switch {
			case i < at && o.Out:
				made[o.Tensor] = o.Bytes
			case i >= at && !o.Out:
				if b, ok := made[o.Tensor]; ok && o.Unstored {
					sum.kernels, sum.bytes = sum.kernels+1, sum.bytes+b
				} else {
					sum.bytes += b
				}
				delete(made, o.Tensor)
			}
		}
	}
	return sum
}

// loads gives the bytes of inputs and constants that are first read before each step, and a small part of those of results.
func (l *List) loads() []float64 {
	load, seen := make([]float64, len(l.Steps)+1), map[int]bool{}
	for i, s := range l.Steps {
		load[i+1] = load[i]
		for _, o := range s {
			switch {
			case o.Out:
				load[i+1] += o.Bytes / 16
			case !seen[o.Tensor]:
				load[i+1] += o.Bytes
			}
			seen[o.Tensor] = true
		}
	}
	return load
}

// evenly chooses n - 1 places, of those that lie a period apart up to a last one, between which loads are nearest to even, and gives the highest load; nil if there are too few.
func evenly(load []float64, at, last, period, n int) (ends []int, highest float64) {
	for at > period {
		at -= period
	}
	if at == 0 {
		at = period
	}
	if last < at || (last-at)/period+1 < n-1 {
		return nil, 0
	}
	total, before := load[len(load)-1], 0.0
	for k := 1; k < n; k++ {
		left := last - (n-1-k)*period // what is behind is left for the other stages
		target := total * float64(k) / float64(n)
		for at+period <= left && math.Abs(load[at+period]-target) <= math.Abs(load[at]-target) {
			at += period
		}
		ends = append(ends, at)
		highest, before = max(highest, load[at]-before), load[at]
		at += period
	}
	return ends, max(highest, total-before)
}
