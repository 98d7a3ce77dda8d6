// Package recompute lets a tensor that several operations read be computed again for each of them, in place of being kept: no memory holds it between.
//
// Values stay the same to the bit, as a copy of an operation is that operation. It must not import another pass, and does not decide what is worth it: plans do
// (search/variants). Read next: pass.go, the row of the pass table.
package recompute

import (
	"fmt"
	"iter"
	"slices"
	"strings"

	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/dialects/tensorops/sequence"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/diag"
)

// Name is the name of the pass.
const Name = "recompute"

// The codes of requests that can not be carried out: no tensor has the label, nothing computes it that can be copied, and it is not read twice.
const (
	CodeMissing = "TAP0960"
	CodeMade    = "TAP0961"
	CodeReaders = "TAP0962"
)

// Request names a tensor by its label. From says where it was asked for.
type Request struct {
	Tensor string
	From   diag.Location
}

// Run gives each operation that reads a tensor of a request, but the first in the order of the graph's operations, a copy of the operation that makes it. Where what
// makes one tensor reads another one, the copies count as readers of that. It gives the number of copies.
func Run(g *ir.Graph, requests []Request) (copies int, err error) {
	c, requests, err := begin(g, requests)
	if err != nil {
		return 0, err
	}
	for _, r := range requests {
		n := c.tensor(r)
		if copies += n; n == 0 {
			return copies, diag.Errorf(CodeReaders, Name, r.From, "tensor %q is to be recomputed for each reader", r.Tensor).Want("a tensor that several operations read", "1 or none")
		}
	}
	return copies, nil
}

// Shared is Run, but for requests of tensors that one operation reads, which it leaves out. It gives the others.
func Shared(g *ir.Graph, requests []Request) (done []Request, err error) {
	c, requests, err := begin(g, requests)
	if err != nil {
		return nil, err
	}
	for _, r := range requests {
		if c.tensor(r) > 0 {
			done = append(done, r)
		}
	}
	return done, nil
}

// begin checks requests, and puts those of tensors that are made last first.
func begin(g *ir.Graph, requests []Request) (*copier, []Request, error) {
	all := Of(g)
	for _, r := range requests {
		if err := all.check(r); err != nil {
			return nil, nil, err
		}
	}
	c := &copier{Graph: g, labels: map[string]bool{}}
	for n := range g.Nodes() {
		c.labels[n.Label] = true
	}
	requests = slices.Clone(requests)
	slices.SortStableFunc(requests, func(a, b Request) int { return all.place(b.Tensor) - all.place(a.Tensor) })
	return c, requests, nil
}

// Made is what the tensors of a graph are computed by.
type Made struct {
	g       *ir.Graph
	flow    *ir.Flow
	order   []ir.NodeID
	at      map[ir.NodeID]int      // places in the order
	named   map[string][]ir.NodeID // tensors by labels
	ordered ir.NodeSet             // operations that sequence points name
}

// Of looks at a graph.
func Of(g *ir.Graph) *Made {
	m := &Made{g: g, flow: ir.NewFlow(g, tensorops.OperationKind), at: map[ir.NodeID]int{}, named: map[string][]ir.NodeID{}, ordered: sequence.Ordered(g)}
	m.order = m.flow.Order(g)
	for i, id := range m.order {
		m.at[id] = i
	}
	for n := range g.Nodes() {
		if _, ok := n.Body.(*tensorops.Tensor); ok && n.Label != "" {
			m.named[n.Label] = append(m.named[n.Label], n.ID)
		}
	}
	return m
}

// Order gives the operations, producers first.
func (m *Made) Order() []ir.NodeID { return m.order }

// Maker gives the operation that computes a tensor, if it can be computed again: it alone writes the tensor, and that entirely and nothing else, and it has no effect but that.
func (m *Made) Maker(tensor ir.NodeID) (op ir.NodeID, why string) {
	list := m.flow.Producers(tensor)
	if len(list) != 1 {
		return ir.NoNode, fmt.Sprintf("%d operations write it", len(list))
	}
	n, o := m.g.Node(list[0]), tensorops.OperationOf(m.g, list[0])
	whole, outputs := true, 0
	o.Outputs.All(func(_, _ int, s *ir.Selection) {
		outputs++
		whole = whole && s.Range().Equal(tensorops.TensorOf(m.g, s.Tensor).Range)
	})
	switch {
	case o.IsSource():
		return n.ID, "it is an input or a constant"
	case o.IsSink() || n.Tag(tensorops.IOSequencePointKind) != nil || m.ordered.Has(n.ID):
		return n.ID, "what makes it has effects outside of the graph, or an order"
	case tensorops.IsPrecomputed(n):
		return n.ID, "it is computed when the program is built"
	case o.IsChoice():
		return n.ID, "it is a choice that is open"
	case outputs != 1 || !whole:
		return n.ID, "what makes it has several results, or a part of one"
	}
	return n.ID, ""
}

// Readers gives the operations that read a tensor, in their order, those that only take tensors out of the graph left out; they read what is kept.
func (m *Made) Readers(tensor ir.NodeID) (list []ir.NodeID) {
	for _, r := range m.flow.Consumers(tensor) {
		if !tensorops.OperationOf(m.g, r).IsSink() {
			list = append(list, r)
		}
	}
	slices.SortStableFunc(list, func(a, b ir.NodeID) int { return m.at[a] - m.at[b] })
	return slices.Compact(list)
}

