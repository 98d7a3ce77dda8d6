package rewrite

import (
	"fmt"
	"slices"

	"tensortapestry.org/tapc/dialects/application"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/ir"
)

// mark is a set of facts about a node.
type mark uint8

const (
	isTensor mark = 1 << iota
	isOperation
	observed // by an effect, or by being unused
	unused   // observed by being unused: no operation may come to consume it
	pinned   // must not change: an effect, or a node that a foreign node refers to
)

// The producers of a tensor that are no operation.
const (
	noProducer  ir.NodeID = -1
	twoProducer ir.NodeID = -2
)

// edge is an entry in a tensor's list of consumers. It is stale when the operation is gone or does not select the tensor any
// more; stale edges are dropped when a list is walked.
type edge struct {
	op   ir.NodeID
	next int32
}

// index knows, while the graph changes, who produces and who consumes each tensor. Its tables are by NodeID. Building it and
// every edit take time in proportion to what they touch.
type index struct {
	g        *ir.Graph
	marks    []mark
	producer []ir.NodeID
	live     []int32 // input selections of the tensor
	head     []int32 // list of consumers, -1 is its end
	tail     []int32
	edges    []edge
	ops      []ir.NodeID               // in graph order when the index was built
	apps     map[ir.NodeID][]ir.NodeID // by operation
	multi    bool                      // some operation has several outputs
}

// newIndex indexes a graph. A selection of what is not a tensor is an error: constraints come before rewrites.
func newIndex(g *ir.Graph, outputs []string) (*index, error) {
	n := g.Bound()
	ix := &index{g: g, apps: map[ir.NodeID][]ir.NodeID{}}
	ix.grow(n)
	for node := range g.Nodes() {
		switch node.Body.(type) {
		case *tensorops.Tensor:
			ix.marks[node.ID] |= isTensor
		case *tensorops.Operation:
			ix.marks[node.ID] |= isOperation
			ix.ops = append(ix.ops, node.ID)
		}
	}
	ix.edges = make([]edge, 0, 2*len(ix.ops))
	for node := range g.Nodes() {
		if err := ix.addNode(node); err != nil {
			return nil, err
		}
	}
	ix.observe(outputs)
	return ix, nil
}

// grow makes the tables long enough for n nodes.
func (ix *index) grow(n int) {
	for len(ix.marks) < n {
		more := n - len(ix.marks)
		ix.marks = append(ix.marks, make([]mark, more)...)
		ix.live = append(ix.live, make([]int32, more)...)
		ix.producer = fill(ix.producer, more, noProducer)
		ix.head = fill(ix.head, more, -1)
		ix.tail = fill(ix.tail, more, -1)
	}
}

func fill[T any](s []T, more int, v T) []T {
	s = slices.Grow(s, more)
	for range more {
		s = append(s, v)
	}
	return s
}

func (ix *index) addNode(n *ir.Node) error {
	switch b := n.Body.(type) {
	case *tensorops.Operation:
		if err := ix.addOperation(n, b); err != nil {
			return err
		}
	case *application.Application:
		ix.apps[b.Operation] = append(ix.apps[b.Operation], n.ID)
	case *tensorops.Tensor, *tensorops.Note:
	default:
		ix.pin(ir.References(b))
	}
	for _, t := range n.Tags {
		switch t.(type) {
		case *tensorops.Signature, *tensorops.Index, *tensorops.IOSequencePoint:
		default:
			ix.pin(ir.References(t))
		}
	}
	return nil
}

func (ix *index) pin(ids []ir.NodeID) {
	for _, id := range ids {
		if ix.g.Node(id) != nil {
			ix.marks[id] |= pinned
		}
	}
}

