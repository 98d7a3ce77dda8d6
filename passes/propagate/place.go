package propagate

import (
	"fmt"
	"maps"
	"slices"

	"tensortapestry.org/tapc/dialects/application"
	"tensortapestry.org/tapc/dialects/application/cut"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/zspace"
	"tensortapestry.org/tapc/ir/zspace/tiling"
)

// place puts each application of what was cut on all devices of the mesh that have its block; an effect happens on the first of them alone.
func place(g *ir.Graph, r *Result) error {
	apps := application.ByOperation(g)
	for id, part := range r.Parts {
		if g.Node(id) == nil {
			continue
		}
		shards := map[string]ir.NodeID{}
		for _, a := range apps[id] {
			shards[fmt.Sprint(tensorops.IndexOf(g.Node(a)).Range)] = a
		}
		devices := map[ir.NodeID][]int64{}
		for d := range r.Plan.Mesh.Devices() {
			box, number, err := r.Block(part.Operation, d)
			if err != nil {
				return err
			}
			if a, ok := shards[fmt.Sprint(box)]; ok && (part.Number < 0 || part.Number == number) {
				devices[a] = append(devices[a], d)
			}
		}
		for a, list := range devices {
			if g.Node(id).Tag(tensorops.IOSequencePointKind) != nil {
				list = list[:1]
			}
			application.Place(g.Node(a), list)
		}
	}
	return nil
}

// spreadTerms cuts what combines partial results, so that the devices of each part combine a piece of their own: with what brings the pieces that is a reduce-scatter and, with
// what brings the results to readers, an all-reduce. What has fewer cells than parts stays whole, and is placed by what runs behind.
func (p *propagation) spreadTerms(r *Result) error {
	apps := application.ByOperation(p.g)
	makers := map[ir.NodeID]ir.NodeID{}
	for n := range p.g.Nodes() {
		if op, ok := n.Body.(*tensorops.Operation); ok {
			op.Outputs.All(func(_, _ int, s *ir.Selection) { makers[s.Tensor] = n.ID })
		}
	}
	for _, result := range slices.Sorted(maps.Keys(r.terms)) {
		x := r.terms[result]
		if makers[result] != x.by.ID || x.by.Tag(tensorops.IOSequencePointKind) != nil {
			continue // nothing reads it
		}
		blocks, last := p.blocksOf(x, apps, makers), result
		for _, n := range x.behind {
			last = n.Body.(*tensorops.Operation).Outputs.At(0).Sel[0].Tensor
		}
		for _, n := range append([]*ir.Node{x.by}, x.behind...) {
			if err := p.deal(n, last, blocks); err != nil {
				return err
			}
		}
	}
	return nil
}

// block is one of partial results, and the devices that have it of each part.
type block struct {
	box     zspace.Range // seen from the start of their tensor: not all of a chain begin at one place
	devices [][]int64
}

// blocksOf gives the blocks of partial results, if all parts have the same.
func (p *propagation) blocksOf(x *terms, apps map[ir.NodeID][]ir.NodeID, makers map[ir.NodeID]ir.NodeID) (blocks []block) {
	for i, t := range x.tensors {
		list := apps[makers[t]]
		if i > 0 && len(list) != len(blocks) {
			return nil
		}
		for j, a := range list {
			box, n := moved(application.ApplicationOf(p.g, a).Outputs.At(0).Sel[0].Range(), tensorops.TensorOf(p.g, t).Range.Start, -1), p.g.Node(a)
			if i == 0 {
				blocks = append(blocks, block{box: box})
			}
			if !blocks[j].box.Equal(box) || n.Tag(application.PlacementKind) == nil {
				return nil
			}
			blocks[j].devices = append(blocks[j].devices, application.PlacementOf(n))
		}
	}
	return blocks
}

