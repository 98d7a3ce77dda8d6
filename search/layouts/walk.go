package layouts

import (
	"tensortapestry.org/tapc/cost/simulate"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/search"
)

// Walked is what a plan takes as cost/simulate walks it: moves travel beside operations that do not wait for them, one at a time, and memory is held from what
// writes it to what reads it last. Seconds, and bytes of one device.
type Walked struct{ Time, Memory float64 }

// Walk walks a plan. Devices do the same at the same time, each the largest part that there is, so one of them is walked.
func Walk(x *Space, t search.Trial) (Walked, error) {
	p := x.plan(t)
	w := &walker{plan: &p, edges: map[edge]int{}, made: map[ir.NodeID]int{}, value: map[ir.NodeID]int{}, program: simulate.Program{Devices: 1, Ports: 1}}
	for i, e := range x.edges {
		w.edges[e] = i
	}
	for _, id := range ir.NewFlow(x.graph, tensorops.OperationKind).Order(x.graph) {
		if m, planned := x.opOf[id]; planned {
			w.operation(id, m)
		}
	}
	s, err := simulate.Run(&w.program)
	if err != nil {
		return Walked{}, err
	}
	r := s.Result()
	return Walked{r.Seconds, r.Peak[0]}, nil
}

// walker makes the tasks of a plan.
type walker struct {
	plan    *plan
	edges   map[edge]int // their numbers
	program simulate.Program
	made    map[ir.NodeID]int // the task behind which a tensor is kept as the plan says
	value   map[ir.NodeID]int // of a tensor that is made
}

// operation adds the moves of what an operation reads, the operation, and those of what it writes.
func (w *walker) operation(id ir.NodeID, m member) {
	x := w.plan.tables.space
	task := simulate.Task{Name: x.graph.Name(id), Device: 0, Seconds: w.plan.tables.time[m.class][w.plan.cuts[m.class]]}
	var reads []int // values
	for k, a := range x.ops[m.class].operands {
		if a.out {
			continue
		}
		after, held := w.read(m.tensors[k], use{m.class, k})
		if reads = append(reads, held...); after >= 0 {
			task.After = append(task.After, after)
		}
		if v, ok := w.value[m.tensors[k]]; ok {
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
	c := w.plan.tables.space.tensorOf[tensor]
	after, known := w.made[tensor]
	if !known { // an input or a constant, which stays
		after, w.made[tensor] = -1, -1
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
		w.program.Values = append(w.program.Values, simulate.Value{Bytes: m.held, From: after})
	}
	return after, held
}

// write adds what an operation makes, and the move to how it is kept.
func (w *walker) write(tensor ir.NodeID, of use, at int) {
	c := w.plan.tables.space.tensorOf[tensor]
	m := w.plan.move(w.edges[edge{of, c}])
	from := at
	if m.time > 0 || m.held > 0 {
		w.flow(tensor, m, at)
		at = len(w.program.Tasks) - 1
		if m.held > 0 {
			w.program.Values = append(w.program.Values, simulate.Value{Bytes: m.held, From: from, Until: []int{at}})
		}
	}
	w.made[tensor], w.value[tensor] = at, len(w.program.Values)
	w.keep(c, from)
}

// keep adds a tensor to what a device holds.
func (w *walker) keep(class, from int) {
	w.program.Values = append(w.program.Values, simulate.Value{Bytes: w.plan.tables.bytes[class][w.plan.keeps[class]], From: from})
}

func (w *walker) flow(tensor ir.NodeID, m move, after int) {
	t := simulate.Task{Name: "moves of " + w.plan.tables.space.graph.Name(tensor), Device: -1, Seconds: m.time, Ports: []int{0}}
	if after >= 0 {
		t.After = []int{after}
	}
	w.program.Tasks = append(w.program.Tasks, t)
}