func (ix *index) addOperation(n *ir.Node, op *tensorops.Operation) error {
	for _, p := range op.Inputs {
		for _, s := range p.Sel {
			if !ix.is(s.Tensor, isTensor) {
				return fmt.Errorf("%s: input %q selects %s, which is not a tensor", ix.g.Name(n.ID), p.Name, ix.g.Name(s.Tensor))
			}
			ix.addUse(n.ID, s.Tensor)
		}
	}
	outputs := 0
	for _, p := range op.Outputs {
		for _, s := range p.Sel {
			if !ix.is(s.Tensor, isTensor) {
				return fmt.Errorf("%s: output %q selects %s, which is not a tensor", ix.g.Name(n.ID), p.Name, ix.g.Name(s.Tensor))
			}
			outputs++
			ix.addProducer(n.ID, s.Tensor)
		}
	}
	ix.multi = ix.multi || outputs > 1
	if isEffect(n, op) || outputs == 0 {
		ix.marks[n.ID] |= pinned
	}
	return nil
}

func (ix *index) addProducer(op, t ir.NodeID) {
	if ix.producer[t] != noProducer {
		op = twoProducer
	}
	ix.producer[t] = op
}

// observe marks the tensors whose values are observed.
func (ix *index) observe(outputs []string) {
	for _, id := range ix.ops {
		n, op := ix.g.Node(id), tensorops.OperationOf(ix.g, id)
		if !isEffect(n, op) {
			continue
		}
		observe := func(_, _ int, s *ir.Selection) { ix.marks[s.Tensor] |= observed }
		op.Inputs.All(observe)
		op.Outputs.All(observe)
	}
	for n := range ix.g.Nodes() {
		if !ix.is(n.ID, isTensor) || ix.producer[n.ID] == noProducer || ix.live[n.ID] > 0 {
			continue
		}
		p := tensorops.OperationOf(ix.g, ix.producer[n.ID])
		if p != nil && p.IsSource() || len(outputs) > 0 && !slices.Contains(outputs, n.Label) {
			continue
		}
		ix.marks[n.ID] |= observed | unused
	}
	ix.observeLabelled(outputs)
}

// observeLabelled marks the tensors that the caller named; they may be consumed as well.
func (ix *index) observeLabelled(outputs []string) {
	if len(outputs) == 0 {
		return
	}
	for n := range ix.g.Nodes() {
		if ix.is(n.ID, isTensor) && slices.Contains(outputs, n.Label) {
			ix.marks[n.ID] |= observed
		}
	}
}

func (ix *index) is(id ir.NodeID, m mark) bool {
	return id >= 0 && int(id) < len(ix.marks) && ix.marks[id]&m != 0
}

func (ix *index) addUse(op, t ir.NodeID) {
	e := int32(len(ix.edges))
	ix.live[t]++
	if last := ix.tail[t]; last >= 0 {
		if ix.edges[last].op == op {
			return
		}
		ix.edges[last].next = e
	} else {
		ix.head[t] = e
	}
	ix.tail[t] = e
	ix.edges = append(ix.edges, edge{op, -1})
}

// consumers calls visit for every operation that selects the tensor, and drops stale edges. An operation may come twice.
// visit may add uses to other tensors.
func (ix *index) consumers(t ir.NodeID, visit func(op ir.NodeID)) {
	prev := int32(-1)
	for e := ix.head[t]; e >= 0; e = ix.edges[e].next {
		op := ix.edges[e].op
		if ix.uses(op, t) {
			prev = e
			visit(op)
			continue
		}
		if prev < 0 {
			ix.head[t] = ix.edges[e].next
		} else {
			ix.edges[prev].next = ix.edges[e].next
		}
		if ix.tail[t] == e {
			ix.tail[t] = prev
		}
	}
}

// uses says whether an operation is there and selects the tensor.
func (ix *index) uses(op, t ir.NodeID) bool {
	body := tensorops.OperationOf(ix.g, op)
	if body == nil {
		return false
	}
	for _, p := range body.Inputs {
		for i := range p.Sel {
			if p.Sel[i].Tensor == t {
				return true
			}
		}
	}
	return false
}
