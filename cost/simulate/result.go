package simulate

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"

	"tensortapestry.org/tapc/internal/traceevent"
)

// Result is what a walk gives.
type Result struct {
	Seconds  float64
	Start    []float64 // of each task
	End      []float64
	Busy     []float64 // seconds that each device computes
	Peak     []float64 // bytes that each device has at most
	Links    map[string]float64
	Critical []int // tasks of a longest path, in order: each begins when the one before it ends
}

// Idle is the part of the time in which devices do not compute, in the mean.
func (r *Result) Idle() float64 {
	sum := 0.0
	for _, b := range r.Busy {
		sum += b
	}
	if r.Seconds == 0 || len(r.Busy) == 0 {
		return 0
	}
	return max(0, 1-sum/r.Seconds/float64(len(r.Busy))) // a sum of many seconds may be rounded up
}

// Result adds a walk up.
func (s *Simulation) Result() *Result {
	p, x := s.program, s.last
	r := &Result{Seconds: x.now, Start: slices.Clone(x.start), End: slices.Clone(x.end), Busy: make([]float64, p.Devices), Links: map[string]float64{}}
	for i, t := range p.Tasks {
		switch {
		case t.Device >= 0 && t.Shared > t.Seconds:
			r.Busy[t.Device] += x.end[i] - x.start[i]
		case t.Device >= 0:
			r.Busy[t.Device] += t.Seconds
		}
		for _, l := range t.Sent {
			r.Links[l.Link] += l.Bytes
		}
	}
	r.Peak = s.peaks()
	r.Critical = s.critical()
	return r
}

// peaks follows the memory of each device. What ends when something begins is gone before.
func (s *Simulation) peaks() []float64 {
	type change struct {
		device int
		at     float64
		bytes  float64
	}
	var list []change
	for _, v := range s.program.Values {
		from := 0.0
		if v.From >= 0 {
			from = s.last.start[v.From]
		}
		list = append(list, change{v.Device, from, v.Bytes})
		until := 0.0
		for _, t := range v.Until {
			until = max(until, s.last.end[t])
		}
		if len(v.Until) > 0 {
			list = append(list, change{v.Device, until, -v.Bytes})
		}
	}
	slices.SortStableFunc(list, func(a, b change) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.bytes, b.bytes)) })
	now, most := make([]float64, s.program.Devices), make([]float64, s.program.Devices)
	for _, c := range list {
		now[c.device] += c.bytes
		most[c.device] = max(most[c.device], now[c.device])
	}
	return most
}

// critical goes back from the task that ends last: to what it was after, or to what its device did before it.
func (s *Simulation) critical() (path []int) {
	x, before := s.last, map[int]int{}
	last := -1
	byDevice := map[int][]int{}
	for i, t := range s.program.Tasks {
		if last < 0 || x.end[i] > x.end[last] {
			last = i
		}
		if t.Device >= 0 {
			byDevice[t.Device] = append(byDevice[t.Device], i)
		}
	}
	for _, list := range byDevice {
		slices.SortStableFunc(list, func(a, b int) int { return cmp.Compare(x.start[a], x.start[b]) })
		for k := 1; k < len(list); k++ {
			before[list[k]] = list[k-1]
		}
	}
	for i := last; i >= 0; {
		path = append(path, i)
		best := -1
		candidates := s.program.Tasks[i].After
		if b, ok := before[i]; ok {
			candidates = append(slices.Clone(candidates), b)
		}
		for _, a := range candidates {
			if best < 0 || x.end[a] > x.end[best] {
				best = a
			}
		}
		i = best
	}
	slices.Reverse(path)
	return path
}

// Trace writes when each task runs, as a trace for chrome://tracing or Perfetto: one process for kernels and for what devices copy themselves, a row for each device, and one for flows,
// and for what devices wait for each other. What takes no time on a device, as reading in place, is not there.
func (s *Simulation) Trace(w io.Writer) error {
	names := []traceevent.Name{{Process: 1, Name: "devices"}}
	for d := range s.program.Devices {
		names = append(names, traceevent.Name{Process: 1, Row: d + 1, Name: fmt.Sprintf("device %d", d)})
	}
	names = append(names, traceevent.Name{Process: 2, Name: "links"})
	var events []traceevent.Event
	rows := []float64{} // when each row of flows is free
	for _, i := range s.order() {
		t, start, end := s.program.Tasks[i], s.last.start[i], s.last.end[i]
		e := traceevent.Event{Name: t.Name, Kind: "kernel", Start: micro(start), Time: micro(end - start), Process: 1, Row: t.Device + 1}
		switch {
		case t.Device >= 0 && start == end:
			continue
		case t.Device >= 0 && len(t.Sent) > 0:
			e.Kind, e.Args = t.Sent[0].Link, map[string]float64{"bytes": t.Sent.Bytes()}
		case t.Device < 0:
			row := slices.IndexFunc(rows, func(free float64) bool { return free <= start })
			if row < 0 {
				row, rows = len(rows), append(rows, 0)
			}
			rows[row] = end
			e.Kind, e.Process, e.Row, e.Args = "wait", 2, row+1, map[string]float64{"bytes": t.Sent.Bytes()}
			if len(t.Sent) > 0 {
				e.Kind = t.Sent[0].Link
			}
		}
		events = append(events, e)
	}
	return traceevent.Write(w, events, names...)
}

// order gives tasks by when they begin.
func (s *Simulation) order() []int {
	list := make([]int, len(s.program.Tasks))
	for i := range list {
		list[i] = i
	}
	slices.SortStableFunc(list, func(a, b int) int { return cmp.Compare(s.last.start[a], s.last.start[b]) })
	return list
}

// micro gives seconds in microseconds, to the picosecond.
func micro(seconds float64) float64 {
	v, _ := strconv.ParseFloat(strconv.FormatFloat(seconds*1e6, 'f', 6, 64), 64)
	return v
}
