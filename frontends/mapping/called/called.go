// Package called makes definitions of the functions that a foreign graph calls: it is told which operations of the program each call became.
//
// It knows no rules and no vocabulary. It must not import frontends/mapping, which uses it. Read next: dialects/tensorops/composite, then docs/composites.md.
package called

import (
	"fmt"

	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/dialects/tensorops/composite"
	"tensortapestry.org/tapc/dialects/tensorops/definition"
	"tensortapestry.org/tapc/ir"
)

// Call is a call of a function, and what became of it. What it takes is copied to the tensors that its operations read, so that these are known by the formal inputs; the copies go.
type Call struct {
	Name, Label string
	Pos         ir.Pos
	Ops         []ir.NodeID // that are left, those of Inner and the copies among them
	In, Out     []Port
	Inner       []Call
}

// Port is a formal input and the operation that copies what is given for it, or a formal output and the tensor that it gives.
type Port struct {
	Name string
	Node ir.NodeID
}

// Outline puts an operation that uses a definition in the place of each call, those inside of others included. Calls that become the same steps share a definition; another of the name has
// a number. A call that nothing is left of, or that holds what no definition may, as checks, keeps its operations.
func Outline(g *ir.Graph, calls []Call) {
	o := &outliner{g: g, all: map[string]*definition.Definition{}}
	for i := range calls {
		o.call(&calls[i])
	}
	if len(calls) > 0 {
		composite.RemoveUnused(g)
		o.tidy()
	}
}

// outliner makes definitions for one graph.
type outliner struct {
	g      *ir.Graph
	all    map[string]*definition.Definition
	cloned []ir.NodeID // constants of which a call has one of its own
}

// tidy removes constants that only calls took, which have their own.
func (o *outliner) tidy() {
	flow := ir.NewFlow(o.g, tensorops.OperationKind)
	for _, t := range o.cloned {
		if o.g.Node(t) != nil && len(flow.Consumers(t)) == 0 {
			o.g.Remove(flow.Producers(t)[0])
			o.g.Remove(t)
		}
	}
}

// call gives the operations that are left of a call.
func (o *outliner) call(c *Call) (left []ir.NodeID) {
	list, copies := c.Ops, map[ir.NodeID]bool{}
	for i := range c.Inner {
		list = append(list, o.call(&c.Inner[i])...)
	}
	for _, p := range c.In {
		copies[p.Node] = true
	}
	var ops, seen = []ir.NodeID{}, ir.NodeSet{}
	for _, id := range list {
		if o.g.Node(id) != nil && !copies[id] && !seen.Has(id) {
			ops = append(ops, id)
		}
		seen.Add(id)
	}
	if made, ok := o.define(c, ops); ok {
		ops = []ir.NodeID{made}
	}
	for _, p := range c.In {
		o.bypass(p.Node, ops)
	}
	return ops
}

// define makes a definition of the operations of a call, and the operation that uses it.
func (o *outliner) define(c *Call, ops []ir.NodeID) (made ir.NodeID, ok bool) {
	var in, out []tensorops.Named
	body := &tensorops.Operation{}
	var ports [2][]ir.Port
	for _, p := range c.In {
		op := tensorops.OperationOf(o.g, p.Node)
		in = append(in, tensorops.Named{Name: p.Name, Tensor: op.Outputs.At(0).Sel[0].Tensor})
		ports[0] = append(ports[0], ir.Port{Sel: op.Inputs.At(0).Sel})
	}
	var given, there ir.NodeSet
	for _, id := range ops {
		given.AddPorts(tensorops.OperationOf(o.g, id).Outputs)
	}
	labels := map[ir.NodeID]string{}
	for _, p := range c.Out {
		if n := o.g.Node(p.Node); n != nil && given.Has(p.Node) && !there.Has(p.Node) {
			out, labels[p.Node], n.Label = append(out, tensorops.Named{Name: p.Name, Tensor: p.Node}), n.Label, p.Name
			ports[1] = append(ports[1], ir.Port{Sel: []ir.Selection{ir.Select(p.Node, tensorops.TensorOf(o.g, p.Node).Range)}})
		}
		there.Add(p.Node)
	}
	if len(out) == 0 {
		return ir.NoNode, false
	}
	steps := append(o.constants(ops, in), ops...)
	d, err := composite.Part(o.g, steps, c.Name, in, out)
	for id, label := range labels {
		o.g.Node(id).Label = label
	}
	if err != nil {
		return ir.NoNode, false
	}
	for i, f := range d.Inputs {
		ports[0][i].Name = f.Port
	}
	for i, f := range d.Outputs {
		ports[1][i].Name = f.Port
	}
	o.remove(steps, labels)
	body.Kernel, body.Inputs, body.Outputs = definition.Space+o.share(d), composite.Sorted(ports[0]), composite.Sorted(ports[1])
	n := o.g.Add(body, c.Label)
	n.Pos = c.Pos
	return n.ID, true
}

