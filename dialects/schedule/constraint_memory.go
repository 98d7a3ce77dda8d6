package schedule

import (
	"fmt"
	"math/big"

	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/check"
)

var deviceMemory = check.Constraint{
	ID: "DeviceMemoryConstraint",
	Doc: "No device holds more than its memory, where that is known: its arena up to the end of the last buffer, and every input, output " +
		"and constant buffer. A device is there once.",
	Requires: []string{"BufferLayoutConstraint"},
	Codes: []check.Code{
		{ID: "TAP0396", Meaning: "a device holds more than its memory"},
		{ID: "TAP0397", Meaning: "two devices have the same type and number"},
		{ID: "TAP0398", Meaning: "a device has a negative memory"},
	},
	Check: func(c *check.Context) {
		held := heldOf(c)
		first := map[Device]*ir.Node{}
		for n, d := range check.Each[*Device](c) {
			same := Device{Type: d.Type, Number: d.Number}
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

// holding is what a device holds, in bytes.
type holding struct {
	arena int64 // its end
	kept  *big.Int
	count int // of buffers outside the arena
}

func heldOf(c *check.Context) map[ir.NodeID]*holding {
	held := map[ir.NodeID]*holding{}
	for n := range c.Graph().Nodes() {
		b, ok := n.Body.(*Buffer)
		if !ok {
			continue
		}
		h := held[b.Device]
		if h == nil {
			h = &holding{kept: new(big.Int)}
			held[b.Device] = h
		}
		if b.Space == Arena {
			h.arena = max(h.arena, b.Offset+b.Bytes)
			continue
		}
		h.kept.Add(h.kept, big.NewInt(b.Bytes))
		h.count++
	}
	return held
}

func checkMemory(c *check.Context, n *ir.Node, d *Device, h *holding) {
	if d.Memory < 0 {
		c.Report(c.Error("TAP0398", n, "/body/memory", "%s has a negative memory", c.Graph().Name(n.ID)).
			Want("a number of bytes, or 0 if it is not known", fmt.Sprint(d.Memory)))
		return
	}
	if d.Memory == 0 || h == nil {
		return
	}
	total := new(big.Int).Add(h.kept, big.NewInt(h.arena))
	if total.Cmp(big.NewInt(d.Memory)) > 0 {
		c.Report(c.Error("TAP0396", n, "/body/memory", "%s holds more than its memory", c.Graph().Name(n.ID)).
			Want(fmt.Sprintf("at most %d bytes", d.Memory),
				fmt.Sprintf("%v bytes: an arena of %d and %v in %s", total, h.arena, h.kept, check.Count(h.count, "other buffer"))))
	}
}