// Observed says whether a tensor is taken out of the graph.
func (m *Made) Observed(tensor ir.NodeID) bool {
	readers := m.flow.Consumers(tensor)
	return len(readers) == 0 || slices.ContainsFunc(readers, func(r ir.NodeID) bool { return tensorops.OperationOf(m.g, r).IsSink() })
}

// place gives where a tensor is made; a label that is of none is nowhere.
func (m *Made) place(label string) int {
	if len(m.named[label]) != 1 {
		return -1
	}
	list := m.flow.Producers(m.named[label][0])
	if len(list) == 0 {
		return -1
	}
	return m.at[list[0]]
}

// Named gives the tensor of a label, if one has it.
func (m *Made) Named(label string) (ir.NodeID, bool) {
	if list := m.named[label]; len(list) == 1 {
		return list[0], true
	}
	return ir.NoNode, false
}

// check refuses a request that names no tensor that can be computed again.
func (m *Made) check(r Request) error {
	tensor, ok := m.Named(r.Tensor)
	if !ok {
		return diag.Errorf(CodeMissing, Name, r.From, "tensor %q is to be recomputed, and %d tensors have that label", r.Tensor, len(m.named[r.Tensor])).
			Want("the label of one tensor: "+some(m.named), r.Tensor)
	}
	if _, why := m.Maker(tensor); why != "" {
		return diag.Errorf(CodeMade, Name, r.From, "%s can not be recomputed", m.g.Name(tensor)).Want("a tensor that one operation computes, and nothing else", why)
	}
	return nil
}

// some lists labels, the first few of them.
func some(named map[string][]ir.NodeID) string {
	const most = 8
	var labels []string
	for label := range named {
		labels = append(labels, label)
	}
	slices.Sort(labels)
	if len(labels) > most {
		labels = append(labels[:most], "…")
	}
	return strings.Join(labels, ", ")
}

// copier copies operations.
type copier struct {
	*ir.Graph
	labels map[string]bool
}

// tensor gives the readers of a tensor but the first copies, right before them, and says how many. Those that were added for other tensors are readers as well.
func (c *copier) tensor(r Request) (copies int) {
	bound, before := ir.NodeID(c.Bound()), map[ir.NodeID][]ir.NodeID{}
	m := Of(c.Graph)
	tensor, _ := m.Named(r.Tensor)
	op, _ := m.Maker(tensor)
	readers := m.Readers(tensor)
	for _, reader := range readers[min(1, len(readers)):] {
		to, copied := c.copy(op, tensor)
		before[reader] = []ir.NodeID{to, copied}
		body := c.Node(reader).Own().(*tensorops.Operation)
		body.Inputs.All(func(_, _ int, s *ir.Selection) {
			if s.Tensor == tensor {
				s.Tensor = to
			}
		})
		copies++
	}
	if copies > 0 {
		c.order(func(yield func(ir.NodeID) bool) {
			for n := range c.Nodes() {
				if n.ID < bound {
					for _, id := range append(before[n.ID], n.ID) {
						yield(id)
					}
				}
			}
		})
	}
	return copies
}

// copy copies an operation with its result, and gives the copies.
func (c *copier) copy(op, tensor ir.NodeID) (result, copied ir.NodeID) {
	to := c.node(tensor)
	n := c.node(op)
	n.Body.(*tensorops.Operation).Outputs.All(func(_, _ int, s *ir.Selection) { s.Tensor = to.ID })
	return to.ID, n.ID
}

// order brings the nodes of the graph into an order: of operations that nothing else orders, the first is carried out first, and a copy that were the last would wait in memory
// for nobody, or let others wait.
func (c *copier) order(order iter.Seq[ir.NodeID]) {
	var from, to []ir.NodeID
	for n := range c.Nodes() {
		to = append(to, n.ID)
	}
	number, nodes := map[ir.NodeID]ir.NodeID{}, []ir.Node(nil)
	for id := range order {
		number[id] = to[len(from)]
		from, nodes = append(from, id), append(nodes, *c.Node(id))
	}
	change := func(body ir.Body) ir.Body {
		if !slices.ContainsFunc(ir.References(body), func(id ir.NodeID) bool { n, ok := number[id]; return ok && n != id }) {
			return body
		}
		body = ir.CloneBody(body)
		ir.EachReference(body, func(ref *ir.NodeID) {
			if n, ok := number[*ref]; ok {
				*ref = n
			}
		})
		return body
	}
	for i, n := range nodes {
		n.ID, n.Body = to[i], change(n.Body)
		tags := slices.Clone(n.Tags())
		for k, t := range tags {
			tags[k] = change(t)
		}
		*c.Node(to[i]) = n
		if len(tags) > 0 {
			c.Node(to[i]).SetTags(tags)
		}
	}
}

// node copies a node with its tags. Its label is the other's with a number behind it that no other has.
func (c *copier) node(id ir.NodeID) *ir.Node {
	from := c.Node(id)
	label := from.Label
	for i := 2; label != "" && c.labels[label]; i++ {
		label = fmt.Sprintf("%s.%d", from.Label, i)
	}
	c.labels[label] = true
	n := c.Add(ir.CloneBody(from.Body), label)
	for _, t := range from.Tags() {
		n.SetTag(ir.CloneBody(t))
	}
	origin := &ir.Origin{Rule: Name}
	if o := from.Origin(); o != nil {
		origin.From = slices.Clone(o.From)
	} else {
		origin.From = []ir.Pos{from.Pos}
	}
	n.SetOrigin(origin)
	return n
}
