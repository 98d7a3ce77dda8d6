package price

import (
	"tensortapestry.org/tapc/cost/work"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/nest"
	"tensortapestry.org/tapc/dialects/schedule/nest/few"
)

// rowVectors gives how rows are cut into vectors: the elements of a row, how many of them a vector has, and how many it could have; ok is false if there are no rows,
// or nobody knows how long vectors are.
func (x *pricing) rowVectors() (r *nest.Rows, lanes, full int64, ok bool) {
	r, ok = nest.Of[*nest.Rows](x.analysis.Forms)
	if !ok || x.target.Vector == 0 || x.algorithm() != schedule.Rows {
		return nil, 0, 0, false
	}
	size := int64(x.work.Type.Size())
	for i, o := range x.analysis.Kernel.Operands {
		if r.Lane.Step(r.Views[i]) != 0 {
			size = max(size, int64(o.Type().Size()))
		}
	}
	full = max(1, x.target.Vector/size)
	if lanes = x.stages[0].Lanes; lanes == 0 {
		lanes = full
	}
	return r, lanes, full, true
}

// lengths gives the lengths of the parts of a row, each of which has vectors of its own.
func lengths(r *nest.Rows) (list []int64) {
	from := int64(0)
	for _, to := range r.Splits {
		list, from = append(list, to-from), to
	}
	return append(list, r.Lane.Extent-from)
}

// vectors says how full the vectors of a row are. Room is how many elements they could have, by how many they have: the last one is not full, nor is any where
// vectors are shorter than those of the processor. Partial is the part of the elements that are in vectors that are not full.
func (x *pricing) vectors() (room, partial float64) {
	r, lanes, full, ok := x.rowVectors()
	if !ok {
		return 1, 0
	}
	for _, n := range lengths(r) {
		room += float64((n + lanes - 1) / lanes * full)
		partial += float64(n % lanes)
	}
	row := float64(r.Lane.Extent)
	return room / row, partial / row
}

// written is how many elements that are read one by one take as long as one that is written so: it is taken out of a vector first.
const written = 3.3

// fewElements counts a kernel of rows of few elements as it is carried out, with a row in each of so many lanes. What it goes over several times is read once, and stays in registers.
func fewElements(a *nest.Analysis, found *nest.Rows, lanes int64) (*nest.Analysis, *work.Work, bool) {
	r, ok := few.Rows(a.Kernel, a.Buffers, found, sweepsOf(a.Kernel, found), lanes)
	if !ok {
		return a, nil, false
	}
	w := work.OfRows(a.Kernel, a.Buffers, r)
	w.Gathers = 0
	for _, t := range w.Touches {
		n := t.Bytes / float64(a.Kernel.Operands[t.Operand].Type().Size())
		switch step := r.Lane.Step(r.Views[t.Operand]); {
		case step == 0 || step == 1 || step == 2 && !t.Write: // which are shuffled out of vectors
		case t.Write && step != 2:
			w.Gathers += written * n
		default:
			w.Gathers += n
		}
	}
	return &nest.Analysis{Kernel: a.Kernel, Buffers: a.Buffers, Forms: nest.Forms{r}}, w, true
}

// straddling is how many of the elements that rows read and write are in vectors that lie in two lines of a cache, each of which is read or written by itself.
func straddling(x *pricing) (read, written float64) {
	r, lanes, _, ok := x.rowVectors()
	if !ok || x.few || !x.kind.Has(schedule.Thread) {
		return 0, 0
	}
	for _, t := range x.work.Touches {
		v, o := r.Views[t.Operand], x.analysis.Kernel.Operands[t.Operand]
		if r.Lane.Step(v) != 1 {
			continue
		}
		n := t.Times * inTwoLines(x.analysis.Kernel, r.Lane.Inner(), v, lanes, max(1, schedule.LineBytes/int64(o.Type().Size())))
		if t.Write {
			written += n
		} else {
			read += n
		}
	}
	return read, written
}

