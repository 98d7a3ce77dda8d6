// Package price says what the kernels of a schedule take on a machine, without running them: times with intervals, made of terms that say why.
//
// A kernel computes while its operands travel; where either is the longer, it is what bounds the kernel. Rates and bandwidths are those of a machine file
// (cost/machine), counts those of cost/work; which cache has an operand, and whose, follows from what was touched since it was last, and by whom. It must not run or measure
// anything. Read next: cpu.go, the terms of a kernel on a CPU.
package price

import (
	"math"
	"slices"

	"tensortapestry.org/tapc/cost/machine"
	"tensortapestry.org/tapc/cost/work"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/cost"
	"tensortapestry.org/tapc/dialects/schedule/nest"
	"tensortapestry.org/tapc/dialects/schedule/whole"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/zspace"
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
	Other *Kernel // as which of Settings.Others it takes least, of those by which it takes longer or shorter; nil if there are none
}

// Settings are what a price depends on beside a schedule and a machine.
type Settings struct {
	Units   int64                            // that programs use at most; 0 is all
	Targets map[schedule.DeviceType][]Target // whose configs kernels have, for each kind of device
	Others  Others                           // nil if what else there is is not asked for
	Process *Process                         // of devices that are threads of one; nil if each has a memory of its own, and transfers go on beside what they do
}

// Others gives the configs that a kernel on a device of a kind does not have, and could be carried out by. One without stages is loops as they are.
type Others func(kind schedule.DeviceType, a *nest.Analysis) []schedule.Config

// Process is what devices do that are threads of one process.
type Process struct {
	Copies map[ir.NodeID]ir.NodeID // the device that makes a transfer; others need no copy
}

// Target is a name that configs have, and the vector registers of the processors that it is for, and the bytes of one: 0 if they are not known.
type Target struct {
	Name              string
	Vector, Registers int64
}

// Program gives what each kernel of a graph takes on the devices of a machine, in the order in which they run. A graph that is no verified
// schedule is none.
func Program(g *ir.Graph, m *machine.Machine, s Settings) ([]Kernel, error) {
	all, err := Of(g, m, s)
	return all.Kernels, err
}

// Steps are the kernels of a schedule in the order in which they run, and the transfers that devices make themselves.
type Steps struct {
	Kernels []Kernel
	Copies  map[ir.NodeID]Copy
}

// Of gives what each kernel takes, and each transfer that a device makes itself: what reading it and writing it takes, from and to where the device's caches have it.
func Of(g *ir.Graph, m *machine.Machine, s Settings) (all Steps, err error) {
	order, err := schedule.Order(g)
	if err != nil {
		return all, err
	}
	buffers := whole.Buffers(g)
	list, err := worksOf(g, order, buffers, m, s)
	if err != nil {
		return all, err
	}
	if leaves(m) { // what caches still have depends on how long ago it was touched, and so on what steps take
		histories := replay(list, buffers, s.Process)
		for i := range list {
			x := &list[i]
			if x.takes, err = x.seconds(g, m, histories[x.device]); err != nil {
				return all, err
			}
		}
	}
	histories := replay(list, buffers, s.Process)
	all.Copies = map[ir.NodeID]Copy{}
	for _, x := range list {
		h := histories[x.device]
		if _, ok := x.node.Body.(*schedule.Kernel); ok {
			k, err := one(x, h)
			if err != nil {
				return all, err
			}
			k.Other = other(x, k, buffers, h)
			all.Kernels = append(all.Kernels, k)
		} else if all.Copies[x.node.ID], err = carried(g, x, m, h); err != nil {
			return all, err
		}
		h.touch(x)
	}
	return all, nil
}

// leaves says whether what nobody touches leaves a cache of a machine, as others use it.
func leaves(m *machine.Machine) bool {
	return slices.ContainsFunc(m.Devices, func(d machine.Device) bool {
		return slices.ContainsFunc(d.Caches, func(c machine.Cache) bool { return c.Lasts.Known() })
	})
}

// seconds is what a step takes, which its device does next.
func (s *done) seconds(g *ir.Graph, m *machine.Machine, h *history) (float64, error) {
	defer h.touch(*s)
	if s.kernel == nil {
		c, err := carried(g, *s, m, h)
		return c.Start.Value + c.Time.Value, err
	}
	k, err := one(*s, h)
	return k.Time.Value, err
}

