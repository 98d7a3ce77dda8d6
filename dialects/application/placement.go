package application

import (
	"slices"

	"tensortapestry.org/tapc/ir"
)

// PlacementKind is the kind of the tag that says where an application is computed.
var PlacementKind = &ir.Kind{URI: "http://tensortapestry.org/schemas/tapc/2026-11/application.jsd#/tags/Placement", Keyword: "placement", Num: 8,
	New: func() ir.Body { return new(Placement) }}

// Placement says on which devices an application is computed: their numbers, ascending, each once. On several, each computes all of it for itself.
type Placement struct{ Devices []int64 }

// Kind is PlacementKind.
func (*Placement) Kind() *ir.Kind { return PlacementKind }

// Fields names the devices.
func (p *Placement) Fields(f ir.Fields) {
	f.Ints(ir.Field{Num: 1, Name: "devices", Style: ir.Positional}, &p.Devices)
}

// PlacementOf gives the devices that an application is computed on: device 0 if it does not say.
func PlacementOf(n *ir.Node) []int64 {
	if p, ok := n.Tag(PlacementKind).(*Placement); ok {
		return p.Devices
	}
	return []int64{0}
}

// Place says where an application is computed.
func Place(n *ir.Node, devices []int64) {
	devices = slices.Clone(devices)
	slices.Sort(devices)
	n.SetTag(&Placement{slices.Compact(devices)})
}

// Spread puts applications that are not placed yet on devices in their order, as many on each.
func Spread(g *ir.Graph, apps []ir.NodeID, devices int64) {
	for i, a := range apps {
		if n := g.Node(a); n.Tag(PlacementKind) == nil {
			Place(n, []int64{int64(i) * devices / int64(len(apps))})
		}
	}
}
