package cut

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"tensortapestry.org/tapc/dialects/application"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/ir/zspace"
)

// shard is a block of an index, and the devices that compute it.
type shard struct {
	box zspace.Range
	on  *application.Placement // nil if nothing is said
}

// Refine cuts each application of an operation further, or its whole index if it has none, and gives the new applications. They are on the devices of those
// that they are parts of.
func Refine(g *ir.Graph, lib *kernels.Library, n *ir.Node, apps []ir.NodeID, request string, c Cut) ([]ir.NodeID, error) {
	if err := Sign(g, lib, n); err != nil {
		return nil, err
	}
	space, finer := SpaceOf(g, lib, n), []shard{}
	for _, s := range shards(g, n, apps) {
		space.Index = s.box
		blocks, err := c.Blocks(space)
		if err == nil && len(finer)+len(blocks) > MaxBlocks {
			err = tooMany()
		}
		if err != nil {
			return nil, misfit(g, n, request, err)
		}
		for _, b := range blocks {
			finer = append(finer, shard{b, s.on})
		}
	}
	return replace(g, n, apps, finer)
}

// Coarsen joins neighbouring applications of an operation: along each dimension as many as the cut, of one level of counts, says, or fewer at ends and where neighbours are
// not of one extent or not on the same devices. It gives the new applications.
func Coarsen(g *ir.Graph, lib *kernels.Library, n *ir.Node, apps []ir.NodeID, request string, c Cut) ([]ir.NodeID, error) {
	if err := Sign(g, lib, n); err != nil {
		return nil, err
	}
	if len(c.Levels) != 1 || slices.ContainsFunc(c.Levels[0].Parts, func(p Part) bool { return p.Count < 1 }) || c.Levels[0].Boxes != nil {
		return nil, misfit(g, n, request, &Misfit{"TAP0855", "it does not say how many neighbours are joined", "a number for each dimension, as 2x1", c.String()})
	}
	parts, err := c.Levels[0].along(SpaceOf(g, lib, n))
	if err != nil {
		return nil, misfit(g, n, request, err)
	}
	before := shards(g, n, apps)
	list := before
	for d, p := range parts {
		list = join(list, d, int(max(p.Count, 1)))
	}
	if len(list) == len(before) {
		return nil, misfit(g, n, request, &Misfit{"TAP0856", "it joins nothing", "two neighbours of one extent, on the same devices", fmt.Sprintf("%d shards", len(before))})
	}
	return replace(g, n, apps, list)
}

// shards gives those of an operation; one if it has none.
func shards(g *ir.Graph, n *ir.Node, apps []ir.NodeID) (list []shard) {
	for _, a := range apps {
		on, _ := g.Node(a).Tag(application.PlacementKind).(*application.Placement)
		list = append(list, shard{tensorops.IndexOf(g.Node(a)).Range, on})
	}
	if len(list) == 0 {
		list = append(list, shard{box: tensorops.IndexOf(n).Range})
	}
	return list
}

// replace puts applications in the place of others.
func replace(g *ir.Graph, n *ir.Node, apps []ir.NodeID, list []shard) (ids []ir.NodeID, err error) {
	for _, a := range apps {
		g.Remove(a)
	}
	for _, s := range list {
		a, err := Application(g, n, s.box)
		if err != nil {
			return nil, err
		}
		if s.on != nil {
			on := *s.on
			a.SetTag(&on)
		}
		ids = append(ids, a.ID)
	}
	return ids, nil
}

// join joins runs of so many neighbours along a dimension. A joined one has the place of its first part.
func join(list []shard, d, many int) []shard {
	order := make([]int, len(list))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int {
		return cmp.Or(besides(list[i], list[j], d), cmp.Compare(list[i].box.Start[d], list[j].box.Start[d]))
	})
	gone, run := make([]bool, len(list)), 0
	out := slices.Clone(list)
	first := -1
	for k, i := range order {
		s := list[i]
		if k > 0 && run < many && besides(list[order[k-1]], s, d) == 0 && out[first].box.End[d] == s.box.Start[d] {
			out[first].box = out[first].box.Clone()
			out[first].box.End[d] = s.box.End[d]
			gone[i] = true
			run++
			continue
		}
		first, run = i, 1
	}
	kept := out[:0]
	for i, s := range out {
		if !gone[i] {
			kept = append(kept, s)
		}
	}
	return kept
}

// besides compares shards in all but one dimension: 0 if they could be joined along it.
func besides(a, b shard, d int) int {
	for k := range a.box.Start {
		if c := cmp.Or(cmp.Compare(a.box.Start[k], b.box.Start[k]), cmp.Compare(a.box.End[k], b.box.End[k])); k != d && c != 0 {
			return c
		}
	}
	return slices.Compare(a.devices(), b.devices())
}

func (s shard) devices() []int64 {
	if s.on == nil {
		return nil
	}
	return s.on.Devices
}

// misfit says which request does not fit which operation.
func misfit(g *ir.Graph, n *ir.Node, request string, err error) error {
	var m *Misfit
	if !errors.As(err, &m) {
		return diag.Errorf("TAP0826", "shard", g.At(n, ""), "%s does not fit %s: %v", request, g.Name(n.ID), err)
	}
	text := fmt.Sprintf("%s does not fit %s", request, g.Name(n.ID))
	if m.Message != "" {
		text += ": " + m.Message
	}
	return diag.Errorf(m.Code, "shard", g.At(n, ""), "%s", text).Want(m.Expected, m.Found)
}
