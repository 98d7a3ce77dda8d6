// Package sharded says what a program takes that a plan lays over the devices of a mesh: its kernels, as cost/price prices them, on the devices that have their
// blocks, and the collectives between, walked by cost/simulate.
//
// A kernel is carried out by each device whose part of the index it has; what no axis cuts, by all. Fused kernels are where the first of their operations is.
// A schedule that has several devices itself is walked as it is (placed.go), its collectives by their algorithms (calls.go). It must not price a kernel or a collective itself. Read next: tasks.go.
package sharded

import (
	"fmt"
	"maps"
	"slices"

	"tensortapestry.org/tapc/cost/machine"
	"tensortapestry.org/tapc/cost/price"
	"tensortapestry.org/tapc/cost/reshard"
	"tensortapestry.org/tapc/cost/simulate"
	"tensortapestry.org/tapc/dialects/application"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/passes/propagate"
)

// CodeSize is of a program with too many kernels and devices to be walked.
const CodeSize = "TAP2854"

// maxTasks bounds what is walked.
const maxTasks = 1 << 18

// Report is what a program takes on a mesh, as vectors.
type Report struct {
	Machine    string
	Devices    int64
	Time       price.Interval
	Operations float64 // of all devices together
	Joules     float64 // 0 if the machine file has no power
	Kernels    int     // of the first device that has some
	Result     *simulate.Result
	Walk       *simulate.Simulation
	Transfers  []propagate.Transfer
	Names      []string          // of tasks
	Steps      map[ir.NodeID]int // the task of each step, of a schedule that has its devices itself
}

// Of prices a program. The graph is the one that a propagation left, scheduled; kernels are its kernels with their prices.
func Of(name string, g *ir.Graph, r *propagate.Result, kernels []price.Kernel, place *reshard.Place) (*Report, error) {
	b := &builder{g: g, r: r, place: place, on: map[key]int{}, feeds: map[feed][]int{}, ports: map[machine.Port]int{}}
	if n := int64(len(kernels)+len(r.Transfers)) * place.Mesh.Devices(); n > maxTasks {
		return nil, tooLarge(n)
	}
	b.program.Devices = int(place.Mesh.Devices())
	if err := b.build(kernels); err != nil {
		return nil, err
	}
	return b.report(&Report{Machine: name, Transfers: r.Transfers}, slices.Repeat([]*machine.Device{place.Kind}, b.program.Devices))
}

func tooLarge(n int64) error {
	return diag.Errorf(CodeSize, "cost", diag.Location{}, "the program is too large to be walked").Want(fmt.Sprintf("at most %d kernels and transfers of all devices", maxTasks), fmt.Sprint(n))
}

// report walks the tasks, and says what they take on devices of these kinds.
func (b *builder) report(out *Report, kinds []*machine.Device) (*Report, error) {
	walk, err := simulate.Run(&b.program)
	if err != nil {
		return nil, err
	}
	out.Devices, out.Operations, out.Result, out.Walk = int64(len(kinds)), b.operations, walk.Result(), walk
	first := len(kinds)
	for _, t := range b.program.Tasks {
		out.Names = append(out.Names, t.Name)
		if t.Device >= 0 && t.Device < first {
			first, out.Kernels = t.Device, 0
		}
		if t.Device >= 0 && t.Device == first {
			out.Kernels++
		}
	}
	out.Time = b.interval(out.Result)
	for i, busy := range out.Result.Busy { // energy, while they compute and while they do not
		if d := kinds[i]; d.Power.Busy.Known() {
			out.Joules += d.Power.Busy.Value*busy + d.Power.Idle.Value*(out.Result.Seconds-busy)
		}
	}
	return out, nil
}

// interval gives the time bounds in proportion to those of what is on the critical path.
func (b *builder) interval(r *simulate.Result) price.Interval {
	var sum price.Interval
	for _, i := range r.Critical {
		sum = sum.Plus(b.bounds[i])
	}
	if sum.Value == 0 {
		return price.Interval{}
	}
	return price.Interval{Value: r.Seconds, Low: r.Seconds * sum.Low / sum.Value, High: r.Seconds * sum.High / sum.Value}
}

// Peak is the memory of the device that has most.
func (r *Report) Peak() float64 {
	if len(r.Result.Peak) == 0 {
		return 0
	}
	return slices.Max(r.Result.Peak)
}

// Links gives the names of links that bytes pass, sorted.
func (r *Report) Links() []string { return slices.Sorted(maps.Keys(r.Result.Links)) }

// blocks gives the parts that the applications of a kernel are of, with their boxes; none for what only combines partial results, which collectives do.
func (b *builder) blocks(k *price.Kernel) (list []block) {
	for _, id := range b.g.Node(k.Node).Body.(*schedule.Kernel).Applications {
		n := b.g.Node(id)
		if p, ok := b.r.Parts[n.Body.(*application.Application).Operation]; ok {
			x := block{part: p}
			if index := tensorops.IndexOf(n); index != nil {
				x.box = &index.Range
			}
			list = append(list, x)
		}
	}
	return list
}
