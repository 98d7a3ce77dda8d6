// Package lower is the pass that takes an Application Expression to Scheduled Kernels: devices, a buffer for every tensor, a
// kernel for every application, transfers where data changes devices, and the order between them.
//
// It decides nothing about speed but how loops are bound; passes/fuse joins kernels and passes/memory places buffers. Read
// next: passes/fuse.
package lower

import (
	"errors"
	"fmt"
	"slices"

	"tensortapestry.org/tapc/dialects/application"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/unread"
	"tensortapestry.org/tapc/dialects/schedule/uses"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/dialects/tensorops/kernels/instance"
	"tensortapestry.org/tapc/dialects/tensorops/parts"
	"tensortapestry.org/tapc/dialects/tensorops/reduced"
	"tensortapestry.org/tapc/dialects/tensorops/sequence"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/ir/permission"
	"tensortapestry.org/tapc/ir/scalar"
	"tensortapestry.org/tapc/ir/zspace"
	"tensortapestry.org/tapc/ir/zspace/pieces"
)

// Options of the pass.
type Options struct {
	Target schedule.DeviceType // where kernels run; inputs and outputs are in the host's memory
	Allow  permission.Set      // what the program may do to numbers, which is written on its devices
}

// Align is the alignment of every buffer, in bytes: a cache line and a full vector register.
const Align = 64

// Run adds devices, buffers, kernels and transfers to the graph. Misused kernels and shards that can not be computed from
// what they select are diagnostics.
func Run(g *ir.Graph, lib *kernels.Library, opt Options) error {
	parts.Forget(g)
	p, err := tensorops.ProgramOf(g)
	if err != nil {
		return err
	}
	l := &lowering{g: g, lib: lib, buffers: map[place][]ir.NodeID{}, writers: map[ir.NodeID][]writer{}, indices: map[ir.NodeID]index{}, program: p}
	if err := l.addDevices(opt); err != nil {
		return err
	}
	return l.run(p)
}

// place is a tensor on a device.
type place struct{ tensor, device ir.NodeID }

// writer is a step that writes a box of a buffer.
type writer struct {
	step ir.NodeID
	box  zspace.Range
}

// index finds the first writers of a buffer by their boxes.
type index struct {
	*zspace.Index
	of int // how many of them
}

type lowering struct {
	g       *ir.Graph
	lib     *kernels.Library
	host    ir.NodeID
	compute []ir.NodeID // devices where kernels run, by number; the host is the first if it is one
	buffers map[place][]ir.NodeID
	spread  *spread // nil with one device
	writers map[ir.NodeID][]writer
	indices map[ir.NodeID]index // of buffers with many writers
	spaces  map[ir.NodeID]schedule.Space
	program *tensorops.Program
	faults  diag.List
}

func (l *lowering) run(p *tensorops.Program) error {
	l.spaces = map[ir.NodeID]schedule.Space{}
	var given ir.NodeSet
	for _, t := range p.Held() {
		l.spaces[t] = schedule.Output
	}
	for _, c := range p.Constants {
		l.spaces[c.Tensor] = schedule.Constant
		given.Add(c.Tensor)
	}
	for _, in := range p.Inputs {
		l.spaces[in.Tensor] = schedule.Input
		given.Add(in.Tensor)
		if _, err := l.buffer(in.Tensor, l.host, zspace.Range{}); err != nil {
			return err
		}
	}
	apps := application.ByOperation(l.g)
	if err := l.spreadOver(apps); err != nil {
		return err
	}
	flow := ir.NewFlow(l.g, tensorops.OperationKind)
	for _, id := range flow.Order(l.g) {
		if op := tensorops.OperationOf(l.g, id); op.IsSource() || op.IsSink() || tensorops.IsPrecomputed(l.g.Node(id)) {
			continue
		}
		if err := l.operation(id, apps[id]); err != nil {
			return err
		}
	}
	l.sequence()
	for _, t := range p.Held() {
		if err := l.output(t, given.Has(t)); err != nil {
			return err
		}
		if l.host == l.compute[0] {
			given.Add(t) // where it is given once more, it is copied from there
		}
	}
	if err := l.faults.Err(); err != nil {
		return err
	}
	unread.Drop(l.g)
	if err := l.overlay(); err != nil {
		return err
	}
	if err := schedule.Place(l.g, "lower"); err != nil {
		return err
	}
	return l.checkShared()
}

