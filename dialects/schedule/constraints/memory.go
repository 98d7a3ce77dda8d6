package constraints

import (
	"fmt"

	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/check"
)

var deviceMemory = check.Constraint{
	ID: "DeviceMemoryConstraint",
	Doc: "No device holds more than its memory, where that is known: its arena up to the end of the last buffer, every input, output " +
		"and constant buffer, and the largest workspaces of its kernels, for one thread. A device is there once.",
	Requires: []string{"BufferLayoutConstraint", Configs},
	Codes: []check.Code{
		{ID: "TAP0396", Meaning: "a device holds more than its memory"},
		{ID: "TAP0397", Meaning: "two devices have the same type and number"},
		{ID: "TAP0398", Meaning: "a device has a negative memory"},
	},
	Check: func(c *check.Context) {
		held := schedule.Held(c.Graph())
		first := map[schedule.Device]*ir.Node{}
		for n, d := range check.Each[*schedule.Device](c) {
			same := schedule.Device{Type: d.Type, Number: d.Number}
			if other := first[same]; other != nil {
				c.Report(c.Error("TAP0397", n, "", "%s is there twice", c.Graph().Name(n.ID)).
					Want("devices of different types or numbers", fmt.Sprintf("two of type %s with number %d", d.Type, d.Number)).
					WithNote(c.At(other, ""), "the other is %s", c.Graph().Name(other.ID)))
			}
			first[same] = n
			checkMemory(c, n, d, held[n.ID])
		}
	},
}

func checkMemory(c *check.Context, n *ir.Node, d *schedule.Device, h *schedule.Holding) {
	if d.Memory < 0 {
		c.Report(c.Error("TAP0398", n, "/body/memory", "%s has a negative memory", c.Graph().Name(n.ID)).
			Want("a number of bytes, or 0 if it is not known", fmt.Sprint(d.Memory)))
		return
	}
	if d.Memory == 0 || h == nil {
		return
	}
	if h.Total() > d.Memory {
		c.Report(h.Beyond(c.Graph(), d.Memory, c.Error("TAP0396", n, "/body/memory", "%s holds more than its memory", c.Graph().Name(n.ID))))
	}
}
