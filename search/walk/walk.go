// Package walk simulates operations that follow each other on the devices of stages, with what moves between them.
//
// Moves travel beside operations that do not wait for them, one at a time, and memory is held from what writes it to what reads it last. It prices nothing: search/layouts
// says what operations and moves take. Read next: cost/simulate.
package walk

import (
	"slices"

	"tensortapestry.org/tapc/cost/simulate"
)

// Operation is one, on the devices of its stage, of which each does the same at the same time.
type Operation struct {
	Name     string
	Stage    int
	Seconds  float64
	Operands []Operand
}

// Operand is what an operation writes or reads: a part of a tensor of so many bytes on each device.
type Operand struct {
	Tensor   int
	Name     string
	Out      bool
	Bytes    float64
	Move     Move    // from how it is made, or to how it is needed
	Send     float64 // seconds from one stage to another
	Unstored bool    // it is inside of a kernel, and what it is made from is held in its place
	Saved    float64 // seconds that are spared by reading what is not stored
}

// Move takes so many seconds and holds so many bytes.
type Move struct{ Seconds, Held float64 }

// Result is seconds of one run, and bytes of one device.
type Result struct{ Time, Memory float64 }

// Run walks operations in their order.
func Run(list []Operation, stages int) (Result, error) {
	w := &walker{made: map[placed]int{}, behind: map[int][]int{}, from: map[int]int{}, value: map[placed]int{}, program: simulate.Program{Devices: stages, Ports: stages}}
	for i := range list {
		w.operation(&list[i])
	}
	s, err := simulate.Run(&w.program)
	if err != nil {
		return Result{}, err
	}
	r := s.Result()
	return Result{r.Seconds, slices.Max(r.Peak)}, nil
}

// walker makes tasks.
type walker struct {
	program simulate.Program
	stage   int            // of the operation
	made    map[placed]int // the task behind which a tensor is kept as the plan says, in a stage
	value   map[placed]int // of a tensor that is made or was sent, in a stage
	behind  map[int][]int  // of a tensor that is not stored, what is held in its place
	from    map[int]int    // the stage that makes a tensor
}

// placed is a tensor in a stage.
type placed struct{ tensor, stage int }

// operation adds the moves of what an operation reads, the operation, and those of what it writes.
func (w *walker) operation(o *Operation) {
	w.stage = o.Stage
	task := simulate.Task{Name: o.Name, Device: w.stage, Seconds: o.Seconds}
	var reads []int // values
	for i := range o.Operands {
		a := &o.Operands[i]
		if a.Out {
			continue
		}
		after, held := w.read(a)
		if reads = append(reads, held...); after >= 0 {
			task.After = append(task.After, after)
		}
		if v, ok := w.value[placed{a.Tensor, w.stage}]; ok {
			reads = append(reads, v)
		}
		reads = append(reads, w.behind[a.Tensor]...)
		task.Seconds -= a.Saved
	}
	w.program.Tasks = append(w.program.Tasks, task)
	at := len(w.program.Tasks) - 1
	for _, v := range reads {
		w.program.Values[v].Until = append(w.program.Values[v].Until, at)
	}
	for i := range o.Operands {
		switch a := &o.Operands[i]; {
		case a.Out && a.Unstored:
			w.made[placed{a.Tensor, w.stage}], w.behind[a.Tensor] = at, reads
		case a.Out:
			w.write(a, at)
		}
	}
	w.lend(at)
}

// lend lets what an operation is joined to be faster by what that spares more than it takes itself.
func (w *walker) lend(at int) {
	t := &w.program.Tasks[at]
	for _, a := range t.After {
		if o := &w.program.Tasks[a]; t.Seconds < 0 && o.Device == t.Device {
			o.Seconds, t.Seconds = o.Seconds+t.Seconds, 0
			w.lend(a)
		}
	}
	t.Seconds = max(t.Seconds, 0)
}

// read gives the task behind which an operation may read a tensor, -1 if it is there from the beginning, and what a move holds.
func (w *walker) read(a *Operand) (after int, held []int) {
	here := placed{a.Tensor, w.stage}
	after, known := w.made[here]
	if from, made := w.from[a.Tensor]; made && !known {
		after = w.send(a, placed{a.Tensor, from})
	} else if !known { // an input or a constant, which stays
		after, w.made[here] = -1, -1
		w.keep(a, -1)
	}
	if a.Move == (Move{}) {
		return after, nil
	}
	after = w.flow(a, a.Move.Seconds, after)
	if a.Move.Held > 0 {
		held = append(held, len(w.program.Values))
		w.program.Values = append(w.program.Values, simulate.Value{Device: w.stage, Bytes: a.Move.Held, From: after})
	}
	return after, held
}

// write adds what an operation makes, and the move to how it is kept.
func (w *walker) write(a *Operand, at int) {
	from := at
	if a.Move != (Move{}) {
		at = w.flow(a, a.Move.Seconds, at)
		if a.Move.Held > 0 {
			w.program.Values = append(w.program.Values, simulate.Value{Device: w.stage, Bytes: a.Move.Held, From: from, Until: []int{at}})
		}
	}
	here := placed{a.Tensor, w.stage}
	w.made[here], w.value[here], w.from[a.Tensor] = at, len(w.program.Values), w.stage
	w.keep(a, from)
}

// keep adds a tensor to what a device holds.
func (w *walker) keep(a *Operand, from int) {
	w.program.Values = append(w.program.Values, simulate.Value{Device: w.stage, Bytes: a.Bytes, From: from})
}

// send brings a tensor to a stage from the one that made it, and gives the task behind which it is there.
func (w *walker) send(a *Operand, from placed) (after int) {
	after = w.flow(a, a.Send, w.made[from])
	v := &w.program.Values[w.value[from]]
	v.Until = append(v.Until, after)
	here := placed{a.Tensor, w.stage}
	w.made[here], w.value[here] = after, len(w.program.Values)
	w.keep(a, after)
	return after
}

// flow adds a flow behind a task, and gives its number.
func (w *walker) flow(a *Operand, seconds float64, after int) int {
	t := simulate.Task{Name: "moves of " + a.Name, Device: -1, Seconds: seconds, Ports: []int{w.stage}}
	if after >= 0 {
		t.After = []int{after}
	}
	w.program.Tasks = append(w.program.Tasks, t)
	return len(w.program.Tasks) - 1
}