// deal cuts what combines blocks.
func (p *propagation) deal(n *ir.Node, result ir.NodeID, blocks []block) error {
	if err := cut.Sign(p.g, p.lib, n); err != nil {
		return err
	}
	index, whole := cut.SpaceOf(p.g, p.lib, n).Index, tensorops.TensorOf(p.g, result).Range
	if len(blocks) == 0 || !slices.Equal(index.Shape(), whole.Shape()) {
		return nil
	}
	var boxes []zspace.Range
	var places [][]int64
	for _, b := range blocks {
		k := p.along(result, b)
		if k < 0 {
			return nil
		}
		pieces, err := b.box.SplitCount(k, int64(len(b.devices)))
		if err != nil {
			return err
		}
		for i, piece := range pieces {
			boxes, places = append(boxes, moved(piece, index.Start, 1)), append(places, b.devices[i])
		}
	}
	return p.boxed(n, boxes, places)
}

// boxed cuts an operation into boxes of its index, each of which is on devices of its own.
func (p *propagation) boxed(n *ir.Node, boxes []zspace.Range, places [][]int64) error {
	ids, err := cut.Operation(p.g, p.lib, n, "the plan", cut.Cut{Levels: []cut.Level{{Boxes: boxes}}})
	if err != nil {
		return err
	}
	for i, a := range ids {
		application.Place(p.g.Node(a), places[i])
	}
	return nil
}

// convert puts conversions of what the parts of narrow sums read on the devices that read it: each converts what it reads, if others read none of that or the same.
func (p *propagation) convert(r *Result) error {
	readers := map[ir.NodeID][]ir.NodeID{} // applications, of each tensor
	for n := range p.g.Nodes() {
		if a, ok := n.Body.(*application.Application); ok {
			a.Inputs.All(func(_, _ int, s *ir.Selection) { readers[s.Tensor] = append(readers[s.Tensor], n.ID) })
		}
	}
	for _, n := range r.before {
		t := n.Body.(*tensorops.Operation).Outputs.At(0).Sel[0]
		boxes, places := []zspace.Range{}, [][]int64{}
		for _, a := range readers[t.Tensor] {
			for _, port := range application.ApplicationOf(p.g, a).Inputs.Each() {
				for _, s := range port.Sel {
					if s.Tensor == t.Tensor {
						boxes, places = shared(boxes, places, s.Range(), application.PlacementOf(p.g.Node(a)))
					}
				}
			}
		}
		if len(boxes) == 0 {
			continue // a step behind others reads it
		}
		if err := cut.Sign(p.g, p.lib, n); err != nil {
			return err
		}
		if index := cut.SpaceOf(p.g, p.lib, n).Index; slices.Equal(index.Shape(), t.Range().Shape()) {
			for i := range boxes {
				boxes[i] = moved(moved(boxes[i], t.Range().Start, -1), index.Start, 1)
			}
			switch fault, err := tiling.Check(index, boxes); {
			case err != nil:
				return err
			case fault != nil: // all devices convert all
				boxes, places = []zspace.Range{index}, [][]int64{slices.Concat(places...)}
			}
			if err := p.boxed(n, boxes, places); err != nil {
				return err
			}
		}
	}
	return nil
}

// shared adds a box and the devices that read it to a list.
func shared(boxes []zspace.Range, places [][]int64, box zspace.Range, devices []int64) ([]zspace.Range, [][]int64) {
	i := slices.IndexFunc(boxes, box.Equal)
	if i < 0 {
		return append(boxes, box.Clone()), append(places, slices.Clone(devices))
	}
	places[i] = append(places[i], devices...)
	return boxes, places
}

// moved gives a box that lies by some steps, times a factor, elsewhere.
func moved(box zspace.Range, by zspace.Point, factor int64) zspace.Range {
	box = box.Clone()
	for d := range box.Start {
		box.Start[d], box.End[d] = box.Start[d]+factor*by[d], box.End[d]+factor*by[d]
	}
	return box
}

// along gives the dimension along which a block is cut for its parts: one that the plan cuts further behind, so that readers have what they read; else the first with enough
// cells; -1 for none.
func (p *propagation) along(result ir.NodeID, b block) int {
	first, parts := -1, int64(len(b.devices))
	for k, n := range b.box.Shape() {
		if n < parts {
			continue
		}
		if l := p.tensors[result]; l != nil && p.plan.Mesh.Parts(l.dims[k])*n > l.box.End[k]-l.box.Start[k] {
			return k
		}
		if first < 0 {
			first = k
		}
	}
	return first
}