// single prices kernels one at a time.
type single struct {
	on *machine.Machine
	by Settings
}

// Single is the model of a machine for passes that choose before they know a whole program: each kernel is priced as a program of its own that runs again and again.
func Single(m *machine.Machine, s Settings) cost.Model { return single{m, s} }

// Estimate prices a kernel by its config for a device of a kind. The error says what the machine has not.
func (x single) Estimate(kind schedule.DeviceType, a *nest.Analysis) (cost.Estimate, error) {
	d, err := x.on.Device("", kind.String())
	if err != nil {
		return cost.Estimate{}, err
	}
	step := done{node: &ir.Node{ID: ir.NoNode, Body: a.Kernel}}
	step.carry(a.Kernel, a.Buffers, pricing{device: d, kind: kind, settings: x.by})
	if leaves(x.on) {
		if step.takes, err = step.seconds(nil, x.on, replay([]done{step}, a.Buffers, nil)[step.device]); err != nil {
			return cost.Estimate{}, err
		}
	}
	k, err := one(step, replay([]done{step}, a.Buffers, nil)[step.device])
	return cost.Estimate{Seconds: k.Time.Value, Low: k.Time.Low, High: k.Time.High, Operations: step.work.Operations(), Bytes: step.work.Bytes()}, err
}

// done is a step that a device carries out.
type done struct {
	node   *ir.Node
	device ir.NodeID
	work   *work.Work
	code   float64  // bytes of its instructions, about
	kernel *pricing // nil of a transfer
	units  []boxes  // of each touch what units touch; nil if nobody knows
	takes  float64  // seconds, as it was priced before; 0 the first time
}

// worksOf gives the steps that devices carry out, in order.
func worksOf(g *ir.Graph, order []ir.NodeID, buffers map[ir.NodeID]*schedule.Buffer, m *machine.Machine, s Settings) (list []done, err error) {
	for _, id := range order {
		x := done{node: g.Node(id)}
		switch b := x.node.Body.(type) {
		case *schedule.Kernel:
			kind := g.Node(b.Device).Body.(*schedule.Device).Type
			d, err := m.Device("", kind.String())
			if err != nil {
				return nil, err
			}
			x.carry(b, buffers, pricing{device: d, kind: kind, settings: s})
		case *schedule.Transfer:
			if s.Process == nil {
				continue
			}
			d, ok := s.Process.Copies[id]
			if !ok {
				continue
			}
			x.device, x.work = d, ofTransfer(b, buffers)
		default:
			continue
		}
		list = append(list, x)
	}
	return list, nil
}

// carry lets a step carry out a kernel, by its config for the device of the pricing.
func (x *done) carry(k *schedule.Kernel, buffers map[ir.NodeID]*schedule.Buffer, by pricing) {
	x.device, x.work, x.code = k.Device, work.Of(k, buffers), codeOf(k, buffers)
	by.analysis, by.work = nest.Analyze(k, buffers), x.work
	x.kernel = &by
	x.kernel.choose(by.kind)
	share(x.kernel)
	x.kernel.loops = portions(x.kernel)
	x.units = touchedOf(x.kernel)
}

// same is how far times of different configs may be apart that follow from the same counts.
const same = 1e-9

// other gives a kernel by that of its other configs by which it takes least, where caches have what they have as the program is. A config that takes as long is priced as the same, and one that
// the machine file lacks a figure for is not priced.
func other(x done, k Kernel, buffers map[ir.NodeID]*schedule.Buffer, h *history) (best *Kernel) {
	s, kind := x.kernel.settings, x.kernel.kind
	if s.Others == nil {
		return nil
	}
	for _, c := range s.Others(kind, x.kernel.analysis) {
		with := *x.kernel.analysis.Kernel
		if with.Configs = nil; len(c.Stages) > 0 {
			with.Configs = []schedule.Config{c}
		}
		as := done{node: x.node, takes: x.takes}
		as.carry(&with, buffers, pricing{device: x.kernel.device, kind: kind, settings: s})
		if o, err := one(as, h); err == nil && math.Abs(o.Time.Value-k.Time.Value) > same*k.Time.Value && (best == nil || o.Time.Value < best.Time.Value) {
			o.Form = c.String()
			best = &o
		}
	}
	return best
}

