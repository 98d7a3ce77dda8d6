package collective

import (
	"fmt"
	"slices"
	"strings"

	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/check"
)

var constraint = check.Constraint{
	ID: "CollectiveConstraint",
	Doc: "A collective is what its transfers are, to the cell: a broadcast brings the same cells from the first member to all others; an all-gather those of each member, which no other sends, to all " +
		"others; an all-to-all those of each member to each other, to each different ones; a reduce-scatter, of a tensor of each member, what the kernel of each other member reads, which " +
		"combines all of them with one operator, and writes cells that no other writes; an all-reduce also gathers those. Every member takes part, a transfer or kernel is part of one collective, and all " +
		"collectives can be carried out as one step each: no member waits for another that waits for it.",
	Requires: []string{"ScheduleOrderConstraint"},
	Codes: []check.Code{
		{ID: "TAP0309", Meaning: "a collective refers to a node that does not exist or is of the wrong type"},
		{ID: "TAP0316", Meaning: "a collective names an algorithm that there is not"},
		{ID: "TAP0385", Meaning: "the transfers of a collective are not what it does"},
		{ID: "TAP0386", Meaning: "a device is in a group twice, or takes no part in its collective; or a transfer is of no member"},
		{ID: "TAP0387", Meaning: "a collective can not be carried out as one step: a member would wait for itself"},
		{ID: "TAP0388", Meaning: "a transfer or kernel is part of two collectives, or twice of one"},
		{ID: "TAP0389", Meaning: "the kernels of a collective do not combine a tensor of each member, or a collective that combines nothing has some"},
	},
	Check: func(c *check.Context) {
		v := &verifier{Context: c, part: map[ir.NodeID]*ir.Node{}}
		good := true
		for n, x := range check.Each[*Collective](c) {
			if !c.Go() {
				return
			}
			if good = v.check(n, x) && good; good {
				v.all, v.nodes = append(v.all, x), append(v.nodes, n)
			}
		}
		if good {
			v.together()
		}
	},
}

type verifier struct {
	*check.Context
	part  map[ir.NodeID]*ir.Node // the collective of a step
	all   []*Collective
	nodes []*ir.Node
}

func (v *verifier) check(n *ir.Node, x *Collective) bool {
	if x.Algorithm != "" && !slices.Contains(Algorithms, x.Algorithm) {
		v.Report(v.Error("TAP0316", n, "/body/algorithm", "%s has an algorithm that there is not", v.Graph().Name(n.ID)).Want(strings.Join(Algorithms, ", "), x.Algorithm))
	}
	return v.references(n, x) && v.members(n, x) && v.shape(n, x)
}

func (v *verifier) references(n *ir.Node, x *Collective) bool {
	good := true
	for _, f := range []struct {
		name string
		list []ir.NodeID
		kind *ir.Kind
	}{{"devices", x.Devices, schedule.DeviceKind}, {"transfers", x.Transfers, schedule.TransferKind}, {"kernels", x.Kernels, schedule.KernelKind}} {
		for i, id := range f.list {
			at := fmt.Sprintf("/body/%s/%d", f.name, i)
			if _, ok := v.Ref("TAP0309", "TAP0309", n, at, id, f.kind); !ok {
				good = false
				continue
			}
			if other := v.part[id]; other != nil && f.kind != schedule.DeviceKind {
				v.Report(v.Error("TAP0388", n, at, "%s is part of %s and of %s", v.Graph().Name(id), v.Graph().Name(other.ID), v.Graph().Name(n.ID)).
					Want("steps of no other collective, each once", v.Graph().Name(id)))
				good = false
			}
			v.part[id] = n
		}
	}
	return good
}

// members checks that all members take part, and nobody else.
func (v *verifier) members(n *ir.Node, x *Collective) bool {
	g, good := v.Graph(), true
	report := func(format, want, found string, args ...any) {
		good = false
		v.Report(v.Error("TAP0386", n, "/body/devices", format, args...).Want(want, found))
	}
	if len(x.Devices) < 2 {
		report("%s is of too few devices", "two devices", fmt.Sprint(len(x.Devices)), g.Name(n.ID))
	}
	part := map[ir.NodeID]bool{}
	for _, id := range x.Transfers {
		from, to, _ := ends(g, id)
		for _, d := range []ir.NodeID{from.Device, to.Device} {
			part[d] = true
			if !slices.Contains(x.Devices, d) {
				report("%s is of %s, which is no member of %s", "one of the members", g.Name(d), g.Name(id), g.Name(d), g.Name(n.ID))
			}
		}
	}
	for i, d := range x.Devices {
		if slices.Contains(x.Devices[:i], d) {
			report("%s is in the group of %s twice", "each device once", g.Name(d), g.Name(d), g.Name(n.ID))
		} else if !part[d] {
			report("%s takes no part in %s", "a transfer from or to each member", "none", g.Name(d), g.Name(n.ID))
		}
	}
	return good
}

// shape checks that the transfers are what the collective does.
func (v *verifier) shape(n *ir.Node, x *Collective) bool {
	g := v.Graph()
	t, _ := trafficOf(g, x.Devices, x.Transfers)
	reduces := x.Does == ReduceScatter || x.Does == AllReduce
	terms, _, _ := t.combined(x.Kernels)
	if reduces && terms == nil || !reduces && len(x.Kernels) > 0 {
		want := "no kernels"
		if reduces {
			want = "a kernel on each member, in the order of the group, that combines a tensor of each by one operator and writes cells of its own"
		}
		v.Report(v.Error("TAP0389", n, "/body/kernels", "the kernels of %s are not those of an %v", g.Name(n.ID), x.Does).Want(want, check.Count(len(x.Kernels), "kernel")))
		return false
	}
	m := t.fits(x.Does, x.Kernels)
	if m == nil {
		return true
	}
	d := v.Error("TAP0385", n, "/body/transfers", "the transfers of %s are no %v", g.Name(n.ID), x.Does)
	if m.r != (route{}) {
		d = v.Error("TAP0385", n, "/body/transfers", "the transfers of %s are no %v: what %s sends %s of %s", g.Name(n.ID), x.Does, g.Name(x.Devices[m.r.from]), g.Name(x.Devices[m.r.to]), g.Name(m.r.tensor))
	}
	v.Report(d.Want(m.want, m.found))
	return false
}

// together checks that each collective can be carried out as one step.
func (v *verifier) together() {
	for _, cycle := range waits(v.Graph(), v.all) {
		var names []string
		at := -1
		for _, id := range cycle.Nodes {
			name := v.Graph().Name(id)
			if i := slices.IndexFunc(v.all, func(x *Collective) bool { return slices.Contains(x.Transfers, id) }); i >= 0 {
				at, name = i, v.Graph().Name(v.nodes[i].ID)
			}
			names = append(names, name)
		}
		if at < 0 {
			continue // ScheduleOrderConstraint has said so
		}
		v.Report(v.Error("TAP0387", v.nodes[at], "/body/transfers", "%s can not be carried out as one step", v.Graph().Name(v.nodes[at].ID)).
			Want("an order", strings.Join(append(names, names[0]), " waits for ")))
	}
}
