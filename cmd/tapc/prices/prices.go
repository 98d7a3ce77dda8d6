// Package prices is the command `tapc cost`: what a schedule takes on a machine, kernel by kernel, without running it.
//
// It must not price anything itself. Read next: cost/price.
package prices

import (
	"cmp"
	"maps"
	"slices"

	"tensortapestry.org/tapc/backends"
	"tensortapestry.org/tapc/cost/group"
	"tensortapestry.org/tapc/cost/machine"
	"tensortapestry.org/tapc/cost/price"
	"tensortapestry.org/tapc/cost/reshard"
	"tensortapestry.org/tapc/cost/sharded"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/passes/propagate"
)

// Help is the text of --help.
const Help = `Say what a program takes on a machine, without building or running it: the time of each
kernel with an interval, what bounds it, how near it is to its roof, operations, bytes,
and the memory of the program, which states itself (PROGRAM --describe) how large its
code became; here that is an estimate.

--machine names a machine that tapc knows or a machine file (docs/machines.md). What the file
does not say is an error with the key that would, never 0. Times are those of a program
that runs again and again: caches have what the last run left there. Kernels have the configs
of the processors that the file says (target), and of others with --cpu.

With a --plan that has a mesh the program is on the devices of the machine: each carries out
the kernels whose blocks it has, and collectives move what the plan's layouts need, beside
kernels where nothing waits for them. Totals are the time, the part of it in which devices are
idle, operations, the memory of tensors on the device that has most, and bytes by link.
With --devices, a plan that has devices, or cuts beside layouts, the schedule on these devices
is priced: its kernels where they are, and its collectives by the algorithm that takes least.`

// Report is what is known of a program on a machine.
type Report struct {
	Machine  string
	Units    int64
	Kernels  []price.Kernel
	Names    []string // of the kernels' nodes
	Time     price.Interval
	Memory   []backends.MemoryTerm // that the program has at most; nil if it has no statement of it
	Joules   float64               // 0 if the machine file has no power
	Critical []int                 // kernels of the longest path
	Times    map[ir.NodeID]Span    // of steps, where Walk said them
	held     []backends.MemoryTerm // what devices hold by the schedule: tensors and workspaces
	graph    *ir.Graph
	on       *machine.Machine
	settings price.Settings
}

// Span is when a step begins and ends, in seconds.
type Span struct{ From, To float64 }

// Of prices a schedule. Memory is what the program states, but for its code, of which it is an estimate.
func Of(g *ir.Graph, m *machine.Machine, s price.Settings, memory []backends.MemoryTerm) (*Report, error) {
	kernels, err := price.Program(g, m, s)
	if err != nil {
		return nil, err
	}
	r := &Report{Machine: m.Name, Units: s.Units, Kernels: kernels, Memory: memory, held: held(g), graph: g, on: m, settings: s}
	for i, k := range kernels {
		r.Names = append(r.Names, g.Name(k.Node))
		r.Time = r.Time.Plus(k.Time)
		r.Units = max(r.Units, k.Units)
		r.Critical = append(r.Critical, i) // one device carries kernels out one after the other
	}
	if d, err := m.Device("", ""); err == nil && d.Power.Busy.Known() {
		r.Joules = d.Power.Busy.Value * r.Time.Value
	}
	return r, nil
}

// OfMesh prices a schedule on the devices of a mesh, as a propagation lays it over them.
func OfMesh(g *ir.Graph, m *machine.Machine, s price.Settings, r *propagate.Result, kind string) (Mesh, error) {
	kernels, err := price.Program(g, m, s)
	if err != nil {
		return Mesh{}, err
	}
	place, err := reshard.On(m, kind, r.Plan.Mesh)
	if err != nil {
		return Mesh{}, err
	}
	report, err := sharded.Of(m.Name, g, r, kernels, place)
	return Mesh{report}, err
}

// OfDevices prices a schedule for so many devices of a kind, of which those on which nothing lands are idle. Those that are threads of one host share out the threads of the program, one
// for each of their cores if it is not said how many.
func OfDevices(g *ir.Graph, m *machine.Machine, s price.Settings, kind string, count int) (Mesh, error) {
	_, report, err := onDevices(g, m, s, kind, count)
	return Mesh{report}, err
}

