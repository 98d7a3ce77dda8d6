package races

import (
	"fmt"
	"slices"

	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/uses"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/check"
	"tensortapestry.org/tapc/ir/waits"
	"tensortapestry.org/tapc/ir/zspace"
)

// SharedMemoryID names SharedMemory.
const SharedMemoryID = "SharedMemoryConstraint"

// SharedMemory is the constraint for buffers over others.
var SharedMemory = check.Constraint{
	ID: SharedMemoryID,
	Doc: "An output over an input has that input's memory, as the export says of the tensors: a cell of both is at one address, and different cells " +
		"of them are not. Whoever changes a cell waits for all who read it as a cell of the input. A kernel changes cells that it reads itself " +
		"only where what it stores is computed of the cell as it is, beside what it reduces: it reads no other cell of the input, and reduces none. " +
		"A buffer of the arena may lie over another of its tensor, where both devices have the memory of the host: all of its cells are the other's, " +
		"at their addresses, so that a transfer between them moves nothing. What it lies over is no constant, lies over nothing, and has no output over it.",
	Requires: []string{"ScheduleOrderConstraint", "ProgramInterfaceConstraint"},
	Codes: []check.Code{
		{ID: "TAP0401", Meaning: "an output can not lie over an input: other cells, strides, element types or devices, or not as the export says"},
		{ID: "TAP0402", Meaning: "a kernel computes with cells of an input that it stores over, other than cell by cell"},
		{ID: "TAP0403", Meaning: "a step may read a cell of an input after another stored an output over it"},
		{ID: "TAP0404", Meaning: "a buffer of the arena can not lie over another: of another tensor or memory, with other cells, strides or alignment, or over one that lies over a third or changes in place"},
	},
	Check: func(c *check.Context) {
		updated := ir.NodeSet{}
		for n, b := range check.Each[*schedule.Buffer](c) {
			if b.Updates() && checkOver(c, n, b) {
				checkChanges(c, n.ID, b.Over)
			}
			if b.Updates() {
				updated.Add(b.Over)
			}
		}
		for n, b := range check.Each[*schedule.Buffer](c) {
			if b.Aliases() {
				checkAlias(c, n, b, updated)
			}
		}
		checkStatedMemory(c)
	},
}

// checkOver checks that each cell of an output and an input has one address.
func checkOver(c *check.Context, n *ir.Node, b *schedule.Buffer) bool {
	in := schedule.BufferOf(c.Graph(), b.Over)
	both := *b
	both.Range = zspace.Range{Start: b.Range.Start, End: b.Range.End.Clone()}
	same := b.Range.Start.Equal(in.Range.Start) && slices.Equal(b.Strides, in.Strides) && b.DType == in.DType && b.Device == in.Device
	for d := range both.Range.End {
		if same {
			both.Range.End[d] = max(both.Range.End[d], in.Range.End[d])
		}
	}
	if same && b.Space == schedule.Output && in.Space == schedule.Input && both.Nested() {
		return true
	}
	about := func(b *schedule.Buffer) string {
		return fmt.Sprintf("%s, %s %v with strides %v on %s", b.Space, b.DType, b.Range, b.Strides, c.Graph().Name(b.Device))
	}
	c.Report(c.Error("TAP0401", n, "/body/over", "%s can not lie over %s", c.Graph().Name(n.ID), c.Graph().Name(b.Over)).
		Want("an output over an input with its start, strides, element type and device, and no two cells at one address", about(b)+" over "+about(in)))
	return false
}

