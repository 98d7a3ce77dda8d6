package lower

import (
	"fmt"
	"slices"

	"tensortapestry.org/tapc/dialects/application"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/uses"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/dialects/tensorops/kernels/instance"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/ir/zspace"
	"tensortapestry.org/tapc/ir/zspace/tiling"
)

// MaxDevices bounds the devices of a schedule.
const MaxDevices = 1 << 16

// spread is what is known of a program on several devices: which boxes of a tensor each touches, and who computes which box.
type spread struct {
	held map[place][]zspace.Range // disjoint: one buffer each
	made map[ir.NodeID][]made
}

// made is a box of a tensor and the devices that compute it, each for itself.
type made struct {
	box     zspace.Range
	devices []int64
}

// addDevices adds the host and the devices on which applications are placed: as many as the greatest number says.
func (l *lowering) addDevices(opt Options) error {
	count := int64(1)
	for n := range l.g.Nodes() {
		if _, ok := n.Body.(*application.Application); !ok {
			continue
		}
		for _, d := range application.PlacementOf(n) {
			if d < 0 || d >= MaxDevices {
				return diag.Errorf("TAP0808", "lower", l.g.At(n, ""), "%s is placed on a device that can not be", l.g.Name(n.ID)).
					Want(fmt.Sprintf("devices 0 to %d", MaxDevices-1), fmt.Sprint(d))
			}
			count = max(count, d+1)
		}
	}
	l.host = ir.NoNode
	if opt.Target != schedule.Host {
		l.host = l.g.Add(&schedule.Device{Type: schedule.Host, Allow: opt.Allow}, schedule.Host.String()+"0").ID
	}
	for i := range count {
		d := &schedule.Device{Type: opt.Target, Number: i, Allow: opt.Allow}
		l.compute = append(l.compute, l.g.Add(d, fmt.Sprintf("%v%d", opt.Target, i)).ID)
	}
	if l.host == ir.NoNode {
		l.host = l.compute[0]
	}
	return nil
}

// number gives the number of a device.
func (l *lowering) number(device ir.NodeID) int64 {
	return l.g.Node(device).Body.(*schedule.Device).Number
}

// onDevice adds to the name of something on which device it is, if that is not the first.
func onDevice(name string, device int64) string {
	if device == 0 || name == "" {
		return name
	}
	return fmt.Sprintf("%s@%d", name, device)
}

// spreadOver finds out what each device touches of each tensor, if there are several.
func (l *lowering) spreadOver(apps map[ir.NodeID][]ir.NodeID) error {
	if len(l.compute) == 1 {
		return nil
	}
	l.spread = &spread{held: map[place][]zspace.Range{}, made: map[ir.NodeID][]made{}}
	for _, id := range ir.NewFlow(l.g, tensorops.OperationKind).Order(l.g) {
		if op := tensorops.OperationOf(l.g, id); op.IsSource() || op.IsSink() || tensorops.IsPrecomputed(l.g.Node(id)) {
			continue
		}
		in, err := l.lib.BindOperation(l.g, id)
		if err != nil {
			continue // operation reports it
		}
		for _, a := range apps[id] {
			if err := l.touch(in, l.g.Node(a)); err != nil {
				return err
			}
		}
	}
	return nil
}

// touch notes what the devices of an application touch.
func (l *lowering) touch(in *instance.Instance, a *ir.Node) error {
	box, err := in.RestrictTo(a.Body.(*application.Application).Outputs)
	if err != nil {
		return nil // application reports it
	}
	if box, err = Narrowed(in, box); err != nil {
		return err
	}
	devices := application.PlacementOf(a)
	reads, err := uses.Reads(KernelOf(in, box))
	if err != nil {
		return err
	}
	for i, o := range in.Operands {
		r, err := in.Reads(i, box)
		if err != nil {
			return err
		}
		if !o.Decl.Out {
			r = hullOf(reads[i], r)
		}
		if r.Empty() {
			continue
		}
		for _, d := range devices {
			at := place{o.Sel.Tensor, l.compute[d]}
			l.spread.held[at] = joined(l.spread.held[at], r)
		}
		if o.Decl.Out {
			l.spread.made[o.Sel.Tensor] = append(l.spread.made[o.Sel.Tensor], made{r, devices})
		}
	}
	return nil
}

// joined adds a box to disjoint ones: what overlaps becomes one box.
func joined(boxes []zspace.Range, r zspace.Range) []zspace.Range {
	for {
		i := slices.IndexFunc(boxes, func(x zspace.Range) bool { return x.Overlaps(r) })
		if i < 0 {
			return append(boxes, r)
		}
		r = hull(boxes[i], r)
		boxes = slices.Delete(slices.Clone(boxes), i, i+1)
	}
}