// ofTransfer counts what a transfer takes: it reads a box of one buffer, and writes as much of another.
func ofTransfer(t *schedule.Transfer, buffers map[ir.NodeID]*schedule.Buffer) *work.Work {
	from := buffers[t.From]
	box := t.Box(from)
	n, _ := box.BigSize().Float64()
	bytes := n * float64(from.Type().Size())
	return &work.Work{Type: from.Type(), Touches: []work.Touch{
		{Operand: 0, Buffer: t.From, Bytes: bytes, Box: box, Pieces: work.PiecesOf(from, box)},
		{Operand: 1, Buffer: t.To, Write: true, Bytes: bytes, Box: box, Pieces: work.PiecesOf(buffers[t.To], box)}}}
}

// Copy is what a transfer takes that a device makes itself, without its start. The times of its terms add up to its time.
type Copy struct {
	Start     Interval
	Time      Interval
	Terms     []Term
	Exchanged bool // what another device wrote is in it as the machine file has it (Cache.Exchange)
}

// carried prices a transfer by the caches of the device that makes it.
func carried(g *ir.Graph, s done, m *machine.Machine, h *history) (c Copy, err error) {
	d, err := m.Device("", g.Node(s.device).Body.(*schedule.Device).Type.String())
	if err != nil {
		return c, err
	}
	x := pricing{device: d, work: s.work, units: 1, even: 1}
	c.Terms, _ = x.travel(s, h, false)
	c.Start, c.Time, c.Exchanged = seconds(d.Launch), total(c.Terms), exchanges(d).Known()
	return c, nil
}

// one prices a kernel.
func one(of done, h *history) (Kernel, error) {
	kernel := *of.kernel
	x := &kernel
	out := Kernel{Node: of.node.ID, Name: x.analysis.Kernel.Name, Work: of.work}
	if found, _, lanes, ok := x.rowVectors(); ok && x.kind.Has(schedule.Thread) {
		if a, w, ok := fewElements(x.analysis, found, lanes); ok {
			x.analysis, x.work, x.few, x.form = a, w, true, x.form+", one in each lane"
		}
	}
	out.Form, out.Units, x.even = x.form, x.units, 1/x.uneven()
	steps, err := x.compute()
	if err != nil {
		return out, err
	}
	read, written := x.travel(of, h, len(steps) > 1 && x.passes())
	first, rest := arriving(x, read)
	last := len(steps) - 1
	steps[0][behind] = first
	steps[last][behind] = slices.Concat(steps[last][behind], rest, written)
	if uneven := x.uneven(); uneven > 1 {
		for i := range steps {
			steps[i] = steps[i].times(uneven)
		}
	}
	x.finish(&out, steps)
	for _, t := range x.instructions(of.code, h) {
		x.add(&out, t)
	}
	return out, nil
}

// pricing is a kernel on a device.
type pricing struct {
	device   *machine.Device
	kind     schedule.DeviceType
	analysis *nest.Analysis
	work     *work.Work
	settings Settings
	stages   []schedule.Stage // none for loops
	target   Target           // whose config the kernel has
	form     string
	few      bool // a row of few elements in each lane
	units    int64
	loops    []zspace.Range // of each of the first units, where they are known
	even     float64        // the part of their caches that units fill, of which those with less work leave some
}

// step is what a kernel does at a time: the terms of each resource.
type step [resources][]Term

// Resources are what works side by side.
const (
	arithmetics = iota
	divider
	shuffler // which moves elements between lanes
	nearest  // the first cache
	behind   // what is behind it, in the first step
	resources
)

// overlap says how well the resources of a unit hide each other: with 1 their times add up, and the greater it is, the more the longest alone counts.
const overlap = 3

// finish makes the terms of a kernel, whose steps follow each other: of each those of the resource that takes longest, and what of the others is not hidden
// behind it; and what it takes to begin.
func (x *pricing) finish(out *Kernel, steps []step) {
	var all step // of each resource what it does in all steps
	for _, s := range steps {
		for i, r := range s {
			all[i] = append(all[i], r...)
		}
		t := s.together(func(t Term) { out.add(t) })
		out.Time = out.Time.Plus(t)
	}
	out.Roof, out.Bound = total(all[all.longest()]).Value, greatest(all[all.longest()])
	x.add(out, Term{"start of the kernel", seconds(x.device.Launch)})
	if x.units > 1 && x.device.Region.Known() {
		x.add(out, Term{"start of the threads", seconds(x.device.Region.Times(machine.Exactly(float64(regions(x)))))})
	}
}

