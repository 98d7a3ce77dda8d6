package layouts

import (
	"slices"

	"tensortapestry.org/tapc/cost/simulate"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/search"
)

// Walked is what a plan takes as cost/simulate walks it: moves travel beside operations that do not wait for them, one at a time, and memory is held from what
// writes it to what reads it last. Seconds, and bytes of one device.
type Walked struct{ Time, Memory float64 }

// Walk walks a plan. Devices of a stage do the same at the same time, each the largest part that there is, so one of them is walked.
func Walk(x *Space, t search.Trial) (Walked, error) {
	p := x.plan(t)
	w := &walker{plan: &p, edges: map[edge]int{}, made: map[placed]int{}, from: map[ir.NodeID]int{}, value: map[placed]int{}, program: simulate.Program{Devices: x.line.stages, Ports: x.line.stages}}
	for i, e := range x.edges {
		w.edges[e] = i
	}
	for i, id := range x.line.order {
		w.stage = x.line.stageOf[i]
		w.operation(id, x.found.opOf[id])
	}
	s, err := simulate.Run(&w.program)
	if err != nil {
		return Walked{}, err
	}
	r := s.Result()
	return Walked{r.Seconds, slices.Max(r.Peak)}, nil
}

// walker makes the tasks of a plan.
type walker struct {
	plan    *plan
	edges   map[edge]int // their numbers
	program simulate.Program
	stage   int               // of the operation
	made    map[placed]int    // the task behind which a tensor is kept as the plan says, in a stage
	value   map[placed]int    // of a tensor that is made or was sent, in a stage
	from    map[ir.NodeID]int // the stage that makes a tensor
}

// placed is a tensor in a stage.
type placed struct {
	tensor ir.NodeID
	stage  int
}

// operation adds the moves of what an operation reads, the operation, and those of what it writes.
func (w *walker) operation(id ir.NodeID, m member) {
	x := w.plan.tables.space
	task := simulate.Task{Name: x.graph.Name(id), Device: w.stage, Seconds: w.plan.tables.time[m.class][w.plan.cuts[m.class]]}
	var reads []int // values
	for k, a := range x.ops[m.class].operands {
		if a.out {
			continue
		}
		after, held := w.read(m.tensors[k], use{m.class, k})
		if reads = append(reads, held...); after >= 0 {
			task.After = append(task.After, after)
		}
		if v, ok := w.value[placed{m.tensors[k], w.stage}]; ok {
			reads = append(reads, v)
		}
	}
	w.program.Tasks = append(w.program.Tasks, task)
	at := len(w.program.Tasks) - 1
	for _, v := range reads {
		w.program.Values[v].Until = append(w.program.Values[v].Until, at)
	}
	for k, a := range x.ops[m.class].operands {
		if a.out {
			w.write(m.tensors[k], use{m.class, k}, at)
		}
	}
}

// read gives the task behind which an operation may read a tensor, -1 if it is there from the beginning, and what a move holds.
func (w *walker) read(tensor ir.NodeID, of use) (after int, held []int) {
	c := w.plan.tables.space.found.tensorOf[tensor]
	here := placed{tensor, w.stage}
	after, known := w.made[here]
	if from, made := w.from[tensor]; made && !known {
		after = w.send(tensor, c, placed{tensor, from})
	} else if !known { // an input or a constant, which stays
		after, w.made[here] = -1, -1
		w.keep(c, -1)
	}
	m := w.plan.move(w.edges[edge{of, c}])
	if m.time == 0 && m.held == 0 {
		return after, nil
	}
	w.flow(tensor, m, after)
	after = len(w.program.Tasks) - 1
	if m.held > 0 {
		held = append(held, len(w.program.Values))
		w.program.Values = append(w.program.Values, simulate.Value{Device: w.stage, Bytes: m.held, From: after})
	}
	return after, held
}

// write adds what an operation makes, and the move to how it is kept.
func (w *walker) write(tensor ir.NodeID, of use, at int) {
	c := w.plan.tables.space.found.tensorOf[tensor]
	m := w.plan.move(w.edges[edge{of, c}])
	from := at
	if m.time > 0 || m.held > 0 {
		w.flow(tensor, m, at)
		at = len(w.program.Tasks) - 1
		if m.held > 0 {
			w.program.Values = append(w.program.Values, simulate.Value{Device: w.stage, Bytes: m.held, From: from, Until: []int{at}})
		}
	}
	here := placed{tensor, w.stage}
	w.made[here], w.value[here], w.from[tensor] = at, len(w.program.Values), w.stage
	w.keep(c, from)
}

// keep adds a tensor to what a device holds.
func (w *walker) keep(class, from int) {
	w.program.Values = append(w.program.Values, simulate.Value{Device: w.stage, Bytes: w.plan.tables.bytes[class][w.plan.keeps[class]], From: from})
}

// send brings a tensor to a stage from the one that made it, and gives the task behind which it is there.
func (w *walker) send(tensor ir.NodeID, class int, from placed) (after int) {
	w.flow(tensor, w.plan.tables.sends[class][w.plan.keeps[class]], w.made[from])
	after = len(w.program.Tasks) - 1
	v := &w.program.Values[w.value[from]]
	v.Until = append(v.Until, after)
	here := placed{tensor, w.stage}
	w.made[here], w.value[here] = after, len(w.program.Values)
	w.keep(class, after)
	return after
}

func (w *walker) flow(tensor ir.NodeID, m move, after int) {
	t := simulate.Task{Name: "moves of " + w.plan.tables.space.graph.Name(tensor), Device: -1, Seconds: m.time, Ports: []int{w.stage}}
	if after >= 0 {
		t.After = []int{after}
	}
	w.program.Tasks = append(w.program.Tasks, t)
}
