// Package collective says what a collective takes among devices of a machine, by the algorithms that libraries have: rings, trees, everybody to
// everybody, and hierarchies of these.
//
// Formulas are those of R. Thakur, R. Rabenseifner and W. Gropp, "Optimization of Collective Communication Operations in MPICH", 2005: steps take the
// link's latency each, and what a device sends the time of its port. It knows no schedules. Read next: cost/machine, whose links it asks.
package collective

import (
	"cmp"
	"math"
	"slices"

	"tensortapestry.org/tapc/cost/machine"
	"tensortapestry.org/tapc/ir/diag"
)

// codeGroup is the code of devices that can't take part.
const codeGroup = "TAP2831"

// Kind is what a collective does.
type Kind string

// The collectives.
const (
	Broadcast     Kind = "broadcast"      // one device has all bytes, and all get them
	AllGather     Kind = "all-gather"     // each has a part, and all get the whole
	ReduceScatter Kind = "reduce-scatter" // each has partial results of the whole, and gets the sum of its part
	AllReduce     Kind = "all-reduce"     // each has partial results of the whole, and gets the sum of it
	AllToAll      Kind = "all-to-all"     // each has a part for every other
)

// Exchange is what neighbours send each other: no collective of a whole group, and one step.
const Exchange Kind = "exchange"

// Kinds lists the collectives.
var Kinds = []string{string(Broadcast), string(AllGather), string(ReduceScatter), string(AllReduce), string(AllToAll)}

// Price is what a collective takes by one algorithm. Bytes are what each device sends at most, Sent what all of them send together.
type Price struct {
	Algorithm string
	Steps     float64
	Bytes     float64
	Sent      float64
	Latency   float64 // seconds of Seconds that its steps take, of any size
	Seconds   machine.Figure
}

// flat is a group of devices whose links are all alike. Sharing is how many groups that work at the same time pass one port, and crowd how many times what one device sends
// passes it where all of them send to all others: those of one member of a locality may have one port together.
type flat struct {
	n       float64
	link    *machine.Link
	sharing float64
	crowd   float64
}

// crowded is the group for algorithms in which all devices send to all others. In a ring, and in a tree with one root, one device of a member sends to others.
func (f flat) crowded() flat {
	f.sharing *= f.crowd
	return f
}

// price is the time of steps in which a device sends so many bytes at most, and all of them together so many.
func (f flat) price(algorithm string, steps, bytes, all float64) Price {
	at := func(latency, bandwidth float64) float64 { return steps*latency + bytes/bandwidth }
	l, b, sent := f.link.Latency, f.link.Bandwidth, bytes
	if f.link.Each == machine.EachLocality { // all share one
		bytes = all
	}
	bytes *= f.sharing
	return Price{algorithm, steps, sent, all, steps * l.Value, machine.Figure{Value: at(l.Value, b.Value), Low: at(l.Low, b.High), High: at(l.High, b.Low)}}
}

// all appends the prices of the algorithms that carry out a collective of so many bytes, the whole of it, in a group.
func (f flat) all(list []Price, kind Kind, bytes float64) []Price {
	part, up := bytes*(f.n-1)/f.n, math.Ceil(math.Log2(f.n))
	once := (f.n - 1) * bytes // what arrives if each of the others gets all bytes
	switch kind {
	case Broadcast:
		return append(list, f.price("tree", up, up*bytes, once), f.price("ring", up+f.n-1, 2*part, up*bytes/2+once), f.price("direct", 1, once, once))
	case AllGather, ReduceScatter:
		return append(list, f.crowded().price("tree", up, part, once), f.price("ring", f.n-1, part, once), f.crowded().price("direct", 1, part, once))
	case Exchange:
		return append(list, f.price("direct", 1, bytes, f.n*bytes))
	case AllReduce:
		return append(list, f.price("tree", 2*up, 2*up*bytes, 2*once), f.price("ring", 2*(f.n-1), 2*part, 2*once), f.crowded().price("direct", 1, once, f.n*once))
	}
	return append(list, f.crowded().price("ring", f.n-1, part, once), f.crowded().price("direct", 1, part, once))
}

// fastest is the first of those that take least.
func (f flat) fastest(kind Kind, bytes float64) Price {
	var room [3]Price
	list := f.all(room[:0], kind, bytes)
	best := 0
	for i := range list {
		if list[i].Seconds.Value < list[best].Seconds.Value {
			best = i
		}
	}
	return list[best]
}

// Of gives what a collective of so many bytes takes among devices, by number, for each algorithm, the fastest first. The bytes are those of the
// whole tensor; of an all-to-all, those that each device has. Devices are in one locality, or equally many in each member of one.
func Of(l *machine.Layout, kind Kind, devices []int64, bytes float64) ([]Price, error) {
	g, err := Among(l, [][]int64{devices})
	if err != nil {
		return nil, err
	}
	return g.Of(kind, bytes)
}

// Group is devices that carry collectives out, while other groups of as many devices do the same.
type Group struct {
	flat, in, across flat // in and across are of the hierarchical algorithm, where there is one
	many             bool // it has one
}

