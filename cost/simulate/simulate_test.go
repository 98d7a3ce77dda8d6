package simulate

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"tensortapestry.org/tapc/cost/machine"
)

func run(t *testing.T, p *Program) *Result {
	t.Helper()
	s, err := Run(p)
	if err != nil {
		t.Fatal(err)
	}
	return s.Result()
}

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-9*(1+math.Abs(b)) }

// Two devices and a port between them, by hand.
func TestByHand(t *testing.T) {
	kernel := func(device int, seconds float64, after ...int) Task {
		return Task{Name: "k", Device: device, Seconds: seconds, After: after}
	}
	send := func(latency, seconds float64, port int, after ...int) Task {
		return Task{Name: "f", Device: -1, Latency: latency, Seconds: seconds, Ports: []int{port}, Sent: machine.Traffic{{Link: "bus", Bytes: 100}}, After: after}
	}
	for _, c := range []struct {
		name    string
		tasks   []Task
		seconds float64
		ends    []float64
		idle    float64
	}{
		{"one after the other", []Task{kernel(0, 2), kernel(0, 3)}, 5, []float64{2, 5}, 0.5},
		{"side by side", []Task{kernel(0, 2), kernel(1, 3)}, 3, []float64{2, 3}, 1 - 5.0/6},
		{"a transfer between", []Task{kernel(0, 2), send(0.5, 1, 0, 0), kernel(1, 3, 1)}, 6.5, []float64{2, 3.5, 6.5}, 1 - 5.0/13},
		{"hidden behind a kernel", []Task{kernel(0, 2), send(0.5, 1, 0, 0), kernel(0, 4), kernel(1, 1, 1)}, 6, []float64{2, 3.5, 6, 4.5}, 1 - 7.0/12},
		{"two flows share a port", []Task{send(0, 1, 0), send(0, 1, 0)}, 2, []float64{2, 2}, 1},
		{"a latency does not", []Task{send(1, 1, 0), send(0, 1, 0)}, 2, []float64{2, 1}, 1},
		{"one that is shared for a while", []Task{send(0, 1, 0), send(0.5, 1, 0)}, 2, []float64{1.5, 2}, 1},
		{"two ports", []Task{send(0, 1, 0), send(0, 1, 1)}, 1, []float64{1, 1}, 1},
		{"the least number first", []Task{kernel(0, 1), kernel(0, 5, 3), kernel(0, 1), kernel(1, 1)}, 7, []float64{1, 6, 7, 1}, 1 - 8.0/14},
		{"what both share slows both", []Task{{Device: 0, Seconds: 2, Shared: 3}, kernel(1, 3)}, 3, []float64{3, 3}, 0},
		{"for as long as both compute", []Task{{Device: 0, Seconds: 2, Shared: 4}, kernel(1, 1)}, 2.5, []float64{2.5, 1}, 1 - 3.5/5},
		{"alone it takes what it takes", []Task{{Device: 0, Seconds: 2, Shared: 4}, kernel(1, 1, 0)}, 3, []float64{2, 3}, 0.5},
		{"nothing", nil, 0, nil, 0},
	} {
		r := run(t, &Program{Devices: 2, Ports: 2, Tasks: c.tasks})
		if !near(r.Seconds, c.seconds) || !slices.EqualFunc(r.End, c.ends, near) || !near(r.Idle(), c.idle) {
			t.Errorf("%s: %v, ends %v, idle %v; expected %v, %v, %v", c.name, r.Seconds, r.End, r.Idle(), c.seconds, c.ends, c.idle)
		}
	}
}

// TestIdle: devices that always compute are never idle, however their seconds are rounded.
func TestIdle(t *testing.T) {
	for _, c := range []struct {
		seconds float64
		busy    []float64
		want    float64
	}{
		{4, []float64{4, 1}, 0.375},
		{0.3, []float64{math.Nextafter(0.3, 1)}, 0},
		{0, []float64{0}, 0},
		{1, nil, 0},
	} {
		r := Result{Seconds: c.seconds, Busy: c.busy}
		if got := r.Idle(); got != c.want {
			t.Errorf("%v of %g seconds: %g idle, expected %g", c.busy, c.seconds, got, c.want)
		}
	}
}

