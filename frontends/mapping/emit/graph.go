package emit

import (
	"slices"
	"strings"

	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/frontends/foreign"
	"tensortapestry.org/tapc/ir"
)

// Builder puts operations into a graph.
type Builder struct {
	Graph  *ir.Graph
	used   map[*foreign.Tensor]bool // by an operation, or as an output
	made   map[*foreign.Tensor]ir.Selection
	ops    map[*Node]ir.NodeID
	intern ir.Intern
	list   []ir.Port      // room for the ports of an operation
	sel    []ir.Selection // and for their selections
}

// NewBuilder begins a graph; used are the tensors that an operation takes, or that are outputs.
func NewBuilder(file string, used map[*foreign.Tensor]bool) *Builder {
	b := &Builder{Graph: ir.New(), used: used, made: map[*foreign.Tensor]ir.Selection{}, ops: map[*Node]ir.NodeID{}}
	b.Graph.File = file
	return b
}

// Tensor gives the node of a tensor, if it is in the graph.
func (b *Builder) Tensor(t *foreign.Tensor) (ir.NodeID, bool) {
	sel, there := b.made[t]
	return sel.Tensor, there
}

// Operation gives the operation of a node, if it is in the graph.
func (b *Builder) Operation(n *Node) (ir.NodeID, bool) {
	id, there := b.ops[n]
	return id, there
}

// Live finds the operations that the outputs and what is observed need, and the tensors that live operations take.
func (p *Program) Live(finals []*foreign.Tensor, observed []*Node) (map[*Node]bool, map[*foreign.Tensor]bool) {
	live, used := map[*Node]bool{}, map[*foreign.Tensor]bool{}
	for _, n := range observed {
		live[n] = true
	}
	for _, t := range finals {
		live[Maker(t)] = true
	}
	for _, n := range slices.Backward(p.Nodes) {
		if !live[n] && !slices.ContainsFunc(n.Guards, func(g *Node) bool { return live[g] }) {
			continue
		}
		live[n] = true
		for _, in := range n.In {
			for _, t := range in.Tensors {
				used[t] = true
				if t.Source != nil {
					live[Maker(t)] = true
				}
			}
		}
	}
	return live, used
}

// Named gives the nodes of inputs or outputs, whose labels are their names.
func (b *Builder) Named(list []*foreign.Tensor) ([]tensorops.Named, error) {
	out := make([]tensorops.Named, len(list))
	for i, t := range list {
		sel, err := b.tensor(t)
		if err != nil {
			return nil, err
		}
		out[i] = tensorops.Named{Name: t.Label, Tensor: sel.Tensor}
	}
	return out, nil
}

// Add adds the operation of a node. Its optional results that nothing takes are left out.
func (b *Builder) Add(n *Node) error {
	op := &tensorops.Operation{Kernel: n.Kernel, Params: n.Params}
	var err error
	if op.Inputs, err = b.ports(n.In); err != nil {
		return err
	}
	unused := func(p Port) bool { return p.Optional && !slices.ContainsFunc(p.Tensors, b.isUsed) }
	out := n.Out
	if slices.ContainsFunc(out, unused) {
		out = slices.DeleteFunc(slices.Clone(out), unused)
	}
	if op.Outputs, err = b.ports(out); err != nil {
		return err
	}
	made := b.Graph.Add(op, "")
	made.Pos, b.ops[n] = n.Pos, made.ID
	if n.Rule != "" {
		origin := &ir.Origin{Rule: n.Rule}
		if n.Pos != (ir.Pos{}) {
			origin.From = []ir.Pos{n.Pos}
		}
		made.SetOrigin(origin)
	}
	return nil
}

func (b *Builder) isUsed(t *foreign.Tensor) bool { return b.used[t] }

func (b *Builder) ports(list []Port) (ir.Ports, error) {
	b.list = b.list[:0]
	for _, p := range list {
		b.sel = b.sel[:0]
		for _, t := range p.Tensors {
			sel, err := b.tensor(t)
			if err != nil {
				return ir.Ports{}, err
			}
			b.sel = append(b.sel, sel)
		}
		b.list = append(b.list, ir.Port{Name: p.Name, Sel: b.intern.Selections(b.sel)})
	}
	slices.SortFunc(b.list, func(a, c ir.Port) int { return strings.Compare(a.Name, c.Name) })
	return b.intern.Ports(b.list), nil
}

// tensor gives the node of a tensor, made when it is first needed, with the operation of a constant.
func (b *Builder) tensor(t *foreign.Tensor) (ir.Selection, error) {
	if sel, ok := b.made[t]; ok {
		return sel, nil
	}
	sel, err := addTensor(b.Graph, t, t.Label)
	if err != nil {
		return sel, err
	}
	b.made[t] = sel
	if t.Data == nil {
		return sel, nil
	}
	params, err := t.Data.Params()
	if err != nil {
		return sel, err
	}
	b.Graph.Add(&tensorops.Operation{Kernel: "op:constant", Params: params, Outputs: ir.PortsOf([]ir.Port{{Name: "result", Sel: []ir.Selection{sel}}})}, "")
	return sel, nil
}

// Present gives the operations of the nodes that are in the program.
func (b *Builder) Present(nodes []*Node) (list []ir.NodeID) {
	for _, n := range nodes {
		if id, there := b.ops[n]; there {
			list = append(list, id)
		}
	}
	return list
}