// constants gives a call constants of its own, in the place of those that its operations read beside what it is given.
func (o *outliner) constants(ops []ir.NodeID, in []tensorops.Named) (made []ir.NodeID) {
	flow, own := ir.NewFlow(o.g, tensorops.OperationKind), map[ir.NodeID]ir.NodeID{}
	for _, id := range ops {
		body := o.g.Node(id).Own().(*tensorops.Operation)
		body.Inputs = body.Inputs.Clone()
		body.Inputs.All(func(_, _ int, s *ir.Selection) {
			p := flow.Producers(s.Tensor)
			if len(p) != 1 || !tensorops.OperationOf(o.g, p[0]).IsSource() || tensorops.OperationOf(o.g, p[0]).IsImport() {
				return
			}
			if _, there := own[s.Tensor]; !there {
				was, t := tensorops.OperationOf(o.g, p[0]), *tensorops.TensorOf(o.g, s.Tensor)
				n := o.g.Add(&t, o.g.Node(s.Tensor).Label)
				own[s.Tensor], o.cloned = n.ID, append(o.cloned, s.Tensor)
				result := ir.PortsOf([]ir.Port{{Name: was.Outputs.At(0).Name, Sel: []ir.Selection{ir.Select(n.ID, t.Range)}}})
				made = append(made, o.g.Add(&tensorops.Operation{Kernel: was.Kernel, Params: was.Params, Outputs: result}, "").ID)
			}
			s.Tensor = own[s.Tensor]
		})
	}
	return made
}

// remove takes operations out of the graph, and the tensors that they give but for some.
func (o *outliner) remove(ops []ir.NodeID, but map[ir.NodeID]string) {
	for _, id := range ops {
		tensorops.OperationOf(o.g, id).Outputs.All(func(_, _ int, s *ir.Selection) {
			if _, stays := but[s.Tensor]; !stays {
				o.g.Remove(s.Tensor)
			}
		})
		o.g.Remove(id)
	}
}

// share gives the name of a definition: that of one that is the same, or one that no other has.
func (o *outliner) share(d *definition.Definition) string {
	name := d.Name
	for i := 2; o.all[d.Name] != nil; i++ {
		if ir.EqualBody(o.all[d.Name], d) {
			return d.Name
		}
		d.Name = fmt.Sprintf("%s_%d", name, i)
	}
	o.all[d.Name] = d
	o.g.Add(d, "")
	return d.Name
}

// bypass removes a copy, and lets some operations read what was copied.
func (o *outliner) bypass(id ir.NodeID, readers []ir.NodeID) {
	op := tensorops.OperationOf(o.g, id)
	from, to := op.Inputs.At(0).Sel[0], op.Outputs.At(0).Sel[0].Tensor
	for _, r := range readers {
		body := o.g.Node(r).Own().(*tensorops.Operation)
		body.Inputs = body.Inputs.Clone()
		body.Inputs.All(func(_, _ int, s *ir.Selection) {
			if s.Tensor == to {
				s.Tensor = from.Tensor
			}
		})
	}
	o.g.Remove(id)
	o.g.Remove(to)
}
