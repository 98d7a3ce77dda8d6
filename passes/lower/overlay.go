package lower

import (
	"context"
	"fmt"
	"slices"

	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/constraints"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/ir/zspace"
)

// lieIn gives a buffer the layout of one with a greater shape, at whose start it lies.
func (l *lowering) lieIn(b *schedule.Buffer, room []int64) error {
	size, err := zspace.Range{Start: make(zspace.Point, len(room)), End: room}.Size()
	element := int64(b.Type().Size())
	if err != nil || size > (1<<62)/element {
		return diag.Errorf(schedule.TooMuchMemory, "lower", l.g.At(l.g.Node(b.Tensor), "/body/range"), "the room for %s, %v, is too large", l.g.Name(b.Tensor), room)
	}
	b.Strides, b.Bytes = zspace.RowMajor(room), size*element
	return nil
}

// overlay lays outputs over the inputs whose memory they have. What stores them waits for those who read the inputs, but for those that wait for it:
// they must read other cells, as dialects/schedule/constraints check.
func (l *lowering) overlay() error {
	for _, s := range l.program.Shared {
		in, out := l.program.Inputs[s.Input].Tensor, l.program.Outputs[s.Output].Tensor
		if err := shares(l, l.g.Node(out), l.program.Inputs[s.Input].Name, l.program.Outputs[s.Output].Name); err != nil {
			return err
		}
		from, to := l.buffers[place{in, l.host}][0], l.buffers[place{out, l.host}][0]
		l.g.Node(to).Body.(*schedule.Buffer).Over = from
		for _, w := range l.writers[to] {
			l.changes(w.step, to, from)
		}
	}
	return nil
}

// shares is an error where kernels do not compute in the caller's memory, which an input and an output are to share there.
func shares(l *lowering, at *ir.Node, input, output string) error {
	d := diag.Errorf("TAP0807", "lower", l.g.At(at, ""), "output %s can not have the memory of input %s, which is the caller's", output, input)
	switch {
	case l.host != l.compute[0]:
		return d.Want("kernels that compute there, on the host", "kernels on "+l.g.Name(l.compute[0])+", which has its own memory").
			WithHint("build for the target cpu, or leave out --alias: the output then gets memory of its own")
	case l.spread != nil:
		return d.Want("one device, which computes there", fmt.Sprintf("%d devices, each with its own memory", len(l.compute))).
			WithHint("build without --devices or a plan with devices, or leave out --alias: the output then gets memory of its own")
	}
	return nil
}

// changes lets a step that stores an output over an input wait for who reads the input, unless it changes nothing.
func (l *lowering) changes(step, output, input ir.NodeID) {
	k, ok := l.g.Node(step).Body.(*schedule.Kernel)
	if !ok || k.Keeps(output, input) {
		return
	}
	for n := range l.g.Nodes() {
		r, ok := n.Body.(*schedule.Kernel)
		reads := ok && n.ID != step && slices.ContainsFunc(r.Operands, func(o schedule.Operand) bool { return o.Buffer == input })
		if reads && !slices.Contains(k.After, n.ID) && !l.waits(n.ID, step) {
			k.After = append(k.After, n.ID)
		}
	}
}

// waits says whether a step waits for another, directly or through others.
func (l *lowering) waits(step, other ir.NodeID) bool {
	var seen ir.NodeSet
	open := []ir.NodeID{step}
	for len(open) > 0 {
		id := open[len(open)-1]
		open = open[:len(open)-1]
		after, _ := schedule.After(l.g.Node(id))
		for _, a := range after {
			if a == other {
				return true
			}
			if !seen.Has(a) {
				seen.Add(a)
				open = append(open, a)
			}
		}
	}
	return false
}

// checkShared says where cells of an input would be read after they changed: a fault of what was asked for.
func (l *lowering) checkShared() error {
	if len(l.program.Shared) == 0 {
		return nil
	}
	kept := constraints.SharedMemory
	found := constraints.Environment().Only(kept).Verify(context.Background(), l.g)
	return slices.DeleteFunc(found, func(d diag.Diagnostic) bool { return d.Constraint != kept }).Err()
}