// Walk says when each step of the schedule, for so many devices of a kind, runs, if it has kernels on several, which work beside each other; kernels are then priced as what one device takes.
func (r *Report) Walk(kind string, count int) error {
	devices := map[ir.NodeID]bool{}
	for _, k := range r.Kernels {
		devices[r.graph.Node(k.Node).Body.(*schedule.Kernel).Device] = true
	}
	if len(devices) < 2 {
		return group.Enough(r.on, kind, count)
	}
	alone, walk, err := onDevices(r.graph, r.on, r.settings, kind, count)
	if err != nil {
		return err
	}
	r.Kernels, r.Times = alone.Kernels, map[ir.NodeID]Span{}
	for id, task := range walk.Steps {
		r.Times[id] = Span{walk.Result.Start[task], walk.Result.End[task]}
	}
	return nil
}

// onDevices prices the steps of a schedule for so many devices of a kind while one of them works, and what all take.
func onDevices(g *ir.Graph, m *machine.Machine, s price.Settings, kind string, count int) (alone price.Steps, _ *sharded.Report, _ error) {
	s, threads, err := ofThreads(g, m, s)
	if err != nil {
		return alone, nil, err
	}
	alone, err = price.Of(g, m, s)
	if err != nil {
		return alone, nil, err
	}
	together, err := price.Of(g, m.Together(), s)
	if err != nil {
		return alone, nil, err
	}
	unused, err := idle(g, m, kind, count)
	if err != nil {
		return alone, nil, err
	}
	report, err := sharded.Placed(m, g, alone, together, threads, unused...)
	return alone, report, cmp.Or(err, group.Enough(m, kind, count))
}

// ofThreads gives the settings for one of the devices of a schedule, if these are threads of one process, and how many threads that has.
func ofThreads(g *ir.Graph, m *machine.Machine, s price.Settings) (price.Settings, int64, error) {
	list := sharded.Hosted(g)
	if len(list) == 0 {
		return s, s.Units, nil
	}
	d, err := m.Device("", schedule.Host.String())
	if err != nil {
		return s, 0, err
	}
	threads := cmp.Or(s.Units, d.Units*int64(len(list)))
	_, s.Units = sharded.Threads(threads, len(list))
	s.Process, err = sharded.Process(g)
	return s, threads, err
}

// idle gives those of so many devices of a kind that a schedule does not have.
func idle(g *ir.Graph, m *machine.Machine, kind string, count int) ([]*machine.Device, error) {
	d, err := m.Device("", kind)
	for n := range g.Nodes() {
		if x, ok := n.Body.(*schedule.Device); ok && x.Type.String() == kind {
			count--
		}
	}
	return slices.Repeat([]*machine.Device{d}, max(0, count)), err
}

// Operations and bytes of all kernels.
func (r *Report) totals() (operations, bytes float64) {
	for _, k := range r.Kernels {
		operations, bytes = operations+k.Work.Operations(), bytes+k.Work.Bytes()
	}
	return operations, bytes
}

// memory is that of the program.
func (r *Report) memory() (sum int64) { return bytesOf(r.Memory) }

// code is how much of that is code, about.
func (r *Report) code() (sum int64) {
	for _, t := range r.Memory {
		if t.Code {
			sum += t.Bytes
		}
	}
	return sum
}

func bytesOf(list []backends.MemoryTerm) (sum int64) {
	for _, t := range list {
		sum += t.Bytes
	}
	return sum
}

// held lists what the devices of a schedule hold, part by part.
func held(g *ir.Graph) (list []backends.MemoryTerm) {
	by := schedule.Held(g)
	for _, d := range slices.Sorted(maps.Keys(by)) {
		name := g.Node(d).Label
		list = append(list, backends.MemoryTerm{What: name + ": inputs, outputs and constants", Bytes: by[d].Kept},
			backends.MemoryTerm{What: name + ": arena, what kernels hand to each other", Bytes: by[d].Arena}, backends.MemoryTerm{What: name + ": workspaces of kernels", Bytes: by[d].Workspaces()})
	}
	return list
}

// named gives the kernels of a name, all if it is "".
func (r *Report) named(name string) ([]int, error) {
	var found []int
	var names []string
	for i, k := range r.Kernels {
		if name == "" || name == k.Name || name == r.Names[i] {
			found = append(found, i)
		}
		names = append(names, k.Name)
	}
	if len(found) == 0 {
		d := diag.Errorf("TAP2811", "cost", diag.Location{}, "the schedule has no kernel %q", name)
		if near, ok := diag.Nearest(name, names); ok {
			d = d.WithHint("did you mean %q?", near)
		}
		return nil, d
	}
	return found, nil
}

// longest gives the kernels, those that take longest first.
func (r *Report) longest() []int {
	order := slices.Clone(r.Critical)
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(r.Kernels[b].Time.Value, r.Kernels[a].Time.Value) })
	return order
}