// Among gives the group of all groups of a machine that work at the same time, of which the first is looked at: the others are like it. Where they pass the
// same ports, they share them.
func Among(l *machine.Layout, groups [][]int64) (*Group, error) {
	devices := groups[0]
	if len(devices) < 2 {
		return nil, diag.Errorf(codeGroup, "cost", diag.Location{}, "a collective among %d devices", len(devices)).Want("two devices", "less")
	}
	links, outer, members, err := inside(l, devices)
	if err != nil {
		return nil, err
	}
	n, sharing := float64(len(devices)), sharing(l, groups, outer)
	g := &Group{flat: flat{n, links[0], sharing, 1}}
	if per := n / members; members > 1 && per > 1 {
		g.many, g.in, g.across = true, flat{per, links[1], 1, 1}, flat{members, links[0], sharing, 1}
		if links[0].Each == "" || links[0].Each == machine.EachMember {
			g.across.sharing *= per // those of one member go through its port at the same time
			g.flat.crowd = max(1, per*(n-per)/(n-1))
		}
	}
	return g, nil
}

// Of gives what a collective takes in the group, for each algorithm, the fastest first.
func (g *Group) Of(kind Kind, bytes float64) ([]Price, error) {
	if bytes <= 0 {
		return nil, empty(bytes)
	}
	out := g.flat.all(nil, kind, bytes)
	if g.many && kind != Exchange {
		out = append(out, hierarchical(kind, g.in, g.across, bytes))
	}
	slices.SortStableFunc(out, func(a, b Price) int { return cmp.Compare(a.Seconds.Value, b.Seconds.Value) })
	return out, nil
}

// Fastest is the first of Of.
func (g *Group) Fastest(kind Kind, bytes float64) (Price, error) {
	if bytes <= 0 {
		return Price{}, empty(bytes)
	}
	best := g.flat.fastest(kind, bytes)
	if g.many && kind != Exchange {
		if h := hierarchical(kind, g.in, g.across, bytes); h.Seconds.Value < best.Seconds.Value {
			best = h
		}
	}
	return best, nil
}

func empty(bytes float64) error {
	return diag.Errorf(codeGroup, "cost", diag.Location{}, "a collective of %v bytes", bytes).Want("bytes", "none")
}

// sharing counts the groups that pass the port of the first device of the first.
func sharing(l *machine.Layout, groups [][]int64, port machine.Port) float64 {
	n := 0.0
	for _, devices := range groups {
		for _, d := range devices {
			if _, ports := l.Find(d); port.Depth < len(ports) && ports[port.Depth].Place == port.Place {
				n++
				break
			}
		}
	}
	return max(n, 1)
}

// part is a step of a hierarchical collective, which so many groups carry out at the same time.
type part struct {
	Price
	groups float64
}

// hierarchical is a collective inside of groups, then between those with the same place in each, then inside again.
func hierarchical(kind Kind, in, across flat, bytes float64) Price {
	best := flat.fastest
	var parts []part
	inner := func(k Kind, bytes float64) part { return part{best(in, k, bytes), across.n} }
	outer := func(k Kind, bytes, groups float64) part { return part{best(across, k, bytes), groups} }
	switch kind {
	case AllReduce:
		parts = []part{inner(ReduceScatter, bytes), outer(AllReduce, bytes/in.n, in.n), inner(AllGather, bytes)}
	case AllGather:
		parts = []part{outer(AllGather, bytes/in.n, in.n), inner(AllGather, bytes)}
	case ReduceScatter:
		parts = []part{inner(ReduceScatter, bytes), outer(ReduceScatter, bytes/in.n, in.n)}
	case Broadcast:
		parts = []part{outer(Broadcast, bytes, 1), inner(Broadcast, bytes)}
	default:
		parts = []part{inner(AllToAll, bytes), outer(AllToAll, bytes, in.n)}
	}
	sum := Price{Algorithm: "hierarchical"}
	for _, p := range parts {
		sum.Steps, sum.Bytes, sum.Latency = sum.Steps+p.Steps, sum.Bytes+p.Bytes, sum.Latency+p.Latency
		sum.Sent += p.groups * p.Sent
		sum.Seconds = machine.Figure{Value: sum.Seconds.Value + p.Seconds.Value, Low: sum.Seconds.Low + p.Seconds.Low, High: sum.Seconds.High + p.Seconds.High}
	}
	return sum
}

// inside finds the links of devices: of the innermost locality that holds them all and, if they are in several members of that, of one inside which
// those of a member are; the port of the first device to the former; and how many members there are.
func inside(l *machine.Layout, devices []int64) (links [2]*machine.Link, outer machine.Port, groups float64, err error) {
	seen := map[int64]bool{devices[0]: true}
	for i, d := range devices[1:] {
		out, _ := l.Route(devices[0], d)
		if len(out) == 0 || seen[d] {
			return links, outer, 0, diag.Errorf(codeGroup, "cost", diag.Location{}, "the devices %v are not of the machine, or one is there twice", devices)
		}
		seen[d] = true
		if p := out[len(out)-1]; i == 0 || p.Depth < outer.Depth {
			outer = p
		}
	}
	links[0] = outer.Link
	members := map[int64][]int64{}
	for _, d := range devices {
		m := l.Member(d, outer.Depth)
		members[m] = append(members[m], d)
	}
	each := len(devices) / len(members)
	for _, m := range members {
		if len(m) != each {
			return links, outer, 0, diag.Errorf(codeGroup, "cost", diag.Location{}, "the devices %v are not equally many in each locality", devices)
		}
	}
	if first := members[l.Member(devices[0], outer.Depth)]; each > 1 {
		out, _ := l.Route(first[0], first[1])
		links[1] = out[len(out)-1].Link
	}
	return links, outer, float64(len(members)), nil
}
