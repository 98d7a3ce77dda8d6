package figure

import (
	"fmt"
	"strconv"

	"tensortapestry.org/tapc/dialects/application"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/dialects/tensorops/definition"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/dialects/tensorops/parts"
	"tensortapestry.org/tapc/dialects/tensorops/sequence"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/zspace"
)

// Operations draws what a graph computes: tensors and operations, and with shards what the operations are cut into.
func Operations(g *ir.Graph, name string, shards bool) *Figure {
	b := newBuilder(g, name)
	if shards {
		b.shards = application.ByOperation(g)
	}
	b.flow = ir.NewFlow(g, tensorops.OperationKind)
	b.findConstants()
	for n := range g.Nodes() {
		b.node(n)
	}
	for _, id := range b.flow.Ops {
		b.operation(g.Node(id))
	}
	b.branches()
	b.sequence()
	b.prune()
	return b.Figure
}

// builder is a figure in the making.
type builder struct {
	*Figure
	graph    *ir.Graph
	flow     *ir.Flow
	shards   map[ir.NodeID][]ir.NodeID
	constant map[ir.NodeID]ir.NodeID // operations that are drawn with the tensor that they give
	item     []int                   // of each node, -1 for none
	colors   map[string]int          // of names of kernels
	observed bool                    // something is
}

func newBuilder(g *ir.Graph, name string) *builder {
	b := &builder{Figure: &Figure{Name: name}, graph: g, item: make([]int, g.Bound()), constant: map[ir.NodeID]ir.NodeID{}, colors: map[string]int{}}
	for i := range b.item {
		b.item[i] = -1
	}
	return b
}

// add appends a box for a node.
func (b *builder) add(n *ir.Node, it Item) {
	it.Node, it.At = n.ID, placesOf(n)
	if o := n.Origin(); o != nil && o.Rule != "" {
		it.Facts = append(it.Facts, Fact{"made by", o.Rule})
	}
	b.item[n.ID] = len(b.Items)
	b.Items = append(b.Items, it)
}

// join adds an edge between the boxes of two nodes, if both are drawn.
func (b *builder) join(from, to ir.NodeID, port, part string) {
	if x, y := b.of(from), b.of(to); x >= 0 && y >= 0 && x != y {
		b.Joins = append(b.Joins, Join{x, y, port, part})
	}
}

func (b *builder) of(id ir.NodeID) int {
	if id < 0 || int(id) >= len(b.item) {
		return -1
	}
	return b.item[id]
}

// color is the class of a kernel's name: names have numbers as they appear.
func (b *builder) color(name string) int {
	c, ok := b.colors[name]
	if !ok {
		c = len(b.colors)
		b.colors[name] = c
		b.Classes = append(b.Classes, name)
	}
	return c
}

// findConstants finds the operations that only give the value of one tensor.
func (b *builder) findConstants() {
	for _, id := range b.flow.Ops {
		op := tensorops.OperationOf(b.graph, id)
		if op == nil || op.IsImport() || !op.IsSource() || op.Inputs.Len() > 0 {
			continue
		}
		var of []ir.NodeID
		op.Outputs.All(func(_, _ int, s *ir.Selection) { of = append(of, s.Tensor) })
		if len(of) == 1 && len(b.flow.Producers(of[0])) == 1 {
			b.constant[id] = of[0]
		}
	}
}

// node adds the box of a node, unless it is of a later stage or drawn with another.
func (b *builder) node(n *ir.Node) {
	switch body := n.Body.(type) {
	case *tensorops.Tensor:
		b.tensor(n, body)
	case *tensorops.Note:
		b.add(n, Item{Kind: Note, Title: "note", Lines: []string{body.Message}, Color: -1})
	case *definition.Definition:
		b.definition(n, body)
	case *sequence.Point:
		b.add(n, Item{Kind: Sequence, Title: "sequence point", Lines: labelLines(n), Color: -1, Marks: Observed})
		b.observed = true
	case *tensorops.Operation:
		if _, drawn := b.constant[n.ID]; !drawn {
			b.operationItem(n, body)
		}
	}
}

func labelLines(n *ir.Node) []string {
	if n.Label == "" {
		return nil
	}
	return []string{n.Label}
}

