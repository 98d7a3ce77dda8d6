package backends

import (
	"fmt"
	"slices"
	"strings"

	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/diag"
)

// Codes of graphs that are not scheduled for a back end.
const (
	CodeForeign = "TAP0910" // what is there is on another device
	codeSecond  = "TAP0911"
)

// Scheduled is an error if a graph is scheduled for something else than what a back end writes programs for: kernels run on
// devices of some types, one of each, and buffers are there or on one host. By is the back end's name.
func Scheduled(g *ir.Graph, by string, types ...schedule.DeviceType) error {
	return scheduled(g, by, false, types)
}

// ScheduledOnMany is as Scheduled for a back end that takes several devices of a type.
func ScheduledOnMany(g *ir.Graph, by string, types ...schedule.DeviceType) error {
	return scheduled(g, by, true, types)
}

func scheduled(g *ir.Graph, by string, many bool, types []schedule.DeviceType) error {
	c := deviceCheck{g: g, by: by, many: many, types: types, first: map[schedule.DeviceType]ir.NodeID{}, told: map[ir.NodeID]bool{}}
	for n := range g.Nodes() {
		switch b := n.Body.(type) {
		case *schedule.Kernel:
			c.check(n, b.Device, "runs", false)
		case *schedule.Buffer:
			c.check(n, b.Device, "is", true)
		}
	}
	return c.found.Err()
}

// deviceCheck collects what is on the wrong device, once for each.
type deviceCheck struct {
	g     *ir.Graph
	by    string
	types []schedule.DeviceType
	many  bool // devices of one type
	first map[schedule.DeviceType]ir.NodeID
	told  map[ir.NodeID]bool
	found diag.List
}

// check checks the device that a node names; host says whether the node may be there.
func (c *deviceCheck) check(n *ir.Node, device ir.NodeID, is string, host bool) {
	d, ok := c.g.Node(device).Body.(*schedule.Device)
	if !ok || c.told[device] {
		return // a graph that breaks the constraints of references is not verified
	}
	if !slices.Contains(c.types, d.Type) && !(host && d.Type == schedule.Host) {
		c.report(CodeForeign, n, device, fmt.Sprintf("%s on %s, which the back end %s writes no programs for", is, c.g.Name(device), c.by),
			"a device of type "+c.words(), d.Type.String())
		return
	}
	if first, ok := c.first[d.Type]; ok && first != device && !c.many {
		c.report(codeSecond, n, device, fmt.Sprintf("%s on %s, and others on %s", is, c.g.Name(device), c.g.Name(first)), fmt.Sprintf("one %v device", d.Type), "two")
		return
	}
	c.first[d.Type] = device
}

func (c *deviceCheck) report(code string, n *ir.Node, device ir.NodeID, what, want, found string) {
	c.told[device] = true
	c.found = append(c.found, diag.Errorf(code, c.by, c.g.At(n, "/body/device"), "%s %s", c.g.Name(n.ID), what).Want(want, found).
		WithNote(c.g.At(c.g.Node(device), ""), "the device"))
}

// words lists the types that are expected.
func (c *deviceCheck) words() string {
	var words []string
	for _, t := range c.types {
		words = append(words, t.String())
	}
	return strings.Join(words, " or ")
}
