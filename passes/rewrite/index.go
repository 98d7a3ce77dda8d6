package rewrite

import (
	"fmt"
	"slices"

	"tensortapestry.org/tapc/dialects/application"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/dialects/tensorops/sequence"
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
	kernel   []int32 // of an operation, in kernels.list
	lists
	ops     []ir.NodeID               // in graph order when the index was built
	apps    map[ir.NodeID][]ir.NodeID // by operation
	effects []ir.NodeID               // operations that the driver leaves alone
	multi   bool                      // some operation that rules may remove has several outputs
	stated  bool                      // an export or a sequence point says what is observed: nothing is by being unused
	sorted  bool                      // ops have producers before consumers
	kernels *kernelTable
}

// lists are the consumers of each tensor, as linked lists whose last edge leads to the first.
type lists struct {
	live  []int32 // input selections of the tensor
	tail  []int32 // last edge, -1 for none
	edges []edge
}

// newIndex indexes a graph. A selection of what is not a tensor is an error: constraints come before rewrites.
func newIndex(g *ir.Graph, kernels *kernelTable, outputs []string) (*index, error) {
	ix := &index{g: g, kernels: kernels, apps: map[ir.NodeID][]ir.NodeID{}, sorted: true}
	ix.grow(g.Bound())
	ix.edges = make([]edge, 0, g.Len())
	ix.ops = make([]ir.NodeID, 0, g.Len()/2)
	for node := range g.Nodes() {
		if !ix.addNode(node) {
			return nil, fmt.Errorf("%s selects what is not there", g.Name(node.ID))
		}
	}
	for t := range ix.marks {
		if ix.marks[t]&isTensor == 0 && (ix.live[t] > 0 || ix.producer[t] != noProducer) {
			return nil, fmt.Errorf("%s is selected by an operation, but is not a tensor", g.Name(ir.NodeID(t)))
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
		ix.kernel = append(ix.kernel, make([]int32, more)...)
		ix.live = append(ix.live, make([]int32, more)...)
		ix.producer = fill(ix.producer, more, noProducer)
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

// addNode adds a node; false means that it selects a tensor that can not be.
func (ix *index) addNode(n *ir.Node) bool {
	ok := true
	switch b := n.Body.(type) {
	case *tensorops.Tensor:
		ix.marks[n.ID] |= isTensor
	case *tensorops.Operation:
		ix.marks[n.ID] |= isOperation
		ix.ops = append(ix.ops, n.ID)
		ok = ix.addOperation(n, b)
	case *application.Application:
		ix.apps[b.Operation] = append(ix.apps[b.Operation], n.ID)
	default:
		ix.stated = ix.stated || b.Kind() == sequence.Kind
		ix.pin(ir.References(b))
	}
	for _, t := range n.Tags() {
		switch t.(type) {
		case *tensorops.Signature, *tensorops.Index, *tensorops.IOSequencePoint, *tensorops.Precomputed:
		default:
			ix.pin(ir.References(t))
		}
	}
	return ok
}

func (ix *index) pin(ids []ir.NodeID) {
	for _, id := range ids {
		if ix.g.Node(id) != nil {
			ix.marks[id] |= pinned
		}
	}
}

func (ix *index) addOperation(n *ir.Node, op *tensorops.Operation) bool {
	ix.kernel[n.ID] = ix.kernels.number(op.Kernel)
	for _, p := range op.Inputs.Each() {
		for i := range p.Sel {
			t := p.Sel[i].Tensor
			if t < 0 || int(t) >= len(ix.marks) {
				return false
			}
			ix.addUse(n.ID, t)
		}
	}
	outputs := 0
	for _, p := range op.Outputs.Each() {
		for i := range p.Sel {
			t := p.Sel[i].Tensor
			if t < 0 || int(t) >= len(ix.marks) {
				return false
			}
			outputs++
			ix.addProducer(n.ID, t)
		}
	}
	effect := ix.kernelOf(n.ID).isEffect(n)
	ix.multi = ix.multi || outputs > 1 && !effect
	ix.stated = ix.stated || op.IsExport() && op.StatesInterface()
	if effect {
		ix.effects = append(ix.effects, n.ID)
	}
	if outputs == 0 || effect {
		ix.marks[n.ID] |= pinned
	}
	return true
}

func (ix *index) addProducer(op, t ir.NodeID) {
	if ix.producer[t] != noProducer {
		op = twoProducer
	}
	ix.producer[t] = op
	ix.sorted = ix.sorted && ix.live[t] == 0
}

// observe marks the tensors whose values are observed.
func (ix *index) observe(outputs []string) {
	for _, id := range ix.effects {
		op := tensorops.OperationOf(ix.g, id)
		observe := func(_, _ int, s *ir.Selection) { ix.marks[s.Tensor] |= observed }
		op.Inputs.All(observe)
		op.Outputs.All(observe)
	}
	for t := range ix.marks {
		if ix.stated || ix.marks[t]&isTensor == 0 || ix.producer[t] == noProducer || ix.live[t] > 0 {
			continue
		}
		p := ix.producer[t]
		if p >= 0 && ix.kernelOf(p).constant || len(outputs) > 0 && !slices.Contains(outputs, ix.g.Node(ir.NodeID(t)).Label) {
			continue
		}
		ix.marks[t] |= observed | unused
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
	e, first := int32(len(ix.edges)), int32(len(ix.edges))
	ix.live[t]++
	if last := ix.tail[t]; last >= 0 {
		if ix.edges[last].op == op {
			return
		}
		first, ix.edges[last].next = ix.edges[last].next, e
	}
	ix.tail[t] = e
	ix.edges = append(ix.edges, edge{op, first})
}

// consumers calls visit for every operation that selects the tensor, and drops stale edges. An operation may come twice.
// visit may add uses to other tensors.
func (ix *index) consumers(t ir.NodeID, visit func(op ir.NodeID)) {
	last := ix.tail[t]
	if last < 0 {
		return
	}
	kept := last // the edge before e that stays; last until there is one
	for e, more := ix.edges[last].next, true; more; {
		here, next := ix.edges[e].op, ix.edges[e].next
		more = e != last
		switch {
		case ix.uses(here, t):
			kept = e
			visit(here)
		case more || kept != last:
			ix.edges[kept].next = next
			if !more {
				ix.tail[t] = kept
			}
		default:
			ix.tail[t] = -1
		}
		e = next
	}
}

// uses says whether an operation is there and selects the tensor.
func (ix *index) uses(op, t ir.NodeID) bool {
	body := tensorops.OperationOf(ix.g, op)
	if body == nil {
		return false
	}
	for _, p := range body.Inputs.Each() {
		for i := range p.Sel {
			if p.Sel[i].Tensor == t {
				return true
			}
		}
	}
	return false
}