// add adds a term, and its time.
func (x *pricing) add(out *Kernel, t Term) {
	out.Terms = append(out.Terms, t)
	out.Time = out.Time.Plus(t.Time)
}

// add adds a term, to one that has the same words if there is one.
func (k *Kernel) add(t Term) {
	i := slices.IndexFunc(k.Terms, func(o Term) bool { return o.What == t.What })
	if i < 0 {
		k.Terms = append(k.Terms, t)
		return
	}
	k.Terms[i].Time = k.Terms[i].Time.Plus(t.Time)
}

// Beside gives by how much the terms of the other config, in its order and then those that only the kernel has, are longer; they add up to the difference of the times.
func (k *Kernel) Beside() (list []Term) {
	if k.Other == nil {
		return nil
	}
	both := Kernel{}
	for _, t := range k.Other.Terms {
		both.add(t)
	}
	for _, t := range k.Terms {
		both.add(Term{t.What, Interval{-t.Time.Value, -t.Time.High, -t.Time.Low}})
	}
	return slices.DeleteFunc(both.Terms, func(t Term) bool { return t.Time.Value == 0 })
}

// longest is the number of the resource that takes longest.
func (s step) longest() (at int) {
	for i, r := range s {
		if total(r).Value > total(s[at]).Value {
			at = i
		}
	}
	return at
}

