package gen

import (
	"tensortapestry.org/tapc/dialects/application"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/zspace"
)

// Graph is the sink that builds a graph in memory.
type Graph struct {
	Result *ir.Graph

	box    zspace.Range
	shards []zspace.Range
	ids    []ir.NodeID // by value
}

// Begin makes the graph.
func (s *Graph) Begin(o Options) error {
	s.Result = ir.New()
	s.box = zspace.MustShape(o.Extent, o.Extent)
	if o.Shape == Sharded {
		rows := o.Extent / int64(o.Shards)
		for i := range int64(o.Shards) {
			s.shards = append(s.shards, zspace.Range{Start: zspace.Point{i * rows, 0}, End: zspace.Point{(i + 1) * rows, o.Extent}})
		}
	}
	return nil
}

func (s *Graph) tensor(name string) ir.NodeID {
	id := s.Result.Add(&tensorops.Tensor{DType: "float32", Range: s.box}, name).ID
	s.ids = append(s.ids, id)
	return id
}

// Input adds a tensor.
func (s *Graph) Input(_ Value, name string) error {
	s.tensor(name)
	return nil
}

// ports gives the ports of an operation or of the shard over a box.
func (s *Graph) ports(op Op, box zspace.Range) (in, out ir.Ports) {
	sel := func(v Value) []ir.Selection { return []ir.Selection{ir.Select(s.ids[v], box)} }
	out = ir.PortsOf([]ir.Port{{Name: "result", Sel: sel(op.Result)}})
	switch op.Kernel {
	case "constant":
	case "exp":
		in = ir.PortsOf([]ir.Port{{Name: "tensor", Sel: sel(op.Args[0])}})
	case "sub":
		in = ir.PortsOf([]ir.Port{{Name: "a", Sel: sel(op.Args[0])}, {Name: "b", Sel: sel(op.Args[1])}})
	default:
		in = ir.PortsOf([]ir.Port{{Name: "tensors", Sel: append(sel(op.Args[0]), sel(op.Args[1])...)}})
	}
	return in, out
}

// Op adds an operation, its tensor and its shards.
func (s *Graph) Op(op Op, name string) error {
	s.tensor(name)
	body := &tensorops.Operation{Kernel: "op:" + op.Kernel}
	if op.Kernel == "constant" {
		body.Params = ir.Attrs{{Name: "value", Value: ir.FloatAttr(1)}}
	}
	body.Inputs, body.Outputs = s.ports(op, s.box)
	n := s.Result.Add(body, "")
	for _, box := range s.shards {
		a := &application.Application{Operation: n.ID}
		a.Inputs, a.Outputs = s.ports(op, box)
		s.Result.Add(a, "")
	}
	return nil
}

// EndChain does nothing: an output is a tensor that nobody consumes.
func (s *Graph) EndChain(Value) error { return nil }

// End does nothing.
func (s *Graph) End() error { return nil }
