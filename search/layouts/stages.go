package layouts

import (
	"math"

	"tensortapestry.org/tapc/ir"
)

// Stages of a pipeline are runs of operations that follow each other, each on a group of devices of its own. One batch goes through them: a stage begins when what it
// reads of those before has arrived, so that times add up, and a device holds the inputs, the constants and what is between of its own stage.

// staged assigns operations to stages: repeated parts evenly, and others so that inputs and constants are spread.
func (x *pipeline) staged(steps []step) {
	x.stageOf = make([]int, len(steps))
	if x.stages == 1 {
		return
	}
	ends := x.ends(steps)
	for i := range steps {
		for k, end := range ends {
			if i >= end {
				x.stageOf[i] = k + 1
			}
		}
	}
}

// ends gives the first operation of each stage but the first. Where enough parts repeat, stages begin at one place of these: that where the least is read of what was made
// before and, of such, loads are the most even.
func (x *pipeline) ends(steps []step) (ends []int) {
	from, period, length := longest(fingerprints(steps))
	load := loads(steps)
	read, most := math.Inf(1), math.Inf(1)
	for p := from; p < from+period; p++ {
		b := crossing(steps, p+period) // in the second part, as the first may read what others do not
		if b > read {
			continue
		}
		list, highest := evenly(load, p, min(from+length, len(steps)-1), period, x.stages)
		if list != nil && (b < read || highest < most) {
			ends, read, most = list, b, highest
		}
	}
	if ends == nil {
		ends, _ = evenly(load, 1, len(steps)-1, 1, x.stages)
	}
	return ends
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

// crossing is the bytes of what is made before an operation and read there or behind it.
func crossing(steps []step, at int) (sum float64) {
	made := map[ir.NodeID]float64{}
	for i, s := range steps {
		for k, a := range s.op.operands {
			switch id := s.tensors[k]; {
			case i < at && a.out:
				made[id] = a.bytes
			case i >= at && !a.out:
				sum += made[id]
				delete(made, id)
			}
		}
	}
	return sum
}

// loads gives the bytes of inputs and constants that are first read before each operation, and a small part of those of results.
func loads(steps []step) []float64 {
	load, seen := make([]float64, len(steps)+1), map[ir.NodeID]bool{}
	for i, s := range steps {
		load[i+1] = load[i]
		for k, a := range s.op.operands {
			switch {
			case a.out:
				load[i+1] += a.bytes / 16
			case !seen[s.tensors[k]]:
				load[i+1] += a.bytes
			}
			seen[s.tensors[k]] = true
		}
	}
	return load
}

// crossings counts, of each class of tensors, on the devices of which stages inputs and constants are, and how often what is between is sent to another stage.
func crossings(x *Space, steps []step) {
	for _, t := range x.tensors {
		t.at = make([]float64, x.line.stages)
	}
	made, there := map[ir.NodeID]int{}, map[[2]int]bool{}
	for i, s := range steps {
		for k, id := range s.tensors {
			if s.op.operands[k].out {
				made[id] = x.line.stageOf[i]
			}
		}
	}
	for i, s := range steps {
		for _, id := range s.tensors {
			t, here := x.tensors[x.found.tensorOf[id]], [2]int{int(id), x.line.stageOf[i]}
			if there[here] {
				continue
			}
			there[here] = true
			t.at[x.line.stageOf[i]]++
			if from, ok := made[id]; ok && from != x.line.stageOf[i] {
				t.sends++
			}
		}
	}
	for i, t := range x.tensors {
		if t.sends > 0 {
			x.line.crossing = append(x.line.crossing, i)
		}
	}
}
