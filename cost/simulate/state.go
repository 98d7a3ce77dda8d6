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
	left       []float64 // the part of it that is left, of what shares something with other devices
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
	x.busy, x.left = slices.Repeat([]int{-1}, p.Devices), make([]float64, p.Devices)
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
	c.busy, c.left, c.flows, c.load = slices.Clone(x.busy), slices.Clone(x.left), slices.Clone(x.flows), slices.Clone(x.load)
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
			x.busy[d], x.left[d], x.start[q[0]] = q[0], 1, x.now
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
	beside := x.beside()
	for d, i := range x.busy {
		if i >= 0 {
			step = min(step, x.until(p, d, beside))
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
	for d, i := range x.busy {
		if i >= 0 && x.compute(p, d, step, beside) {
			x.busy[d], done = -1, append(done, i)
		}
	}
	x.now = at
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

// beside is the part of the other devices that compute beside one that does.
func (x *state) beside() float64 {
	n := -1
	for _, i := range x.busy {
		if i >= 0 {
			n++
		}
	}
	return float64(max(n, 0)) / float64(max(len(x.busy)-1, 1))
}

// takes is what a task takes while a part of the other devices computes.
func (t *Task) takes(beside float64) float64 {
	return t.Seconds + max(t.Shared-t.Seconds, 0)*beside
}

// until is the time that is left of what a device computes, if nothing else changes.
func (x *state) until(p *Program, d int, beside float64) float64 {
	t := &p.Tasks[x.busy[d]]
	if t.Shared <= t.Seconds {
		return x.start[x.busy[d]] + t.Seconds - x.now
	}
	return x.left[d] * t.takes(beside)
}

// compute lets a device go on for a time, and says whether what it computes has ended.
func (x *state) compute(p *Program, d int, step, beside float64) bool {
	t := &p.Tasks[x.busy[d]]
	if t.Shared <= t.Seconds {
		return x.start[x.busy[d]]+t.Seconds <= x.now+step
	}
	x.left[d] -= step / t.takes(beside)
	return x.left[d] <= tiny
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
