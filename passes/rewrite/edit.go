package rewrite

import (
	"slices"
	"strings"

	"tensortapestry.org/tapc/dialects/application"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/zspace"
)

// edit is one application of a rule while it is carried out.
type edit struct {
	*driver
	root   *ir.Node
	rule   *Rule
	origin *ir.Origin
	made   map[*Op]*ir.Node
	fresh  []*ir.Node // operations made or changed, in order
	depth  int
}

// carryOut replaces the outputs of the site's operation as planned. New uses are added before old ones are released, so that
// nothing dies that is still wanted.
func (d *driver) carryOut(s *Site, r *Rule, res *Result, p plan) {
	e := &edit{driver: d, root: s.Node, rule: r, origin: d.originOf(r, s.Node, res.From), depth: max(2, r.Depth)}
	old, outputs := *s.Op, slices.Clone(outputsOf(s.Op))
	used := false
	for i, a := range p {
		switch o := res.Outputs[i]; a {
		case become:
			e.become(o, outputs[i], !used)
			used = true
		case forward:
			e.forward(outputs[i], o.Sel)
		}
	}
	e.retag()
	if !used {
		d.index.drop(s.Node.ID)
		d.removed++
	} else {
		d.wake(s.Node.ID, e.depth)
	}
	for i, a := range p {
		if a == rename {
			e.rename(outputs[i], res.Outputs[i].Sel)
		}
	}
	d.release(old.Inputs)
}

func outputsOf(op *tensorops.Operation) []ir.Selection {
	var out []ir.Selection
	op.Outputs.All(func(_, _ int, s *ir.Selection) { out = append(out, *s) })
	return out
}

// become lets a new operation write an output of the root: the root itself takes the form of the first one.
func (e *edit) become(o Operand, out ir.Selection, first bool) {
	var n *ir.Node
	switch {
	case e.made[o.New] != nil:
		n = e.made[o.New]
	case first:
		n = e.root
		body := n.Body.(*tensorops.Operation)
		if n.Label == body.Kernel {
			n.Label = o.New.Kernel
		}
		inputs := e.inputs(o.New)
		*body = tensorops.Operation{Kernel: o.New.Kernel, Params: o.New.Params, Inputs: inputs}
		e.note(o.New, n)
	default:
		body := &tensorops.Operation{Kernel: o.New.Kernel, Params: o.New.Params, Inputs: e.inputs(o.New)}
		n = e.add(body, "")
		e.note(o.New, n)
	}
	body := n.Body.(*tensorops.Operation)
	port := o.New.Outputs[o.Out].Port
	body.Outputs = addTo(body.Outputs, port, out)
	e.index.producer[out.Tensor] = n.ID
	n.SetOrigin(e.origin)
}

func (e *edit) g() *ir.Graph { return e.index.g }

func (e *edit) note(op *Op, n *ir.Node) {
	if e.made == nil {
		e.made = map[*Op]*ir.Node{}
	}
	e.made[op] = n
	e.index.kernel[n.ID] = e.kernels.number(op.Kernel)
	e.fresh = append(e.fresh, n)
	for _, p := range n.Body.(*tensorops.Operation).Inputs.Each() {
		for i := range p.Sel {
			e.index.addUse(n.ID, p.Sel[i].Tensor)
		}
	}
}

// addTo adds a selection behind those of a port.
func addTo(ports ir.Ports, port string, sel ir.Selection) ir.Ports {
	p := ir.Port{Name: port}
	if there := ports.Get(port); there != nil {
		p = *there
	}
	p.Sel = append(p.Sel, sel)
	return ports.With(p)
}

// inputs makes the input ports of a new operation, and the operations that it reads from.
func (e *edit) inputs(op *Op) ir.Ports {
	list := make([]ir.Port, 0, len(op.Inputs))
	for _, in := range op.Inputs {
		p := ir.Port{Name: in.Port, Sel: make([]ir.Selection, len(in.Args))}
		for i, a := range in.Args {
			p.Sel[i] = a.Sel
			if a.New != nil {
				p.Sel[i] = e.build(a.New, a.Out)
			}
		}
		list = append(list, p)
	}
	slices.SortFunc(list, func(a, b ir.Port) int { return strings.Compare(a.Name, b.Name) })
	return ir.PortsOf(list)
}

// build makes a new operation with tensors of its own, once, and gives one of its outputs.
func (e *edit) build(op *Op, out int) ir.Selection {
	n := e.made[op]
	if n == nil {
		body := &tensorops.Operation{Kernel: op.Kernel, Params: op.Params, Inputs: e.inputs(op)}
		n = e.add(body, "")
		e.note(op, n)
		for _, o := range op.Outputs {
			t := e.add(&tensorops.Tensor{DType: o.DType, Range: o.Range}, "")
			e.index.marks[t.ID] = isTensor
			e.index.producer[t.ID] = n.ID
			sel := ir.Select(t.ID, o.Range)
			body.Outputs = addTo(body.Outputs, o.Port, sel)
		}
		e.index.multi = e.index.multi || len(op.Outputs) > 1
	}
	return output(n.Body.(*tensorops.Operation), op, out)
}

// output gives the selection that is output number i of an operation made from op.
func output(body *tensorops.Operation, op *Op, i int) ir.Selection {
	port, entry := op.Outputs[i].Port, 0
	for _, o := range op.Outputs[:i] {
		if o.Port == port {
			entry++
		}
	}
	return body.Outputs.Get(port).Sel[entry]
}

