package runs

import (
	"maps"
	"slices"
)

// Spot is what lives while a step runs, beside inputs and constants: classes of tensors, and those among them that the step makes.
type Spot struct {
	Stage int
	Live  []Lives
	Made  []int
}

// Lives is how many tensors of a class live.
type Lives struct {
	Tensor int
	Count  float64
}

// here is a tensor in a stage.
type here struct{ tensor, stage int }

// Lives gives what lives at each step on the devices of its stage: from the step that makes a tensor, or the beginning of a stage that gets it from another, to the last of the stage that
// reads it, or to the end of the stage if nobody does; and, of each step, the classes of what it reads last. Tensors without a class, below 0, are inputs and constants.
func (l *List) Lives(stage []int, class func(tensor int) int) (spots []Spot, ends [][]int) {
	last, made, read := l.uses(stage)
	ends = make([][]int, len(l.Steps))
	arrive := map[int][]int{}
	for at, i := range last {
		c := class(at.tensor)
		if c < 0 {
			continue
		}
		if read[at.tensor] {
			ends[i] = append(ends[i], c)
		}
		if stage[made[at.tensor]] != at.stage {
			arrive[at.stage] = append(arrive[at.stage], c)
		}
	}
	now := map[int]float64{}
	for i, s := range l.Steps {
		if i > 0 && stage[i] != stage[i-1] {
			clear(now)
			for _, c := range arrive[stage[i]] {
				now[c]++
			}
		}
		p := Spot{Stage: stage[i]}
		for _, o := range s {
			if c := class(o.Tensor); o.Out && c >= 0 && made[o.Tensor] == i {
				now[c]++
				p.Made = append(p.Made, c)
			}
		}
		for _, c := range slices.Sorted(maps.Keys(now)) {
			if now[c] > 0 {
				p.Live = append(p.Live, Lives{c, now[c]})
			}
		}
		spots = append(spots, p)
		slices.Sort(ends[i])
		for _, c := range ends[i] {
			now[c]--
		}
	}
	return spots, ends
}

// uses gives the last step of each stage that touches a tensor, the step that makes it first, and whether one reads it.
func (l *List) uses(stage []int) (last map[here]int, made map[int]int, read map[int]bool) {
	last, made, read = map[here]int{}, map[int]int{}, map[int]bool{}
	for i, s := range l.Steps {
		for _, o := range s {
			last[here{o.Tensor, stage[i]}] = i
			if _, ok := made[o.Tensor]; !ok && o.Out {
				made[o.Tensor] = i
			}
			read[o.Tensor] = read[o.Tensor] || !o.Out
		}
	}
	return last, made, read
}