// sequence lets kernels wait for those that sequence points put before them.
func (l *lowering) sequence() {
	kernels := schedule.Carriers(l.g)
	for _, b := range sequence.Barriers(l.g, func(op ir.NodeID) bool { return len(kernels[op]) > 0 }) {
		for _, then := range b.After {
			for _, id := range kernels[then] {
				after := ir.NodeList{}
				k := l.g.Node(id).Body.(*schedule.Kernel)
				for _, x := range k.After {
					after.Add(x)
				}
				for _, first := range b.Before {
					for _, x := range kernels[first] {
						after.Add(x)
					}
				}
				k.After = after.List()
			}
		}
	}
}

// operation schedules every application of an operation.
func (l *lowering) operation(id ir.NodeID, apps []ir.NodeID) error {
	in, err := l.lib.BindOperation(l.g, id)
	if err == nil {
		err = errors.Join(kernels.CheckSignature(in, l.g, l.g.Node(id)), reduced.Check(in, l.g, l.g.Node(id)))
	}
	if err != nil {
		l.faults = append(l.faults, diag.FromError(err)...)
		return nil
	}
	for i, a := range apps {
		name := l.kernelName(id, i, len(apps))
		for _, d := range application.PlacementOf(l.g.Node(a)) {
			if err := l.application(in, name, a, d); err != nil {
				return err
			}
		}
	}
	return nil
}

func (l *lowering) kernelName(op ir.NodeID, i, of int) string {
	name := tensorops.OperationOf(l.g, op).Kernel
	if label := l.g.Node(op).Label; label != "" {
		name = label
	}
	if of > 1 {
		return fmt.Sprintf("%s/%d", name, i)
	}
	return name
}

// application schedules an application on one of its devices.
func (l *lowering) application(in *instance.Instance, name string, a ir.NodeID, device int64) error {
	app, node := application.ApplicationOf(l.g, a), l.g.Node(a)
	box, err := in.RestrictTo(app.Outputs)
	if err != nil {
		l.faults = append(l.faults, diag.Errorf("TAP0803", "lower", l.g.At(node, "/body/outputs"), "%s: %v", l.g.Name(a), err))
		return nil
	}
	if l.spread != nil {
		if box, err = Narrowed(in, box); err != nil {
			return err
		}
	}
	k := KernelOf(in, box)
	k.Name, k.Device, k.Applications = name, l.compute[device], []ir.NodeID{a}
	reads, err := uses.Reads(k)
	if err != nil {
		return err
	}
	after := ir.NodeList{}
	for i := range in.Operands {
		if err := l.operand(in, i, box, app, node); err != nil {
			return err
		}
	}
	for _, i := range l.inputsFirst(in) {
		if err := l.buffered(k, in, i, box, reads[i], &after); err != nil {
			return err
		}
	}
	uniqueNames(k)
	k.After = after.List()
	n := l.g.Add(k, onDevice(name, device))
	n.Pos = node.Pos
	n.SetOrigin(&ir.Origin{Rule: "lower", From: []ir.Pos{l.g.Node(app.Operation).Pos}})
	return l.wrote(n.ID, k, in, box)
}

// KernelOf gives the kernel that computes a box of an operation, without buffers.
func KernelOf(in *instance.Instance, box zspace.Range) *schedule.Kernel {
	k := &schedule.Kernel{}
	for i, d := range in.Dims {
		l := schedule.Loop{Name: d.Name, Start: box.Start[i], End: box.End[i], Levels: []schedule.Level{{Tile: 1}}}
		if l.Extent() < d.Extent {
			l.Of = []int64{0, d.Extent}
		}
		k.Loops = append(k.Loops, l)
	}
	for _, o := range in.Operands {
		mode := schedule.Read
		if o.Decl.Out {
			mode = schedule.Write
		}
		k.Operands = append(k.Operands, schedule.Operand{Name: operandName(in, o), DType: o.Type.String(), Mode: mode, Access: o.Access})
	}
	for _, s := range in.Statements {
		k.Statements = append(k.Statements, statement(s))
	}
	return k
}

func statement(s instance.Statement) schedule.Statement {
	over := make([]int64, len(s.Over))
	for i, d := range s.Over {
		over[i] = int64(d)
	}
	return schedule.Statement{Name: s.Name, Over: over, Store: int64(s.Store), Value: s.Value}
}

