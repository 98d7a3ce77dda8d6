// Package price says what the kernels of a schedule take on a machine, without running them: times with intervals, made of terms that say why.
//
// A kernel computes while its operands travel; where either is the longer, it is what bounds the kernel. Rates and bandwidths are those of a machine file
// (cost/machine), counts those of cost/work; which cache has an operand follows from what was touched since it was last. It must not run or measure
// anything. Read next: cpu.go, the terms of a kernel on a CPU.
package price

import (
	"math"

	"tensortapestry.org/tapc/cost/machine"
	"tensortapestry.org/tapc/cost/work"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/nest"
	"tensortapestry.org/tapc/ir"
)

// Interval is a time in seconds, and between which it is thought to be.
type Interval struct{ Value, Low, High float64 }

// Plus adds intervals: both ends, as of things that follow each other.
func (i Interval) Plus(j Interval) Interval {
	return Interval{i.Value + j.Value, i.Low + j.Low, i.High + j.High}
}

// over is a number of things done at a rate.
func over(n float64, rate machine.Figure) Interval {
	return Interval{n / rate.Value, n / rate.High, n / rate.Low}
}

func seconds(f machine.Figure) Interval { return Interval{f.Value, f.Low, f.High} }

// scale multiplies all three.
func (i Interval) scale(x float64) Interval { return Interval{i.Value * x, i.Low * x, i.High * x} }

// Term is a part of a kernel's time. The times of a kernel's terms add up to its time.
type Term struct {
	What string // in words
	Time Interval
}

// Kernel is what is known of one step of a schedule.
type Kernel struct {
	Node  ir.NodeID
	Name  string
	Form  string // how it is carried out, in words
	Units int64  // that share it
	Work  *work.Work
	Time  Interval
	Roof  float64 // seconds that computing or travelling alone take at least, whichever is longer
	Bound string  // what bounds it: the class of operations, or the cache or memory that its operands come from
	Terms []Term
}

// Settings are what a price depends on beside a schedule and a machine.
type Settings struct {
	Units   int64                            // that programs use at most; 0 is all
	Targets map[schedule.DeviceType][]string // names that configs have for each kind of device
}

// Program gives what each kernel of a graph takes on the devices of a machine, in the order in which they run. A graph that is no verified
// schedule is none.
func Program(g *ir.Graph, m *machine.Machine, s Settings) ([]Kernel, error) {
	order, err := schedule.Order(g)
	if err != nil {
		return nil, err
	}
	buffers := nest.Buffers(g)
	var works []*work.Work
	var kernels []*ir.Node
	for _, id := range order {
		n := g.Node(id)
		if k, ok := n.Body.(*schedule.Kernel); ok {
			kernels, works = append(kernels, n), append(works, work.Of(k, buffers))
		}
	}
	h := replay(works, buffers)
	out := make([]Kernel, len(kernels))
	for i, n := range kernels {
		if out[i], err = one(g, n, m, s, works[i], h); err != nil {
			return nil, err
		}
		h.touch(works[i])
	}
	return out, nil
}

// one prices a kernel.
func one(g *ir.Graph, n *ir.Node, m *machine.Machine, s Settings, w *work.Work, h *history) (Kernel, error) {
	k := n.Body.(*schedule.Kernel)
	kind := g.Node(k.Device).Body.(*schedule.Device).Type
	d, err := m.Device("", kind.String())
	if err != nil {
		return Kernel{}, err
	}
	x := pricing{device: d, analysis: nest.Analyze(k, h.buffers), work: w, settings: s}
	out := Kernel{Node: n.ID, Name: k.Name, Work: w}
	x.choose(kind)
	out.Form, out.Units = x.form, x.units
	compute, err := x.compute()
	if err != nil {
		return out, err
	}
	x.finish(&out, compute, x.travel(h))
	return out, nil
}

// pricing is a kernel on a device.
type pricing struct {
	device   *machine.Device
	kind     schedule.DeviceType
	analysis *nest.Analysis
	work     *work.Work
	settings Settings
	config   *schedule.Config // nil for loops
	form     string
	units    int64
}

// overlap says how well computing and travelling hide each other: with 1 they add up, and the greater it is, the more the longer one alone counts.
const overlap = 3

// finish makes the terms of a kernel: what it computes, what of travelling is not hidden behind that, and what it takes to begin.
func (x *pricing) finish(out *Kernel, compute, travel []Term) {
	c, t := total(compute), total(travel)
	together := Interval{join(c.Value, t.Value), join(c.Low, t.Low), join(c.High, t.High)}
	long, short := compute, travel
	if t.Value > c.Value {
		long, short = travel, compute
	}
	out.Roof = max(c.Value, t.Value)
	out.Bound = greatest(long)
	out.Terms = append(out.Terms, long...)
	if s := total(short); s.Value > 0 { // what is not hidden of each, in proportion
		l := total(long)
		for _, term := range short {
			part := (together.Value - l.Value) * term.Time.Value / s.Value
			out.Terms = append(out.Terms, Term{term.What + ", not hidden", Interval{part, part, part}})
		}
	}
	start := []Term{{"start of the kernel", seconds(x.device.Launch)}}
	if x.units > 1 && x.device.Region.Known() {
		start = append(start, Term{"start of the threads", seconds(x.device.Region)})
	}
	out.Terms = append(out.Terms, start...)
	out.Time = together.Plus(total(start))
}

func join(a, b float64) float64 {
	if a == 0 || b == 0 {
		return a + b
	}
	return math.Pow(math.Pow(a, overlap)+math.Pow(b, overlap), 1.0/overlap)
}

func total(terms []Term) (sum Interval) {
	for _, t := range terms {
		sum = sum.Plus(t.Time)
	}
	return sum
}

// greatest gives the words of the longest term.
func greatest(terms []Term) string {
	best, what := -1.0, ""
	for _, t := range terms {
		if t.Time.Value > best {
			best, what = t.Time.Value, t.What
		}
	}
	return what
}

// travel is the time that operands take from where they are, by the level that has them.
func (x *pricing) travel(h *history) (terms []Term) {
	list := levels(x.device, x.units)
	bytes := make([]float64, len(list))
	for _, t := range x.work.Touches {
		for i, p := range parts(list, h.distance(x.work, t)) {
			bytes[i] += p * t.Bytes
		}
	}
	for i, n := range bytes {
		if n > 0 {
			terms = append(terms, Term{list[i].name, over(n, list[i].bandwidth)})
		}
	}
	return terms
}