// Memory is held from what writes it to what reads it last.
func TestMemory(t *testing.T) {
	p := &Program{Devices: 1, Tasks: []Task{{Name: "a", Seconds: 1}, {Name: "b", Seconds: 1, After: []int{0}}, {Name: "c", Seconds: 1, After: []int{1}}},
		Values: []Value{{0, 100, -1, nil}, {0, 10, 0, []int{1}}, {0, 20, 1, []int{2}}, {0, 40, 2, nil}}}
	if r := run(t, p); r.Peak[0] != 160 || fmt.Sprint(r.Critical) != "[0 1 2]" {
		t.Error(r.Peak, r.Critical)
	}
}

// What can not be carried out is refused.
func TestFaults(t *testing.T) {
	for want, tasks := range map[string][]Task{
		"task 0, a, waits for itself":     {{Name: "a", After: []int{1}}, {Name: "b", After: []int{0}}},
		"task 0, a, is after task 7 of 1": {{Name: "a", After: []int{7}}},
		"on device 3 of 2":                {{Name: "a", Device: 3}},
		"passes port 9 of 2":              {{Name: "a", Device: -1, Ports: []int{9}}},
	} {
		if _, err := Run(&Program{Devices: 2, Ports: 2, Tasks: tasks}); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), CodeTasks) {
			t.Errorf("%v: %v", want, err)
		}
	}
}

// random gives a program of kernels and flows, each after some before it.
func random(rnd *rand.Rand, n int) *Program {
	p := &Program{Devices: 3, Ports: 4}
	for i := range n {
		x := Task{Name: fmt.Sprint("t", i), Device: rnd.IntN(4) - 1, Seconds: float64(rnd.IntN(1000)) / 100}
		if x.Device < 0 {
			x.Latency, x.Ports, x.Sent = float64(rnd.IntN(3)), []int{rnd.IntN(2), 2 + rnd.IntN(2)}, machine.Traffic{{Link: "bus", Bytes: 1}}
		} else if rnd.IntN(3) == 0 {
			x.Shared = 1.5 * x.Seconds
		}
		for range min(i, rnd.IntN(3)) {
			if a := i - 1 - rnd.IntN(min(i, 8)); !slices.Contains(x.After, a) {
				x.After = append(x.After, a)
			}
		}
		p.Tasks = append(p.Tasks, x)
	}
	return p
}

// Whatever happens: nothing begins before what it is after, devices do one thing at a time, no flow is faster than alone or than its port allows, and the end is
// no earlier than the longest chain and the fullest device, nor later than all in a row.
func TestRandom(t *testing.T) {
	rnd := rand.New(rand.NewPCG(18, 4))
	for range 200 {
		p := random(rnd, 60)
		r := run(t, p)
		sum, ports, chain := 0.0, make([]float64, p.Ports), make([]float64, len(p.Tasks))
		for i, x := range p.Tasks {
			least := x.Seconds + x.Latency
			sum += least
			for _, a := range x.After {
				if r.Start[i] < r.End[a]-1e-9 {
					t.Fatalf("task %d begins at %v before %d ends at %v", i, r.Start[i], a, r.End[a])
				}
				chain[i] = max(chain[i], chain[a])
			}
			chain[i] += least
			if r.End[i]-r.Start[i] < least-1e-9 || r.Seconds < chain[i]-1e-9 {
				t.Fatalf("task %d takes %v, and at least %v", i, r.End[i]-r.Start[i], least)
			}
			for _, port := range x.Ports {
				ports[port] += x.Seconds
			}
			for j, y := range p.Tasks[:i] {
				if x.Device >= 0 && x.Device == y.Device && r.Start[i] < r.End[j]-1e-9 && r.Start[j] < r.End[i]-1e-9 {
					t.Fatalf("tasks %d and %d are on device %d at once", i, j, x.Device)
				}
			}
		}
		if r.Seconds > sum+1e-6 || r.Seconds < slices.Max(r.Busy)-1e-9 || r.Seconds < slices.Max(ports)-1e-6 {
			t.Fatalf("%v of %v, busy %v, ports %v", r.Seconds, sum, r.Busy, ports)
		}
	}
}

