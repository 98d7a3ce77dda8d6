package apply

import (
	"fmt"

	"tensortapestry.org/tapc/dialects/application"
	"tensortapestry.org/tapc/dialects/application/planfile"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/diag"
)

// Place puts the shards of operations where a plan says.
func Place(g *ir.Graph, plan *planfile.Plan) error {
	apps := application.ByOperation(g)
	for _, p := range plan.Place {
		found := false
		for n := range g.Nodes() {
			op, ok := n.Body.(*tensorops.Operation)
			if !ok || op.Kernel != p.Target && n.Label != p.Target {
				continue
			}
			found = true
			list := apps[n.ID]
			if len(list) != len(p.Shards) {
				return diag.Errorf("TAP0828", "apply", p.From, "the plan places another number of shards than %s has", g.Name(n.ID)).
					Want(fmt.Sprint(len(list)), fmt.Sprint(len(p.Shards)))
			}
			for i, a := range list {
				application.Place(g.Node(a), p.Shards[i])
			}
		}
		if !found {
			return diag.Errorf("TAP0828", "apply", p.From, "the plan places what is not there").Want("the kernel or label of an operation", p.Target)
		}
	}
	return nil
}

// Spread puts applications that are not placed yet on devices: the shards of an operation in order, as many on each. With one device, or 0, nothing is
// said.
func Spread(g *ir.Graph, devices int64) error {
	if devices < 0 || devices > planfile.MaxDevices {
		return diag.Usage("apply: devices=%d: expected 0 to %d", devices, planfile.MaxDevices)
	}
	for n := range g.Nodes() {
		p, ok := n.Tag(application.PlacementKind).(*application.Placement)
		if ok && devices > 0 && len(p.Devices) > 0 && p.Devices[len(p.Devices)-1] >= devices {
			return diag.Errorf("TAP0829", "apply", g.At(n, ""), "%s is placed on a device that is not there", g.Name(n.ID)).
				Want(fmt.Sprintf("devices 0 to %d", devices-1), fmt.Sprint(p.Devices))
		}
	}
	if devices <= 1 {
		return nil
	}
	for op, apps := range application.ByOperation(g) {
		if o := tensorops.OperationOf(g, op); o.IsSource() || o.IsSink() {
			continue
		}
		for i, a := range apps {
			if n := g.Node(a); n.Tag(application.PlacementKind) == nil {
				application.Place(n, []int64{int64(i) * devices / int64(len(apps))})
			}
		}
	}
	return nil
}