// sequence adds what happens before sequence points and after them.
func (b *builder) sequence() {
	for n := range b.graph.Nodes() {
		if p, ok := n.Body.(*sequence.Point); ok {
			for _, id := range p.After {
				b.join(b.drawnFor(id), n.ID, "happens before", "")
			}
			for _, id := range p.Before {
				b.join(n.ID, b.drawnFor(id), "happens before", "")
			}
		}
	}
}

// drawnFor gives the node whose box an operation is drawn with.
func (b *builder) drawnFor(op ir.NodeID) ir.NodeID {
	if t, ok := b.constant[op]; ok {
		return t
	}
	return op
}

// tensor adds the box of a tensor, with the constant that it is.
func (b *builder) tensor(n *ir.Node, t *tensorops.Tensor) {
	it := Item{Kind: Tensor, Title: nameOf(n), Lines: []string{typed(t.DType, t.Range)}, Whole: t.Range, Color: -1, Bytes: sizeOf(t.DType, t.Range)}
	if parts.Is(n) {
		it.Lines = append(it.Lines, "partial result")
	}
	f := facts{}
	f.add("element type", t.DType)
	f.add("range", t.Range.Text())
	f.add("shape", zspace.Point(t.Range.Shape()).String())
	f.add("size", Bytes(it.Bytes))
	if p := b.flow.Producers(n.ID); len(p) == 1 && b.constant[p[0]] == n.ID && isConstant(b, p[0]) {
		it.Kind = Constant
		f.add("constant", attrsText(tensorops.OperationOf(b.graph, p[0]).Params))
	}
	it.Facts = f
	b.add(n, it)
}

func isConstant(b *builder, op ir.NodeID) bool { _, ok := b.constant[op]; return ok }

// nameOf is the label of a node, or its number.
func nameOf(n *ir.Node) string {
	if n.Label != "" {
		return n.Label
	}
	return "#" + strconv.Itoa(int(n.ID))
}

// operationItem adds the box of an operation.
func (b *builder) operationItem(n *ir.Node, op *tensorops.Operation) {
	it := Item{Kind: kindOf(op), Title: kernelWord(op.Kernel), Color: b.color(op.Kernel)}
	if n.Label != "" {
		it.Lines = append(it.Lines, n.Label)
	}
	f := facts{}
	f.add("kernel", op.Kernel)
	f.add("parameters", attrsText(op.Params))
	if x := tensorops.IndexOf(n); x != nil {
		it.Whole = x.Range
		f.add("index", x.Range.Text())
	}
	if n.Tag(tensorops.IOSequencePointKind) != nil || op.IsExport() {
		it.Marks |= Observed
		b.observed = true
	}
	if tensorops.IsPrecomputed(n) {
		it.Marks |= Precomputed
		f.add("carried out", "when the program is built")
	}
	if s := tensorops.SignatureOf(n); s != nil && n.Tag(tensorops.DerivedKind) == nil {
		it.Matrices = append(matricesOf(s.Inputs, "← "), matricesOf(s.Outputs, "→ ")...)
	}
	if r := tensorops.ReducedOf(n); r != nil && n.Tag(tensorops.DerivedKind) == nil {
		for _, d := range r.Dimensions {
			it.Lines = append(it.Lines, fmt.Sprintf("%s(%s of %d)", d.Combine, d.Name, d.Extent))
		}
		it.Matrices = append(it.Matrices, matricesOf(r.Inputs, "Σ ")...)
	}
	if op.IsChoice() {
		if c, bad := tensorops.ChoiceOf(b.graph, n.ID); !bad.HasErrors() {
			it.Lines = append(it.Lines, shortened(c.Names)...)
		}
	}
	it.Parts = b.indexParts(n.ID, it.Color)
	if len(it.Parts) > 1 {
		it.Lines = append(it.Lines, fmt.Sprintf("%d shards", len(it.Parts)))
		f.add("shards", strconv.Itoa(len(it.Parts)))
	}
	it.Facts = f
	b.add(n, it)
}

// shortened gives the names of the first branches of a choice, and how many more there are.
func shortened(names []string) []string {
	const most = 8
	if len(names) <= most {
		return names
	}
	return append(names[:most:most], fmt.Sprintf("and %d more", len(names)-most))
}

// kindOf tells operations apart by what they do with the world, and with cells.
func kindOf(op *tensorops.Operation) Kind {
	switch {
	case op.IsSource():
		return Source
	case op.IsSink():
		return Sink
	case moves(op.Kernel):
		return Selector
	}
	return Operation
}

