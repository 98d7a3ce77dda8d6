package inline

import (
	"slices"

	"tensortapestry.org/tapc/dialects/application"
	"tensortapestry.org/tapc/dialects/application/cut"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/dialects/tensorops/composite"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/zspace"
	"tensortapestry.org/tapc/ir/zspace/tiling"
)

// shards are those of an operation that is replaced: the blocks of its index and where they are. One without a signature, of an operation that is not cut, has no block.
type shards struct {
	signature *composite.Derived
	blocks    []zspace.Range
	places    []*application.Placement
	outputs   []ir.Ports
	whole     bool
}

// shardsOf takes the shards of an operation out of the graph. The operation's signature must be the one that follows from its definition, or there is one shard.
func shardsOf(g *ir.Graph, lib *kernels.Library, n *ir.Node, apps []ir.NodeID) (*shards, error) {
	s := &shards{}
	if len(apps) == 0 {
		return s, nil
	}
	for _, a := range apps {
		place, _ := g.Node(a).Tag(application.PlacementKind).(*application.Placement)
		s.places = append(s.places, place)
		s.outputs = append(s.outputs, application.ApplicationOf(g, a).Outputs)
	}
	switch {
	case tensorops.SignatureOf(n) != nil:
		d, err := composite.CheckSignature(g, lib, n)
		if err != nil {
			return nil, err
		}
		s.signature = d
		for _, a := range apps {
			s.blocks = append(s.blocks, tensorops.IndexOf(g.Node(a)).Range)
		}
	case len(apps) == 1:
		s.whole = true
	default:
		return nil, composite.Unsigned(g, n)
	}
	for _, a := range apps {
		g.Remove(a)
	}
	return s, nil
}

// apply cuts a step as the shards need it: the parts that several need are computed once.
func (s *shards) apply(g *ir.Graph, lib *kernels.Library, step int, n *ir.Node) ([]ir.NodeID, error) {
	if s.whole {
		op := n.Body.(*tensorops.Operation)
		a := g.Add(&application.Application{Operation: n.ID, Inputs: op.Inputs.Clone(), Outputs: op.Outputs.Clone()}, "")
		a.Pos = n.Pos
		s.place(a, 0)
		return []ir.NodeID{a.ID}, nil
	}
	if s.signature == nil {
		return nil, nil
	}
	if err := cut.Sign(g, lib, n); err != nil {
		return nil, err
	}
	parts, places, err := s.parts(step, tensorops.IndexOf(n).Range, tensorops.OperationOf(g, n.ID).IsSource())
	if err != nil {
		return nil, err
	}
	var made []ir.NodeID
	for i, part := range parts {
		a, err := cut.Application(g, n, part)
		if err != nil {
			return nil, err
		}
		s.place(a, places[i])
		made = append(made, a.ID)
	}
	return made, nil
}

// parts gives the parts that a step is cut in, and the number of the shard that each is for: what the shards need of it, each part once. Where shards need some of the same and
// some that is not, as blocks that are no grid do of a step without one of their dimensions, the parts are a grid of all that they begin and end at, or one part if that would be more
// parts than shards.
func (s *shards) parts(step int, index zspace.Range, source bool) (parts []zspace.Range, places []int, err error) {
	if source {
		return []zspace.Range{index}, []int{0}, nil
	}
	for i, b := range s.blocks {
		if part := s.signature.Block(step, b); !has(parts, part) {
			parts, places = append(parts, part), append(places, i)
		}
	}
	fault, err := tiling.Check(index, parts)
	if err != nil || fault == nil {
		return parts, places, err
	}
	grid := []zspace.Range{index}
	for d := range index.Start {
		var bounds []int64
		for _, p := range parts {
			bounds = append(bounds, p.Start[d], p.End[d])
		}
		slices.Sort(bounds)
		if bounds = slices.Compact(bounds); len(bounds) < 2 {
			continue // it is empty
		}
		var next []zspace.Range
		for _, box := range grid {
			for k := range len(bounds) - 1 {
				piece := box.Clone()
				piece.Start[d], piece.End[d] = bounds[k], bounds[k+1]
				next = append(next, piece)
			}
			if len(next) > len(parts) {
				return []zspace.Range{index}, places[:1], nil
			}
		}
		grid = next
	}
	for range grid[min(len(places), len(grid)):] {
		places = append(places, places[0])
	}
	return grid, places, nil
}

// copied cuts the copy of a result as the shards cut the result.
func (s *shards) copied(g *ir.Graph, lib *kernels.Library, port string, n *ir.Node) error {
	if s.signature == nil {
		_, err := s.apply(g, lib, 0, n)
		return err
	}
	if err := cut.Sign(g, lib, n); err != nil {
		return err
	}
	whole := tensorops.OperationOf(g, n.ID).Outputs.At(0).Sel[0].Range()
	for i, out := range s.outputs {
		part := out.Get(port).Sel[0].Range().Clone()
		for d := range part.Start {
			part.Start[d], part.End[d] = part.Start[d]-whole.Start[d], part.End[d]-whole.Start[d]
		}
		a, err := cut.Application(g, n, part)
		if err != nil {
			return err
		}
		s.place(a, i)
	}
	return nil
}

func has(list []zspace.Range, r zspace.Range) bool {
	for _, x := range list {
		if x.Equal(r) {
			return true
		}
	}
	return false
}

func (s *shards) place(a *ir.Node, i int) {
	if s.places[i] != nil {
		a.SetTag(s.places[i])
	}
}
