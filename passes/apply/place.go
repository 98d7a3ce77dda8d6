package apply

import (
	"fmt"
	"slices"

	"tensortapestry.org/tapc/dialects/application"
	"tensortapestry.org/tapc/dialects/application/planfile"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/dialects/tensorops/parts"
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

// Spread puts applications that are not placed yet on devices: the shards of an operation in order, as many on each. A whole operation that is there because another was cut along what it
// reduces, as one that combines partial results or converts what a part reads, is where its result is read (combined). With one device, or 0, nothing is said.
func Spread(g *ir.Graph, lib *kernels.Library, devices int64) (err error) {
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
	of := application.ByOperation(g)
	for op, apps := range of {
		if o := tensorops.OperationOf(g, op); !o.IsSource() && !o.IsSink() && (len(apps) > 1 || !parts.Is(g.Node(op))) {
			application.Spread(g, apps, devices)
		}
	}
	flow := ir.NewFlow(g, tensorops.OperationKind)
	for _, op := range slices.Backward(flow.Order(g)) {
		if apps := of[op]; len(apps) == 1 && g.Node(apps[0]).Tag(application.PlacementKind) == nil && parts.Is(g.Node(op)) {
			if of[op], err = combined(g, lib, flow, of, op); err != nil {
				return err
			}
		}
	}
	return nil
}

// reader gives the least of the devices that read what an operation gives, whose readers are placed; sinks are on device 0, where what nobody reads is, too.
func reader(g *ir.Graph, flow *ir.Flow, of map[ir.NodeID][]ir.NodeID, op ir.NodeID) int64 {
	var devices []int64
	tensorops.OperationOf(g, op).Outputs.All(func(_, _ int, s *ir.Selection) {
		for _, by := range flow.Consumers(s.Tensor) {
			for _, a := range of[by] {
				devices = append(devices, application.PlacementOf(g.Node(a))[0])
			}
		}
	})
	if len(devices) == 0 {
		return 0
	}
	return slices.Min(devices)
}
