package figure

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/ir"
)

// Scheduled says whether a graph has kernels.
func Scheduled(g *ir.Graph) bool {
	for n := range g.Nodes() {
		if _, ok := n.Body.(*schedule.Kernel); ok {
			return true
		}
	}
	return false
}

// Of draws a graph at the stage that it has.
func Of(g *ir.Graph) *Figure {
	if Scheduled(g) {
		return Schedule(g, "Scheduled Kernels")
	}
	return Operations(g, "Operation Expression", true)
}

// Schedule draws the kernels and transfers of a schedule, and the buffers that they read and write.
func Schedule(g *ir.Graph, name string) *Figure {
	b := newBuilder(g, name)
	for n := range g.Nodes() {
		switch body := n.Body.(type) {
		case *schedule.Buffer:
			b.buffer(n, body)
		case *schedule.Kernel:
			b.kernel(n, body)
		case *schedule.Transfer:
			b.add(n, Item{Kind: Transfer, Title: "transfer", Color: -1})
		}
	}
	for n := range g.Nodes() {
		switch body := n.Body.(type) {
		case *schedule.Kernel:
			b.operands(n, body)
		case *schedule.Transfer:
			b.join(body.From, n.ID, "from", "")
			b.join(n.ID, body.To, "to", "")
		}
	}
	return b.Figure
}

var bufferKinds = map[schedule.Space]Kind{schedule.Input: Source, schedule.Output: Sink, schedule.Constant: Constant, schedule.Arena: Buffer}

// buffer adds the box of a buffer, called as its tensor.
func (b *builder) buffer(n *ir.Node, x *schedule.Buffer) {
	title := nameOf(n)
	if t := b.graph.Node(x.Tensor); t != nil && t.Label != "" {
		title = t.Label
	}
	f := facts{}
	f.add("memory", x.Space.String())
	f.add("device", b.graph.Name(x.Device))
	f.add("element type", x.DType)
	f.add("range", x.Range.Text())
	f.add("strides", fmt.Sprint(x.Strides))
	f.add("size", Bytes(x.Bytes))
	if x.InArena() {
		f.add("place", fmt.Sprintf("%d to %d of the arena", x.Offset, x.Offset+x.Bytes))
		f.add("alive", fmt.Sprintf("from step %d to %d", x.First, x.Last))
	}
	if x.Over >= 0 {
		f.add("over", b.graph.Name(x.Over))
	}
	b.add(n, Item{Kind: bufferKinds[x.Space], Title: title, Lines: []string{typed(x.DType, x.Range)}, Whole: x.Range, Color: -1, Facts: f, Bytes: x.Bytes})
}

// kernel adds the box of a kernel.
func (b *builder) kernel(n *ir.Node, k *schedule.Kernel) {
	var extents, loops []string
	for _, l := range k.Loops {
		extents = append(extents, strconv.FormatInt(l.Extent(), 10))
		loops = append(loops, fmt.Sprintf("%s %d:%d", l.Name, l.Start, l.End))
	}
	f := facts{}
	f.add("kernel", k.Name)
	f.add("device", b.graph.Name(k.Device))
	f.add("loops", strings.Join(loops, ", "))
	for _, s := range k.Statements {
		if s.Value != nil {
			f.add("computes", s.Name+" = "+s.Value.Format(k))
		}
	}
	for i := range k.Configs {
		f.add("config for "+k.Configs[i].Target, k.Configs[i].String())
	}
	it := Item{Kind: Kernel, Title: KernelsWord(k.Name), Color: b.color(b.kernelClass(k)), Facts: f}
	if it.Lines = []string{strings.Join(extents, "×")}; len(k.Configs) > 0 {
		it.Lines = append(it.Lines, k.Configs[0].Stages[0].Algorithm.String())
	}
	b.add(n, it)
	b.places(k)
}

// KernelsWord is the name of a kernel without the namespaces of what it is made of.
func KernelsWord(name string) string {
	parts := strings.Split(name, "+")
	for i, p := range parts {
		parts[i] = kernelWord(p)
	}
	return strings.Join(parts, "+")
}

// kernelClass is what kernels of one colour have in common: the kernel of the first operation that they carry out.
func (b *builder) kernelClass(k *schedule.Kernel) string {
	for _, id := range k.Applications {
		if op := b.graph.Node(operationOf(b.graph, id)); op != nil {
			return kernelOf(op)
		}
	}
	return k.Name
}

// places gives a kernel the places of all operations that it carries out.
func (b *builder) places(k *schedule.Kernel) {
	it := &b.Items[len(b.Items)-1]
	for _, id := range k.Applications {
		n := b.graph.Node(operationOf(b.graph, id))
		if n == nil {
			continue
		}
		if !slices.Contains(it.Of, n.ID) {
			it.Of = append(it.Of, n.ID)
		}
		it.Facts = append(it.Facts, Fact{"carries out", b.graph.Name(id) + " of " + b.graph.Name(n.ID)})
		for _, p := range placesOf(n) {
			if !slices.Contains(it.At, p) {
				it.At = append(it.At, p)
			}
		}
	}
}

// operands joins a kernel to its buffers, each once for each side.
func (b *builder) operands(n *ir.Node, k *schedule.Kernel) {
	seen := map[Join]bool{}
	for i := range k.Operands {
		o := &k.Operands[i]
		j := Join{b.of(o.Buffer), b.of(n.ID), "", ""}
		if o.Mode == schedule.Write {
			j.From, j.To = j.To, j.From
		}
		if j.From < 0 || j.To < 0 || seen[j] {
			continue
		}
		seen[j] = true
		b.Joins = append(b.Joins, Join{j.From, j.To, o.Name, ""})
	}
}