// add puts a node that the rule makes into the graph and the index.
func (e *edit) add(body ir.Body, label string) *ir.Node {
	n := e.g().Add(body, label)
	n.Pos = e.root.Pos
	n.SetOrigin(e.origin)
	e.index.grow(e.g().Bound())
	if body.Kind() == tensorops.OperationKind {
		e.index.marks[n.ID] = isOperation
		e.cycle.inherit(e.root.ID, n.ID)
		e.work.push(n.ID)
	}
	return n
}

// forward gives every consumer of a tensor another one in its place, and removes the tensor.
func (e *edit) forward(t, x ir.Selection) {
	e.repoint(t, x)
	e.index.producer[t.Tensor] = noProducer
	e.g().Remove(t.Tensor)
	e.index.marks[t.Tensor] = 0
}

func (e *edit) repoint(t, x ir.Selection) {
	delta, _ := x.Range().Start.Sub(t.Range().Start)
	e.index.consumers(t.Tensor, func(c ir.NodeID) {
		e.move(e.g().Node(c), t.Tensor, x.Tensor, delta)
		e.wake(c, e.depth-1)
	})
}

// rename lets the producer of x write t, and gives t to the other consumers of x.
func (e *edit) rename(t, x ir.Selection) {
	e.repoint(x, t)
	p := e.index.producer[x.Tensor]
	n := e.g().Node(p)
	delta, _ := t.Range().Start.Sub(x.Range().Start)
	op := n.Body.(*tensorops.Operation)
	moved := moveSelections(op.Outputs, x.Tensor, t.Tensor, delta)
	e.moveSignature(n, moved, true, delta)
	for _, a := range e.index.apps[p] {
		moveSelections(application.ApplicationOf(e.g(), a).Outputs, x.Tensor, t.Tensor, delta)
	}
	e.index.producer[t.Tensor] = p
	e.index.producer[x.Tensor] = noProducer
	e.g().Remove(x.Tensor)
	e.index.marks[x.Tensor] = 0
	e.wake(p, e.depth)
}

// move changes every selection of one tensor by an operation, its shards and its signature to another tensor.
func (e *edit) move(n *ir.Node, from, to ir.NodeID, delta zspace.Point) {
	moved := moveSelections(n.Body.(*tensorops.Operation).Inputs, from, to, delta)
	for range moved {
		e.index.addUse(n.ID, to)
	}
	e.index.live[from] -= int32(len(moved))
	e.moveSignature(n, moved, false, delta)
	for _, a := range e.index.apps[n.ID] {
		moveSelections(application.ApplicationOf(e.g(), a).Inputs, from, to, delta)
	}
}

// entry is a selection's place in a node's ports.
type entry struct{ port, index int }

func moveSelections(ports ir.Ports, from, to ir.NodeID, delta zspace.Point) []entry {
	var moved []entry
	still := isZero(delta)
	ports.All(func(port, i int, s *ir.Selection) {
		if s.Tensor != from {
			return
		}
		s.Tensor = to
		if !still {
			s.SetRange(shifted(s.Range(), delta))
		}
		moved = append(moved, entry{port, i})
	})
	return moved
}

func isZero(p zspace.Point) bool {
	for _, x := range p {
		if x != 0 {
			return false
		}
	}
	return true
}

// shifted moves a range; one that would leave the integers stays, which planning has ruled out.
func shifted(r zspace.Range, delta zspace.Point) zspace.Range {
	if moved, err := r.Translate(delta); err == nil {
		return moved
	}
	return r
}

// release takes away the uses of ports that are gone, and removes what dies by it. Tensors without a producer stay.
func (d *driver) release(ports ir.Ports) {
	ix := d.index
	stack := []ir.Ports{ports}
	left := func(t ir.NodeID) int32 { return ix.live[t] }
	for len(stack) > 0 {
		ports := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		ports.All(func(_, _ int, s *ir.Selection) {
			ix.live[s.Tensor]--
			switch p := ix.producer[s.Tensor]; {
			case ix.live[s.Tensor] == 1:
				ix.consumers(s.Tensor, d.work.push)
			case ix.live[s.Tensor] == 0 && ix.dies(p, left):
				op := tensorops.OperationOf(ix.g, p)
				op.Outputs.All(func(_, _ int, o *ir.Selection) { ix.dropTensor(o.Tensor) })
				ix.drop(p)
				d.removed++
				stack = append(stack, op.Inputs)
			}
		})
	}
}

// drop removes an operation and its shards.
func (ix *index) drop(op ir.NodeID) {
	for _, a := range ix.apps[op] {
		ix.g.Remove(a)
	}
	delete(ix.apps, op)
	ix.g.Remove(op)
	ix.marks[op] = 0
}

func (ix *index) dropTensor(t ir.NodeID) {
	ix.g.Remove(t)
	ix.marks[t], ix.producer[t] = 0, noProducer
}

// maxFrom bounds the places that a node made by rewrites remembers.
const maxFrom = 8

// originOf joins the places that the root and the other matched operations come from, in that order, without repeats.
func (d *driver) originOf(r *Rule, root *ir.Node, more []ir.NodeID) *ir.Origin {
	o := &ir.Origin{Rule: r.Name}
	add := func(n *ir.Node) {
		from := []ir.Pos{n.Pos}
		if earlier := n.Origin(); earlier != nil {
			from = earlier.From
		}
		for _, p := range from {
			if p != (ir.Pos{}) && len(o.From) < maxFrom && !slices.Contains(o.From, p) {
				o.From = append(o.From, p)
			}
		}
	}
	add(root)
	for _, id := range more {
		if n := d.index.g.Node(id); n != nil && n != root {
			add(n)
		}
	}
	return o
}