// together gives the time of a step and its terms.
func (s step) together(add func(t Term)) Interval {
	longest, value, low, high, others := s.longest(), 0.0, 0.0, 0.0, 0.0
	for i, r := range s {
		t := total(r)
		value, low, high = value+math.Pow(t.Value, overlap), low+math.Pow(t.Low, overlap), high+math.Pow(t.High, overlap)
		if i != longest {
			others += t.Value
		}
	}
	root := func(v float64) float64 { return math.Pow(v, 1.0/overlap) }
	all := Interval{root(value), root(low), root(high)}
	exposed := max(0, all.Value-total(s[longest]).Value) // the root of a cube may be rounded down
	for _, t := range s[longest] {
		add(t)
	}
	for i, r := range s {
		for _, t := range r {
			if i != longest && t.Time.Value > 0 { // what is not hidden of each, in proportion
				part := exposed * t.Time.Value / others
				add(Term{t.What + ", not hidden", Interval{part, part, part}})
			}
		}
	}
	return all
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

// lines is how many bytes travel from the nearest cache that has them, for each that is touched: whole lines for elements that are no neighbours, where
// the lines of all lanes of a row do not stay in the first cache until their other elements are asked for. It gives the first cache that they stay in.
func (x *pricing) lines(t work.Touch, list []level) (times float64, stay int) {
	switch c, ok := inPlace(x); {
	case ok && t.Operand == c.Right:
		return columns(x, c)
	case x.algorithm() != schedule.Rows || x.few: // of which all elements are asked for together
		return 1, 0
	}
	r, ok := nest.Of[*nest.Rows](x.analysis.Forms)
	if !ok {
		return 1, 0
	}
	if axis, _ := r.Transposed(x.analysis.Kernel); axis >= 0 && x.stages[0].Tile(schedule.RoleLine) != nil {
		if across, _ := r.Across(x.analysis.Kernel, t.Operand); across == axis { // all of a line is asked for while it is near
			return 1, 0
		}
	}
	for near := levels(x.device, 1); stay < len(list)-1 && float64(r.Lane.Extent*schedule.LineBytes) > near[stay].bytes; { // of each unit
		stay++
	}
	if stay == 0 {
		return 1, 0
	}
	size := int64(x.analysis.Kernel.Operands[t.Operand].Type().Size())
	step := max(r.Lane.Step(r.Views[t.Operand]), -r.Lane.Step(r.Views[t.Operand]))
	return float64(max(1, min(step*size, schedule.LineBytes)/max(size, 1))), stay
}

// columns is how often the columns of a right factor that is read in place travel, once for each register tile of rows, and the first cache that they stay in meanwhile. What the first and second
// cache keep is in the rate of products.
func columns(x *pricing, c *nest.Contraction) (times float64, stay int) {
	if len(c.Reduction) == 0 {
		return 1, 0
	}
	if stay = staying(x, c); stay < 2 {
		return 1, 0
	}
	m := max(1, register(x, schedule.RoleM, c.Row.Extent))
	return float64((c.Row.Extent + m - 1) / m), stay
}

// staying is the first cache, or memory, that the columns of a register tile stay in which are read in place. Rows that are a power of two of lines apart are in few sets of a cache.
func staying(x *pricing, c *nest.Contraction) (stay int) {
	d, size := c.Reduction[len(c.Reduction)-1], int64(c.Sum.Type.Size())
	apart := max(1, register(x, schedule.RoleN, c.Col.Extent)*size/schedule.LineBytes) // lines of a row, or those of which one is in the same set
	if step := max(d.Step(c.Views[c.Right]), -d.Step(c.Views[c.Right])) * size; step > 0 && step%schedule.LineBytes == 0 {
		apart = max(apart, step/schedule.LineBytes&-(step/schedule.LineBytes))
	}
	rows := float64(register(x, schedule.RoleK, d.Extent) * apart * schedule.LineBytes)
	for near := levels(x.device, 1); stay < len(near)-1 && rows > near[stay].bytes; {
		stay++
	}
	return stay
}

// results is how many sums register tiles begin and write.
func results(x *pricing) float64 {
	c, ok := nest.Of[*nest.Contraction](x.analysis.Forms)
	if !ok || !x.kind.Has(schedule.Thread) {
		return 0
	}
	return float64(c.Row.Extent*c.Col.Extent*nest.Points(c.Batch)) * x.padding()
}

// copying adds the time of copying a left factor, with zeros around it or its channels innermost, and of reading the copy, in the nearest cache that has both. Where the innermost elements of the copy were no neighbours, they
// are transposed, or go one by one if they are too few for that.
func copying(x *pricing, a *adding) {
	c, ok := nest.Of[*nest.Contraction](x.analysis.Forms)
	if !ok || c.Padded == nil || !x.kind.Has(schedule.Thread) {
		return
	}
	defer a.region(len(a.terms), 1, 1)
	p, size := c.Padded, float64(x.analysis.Kernel.Operands[c.Left].Type().Size())
	inner, read, written := p.Dims[len(p.Dims)-1], cells(p.Live), float64(p.Elements())
	if p.Buffer.Strides[inner.Dim] != 1 {
		if inner.Extent() < max(1, x.target.Vector/int64(size)) {
			a.name("copying the left factor, one by one", singleCopies*read, rowGather, x.work.Type)
		} else {
			a.name("copying the left factor, transposed", packed*read, rowVector, x.work.Type)
		}
		return
	}
	list := levels(x.device, x.units)
	at := slices.IndexFunc(list, func(l level) bool { return l.bytes >= (read+written)*size })
	if at < 0 {
		at = len(list) - 1
	}
	a.terms = append(a.terms, Term{"copying the left factor in " + list[at].name, list[at].over((read+written)*size, written*size)})
}

// singleCopies is how many elements that are read one by one take as long as one of a few that are neighbours in the copy of a left factor alone.
const singleCopies = 2.3

// columnsAgain is what the columns take that a product reads in place again for each register tile of rows, from the first cache that keeps them: some of their travel, which the products do not hide.
func columnsAgain(x *pricing) (terms []Term) {
	c, ok := unpacked(x)
	if !ok {
		return nil
	}
	list := levels(x.device, x.units)
	times, stay := columns(x, c)
	if times <= 1 || list[stay].near {
		return nil
	}
	again := (times - 1) * float64(nest.Points(c.Reduction)*c.Col.Extent*int64(c.Sum.Type.Size())) * list[stay].columns
	for _, d := range c.Batch {
		again *= float64(d.Extent)
	}
	return []Term{{"columns again, from " + list[stay].name, list[stay].over(awaitedColumns*again, 0)}}
}

// awaited is the part of their travel that tiles wait for rows which the second cache did not keep. Measured on Zen 3 with 0.5 to 2 MB of rows in 512 KB, float32 and float64: 0 to 0.17; 0.6 to 0.8 while
// another machine computes on the other thread of the core.
const awaited = 0.15

// awaitedColumns is the part of that travel that is not hidden. Measured on Zen 3 with 6 to 64 rows of 512 products by 512 columns, 1 MB whose rows are 2 KB apart: 0.35 to 0.45.
const awaitedColumns = 0.4

// rowsAgain is what the rows of a product take that its macro-tile reads again for each register tile of columns, where the second cache does not keep them.
func rowsAgain(x *pricing) (terms []Term) {
	c, ok := nest.Of[*nest.Contraction](x.analysis.Forms)
	if !ok || !x.kind.Has(schedule.Thread) || c.Window != nil || c.Padded != nil {
		return nil
	}
	size, length := int64(c.Sum.Type.Size()), nest.Points(c.Reduction)
	width := max(1, register(x, schedule.RoleN, c.Col.Extent))
	rows, fold := x.tile(schedule.RoleM, c.Row), min(length, register(x, schedule.RoleK, length))
	again := float64(c.Row.Extent*length*size) * float64(nest.Points(c.Batch)) * float64((c.Col.Extent+width-1)/width-1)
	list := levels(x.device, x.units)
	of := float64((rows+width)*fold*size) * float64(x.units) // each has a macro-tile
	for i, part := range parts(list, distance{own: of, all: of}) {
		if !list[i].near && part > 0 {
			terms = append(terms, Term{"rows again, from " + list[i].name, list[i].over(awaited*part*again, 0)})
		}
	}
	return terms
}

// meanwhile is what terms say of what arrives while register tiles multiply: columns in place that further tiles of rows read again, and what is prefetched.
const meanwhile = ", meanwhile"

// travel is the time that operands take from where they are, by the level that has them; of rows, from behind the first cache, through which all that they load
// and store goes already. What is written is apart if it does not travel at the same time.
func (x *pricing) travel(s done, h *history, apart bool) (terms, written []Term) {
	list := levels(x.device, x.units)
	for i := range list {
		if list[i].own {
			list[i].bytes *= max(x.even, 1/float64(x.units))
		}
	}
	type traffic struct {
		read, written float64
		meanwhile     float64 // read, while a product multiplies
	}
	all := make([]traffic, len(list))
	add := func(i int, bytes float64, write bool) {
		if write {
			all[i].written += bytes
		} else {
			all[i].read += bytes
		}
	}
	exchanged := 0.0
	product, ok := unpacked(x)
	byLine := lineByLine(x)
	for n, t := range x.work.Touches {
		t.Bytes *= t.Pieces.Lines
		times, stay := x.lines(t, list)
		inColumns := ok && t.Operand == product.Right
		others := 0.0 // the part of it that units have from each other
		if len(s.units) > 0 && len(s.work.Touches) == len(x.work.Touches) {
			others = h.foreign(t, s.units[n], x.units)
		}
		if exchanges(x.device).Known() {
			exchanged += h.crossed(t)
		}
		for _, from := range h.sources(x.work, s.takes, t, exchanges(x.device).Known()) {
			others := others
			if from.other {
				others = 1
			}
			for i, p := range parts(list, from.distance) {
				p *= from.part
				if list[i].own {
					exchanged += p * others * t.Bytes
					p *= max(0, 1-others)
				}
				switch {
				case inColumns:
					p *= list[i].columns
					all[min(i, stay)].meanwhile += p * t.Bytes * (times - 1)
					add(i, p*t.Bytes, false)
				case byLine && prefetched(x, t.Operand):
					all[i].meanwhile += p * t.Bytes
				default:
					add(i, p*t.Bytes, t.Write)
					add(min(i, stay), p*t.Bytes*(times-1), t.Write)
				}
			}
		}
	}
	if len(s.units) > 0 {
		exchanged += packedAcross(x)
	}
	if exchanged > 0 {
		terms = append(terms, Term{"caches of other cores", over(exchanged, exchanges(x.device).Times(machine.Exactly(float64(x.units))))})
	}
	for i, n := range all {
		switch {
		case n.read+n.written == 0 || i == 0 && x.nears():
		case apart:
			terms = append(terms, Term{list[i].name, list[i].over(n.read, 0)})
			written = append(written, Term{list[i].name, over(n.written, list[i].write)})
		default:
			terms = append(terms, Term{list[i].name, list[i].over(n.read, n.written)})
		}
		if n.meanwhile > 0 {
			terms = append(terms, Term{list[i].name + meanwhile, list[i].over(n.meanwhile, 0)})
		}
	}
	return terms, written
}