// slid is how many of the elements that rows read are in registers already, as lines that are computed together read the same ones: those of windows that slide over each other along the axis of the lines,
// if their weights and sums are in registers, too.
func slid(x *pricing) (n float64) {
	r, lanes, _, ok := x.rowVectors()
	lines := x.stages[0].Tile(schedule.RoleLine)
	if !ok || len(lines) == 0 || len(r.Outer) == 0 || nest.Points(r.Reduction)+lines[0] >= x.target.Registers {
		return 0
	}
	axis, together := r.Outer[len(r.Outer)-1], float64(lines[0])
	for _, t := range x.work.Touches {
		v := r.Views[t.Operand]
		for _, d := range r.Reduction {
			along, apart := d.Step(v), axis.Step(v)
			if t.Write || along == 0 || apart == 0 || apart%along != 0 || apart/along < 1 || apart/along >= d.Extent {
				continue
			}
			whole := float64(d.Extent)
			part := (whole + (together-1)*float64(apart/along)) / (whole * together)
			twice := 0.0
			if r.Lane.Step(v) == 1 {
				twice = inTwoLines(x.analysis.Kernel, r.Lane.Inner(), v, lanes, max(1, schedule.LineBytes/int64(x.analysis.Kernel.Operands[t.Operand].Type().Size())))
			}
			n += t.Times * (1 + twice) * max(0, 1-part)
		}
	}
	return n
}

// inTwoLines is the part of the vectors along a loop within which a line of so many elements ends: each other loop moves the first element of a row within its line, as often to each place that its steps
// lead to. The last vector of a row is as long as what is left for it.
func inTwoLines(k *schedule.Kernel, lane int, v nest.View, lanes, line int64) float64 {
	within := func(at int64) int64 { return (at%line + line) % line }
	first, rows := v.Base, make([]float64, line) // the part of the rows that begin at each place of a line
	for l, step := range v.Steps {
		first += step * k.Loops[l].Start
	}
	rows[within(first)] = 1
	for l, step := range v.Steps {
		n := min(k.Loops[l].Extent(), line)
		if l == lane || step%line == 0 || n < 2 {
			continue
		}
		moved := make([]float64, line)
		for from, p := range rows {
			for i := range n {
				moved[within(int64(from)+i*step)] += p / float64(n)
			}
		}
		rows = moved
	}
	ends := func(at, live int64) (part float64) { // of vectors so far behind the beginning of a row
		for from, p := range rows {
			if within(int64(from)+at)+live > line {
				part += p
			}
		}
		return part
	}
	extent, sum := k.Loops[lane].Extent(), 0.0
	whole := extent / lanes
	places := max(1, min(whole, line/lanes)) // behind so many the next is at the same place
	for i := range places {
		sum += ends(i*lanes, lanes) * float64(whole) / float64(places)
	}
	if live := extent % lanes; live > 0 {
		return (sum + ends(whole*lanes, live)) / float64(whole+1)
	}
	return sum / float64(max(1, whole))
}

// apart is how much longer it takes to read an element that is two apart from the next in a vector that is not full, where each is read by itself, than in one that is, where it is shuffled out of two.
const apart = 1.5

// shuffles is how many elements are read two apart, as if all vectors were full.
func (x *pricing) shuffles() float64 {
	_, part := x.vectors()
	return x.work.Shuffles * (1 - part + apart*part)
}

// How many operations before or behind a function take as long as a division there, whose latency is about so many times that of an addition, and what a division counts.
const (
	dividing = 2.5
	divided  = 4
)

// followed is the arithmetic before and behind functions, in operations, where the machine file has a rate of it: a core waits for the results of functions, and begins no more than its
// reorder buffer has room for meanwhile.
func followed(x *pricing, c work.Count) float64 {
	if c.Function == 0 || !known(x, rowFollowing) {
		return 0
	}
	n := c.Vector - c.Extremes
	if !x.passes() {
		n += dividing * c.Division / divided
	}
	return n
}

// known says whether the machine file has a rate of a row for what is computed.
func known(x *pricing, row string) bool {
	_, err := x.device.Rate(arithmetic(x.work.Type).String(), row, x.units)
	return err == nil
}

// Vectors of AVX-512 have an instruction that scales by a power of two. Elsewhere exp takes more instructions, and what else there is less of the time of exp: tanh takes 24 where exp takes 16,
// log 28 and erf 36 (Zen 3, docs/performance.md).
const (
	scaling  = 64  // bytes of such vectors
	unscaled = 0.8 // of functions but exp, where there is none
)

// functions is what functions take, in operations of which exp takes 16.
func functions(x *pricing, c work.Count) float64 {
	if x.target.Vector == 0 || x.target.Vector >= scaling {
		return c.Function
	}
	return c.Powers + unscaled*(c.Function-c.Powers)
}