// A change gives what a walk of the changed program from the beginning does.
func TestChange(t *testing.T) {
	rnd := rand.New(rand.NewPCG(18, 5))
	for range 50 {
		p := random(rnd, 200)
		s, err := Run(p)
		if err != nil {
			t.Fatal(err)
		}
		for range 10 {
			i, seconds := rnd.IntN(len(p.Tasks)), float64(rnd.IntN(2000))/100
			if err := s.Change(i, func(x *Task) { x.Seconds = seconds }); err != nil {
				t.Fatal(err)
			}
			again := run(t, &Program{Devices: p.Devices, Ports: p.Ports, Tasks: slices.Clone(p.Tasks)})
			if got := s.Result(); got.Seconds != again.Seconds || !slices.Equal(got.Start, again.Start) {
				t.Fatalf("after a change of task %d: %v, from the beginning %v", i, got.Seconds, again.Seconds)
			}
		}
	}
	s, _ := Run(random(rnd, 5))
	if err := s.Change(0, func(x *Task) { x.Seconds = -1 }); err == nil {
		t.Error("a time below zero is taken")
	}
}

// The trace has an event for each task that takes time or is a flow, within the time of the walk, names all rows of devices, has no two events at a time in a row, and is the same each time.
func TestTrace(t *testing.T) {
	var texts [2]bytes.Buffer
	var want int
	var walk *Simulation
	for i := range texts {
		s, err := Run(random(rand.New(rand.NewPCG(18, 6)), 40))
		walk, want = s, 0
		for k, x := range s.program.Tasks {
			if x.Device < 0 || s.last.end[k] > s.last.start[k] {
				want++
			}
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Trace(&texts[i]); err != nil {
			t.Fatal(err)
		}
	}
	var trace struct {
		Events []struct {
			PH       string
			TS, Dur  float64
			PID, TID int
		} `json:"traceEvents"`
	}
	if err := json.Unmarshal(texts[0].Bytes(), &trace); err != nil || !bytes.Equal(texts[0].Bytes(), texts[1].Bytes()) {
		t.Error(err)
	}
	names, spans, end := 0, 0, 0.0
	free := map[[2]int]float64{}
	for _, e := range trace.Events {
		if e.PH == "M" {
			names++
			continue
		}
		spans++
		row := [2]int{e.PID, e.TID}
		if e.TS < free[row]-1e-6 {
			t.Errorf("row %v: an event begins at %v, before another ends at %v", row, e.TS, free[row])
		}
		free[row] = e.TS + e.Dur
		end = max(end, free[row])
	}
	if last := slices.Max(walk.last.end) * 1e6; spans != want || names != walk.program.Devices+2 || math.Abs(end-last) > 1e-3 {
		t.Errorf("%d events, expected %d; %d names; the last ends at %v us, the walk at %v", spans, want, names, end, last)
	}
}

// BenchmarkChange is a change of one of the last tasks of 5,000.
func BenchmarkChange(b *testing.B) {
	s, err := Run(random(rand.New(rand.NewPCG(18, 7)), 5000))
	if err != nil {
		b.Fatal(err)
	}
	for i := range b.N {
		if err := s.Change(4900, func(x *Task) { x.Seconds = float64(i % 7) }); err != nil {
			b.Fatal(err)
		}
	}
}

// layerOf is a layer of a transformer on devices, as its tensor-parallel plan carries it out: twelve kernels on each, and an all-reduce behind the sixth and the eleventh.
func layerOf(devices int) *Program {
	p := &Program{Devices: devices, Ports: devices}
	last := make([][]int, devices)
	for k := range 12 {
		for d := range devices {
			p.Tasks = append(p.Tasks, Task{Device: d, Seconds: float64(1+k%5) * 1e-5, After: last[d]})
			last[d] = []int{len(p.Tasks) - 1}
		}
		if k != 5 && k != 10 {
			continue
		}
		reduce := Task{Device: -1, Seconds: 1e-4, Latency: 1e-6, Sent: machine.Traffic{{Link: "nvlink", Bytes: 1e6}}}
		for d := range devices {
			reduce.Ports, reduce.After = append(reduce.Ports, d), append(reduce.After, last[d]...)
			last[d] = []int{len(p.Tasks)}
		}
		p.Tasks = append(p.Tasks, reduce)
	}
	return p
}

// BenchmarkLayer is another time of a kernel of a layer on 8 devices, anywhere in it.
func BenchmarkLayer(b *testing.B) {
	s, err := Run(layerOf(8))
	if err != nil {
		b.Fatal(err)
	}
	r := rand.New(rand.NewPCG(18, 9))
	for b.Loop() {
		if err := s.Change(r.IntN(len(s.program.Tasks)), func(x *Task) { x.Seconds *= 0.5 + r.Float64() }); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "changes/s")
}