// moves says whether the results of a kernel are cells of its inputs, each at another place.
func moves(kernel string) bool {
	d, ok := kernels.Builtin().Find(kernel)
	return ok && d.Family() == "selector"
}

// matricesOf lists the projections of one side of a signature.
func matricesOf(maps ir.PortMaps, arrow string) (out []Matrix) {
	for _, p := range maps {
		for i, m := range p.Maps {
			name := arrow + p.Name
			if len(p.Maps) > 1 {
				name += fmt.Sprintf("[%d]", i)
			}
			x := Matrix{Name: name, Offset: m.AffineMap.Offset, Shape: m.Shape}
			for _, row := range m.AffineMap.Projection {
				x.Rows = append(x.Rows, row)
			}
			out = append(out, x)
		}
	}
	return out
}

// indexParts gives the boxes of the index that the shards of an operation have.
func (b *builder) indexParts(op ir.NodeID, color int) (parts []Part) {
	for _, id := range b.shards[op] {
		if x := tensorops.IndexOf(b.graph.Node(id)); x != nil {
			parts = append(parts, Part{x.Range, id, color, true})
		}
	}
	return parts
}

// operation adds what joins an operation to its tensors, and what it or its shards select of them.
func (b *builder) operation(n *ir.Node) {
	if isConstant(b, n.ID) {
		return
	}
	op := tensorops.OperationOf(b.graph, n.ID)
	op.Inputs.All(func(port, _ int, s *ir.Selection) { b.join(s.Tensor, n.ID, op.Inputs.At(port).Name, b.part(s)) })
	op.Outputs.All(func(port, _ int, s *ir.Selection) { b.join(n.ID, s.Tensor, op.Outputs.At(port).Name, b.part(s)) })
	color := b.Items[b.item[n.ID]].Color
	shards := b.shards[n.ID]
	if len(shards) == 0 {
		b.selections(n, color)
	}
	for _, id := range shards {
		b.selections(b.graph.Node(id), color)
	}
}

// part writes a selection that is not the whole tensor.
func (b *builder) part(s *ir.Selection) string {
	if t := tensorops.TensorOf(b.graph, s.Tensor); t == nil || t.Range.Equal(s.Range()) {
		return ""
	}
	return s.Range().Text()
}

// mostParts is how many selections of a tensor are drawn.
const mostParts = 4096

// selections adds the selections of an operation or shard to the tensors that they are of.
func (b *builder) selections(n *ir.Node, color int) {
	body, ok := n.Body.(ir.Ported)
	if !ok {
		return
	}
	in, out := body.Ports()
	add := func(s *ir.Selection, write bool) {
		if i := b.of(s.Tensor); i >= 0 && b.part(s) != "" && len(b.Items[i].Parts) < mostParts {
			b.Items[i].Parts = append(b.Items[i].Parts, Part{s.Range(), n.ID, color, write})
		}
	}
	in.All(func(_, _ int, s *ir.Selection) { add(s, false) })
	out.All(func(_, _ int, s *ir.Selection) { add(s, true) })
}

// prune marks what nothing observed depends on, if anything is observed.
func (b *builder) prune() {
	if !b.observed {
		return
	}
	needs := make([][]int, len(b.Items))
	for _, j := range b.Joins {
		needs[j.To] = append(needs[j.To], j.From)
	}
	used, stack := make([]bool, len(b.Items)), []int{}
	for i := range b.Items {
		if it := &b.Items[i]; it.Has(Observed) || it.Kind == Sink || it.Kind == Note || it.Kind == Source {
			used[i] = true
			stack = append(stack, i)
		}
	}
	for len(stack) > 0 {
		at := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		for _, need := range needs[at] {
			if !used[need] {
				used[need] = true
				stack = append(stack, need)
			}
		}
	}
	for _, j := range b.Joins { // what an operation gives is observed with it
		if b.Items[j.From].Has(Observed) && b.Items[j.From].Kind != Sequence {
			used[j.To] = true
		}
	}
	for i, u := range used {
		if !u && b.Items[i].Kind != Tensor || !u && !b.sourced(i) {
			b.Items[i].Marks |= Pruned
		}
	}
}

// sourced says whether a tensor comes from outside, so that nothing is saved without it.
func (b *builder) sourced(item int) bool {
	for _, p := range b.flow.Producers(b.Items[item].Node) {
		if i := b.of(p); i >= 0 && b.Items[i].Kind == Source {
			return true
		}
	}
	return false
}
