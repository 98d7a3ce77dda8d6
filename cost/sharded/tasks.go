package sharded

import (
	"fmt"
	"slices"

	"tensortapestry.org/tapc/cost/collective"
	"tensortapestry.org/tapc/cost/machine"
	"tensortapestry.org/tapc/cost/price"
	"tensortapestry.org/tapc/cost/reshard"
	"tensortapestry.org/tapc/cost/simulate"
	"tensortapestry.org/tapc/dialects/application/planfile"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/zspace"
	"tensortapestry.org/tapc/passes/propagate"
)

// key is an operation, by its number, on a device.
type key struct {
	operation int
	device    int64
}

// feed is what transfers bring to a device: for an operation, or, with -1, the results of one for all that read them.
type feed struct {
	tensor    ir.NodeID
	operation int
	device    int64
}

// block is a part of an operation: a box of its index, nil for all.
type block struct {
	part propagate.Part
	box  *zspace.Range
}

// builder makes the tasks of a program.
type builder struct {
	g          *ir.Graph
	r          *propagate.Result
	place      *reshard.Place
	program    simulate.Program
	bounds     []price.Interval // of each task
	runs       [][]int          // the operations that each task carries out
	on         map[key]int      // the last task of an operation on a device
	feeds      map[feed][]int
	ports      map[machine.Port]int
	operations float64
}

func (b *builder) build(kernels []price.Kernel) error {
	for i := range kernels {
		if err := b.kernel(&kernels[i]); err != nil {
			return err
		}
	}
	for i := range b.r.Transfers {
		if err := b.transfer(&b.r.Transfers[i]); err != nil {
			return err
		}
	}
	b.order()
	b.values()
	return nil
}

// kernel adds a kernel on each device that has its block.
func (b *builder) kernel(k *price.Kernel) error {
	blocks := b.blocks(k)
	if len(blocks) == 0 {
		return nil
	}
	var runs []int
	for _, x := range blocks {
		if !slices.Contains(runs, x.part.Operation) {
			runs = append(runs, x.part.Operation)
		}
	}
	for d := range b.place.Mesh.Devices() {
		has, err := b.has(blocks[0], d)
		if err != nil {
			return err
		}
		if !has {
			continue
		}
		for _, o := range runs {
			b.on[key{o, d}] = len(b.program.Tasks)
		}
		b.add(simulate.Task{Name: b.g.Name(k.Node), Device: int(d), Seconds: k.Time.Value}, k.Time, runs)
		b.operations += k.Work.Operations()
	}
	return nil
}

func (b *builder) add(t simulate.Task, bounds price.Interval, runs []int) {
	b.program.Tasks = append(b.program.Tasks, t)
	b.bounds, b.runs = append(b.bounds, bounds), append(b.runs, runs)
}

// has says whether a device computes a block.
func (b *builder) has(x block, device int64) (bool, error) {
	box, number, err := b.r.Block(x.part.Operation, device)
	if err != nil {
		return false, err
	}
	return (x.part.Number < 0 || x.part.Number == number) && (x.box == nil || x.box.Equal(box)), nil
}

// transfer adds the flows of a transfer: of each step one for each group of devices, behind what those devices give.
func (b *builder) transfer(t *propagate.Transfer) error {
	before := map[int64][]int{} // what each device waits for
	from := b.producer(t)
	for d := range b.place.Mesh.Devices() {
		if i, ok := b.on[key{from, d}]; ok && from >= 0 {
			before[d] = []int{i}
		}
		if from >= 0 && !t.Result {
			before[d] = append(before[d], b.feeds[feed{t.Of, -1, d}]...)
		}
	}
	for _, s := range t.Ways[0].Steps {
		if s.Kind == reshard.Slice || b.place.Mesh.Parts(s.Axes) < 2 {
			continue
		}
		after := map[int64][]int{}
		for _, group := range b.groups(s.Axes) {
			i := len(b.program.Tasks)
			if err := b.flow(t, s, group, before); err != nil {
				return err
			}
			for _, d := range group {
				after[d] = []int{i}
			}
		}
		before = after
	}
	for d, list := range before {
		for _, o := range b.fed(t) {
			b.feeds[feed{t.Of, o, d}] = append(b.feeds[feed{t.Of, o, d}], list...)
		}
	}
	return nil
}

// groups gives the groups of a step by the numbers of the mesh.
func (b *builder) groups(axes planfile.Axes) [][]int64 {
	groups := b.place.Groups(axes)
	for _, g := range groups {
		for i, device := range g {
			g[i] = int64(slices.Index(b.place.Devices, device))
		}
	}
	return groups
}

// producer gives the operation whose results a transfer moves, or -1.
func (b *builder) producer(t *propagate.Transfer) int {
	return slices.IndexFunc(b.r.Operations, func(o propagate.Operation) bool {
		return slices.ContainsFunc(o.Outputs, func(h propagate.Held) bool { return h.Tensor == t.Of })
	})
}

// fed gives the operations that a transfer is for; -1 of a result.
func (b *builder) fed(t *propagate.Transfer) (list []int) {
	if t.Result {
		return []int{-1}
	}
	for i, o := range b.r.Operations {
		if slices.Contains(t.Readers, o.Node) {
			list = append(list, i)
		}
	}
	return list
}