// hull is the least box that has two in it.
func hull(a, b zspace.Range) zspace.Range {
	a = a.Clone()
	for d := range a.Start {
		a.Start[d], a.End[d] = min(a.Start[d], b.Start[d]), max(a.End[d], b.End[d])
	}
	return a
}

// hullOf is the least box that has some in it: an empty one, at the start of a default, if there are none.
func hullOf(boxes []zspace.Range, none zspace.Range) zspace.Range {
	if len(boxes) == 0 {
		return zspace.Range{Start: none.Start, End: none.Start.Clone()}
	}
	r := boxes[0]
	for _, b := range boxes[1:] {
		r = hull(r, b)
	}
	return r
}

// held gives the box of a tensor that the buffer for a part of it has.
func (l *lowering) held(tensor, device ir.NodeID, space schedule.Space, box zspace.Range) zspace.Range {
	whole := tensorops.TensorOf(l.g, tensor).Range
	if l.spread == nil || space == schedule.Input || space == schedule.Output || box.Rank() != whole.Rank() {
		return whole
	}
	for _, r := range l.spread.held[place{tensor, device}] {
		if r.Contains(box) && !box.Empty() {
			return r
		}
	}
	if box.Empty() { // which no kernel reads a cell of
		return zspace.Range{Start: whole.Start, End: whole.Start.Clone()}
	}
	return whole
}

// whole gives the buffer with all of a tensor on a device.
func (l *lowering) whole(tensor, device ir.NodeID) (ir.NodeID, error) {
	return l.buffer(tensor, device, tensorops.TensorOf(l.g, tensor).Range)
}

// bring makes sure that cells of a tensor are on a device: what neither was computed there nor arrived before is sent by a device that computes
// it. Of several, the devices that need it ask by turns.
func (l *lowering) bring(tensor, device ir.NodeID, boxes []zspace.Range) error {
	space, special := l.spaces[tensor]
	if special && (space == schedule.Constant || space == schedule.Input && device == l.host) {
		return nil
	}
	for _, r := range boxes {
		to, err := l.buffer(tensor, device, r)
		if err != nil {
			return err
		}
		missing, _ := tiling.Subtract(r, l.boxesOf(to), len(l.writers[to])+1<<16)
		for _, box := range missing {
			if err := l.fetch(tensor, to, box, special && space == schedule.Input); err != nil {
				return err
			}
		}
	}
	return nil
}

// boxesOf gives what was written of a buffer so far.
func (l *lowering) boxesOf(buffer ir.NodeID) (boxes []zspace.Range) {
	for _, w := range l.writers[buffer] {
		boxes = append(boxes, w.box)
	}
	return boxes
}

// fetch sends a box of a tensor to a buffer, from the caller's memory or from the devices that compute it.
func (l *lowering) fetch(tensor, to ir.NodeID, box zspace.Range, input bool) error {
	if input {
		from, err := l.buffer(tensor, l.host, zspace.Range{})
		if err == nil {
			l.send(tensor, from, to, box)
		}
		return err
	}
	number := l.number(l.g.Node(to).Body.(*schedule.Buffer).Device)
	for _, m := range l.spread.made[tensor] {
		part, ok := m.box.Intersect(box)
		if !ok || part.Empty() {
			continue
		}
		from, err := l.buffer(tensor, l.compute[m.devices[number%int64(len(m.devices))]], part)
		if err != nil {
			return err
		}
		l.send(tensor, from, to, part)
	}
	return nil
}

// send adds the transfer of a box between two buffers, which waits for whoever writes it.
func (l *lowering) send(tensor, from, to ir.NodeID, box zspace.Range) {
	t := &schedule.Transfer{From: from, To: to, After: l.writing(from, box), Range: box}
	at := func(buffer ir.NodeID) int64 { return l.number(l.g.Node(buffer).Body.(*schedule.Buffer).Device) }
	n := l.g.Add(t, suffixed(l.g.Node(tensor).Label, fmt.Sprintf(".%d-%d", at(from), at(to))))
	n.Pos = l.g.Node(tensor).Pos
	l.writers[to] = append(l.writers[to], writer{n.ID, box})
}

// gather brings a result of the program to the caller's memory.
func (l *lowering) gather(tensor ir.NodeID) error {
	to, err := l.buffer(tensor, l.host, zspace.Range{})
	if err != nil {
		return err
	}
	whole := tensorops.TensorOf(l.g, tensor).Range
	missing, _ := tiling.Subtract(whole, l.boxesOf(to), len(l.writers[to])+1<<16)
	for _, box := range missing {
		if err := l.fetch(tensor, to, box, false); err != nil {
			return err
		}
	}
	return nil
}
