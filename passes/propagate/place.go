package propagate

import (
	"fmt"

	"tensortapestry.org/tapc/dialects/application"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/ir"
)

// place puts each application of what was cut on all devices of the mesh that have its block; an effect happens on the first of them alone. What
// combines partial results is placed by what runs behind.
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