// flow adds what one group of devices sends in a step.
func (b *builder) flow(t *propagate.Transfer, s reshard.Step, group []int64, before map[int64][]int) error {
	devices := make([]int64, len(group))
	for i, d := range group {
		devices[i] = b.place.Devices[d]
	}
	list, err := collective.Of(b.place.Layout, s.Kind, devices, s.Bytes)
	if err != nil {
		return err
	}
	p := list[0]
	x := simulate.Task{Name: fmt.Sprintf("%s of %s along %s", s.Kind, t.Tensor, b.place.Mesh.Names(s.Axes)), Device: -1, Latency: p.Latency, Seconds: p.Seconds.Value - p.Latency,
		Sent: p.Traffic()}
	for _, d := range group {
		for _, i := range before[d] {
			if !slices.Contains(x.After, i) {
				x.After = append(x.After, i)
			}
		}
	}
	x.Ports = b.passes(devices)
	b.add(x, price.Interval{Value: p.Seconds.Value, Low: p.Seconds.Low, High: p.Seconds.High}, nil)
	return nil
}

// passes gives the ports of devices to the outermost link between them.
func (b *builder) passes(devices []int64) (ports []int) {
	depth := -1
	for _, d := range devices[1:] {
		if out, _ := b.place.Layout.Route(devices[0], d); len(out) > 0 && (depth < 0 || out[len(out)-1].Depth < depth) {
			depth = out[len(out)-1].Depth
		}
	}
	for _, d := range devices {
		_, all := b.place.Layout.Find(d)
		if depth < 0 || depth >= len(all) || all[depth].Link == nil {
			continue
		}
		n, ok := b.ports[all[depth]]
		if !ok {
			n = len(b.ports)
			b.ports[all[depth]] = n
		}
		if !slices.Contains(ports, n) {
			ports = append(ports, n)
		}
	}
	b.program.Ports = len(b.ports)
	return ports
}

// order lets kernels wait for what they read. A kernel in which a transfer would be in the middle does not wait for it: the part behind does not begin before.
func (b *builder) order() {
	made := map[ir.NodeID]int{}
	for i, o := range b.r.Operations {
		for _, h := range o.Outputs {
			made[h.Tensor] = i
		}
	}
	for i := range b.program.Tasks {
		t := &b.program.Tasks[i]
		if t.Device < 0 {
			continue
		}
		for _, o := range b.runs[i] {
			for _, h := range b.r.Operations[o].Inputs {
				for _, a := range b.waits(h.Tensor, o, int64(t.Device), made) {
					if a != i && !slices.Contains(t.After, a) && b.precedes(a, i) {
						t.After = append(t.After, a)
					}
				}
			}
		}
	}
}

// waits gives what a device waits for to read a tensor.
func (b *builder) waits(tensor ir.NodeID, operation int, device int64, made map[ir.NodeID]int) []int {
	if list := b.feeds[feed{tensor, operation, device}]; len(list) > 0 {
		return list
	}
	if list := b.feeds[feed{tensor, -1, device}]; len(list) > 0 {
		return list
	}
	if o, ok := made[tensor]; ok {
		if i, ok := b.on[key{o, device}]; ok {
			return []int{i}
		}
	}
	return nil
}

// precedes says whether a task, or for a flow all that it is after, is before a kernel in the order of the schedule.
func (b *builder) precedes(a, kernel int) bool {
	if b.program.Tasks[a].Device >= 0 {
		return a < kernel
	}
	for _, x := range b.program.Tasks[a].After {
		if !b.precedes(x, kernel) {
			return false
		}
	}
	return true
}

// values adds the memory of tensors: inputs from the beginning to the end, others from the kernel that gives them to the last that reads them. What one kernel
// gives and alone reads is never in memory.
func (b *builder) values() {
	readers := map[ir.NodeID][]int{}
	var made ir.NodeSet
	for i, o := range b.r.Operations {
		for _, h := range o.Inputs {
			readers[h.Tensor] = append(readers[h.Tensor], i)
		}
		for _, h := range o.Outputs {
			made.Add(h.Tensor)
		}
	}
	for d := range b.place.Mesh.Devices() {
		var seen ir.NodeSet
		for i, o := range b.r.Operations {
			for _, h := range o.Inputs {
				if !made.Has(h.Tensor) && seen.Add(h.Tensor) {
					b.program.Values = append(b.program.Values, simulate.Value{Device: int(d), Bytes: h.Bytes, From: -1})
				}
			}
			from, ok := b.on[key{i, d}]
			for _, h := range o.Outputs {
				until := b.tasks(readers[h.Tensor], d)
				if ok && !(len(until) == 1 && until[0] == from) {
					b.program.Values = append(b.program.Values, simulate.Value{Device: int(d), Bytes: h.Bytes, From: from, Until: until})
				}
			}
		}
		b.brought(d)
	}
}

// brought adds what transfers of inputs bring to a device, until it is read.
func (b *builder) brought(d int64) {
	for i := range b.r.Transfers {
		t := &b.r.Transfers[i]
		if t.Result {
			continue
		}
		for _, o := range b.fed(t) {
			if list := b.feeds[feed{t.Of, o, d}]; len(list) > 0 {
				b.program.Values = append(b.program.Values, simulate.Value{Device: int(d), Bytes: t.Held, From: list[0], Until: b.tasks([]int{o}, d)})
				break
			}
		}
	}
}

// tasks gives those of operations on a device.
func (b *builder) tasks(operations []int, d int64) (list []int) {
	for _, o := range operations {
		if i, ok := b.on[key{o, d}]; ok && !slices.Contains(list, i) {
			list = append(list, i)
		}
	}
	return list
}
