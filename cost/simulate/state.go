package simulate

import (
	"math"
	"slices"
)

// state is a program at a time. Tasks that may begin wait for their device; flows begin at once.
type state struct {
	now        float64
	ended      int
	waits      []int32   // how many tasks each is still after
	start, end []float64 // NaN before
	queue      [][]int   // of each device: tasks that may begin, in order
	busy       []int     // what each device computes, or -1
	flows      []flow    // that are on the way, in the order in which they began
	load       []int     // flows that pass each port
}

// flow is a task on the way.
type flow struct {
	task    int
	latency float64 // seconds that are left of it
	bytes   float64 // seconds that its bytes would take alone
}

func newState(p *Program) *state {
	x := &state{waits: make([]int32, len(p.Tasks)), queue: make([][]int, p.Devices), load: make([]int, p.Ports)}
	x.busy = slices.Repeat([]int{-1}, p.Devices)
	x.start = slices.Repeat([]float64{math.NaN()}, len(p.Tasks))
	x.end = slices.Clone(x.start)
	for i, t := range p.Tasks {
		x.waits[i] = int32(len(t.After))
	}
	for i := range p.Tasks {
		if x.waits[i] == 0 {
			x.admit(p, i)
		}
	}
	x.begin(p)
	return x
}

func (x *state) clone() *state {
	c := *x
	c.waits, c.start, c.end = slices.Clone(x.waits), slices.Clone(x.start), slices.Clone(x.end)
	c.busy, c.flows, c.load = slices.Clone(x.busy), slices.Clone(x.flows), slices.Clone(x.load)
	c.queue = make([][]int, len(x.queue))
	for i, q := range x.queue {
		c.queue[i] = slices.Clone(q)
	}
	return &c
}

// ready says whether a task might have begun.
func (x *state) ready(i int) bool { return x.waits[i] == 0 }

// admit lets a task begin: a flow at once, a kernel when its device is free.
func (x *state) admit(p *Program, i int) {
	t := &p.Tasks[i]
	if t.Device < 0 {
		x.start[i] = x.now
		x.flows = append(x.flows, flow{i, t.Latency, t.Seconds})
		if t.Latency == 0 {
			x.pass(t, 1)
		}
		return
	}
	at, _ := slices.BinarySearch(x.queue[t.Device], i)
	x.queue[t.Device] = slices.Insert(x.queue[t.Device], at, i)
}

// begin gives devices that are free their next kernels.
func (x *state) begin(p *Program) {
	for d, q := range x.queue {
		if x.busy[d] < 0 && len(q) > 0 {
			x.busy[d], x.start[q[0]] = q[0], x.now
			x.queue[d] = q[1:]
		}
	}
}

// pass counts a flow on its ports, or takes it away.
func (x *state) pass(t *Task, n int) {
	for _, port := range t.Ports {
		x.load[port] += n
	}
}

// sharing is by how much longer a flow takes than alone.
func (x *state) sharing(t *Task) float64 {
	n := 1
	for _, port := range t.Ports {
		n = max(n, x.load[port])
	}
	return float64(n)
}

// advance goes to the next event, and lets begin what may after it.
func (x *state) advance(p *Program, next [][]int) {
	step := math.Inf(1)
	for d, i := range x.busy {
		if i >= 0 {
			step = min(step, x.start[x.busy[d]]+p.Tasks[i].Seconds-x.now)
		}
	}
	for _, f := range x.flows {
		if f.latency > 0 {
			step = min(step, f.latency)
		} else {
			step = min(step, f.bytes*x.sharing(&p.Tasks[f.task]))
		}
	}
	step = max(step, 0)
	at := x.now + step
	done := x.travel(p, step)
	x.now = at
	for d, i := range x.busy {
		if i >= 0 && x.start[i]+p.Tasks[i].Seconds <= at {
			x.busy[d], done = -1, append(done, i)
		}
	}
	slices.Sort(done)
	for _, i := range done {
		x.end[i] = at
		x.ended++
	}
	for _, i := range done {
		for _, j := range next[i] {
			if x.waits[j]--; x.waits[j] == 0 {
				x.admit(p, j)
			}
		}
	}
	x.begin(p)
}

// tiny is what is left of a flow by rounding, as a part of the step.
const tiny = 1e-12

// travel moves flows on, and gives those that have arrived.
func (x *state) travel(p *Program, step float64) (done []int) {
	shares := make([]float64, len(x.flows))
	for k, f := range x.flows {
		shares[k] = x.sharing(&p.Tasks[f.task])
	}
	left := x.flows[:0:0]
	for k, f := range x.flows {
		t := &p.Tasks[f.task]
		switch {
		case f.latency > 0:
			if f.latency -= step; f.latency <= step*tiny {
				f.latency = 0
				x.pass(t, 1)
			}
		default:
			f.bytes -= step / shares[k]
		}
		if f.latency == 0 && f.bytes <= (x.now+step)*tiny {
			x.pass(t, -1)
			done = append(done, f.task)
			continue
		}
		left = append(left, f)
	}
	x.flows = left
	return done
}
