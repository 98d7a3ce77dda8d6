// Package simulate walks what devices compute and send, and says when each thing happens: devices compute while data travels, flows that pass the same port
// share it, and memory is held from what writes it to what reads it last.
//
// Tasks come from whoever knows a schedule; how long each takes alone, cost/price and cost/collective say. It knows no graphs. Read next: state.go, which goes
// from event to event; result.go adds up.
package simulate

import (
	"fmt"

	"tensortapestry.org/tapc/cost/machine"
	"tensortapestry.org/tapc/ir/diag"
)

// CodeTasks is of tasks that no order carries out, or that name what is not there.
const CodeTasks = "TAP2851"

// Task is a kernel on a device, or a flow between devices. A device carries its kernels out one at a time: of those that may begin, the one with the
// least number. Flows go on beside kernels and each other.
type Task struct {
	Name    string
	Device  int     // that computes it; -1 of a flow
	Seconds float64 // that a kernel takes, or the bytes of a flow alone on its ports
	Shared  float64 // that a kernel takes while all other devices compute, too; Seconds if it is less
	Latency float64 // of a flow, before its bytes
	Ports   []int   // that its bytes pass
	Sent    machine.Traffic
	After   []int // tasks that have ended before it begins
}

// Value is memory that a device has from the start of a task to the end of the last of others.
type Value struct {
	Device int
	Bytes  float64
	From   int   // -1 from the beginning
	Until  []int // none until the end
}

// Program is what is simulated. Devices and ports are numbers from 0 on.
type Program struct {
	Devices, Ports int
	Tasks          []Task
	Values         []Value
}

// check refuses what is not there and what waits for itself.
func (p *Program) check() error {
	bad := func(format string, args ...any) error {
		return diag.Errorf(CodeTasks, "cost", diag.Location{}, format, args...)
	}
	waits, next := make([]int, len(p.Tasks)), make([][]int, len(p.Tasks))
	for i, t := range p.Tasks {
		if t.Device >= p.Devices || t.Seconds < 0 || t.Latency < 0 {
			return bad("task %d, %s, is on device %d of %d and takes %v s", i, t.Name, t.Device, p.Devices, t.Seconds)
		}
		for _, port := range t.Ports {
			if port < 0 || port >= p.Ports {
				return bad("task %d, %s, passes port %d of %d", i, t.Name, port, p.Ports)
			}
		}
		for _, a := range t.After {
			if a < 0 || a >= len(p.Tasks) {
				return bad("task %d, %s, is after task %d of %d", i, t.Name, a, len(p.Tasks))
			}
			waits[i]++
			next[a] = append(next[a], i)
		}
	}
	return acyclic(p, waits, next, bad)
}

// acyclic finds a task that waits for itself.
func acyclic(p *Program, waits []int, next [][]int, bad func(string, ...any) error) error {
	var ready []int
	for i, n := range waits {
		if n == 0 {
			ready = append(ready, i)
		}
	}
	done := 0
	for ; len(ready) > 0; done++ {
		i := ready[len(ready)-1]
		ready = ready[:len(ready)-1]
		for _, j := range next[i] {
			if waits[j]--; waits[j] == 0 {
				ready = append(ready, j)
			}
		}
	}
	if done == len(p.Tasks) {
		return nil
	}
	for i, n := range waits {
		if n > 0 {
			return bad("task %d, %s, waits for itself", i, p.Tasks[i].Name)
		}
	}
	return nil
}

// Simulation is a program that was walked, and can be walked again after a change without what was before it.
type Simulation struct {
	program *Program
	next    [][]int // tasks that are after each
	states  []*state
	last    *state
}

// Run walks a program, of which it keeps the tasks: Change changes them.
func Run(p *Program) (*Simulation, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	s := &Simulation{program: p, next: make([][]int, len(p.Tasks))}
	for i, t := range p.Tasks {
		for _, a := range t.After {
			s.next[a] = append(s.next[a], i)
		}
	}
	s.walk(newState(p))
	return s, nil
}

// kept is how many states of a walk are kept, from which it can go on.
const kept = 32

// walk goes on from a state to the end.
func (s *Simulation) walk(x *state) {
	every := max(1, len(s.program.Tasks)/kept)
	for x.ended < len(s.program.Tasks) {
		if len(s.states) == 0 || x.ended >= s.states[len(s.states)-1].ended+every {
			s.states = append(s.states, x.clone())
		}
		x.advance(s.program, s.next)
	}
	s.last = x
}

// Change gives a task other times, ports or bytes, and walks on from the last state that is kept in which it had not begun. What a task is after can not be
// changed.
func (s *Simulation) Change(i int, change func(t *Task)) error {
	t := s.program.Tasks[i]
	change(&t)
	t.After = s.program.Tasks[i].After
	old := s.program.Tasks[i]
	s.program.Tasks[i] = t
	if (t.Device < 0) != (old.Device < 0) || t.Device >= s.program.Devices || t.Seconds < 0 {
		s.program.Tasks[i] = old
		return diag.Errorf(CodeTasks, "cost", diag.Location{}, "task %d, %s, can not become this", i, t.Name).Want("a task of the same kind", fmt.Sprintf("%+v", t))
	}
	n := len(s.states)
	for n > 0 && s.states[n-1].ready(i) {
		n--
	}
	x := newState(s.program)
	if s.states = s.states[:n]; n > 0 {
		x = s.states[n-1].clone()
	}
	s.walk(x)
	return nil
}
