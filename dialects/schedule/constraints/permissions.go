package constraints

import (
	"strconv"

	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/ir/check"
)

var kernelPermissions = check.Constraint{
	ID: "KernelPermissionConstraint",
	Doc: "What a kernel may do to numbers is part of what its device allows, which is what the program was told. No other node says " +
		"anything about that.",
	Requires: []string{"ScheduleReferenceConstraint"},
	Codes:    []check.Code{{ID: "TAP0335", Meaning: "a kernel has a permission that its device does not give"}},
	Check: func(c *check.Context) {
		for n, k := range check.Each[*schedule.Kernel](c) {
			allowed := schedule.DeviceOf(c.Graph(), k.Device).Allow
			if allowed.Has(k.Allow) {
				continue
			}
			c.Report(c.Error("TAP0335", n, "/body/allow", "%s does to numbers what its device does not allow", c.Graph().Name(n.ID)).
				Want("permissions among "+strconv.Quote(allowed.String()), strconv.Quote((k.Allow&^allowed).String())).
				WithNote(c.At(c.Graph().Node(k.Device), "/body/allow"), "the device").
				WithHint("take the permission from the kernel, or give it to the device: with the flag --allow, or lower{allow=…}"))
		}
	},
}