// operand checks that the shard selects what the kernel reads.
func (l *lowering) operand(in *instance.Instance, i int, box zspace.Range, app *application.Application, node *ir.Node) error {
	o := in.Operands[i]
	side, ports := "inputs", app.Inputs
	if o.Decl.Out {
		side, ports = "outputs", app.Outputs
	}
	need, err := in.Reads(i, box)
	if err != nil {
		return err
	}
	has, found, selects := zspace.Range{}, "nothing", false
	if p := ports.Get(o.Port); p != nil && o.Entry < len(p.Sel) {
		has, found, selects = p.Sel[o.Entry].Range(), p.Sel[o.Entry].Range().String(), true
	}
	if !need.Empty() && !(selects && has.Contains(need)) { // need is a hull
		cells, err := in.ReadCells(i, box)
		if err != nil {
			return err
		}
		if c := slices.IndexFunc(cells, func(c pieces.Box) bool { return !selects || !has.Contains(c.Range()) }); c >= 0 {
			at := l.g.At(node, fmt.Sprintf("/body/%s/%s/%d", side, o.Port, o.Entry))
			l.faults = append(l.faults, diag.Errorf("TAP0804", "lower", at, "%s does not select what kernel %s needs of %s",
				l.g.Name(node.ID), in.Decl.Name, o.Port).Want(cells[c].String(), found))
		}
	}
	return nil
}

// inputsFirst gives the operands of a kernel in the order in which they are brought to its device: of several devices first the program's inputs, which wait for nobody, so that a device copies them while it would wait for what others compute.
func (l *lowering) inputsFirst(in *instance.Instance) (order []int) {
	for _, first := range []bool{true, false} {
		for i, o := range in.Operands {
			space, special := l.spaces[o.Sel.Tensor]
			if (l.spread != nil && special && space == schedule.Input) == first {
				order = append(order, i)
			}
		}
	}
	return order
}

// buffered gives an operand of a kernel its buffer. What it reads is brought to the device, and the kernel waits for it.
func (l *lowering) buffered(k *schedule.Kernel, in *instance.Instance, i int, box zspace.Range, reads []zspace.Range, after *ir.NodeList) error {
	need, err := in.Reads(i, box)
	if err != nil {
		return err
	}
	o := in.Operands[i]
	if l.spread != nil && !o.Decl.Out {
		need = hullOf(reads, need)
	}
	b, err := l.buffer(o.Sel.Tensor, k.Device, need)
	if err != nil {
		return err
	}
	k.Operands[i].Buffer = b
	if o.Decl.Out {
		return nil
	}
	if err := l.arrive(o.Sel.Tensor, k.Device, reads); err != nil {
		return err
	}
	for _, w := range l.writing(b, need) {
		after.Add(w)
	}
	return nil
}

// fewWriters is how many writers are looked at one by one.
const fewWriters = 8

// writing gives the steps so far that write a part of a buffer.
func (l *lowering) writing(buffer ir.NodeID, part zspace.Range) []ir.NodeID {
	writers := l.writers[buffer]
	var steps []ir.NodeID
	if len(writers) <= fewWriters {
		for _, w := range writers {
			if w.box.Overlaps(part) {
				steps = append(steps, w.step)
			}
		}
		return steps
	}
	x := l.indices[buffer]
	if x.of != len(writers) {
		boxes := make([]zspace.Range, len(writers))
		for i, w := range writers {
			boxes[i] = w.box
		}
		x = index{zspace.NewIndex(boxes), len(writers)}
		l.indices[buffer] = x
	}
	for _, i := range x.Query(part) {
		steps = append(steps, writers[i].step)
	}
	return steps
}

func operandName(in *instance.Instance, o instance.Operand) string {
	if o.Decl.Variadic {
		return fmt.Sprintf("%s%d", o.Decl.Name(), o.Entry)
	}
	return o.Decl.Name()
}

// wrote notes what a kernel writes.
func (l *lowering) wrote(step ir.NodeID, k *schedule.Kernel, in *instance.Instance, box zspace.Range) error {
	for i, o := range k.Operands {
		if o.Mode != schedule.Write {
			continue
		}
		r, err := in.Reads(i, box)
		if err != nil {
			return err
		}
		l.writers[o.Buffer] = append(l.writers[o.Buffer], writer{step, r})
	}
	return nil
}

