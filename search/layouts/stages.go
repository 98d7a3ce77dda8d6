package layouts

import (
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/search/runs"
)

// Stages of a pipeline are runs of operations that follow each other, each on a group of devices of its own. One batch goes through them: a stage begins when what it
// reads of those before has arrived, so that times add up, and a device holds the inputs, the constants and what is between of its own stage.

// staged assigns operations to stages: repeated parts evenly, and others so that inputs and constants are spread. No stage ends where one kernel goes on.
func (x *pipeline) staged(list *runs.List) {
	x.stageOf = make([]int, len(list.Steps))
	if x.stages == 1 {
		return
	}
	ends := list.Stages(x.stages)
	for i := range list.Steps {
		for k, end := range ends {
			if i >= end {
				x.stageOf[i] = k + 1
			}
		}
	}
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

// listed gives what operations write and read.
func listed(steps []step) *runs.List {
	list := &runs.List{}
	for _, s := range steps {
		var of runs.Step
		for k, a := range s.op.operands {
			of = append(of, runs.Operand{Tensor: int(s.tensors[k]), Out: a.out, Bytes: a.bytes})
		}
		list.Steps = append(list.Steps, of)
	}
	return list
}