// checkAlias checks that each cell of a buffer of the arena is one of the buffer that it lies over, of which none changes.
func checkAlias(c *check.Context, n *ir.Node, b *schedule.Buffer, updated ir.NodeSet) {
	g, in := c.Graph(), schedule.BufferOf(c.Graph(), b.Over)
	same := b.Space == schedule.Arena && in.Space != schedule.Constant && in.Over == ir.NoNode && !updated.Has(b.Over) && b.Tensor == in.Tensor && b.DType == in.DType &&
		slices.Equal(b.Strides, in.Strides) && in.Range.Contains(b.Range)
	for _, id := range []ir.NodeID{b.Device, in.Device} {
		same = same && schedule.DeviceOf(g, id).Type == schedule.Host
	}
	if same {
		if at := b.From(in); at%b.Align != 0 {
			c.Report(c.Error("TAP0404", n, "/body/over", "%s can not lie over %s", g.Name(n.ID), g.Name(b.Over)).Want(fmt.Sprintf("a multiple of %d bytes, its alignment", b.Align), fmt.Sprintf("byte %d", at)))
		}
		return
	}
	about := func(b *schedule.Buffer) string {
		return fmt.Sprintf("%s, %s %v of %s with strides %v on %s", b.Space, b.DType, b.Range, g.Name(b.Tensor), b.Strides, g.Name(b.Device))
	}
	c.Report(c.Error("TAP0404", n, "/body/over", "%s can not lie over %s", g.Name(n.ID), g.Name(b.Over)).
		Want("a buffer of the arena whose cells are those of its tensor in another buffer of the host, with its strides", about(b)+" over "+about(in)))
}

// checkStatedMemory checks that the buffers of outputs lie where the export says.
func checkStatedMemory(c *check.Context) {
	p, err := tensorops.ProgramOf(c.Graph())
	if err != nil {
		return
	}
	for n, b := range check.Each[*schedule.Buffer](c) {
		if b.Space != schedule.Output {
			continue
		}
		found, want := "a buffer of its own", "a buffer of its own"
		if b.Over != ir.NoNode {
			found = "over " + c.Graph().Name(schedule.BufferOf(c.Graph(), b.Over).Tensor)
		}
		if s, ok := p.SharedAs(b.Tensor); ok {
			want = "over " + c.Graph().Name(p.Inputs[s.Input].Tensor)
		}
		if found != want {
			c.Report(c.Error("TAP0401", n, "/body/over", "%s does not lie where the export says", c.Graph().Name(n.ID)).Want(want, found))
		}
	}
}

// checkChanges checks that no cell of an input changes before it is read.
func checkChanges(c *check.Context, output, input ir.NodeID) {
	var pairs []waits.Pair
	var steps [][2]touch
	for _, w := range changesOf(c, output, input) {
		for _, r := range trafficOf(c).of[input] {
			_, meets, decided := w.image.Meet(r.image)
			switch {
			case decided && !meets, r.write:
			case w.step != r.step:
				pairs, steps = append(pairs, waits.Pair{A: stepsOf(c).number[r.step], B: stepsOf(c).number[w.step]}), append(steps, [2]touch{r, w})
			case w.what != "": // not in place
				c.Report(c.Error("TAP0402", c.Graph().Node(w.step), "", "%s computes with cells of %s that it stores over", c.Graph().Name(w.step), c.Graph().Name(input)).
					Want("another step that has read them, or each cell computed of itself, beside what is reduced", "a read"+r.what))
			}
		}
	}
	for _, i := range stepsOf(c).order.Unordered(pairs, c.Go) {
		r, w := steps[i][0], steps[i][1]
		cell, _, _ := w.image.Meet(r.image)
		c.Report(c.Error("TAP0403", c.Graph().Node(r.step), "", "%s may read a cell of %s after %s stored over it", c.Graph().Name(r.step), c.Graph().Name(input), c.Graph().Name(w.step)).
			Want(c.Graph().Name(w.step)+" after "+c.Graph().Name(r.step), fmt.Sprintf("cell %v", cell)).WithNote(c.At(c.Graph().Node(w.step), ""), "the step that stores"))
	}
}

// changesOf gives the touches that change cells of an output over an input; what they are is "" where they do so in place.
func changesOf(c *check.Context, output, input ir.NodeID) (out []touch) {
	for _, t := range trafficOf(c).of[output] {
		k, _ := c.Graph().Node(t.step).Body.(*schedule.Kernel)
		if !t.write {
			continue
		}
		if k != nil {
			if u, ok := schedule.UpdateOf(k, output, input); ok {
				for _, x := range uses.Changes(k, u) {
					out = append(out, touch{step: t.step, write: true, image: x.Image(k)})
				}
				continue
			}
		}
		out = append(out, t)
	}
	return out
}