// buffer gives the buffer that holds a box of a tensor on a device, making it at first use. What the caller or the program holds is in the
// host's memory, whole, except constants, which travel to the devices that read them.
func (l *lowering) buffer(tensor, device ir.NodeID, box zspace.Range) (ir.NodeID, error) {
	for _, id := range l.buffers[place{tensor, device}] {
		if has := l.g.Node(id).Body.(*schedule.Buffer).Range; box.Rank() != has.Rank() || box.Empty() || has.Contains(box) {
			return id, nil
		}
	}
	t := tensorops.TensorOf(l.g, tensor)
	space, special := l.spaces[tensor]
	if !special || device != l.host && space != schedule.Constant {
		space = schedule.Arena
	}
	held := l.held(tensor, device, space, box)
	size, err := held.Size()
	if err == nil && t.Type() != scalar.Invalid && size > (1<<62)/int64(t.Type().Size()) {
		err = zspace.ErrOverflow
	}
	if err != nil {
		return 0, diag.Errorf(schedule.TooMuchMemory, "lower", l.g.At(l.g.Node(tensor), "/body/range"), "%s is too large: %v", l.g.Name(tensor), err)
	}
	b := &schedule.Buffer{Tensor: tensor, Device: device, DType: t.DType, Range: held, Strides: zspace.RowMajor(held.Shape()), Space: space,
		Align: Align, Bytes: size * int64(t.Type().Size()), Over: ir.NoNode}
	if s, ok := l.program.SharedAs(tensor); ok {
		if err := l.lieIn(b, s.Room); err != nil {
			return 0, err
		}
	}
	n := l.g.Add(b, onDevice(bufferLabel(l.g.Node(tensor).Label, space, device == l.host), l.number(device)))
	n.Pos = l.g.Node(tensor).Pos
	l.buffers[place{tensor, device}] = append(l.buffers[place{tensor, device}], n.ID)
	return n.ID, nil
}

// bufferLabel names a buffer after its tensor.
func bufferLabel(tensor string, space schedule.Space, host bool) string {
	if !host && space == schedule.Arena {
		return suffixed(tensor, ".device")
	}
	return suffixed(tensor, "."+space.String())
}

func suffixed(label, suffix string) string {
	if label == "" {
		return ""
	}
	return label + suffix
}

// arrive makes sure that boxes of a tensor are on a device.
func (l *lowering) arrive(tensor, device ir.NodeID, boxes []zspace.Range) error {
	if l.spread != nil {
		return l.bring(tensor, device, boxes)
	}
	if space, special := l.spaces[tensor]; l.host == device || !special || space != schedule.Input {
		return nil
	}
	to, err := l.buffer(tensor, device, zspace.Range{})
	if err != nil || len(l.writers[to]) > 0 {
		return err
	}
	from, err := l.buffer(tensor, l.host, zspace.Range{})
	if err == nil {
		l.transfer(tensor, from, to)
	}
	return err
}

func (l *lowering) transfer(tensor, from, to ir.NodeID) {
	t := &schedule.Transfer{From: from, To: to}
	for _, w := range l.writers[from] {
		t.After = append(t.After, w.step)
	}
	n := l.g.Add(t, suffixed(l.g.Node(tensor).Label, ".copy"))
	n.Pos = l.g.Node(tensor).Pos
	l.writers[to] = append(l.writers[to], writer{n.ID, tensorops.TensorOf(l.g, tensor).Range})
}

// output brings a tensor to the caller's memory: from the computing device, or from an input, a constant or another output that
// it is as it is.
func (l *lowering) output(tensor ir.NodeID, given bool) error {
	if !given && l.spread != nil {
		return l.gather(tensor)
	}
	if !given && l.host == l.compute[0] {
		_, err := l.buffer(tensor, l.host, zspace.Range{})
		return err
	}
	device := l.compute[0]
	if given && l.spaces[tensor] == schedule.Input {
		device = l.host
	}
	from, err := l.whole(tensor, device)
	if err != nil {
		return err
	}
	source := l.g.Node(from).Body.(*schedule.Buffer)
	out := *source
	out.Device, out.Space, out.Over = l.host, schedule.Output, ir.NoNode
	n := l.g.Add(&out, bufferLabel(l.g.Node(tensor).Label, schedule.Output, true))
	l.transfer(tensor, from, n.ID)
	return nil
}
