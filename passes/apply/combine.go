package apply

import (
	"maps"
	"slices"

	"tensortapestry.org/tapc/dialects/application"
	"tensortapestry.org/tapc/dialects/application/cut"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/zspace"
	"tensortapestry.org/tapc/ir/zspace/tiling"
)

// combined puts a whole operation, whose readers are placed, where its result is read: if each of several devices reads a part of its own, and these are all of it, as shards, of which each
// device computes what it reads, so that partial results are sent as by a reduce-scatter; else on the least of the devices that read it. It gives the operation's applications.
func combined(g *ir.Graph, lib *kernels.Library, flow *ir.Flow, of map[ir.NodeID][]ir.NodeID, op ir.NodeID) ([]ir.NodeID, error) {
	whole := of[op]
	devices, boxes := partsRead(g, lib, flow, of, op)
	if devices == nil {
		application.Place(g.Node(whole[0]), []int64{reader(g, flow, of, op)})
		return whole, nil
	}
	g.Remove(whole[0])
	apps, err := cut.Operation(g, lib, g.Node(op), "the combination of "+g.Name(op), cut.Cut{Levels: []cut.Level{{Boxes: boxes}}})
	for i, a := range apps {
		application.Place(g.Node(a), []int64{devices[i]})
	}
	return apps, err
}

// partsRead gives the devices that read what an operation gives, with the box that each reads, if there are several and their boxes tile it; nil otherwise. The operation's index is that of its result.
func partsRead(g *ir.Graph, lib *kernels.Library, flow *ir.Flow, of map[ir.NodeID][]ir.NodeID, op ir.NodeID) (devices []int64, boxes []zspace.Range) {
	var out *ir.Selection
	several := false
	tensorops.OperationOf(g, op).Outputs.All(func(_, _ int, s *ir.Selection) { out, several = s, out != nil })
	if out == nil || several {
		return nil, nil
	}
	if in, err := lib.BindOperation(g, op); err != nil || !in.Index().Equal(out.Range()) {
		return nil, nil
	}
	read := map[int64][]zspace.Range{}
	for _, by := range flow.Consumers(out.Tensor) {
		for _, a := range of[by] {
			on := application.PlacementOf(g.Node(a))
			if len(on) != 1 {
				return nil, nil
			}
			g.Node(a).Body.(*application.Application).Inputs.All(func(_, _ int, s *ir.Selection) {
				if s.Tensor == out.Tensor && !s.Range().Empty() {
					read[on[0]] = append(read[on[0]], s.Range())
				}
			})
		}
	}
	if len(read) < 2 {
		return nil, nil
	}
	devices = slices.Sorted(maps.Keys(read))
	for _, d := range devices {
		box, err := zspace.Bounding(read[d]...)
		if err != nil {
			return nil, nil
		}
		boxes = append(boxes, box)
	}
	if fault, err := tiling.Check(out.Range(), boxes); fault != nil || err != nil {
		return nil, nil
	}
	return devices, boxes
}
