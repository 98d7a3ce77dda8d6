package tune

import (
	"fmt"
	"slices"
	"strings"

	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/nest"
	"tensortapestry.org/tapc/dialects/schedule/whole"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/text"
	"tensortapestry.org/tapc/ir/zspace"
)

// Kernel is a kernel of a schedule by itself: the graph of a program that carries out nothing else, on buffers in the same order of elements. Names in
// it are those of places, so that equal kernels have one text.
type Kernel struct {
	Name  string // in the schedule that it comes from
	Graph *ir.Graph
	ID    ir.NodeID
	from  *schedule.Kernel
}

// dataFile is the name of the file that constants are said to come from. Nobody reads it.
const dataFile = "values"

// Isolate takes a kernel out of a schedule. The error says why it is no program by itself.
func Isolate(g *ir.Graph, id ir.NodeID) (*Kernel, error) {
	from := g.Node(id).Body.(*schedule.Kernel)
	x := isolation{from: g, to: ir.New(), buffers: map[ir.NodeID]ir.NodeID{}}
	out := &Kernel{Name: from.Name, Graph: x.to, from: from}
	k := *from
	k.Name, k.Applications, k.After = "kernel", nil, nil
	device := *g.Node(from.Device).Body.(*schedule.Device)
	device.Number = 0
	x.device = x.to.Add(&device, "device").ID
	k.Device = x.device
	k.Loops, k.Operands, k.Statements = slices.Clone(from.Loops), slices.Clone(from.Operands), slices.Clone(from.Statements)
	for i := range k.Loops {
		k.Loops[i].Name = fmt.Sprint("d", i)
	}
	for i := range k.Statements {
		k.Statements[i].Name = fmt.Sprint("v", i)
	}
	for i := range k.Operands {
		o := &k.Operands[i]
		o.Name = operandName(i)
		var err error
		if o.Buffer, err = x.buffer(from, o.Buffer); err != nil {
			return nil, err
		}
	}
	k.Configs = nil
	here := map[string]string{}
	for i, o := range from.Operands {
		here[o.Name] = operandName(i)
	}
	for _, c := range from.Configs {
		k.Configs = append(k.Configs, *renamed(&c, here))
	}
	tensorops.StateInputs(x.to, x.inputs)
	tensorops.StateOutputs(x.to, x.outputs)
	out.ID = x.to.Add(&k, "kernel").ID
	return out, nil
}

// isolation makes the graph of a kernel.
type isolation struct {
	from, to        *ir.Graph
	device          ir.NodeID
	buffers         map[ir.NodeID]ir.NodeID // that are there, by those in the schedule
	inputs, outputs []tensorops.Named
}

// buffer gives the buffer of an operand: what the kernel reads is an input or a constant, what it writes an output.
func (x *isolation) buffer(k *schedule.Kernel, id ir.NodeID) (ir.NodeID, error) {
	if made, ok := x.buffers[id]; ok {
		return made, nil
	}
	b := *x.from.Node(id).Body.(*schedule.Buffer)
	size := int64(b.Type().Size())
	read, written := used(k, id)
	if read && written || size == 0 || b.Bytes%size != 0 {
		return 0, fmt.Errorf("it writes a buffer that it reads, or one of parts of bytes")
	}
	name := fmt.Sprint("b", len(x.buffers))
	t := &tensorops.Tensor{DType: b.DType, Range: b.Range}
	if b.Space != schedule.Constant && !b.RowMajor() { // the caller has all of its bytes, in their order
		t.Range = zspace.MustShape(b.Bytes / size)
	}
	b.Tensor, b.Device, b.Offset, b.First, b.Last, b.Over = x.to.Add(t, name).ID, x.device, 0, 0, 0, ir.NoNode
	switch {
	case written:
		b.Space = schedule.Output
		x.outputs = append(x.outputs, tensorops.Named{Name: name, Tensor: b.Tensor})
	case b.Space == schedule.Constant:
		params := ir.Attrs(nil).With("file", ir.StringAttr(dataFile)).With("key", ir.StringAttr(name))
		x.to.Add(&tensorops.Operation{Kernel: "op:constant", Params: params,
			Outputs: ir.PortsOf([]ir.Port{{Name: "result", Sel: []ir.Selection{ir.Select(b.Tensor, t.Range)}}})}, "")
	default:
		b.Space = schedule.Input
		x.inputs = append(x.inputs, tensorops.Named{Name: name, Tensor: b.Tensor})
	}
	x.buffers[id] = x.to.Add(&b, name+".buffer").ID
	return x.buffers[id], nil
}

// used says whether a kernel reads and writes a buffer.
func used(k *schedule.Kernel, id ir.NodeID) (read, written bool) {
	for _, o := range k.Operands {
		if o.Buffer == id {
			read, written = read || o.Mode == schedule.Read, written || o.Mode == schedule.Write
		}
	}
	return read, written
}

// Body gives the kernel in its graph.
func (k *Kernel) Body() *schedule.Kernel { return k.Graph.Node(k.ID).Body.(*schedule.Kernel) }

// Analysis says what the kernel is.
func (k *Kernel) Analysis() *nest.Analysis { return nest.Analyze(k.Body(), whole.Buffers(k.Graph)) }

// With gives the graph with another config, which is for its target alone, or without one where that has no stages.
func (k *Kernel) With(c *schedule.Config) *ir.Graph {
	g := k.Graph.Clone()
	body := *k.Body()
	if body.Configs = nil; !bare(c) {
		body.Configs = []schedule.Config{*c}
	}
	g.Node(k.ID).Body = &body
	return g
}

// Text is the kernel with a config as text: what it computes, on buffers in which order, and by which decisions. Equal kernels have equal texts.
func (k *Kernel) Text(c *schedule.Config) (string, error) {
	var b strings.Builder
	err := text.Write(&b, k.With(c), text.Options{GraphOrder: true})
	return b.String(), err
}

// operandName is that of the operand of a number in a kernel by itself.
func operandName(i int) string { return fmt.Sprint("a", i) }

// bare says whether a config has no stages: it is none, which is loops as they are.
func bare(c *schedule.Config) bool { return len(c.Stages) == 0 }

// give gives a kernel of a schedule a config of the kernel by itself, in the place of the one that it had for the target.
func give(k *schedule.Kernel, c *schedule.Config) {
	k.Forget(c.Target)
	if bare(c) {
		return
	}
	k.Configs = append(k.Configs, *there(k, c))
	if a := c.Stages[0].Algorithm; a == schedule.LowPrecision || a == schedule.Transformed {
		k.Sums = 0 // as passes/tile says it of what rounds
	}
}

// there gives a config of a kernel by itself the names that operands have in a schedule.
func there(k *schedule.Kernel, c *schedule.Config) *schedule.Config {
	names := map[string]string{}
	for i, o := range k.Operands {
		names[operandName(i)] = o.Name
	}
	return renamed(c, names)
}

// Words gives a config of the kernel by itself in words, with the names of the schedule.
func (k *Kernel) Words(c *schedule.Config) string { return there(k.from, c).String() }
