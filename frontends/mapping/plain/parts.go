package plain

import (
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/zspace"
)

// WholeTensors gives a graph whose operations take whole tensors, as those of other vocabularies do: a part that is taken becomes a slice.
func WholeTensors(g *ir.Graph) *ir.Graph {
	p := &parter{slices: map[ir.NodeID][]ir.Selection{}}
	for n := range g.Nodes() {
		if op, ok := n.Body.(*tensorops.Operation); ok && hasPart(g, op.Inputs) {
			p.ops = append(p.ops, n.ID)
		}
	}
	if len(p.ops) == 0 {
		return g
	}
	p.g = g.Clone()
	for _, id := range p.ops {
		op := p.g.Node(id).Own().(*tensorops.Operation)
		op.Inputs = p.parts(op.Inputs)
	}
	return p.g
}

// parter makes parts of tensors tensors.
type parter struct {
	g      *ir.Graph
	ops    []ir.NodeID
	slices map[ir.NodeID][]ir.Selection // pairs of a part and the tensor that it became
}

func isPart(g *ir.Graph, s ir.Selection) bool {
	t := tensorops.TensorOf(g, s.Tensor)
	return t != nil && !s.Range().Equal(t.Range)
}

func hasPart(g *ir.Graph, ports ir.Ports) bool {
	found := false
	ports.All(func(_, _ int, s *ir.Selection) { found = found || isPart(g, *s) })
	return found
}

// parts gives ports that take whole tensors.
func (p *parter) parts(ports ir.Ports) ir.Ports {
	var out []ir.Port
	for _, port := range ports.Each() {
		next := ir.Port{Name: port.Name}
		for _, s := range port.Sel {
			next.Sel = append(next.Sel, p.part(s))
		}
		out = append(out, next)
	}
	return ir.PortsOf(out)
}

// part gives what an operation takes: the result of a slice if it is a part, the same one for the same box.
func (p *parter) part(s ir.Selection) ir.Selection {
	if !isPart(p.g, s) {
		return s
	}
	known := p.slices[s.Tensor]
	for i := 0; i < len(known); i += 2 {
		if known[i].Equal(s) {
			return known[i+1]
		}
	}
	whole, box := tensorops.TensorOf(p.g, s.Tensor).Range, s.Range()
	starts := make([]int64, box.Rank())
	for i := range starts {
		starts[i] = box.Start[i] - whole.Start[i]
	}
	own := zspace.Range{Start: make(zspace.Point, box.Rank()), End: box.Shape()}
	out := ir.Select(p.g.Add(&tensorops.Tensor{DType: tensorops.TensorOf(p.g, s.Tensor).DType, Range: own}, "").ID, own)
	p.g.Add(&tensorops.Operation{Kernel: kernels.ID("slice"), Params: ir.Attrs{}.With("starts", ir.IntsAttr(starts...)).With("lengths", ir.IntsAttr(box.Shape()...)),
		Inputs:  ir.PortsOf([]ir.Port{{Name: "tensor", Sel: []ir.Selection{ir.Select(s.Tensor, whole)}}}),
		Outputs: ir.PortsOf([]ir.Port{{Name: "result", Sel: []ir.Selection{out}}})}, "")
	p.slices[s.Tensor] = append(known, s, out)
	return out
}
