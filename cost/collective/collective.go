// Package collective says what a collective takes among devices of a machine, by the algorithms that libraries have: rings, trees, everybody to
// everybody, and hierarchies of these.
//
// Formulas are those of R. Thakur, R. Rabenseifner and W. Gropp, "Optimization of Collective Communication Operations in MPICH", 2005: steps take the
// link's latency each, and what a device sends the time of its port. It knows no schedules. Read next: cost/machine, whose links it asks.
package collective

import (
	"cmp"
	"fmt"
	"maps"
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

// maxLevels bounds the localities inside each other by which bytes are counted: what is sent inside the last of them counts on its link.
const maxLevels = 4

// Price is what a collective takes by one algorithm. Bytes are what each device sends at most.
type Price struct {
	Algorithm string
	Steps     float64
	Bytes     float64
	Latency   float64 // seconds of Seconds that its steps take, of any size
	Seconds   machine.Figure
	loads     [maxLevels]load // of each level
}

// load is the bytes that all devices send on the links of a level.
type load struct {
	link  *machine.Link
	bytes float64
}

// Sent is what all devices send together.
func (p *Price) Sent() (sum float64) {
	for _, l := range p.loads {
		sum += l.bytes
	}
	return sum
}

// Traffic is what all devices send together, by link, that of the outermost locality first.
func (p *Price) Traffic() (t machine.Traffic) {
	for _, l := range p.loads {
		if l.bytes > 0 {
			t.Add(l.link.Name, l.bytes)
		}
	}
	return t
}

// level is the localities of a group that are as deep: their link, and how many devices of the group are in each.
type level struct {
	link *machine.Link
	n    float64
}

// flat is a group of devices whose steps all take as long as on the link of the outermost locality. Sharing is how many groups that work at the same time pass one port, and crowd how many
// times what one device sends passes it where all of them send to all others: those of one member of a locality may have one port together.
type flat struct {
	n       float64
	link    *machine.Link
	sharing float64
	crowd   float64
	levels  [maxLevels]level // those inside each other; without a link where the group has none
}

// crowded is the group for algorithms in which all devices send to all others. In a ring, and in a tree with one root, one device of a member sends to others.
func (f flat) crowded() flat {
	f.sharing *= f.crowd
	return f
}

// stays is the part of what n devices send that does not leave localities of s of them. It is 0 for s of 1 and 1 for s of n. Algorithms go through the devices of a locality one behind the
// other.
type stays func(n, s float64) float64

// pairs is for what each device sends to each other one; so it is where the distance doubles with each step, by the same pairs together: s (s-1) of n (n-1) for each of n/s localities.
func pairs(n, s float64) float64 { return (s - 1) / (n - 1) }

// ring is for what each device sends to the next: in each of n/s localities one sends to the next.
func ring(n, s float64) float64 {
	if s == n {
		return 1
	}
	return 1 - 1/s
}

// tree is for n-1 messages that reach each device once, and each of n/s localities once from outside but the first. Neighbours in a row send so, too.
func tree(n, s float64) float64 { return (n - n/s) / (n - 1) }

// halves is for steps of a tree, of which each sends as much: those between localities are the first ones.
func halves(n, s float64) float64 { return 1 - math.Ceil(math.Log2(n/s))/math.Ceil(math.Log2(n)) }

// sends is a part of what all devices send together.
type sends struct {
	bytes float64
	stays stays
}

// price is the time of steps in which a device sends so many bytes at most, and of what all of them send together, which counts on the links of the levels.
func (f flat) price(algorithm string, steps, bytes float64, all ...sends) Price {
	at := func(latency, bandwidth float64) float64 { return steps*latency + bytes/bandwidth }
	p := Price{Algorithm: algorithm, Steps: steps, Bytes: bytes}
	sum := 0.0
	for _, s := range all {
		sum += s.bytes
		for i, x := range f.levels {
			if x.link == nil {
				continue
			}
			part := s.stays(f.n, x.n)
			if i+1 < maxLevels && f.levels[i+1].link != nil {
				part -= s.stays(f.n, f.levels[i+1].n)
			}
			p.loads[i].link, p.loads[i].bytes = x.link, p.loads[i].bytes+part*s.bytes
		}
	}
	l, b := f.link.Latency, f.link.Bandwidth
	if f.link.Each == machine.EachLocality { // all share one
		bytes = sum
	}
	bytes *= f.sharing
	p.Latency = steps * l.Value
	p.Seconds = machine.Figure{Value: at(l.Value, b.Value), Low: at(l.Low, b.High), High: at(l.High, b.Low)}
	return p
}

// all appends the prices of the algorithms that carry out a collective of so many bytes, the whole of it, in a group.
func (f flat) all(list []Price, kind Kind, bytes float64) []Price {
	part, up := bytes*(f.n-1)/f.n, math.Ceil(math.Log2(f.n))
	once := (f.n - 1) * bytes // what arrives if each of the others gets all bytes
	to := sends{once, pairs}
	switch kind {
	case Broadcast:
		return append(list, f.price("tree", up, up*bytes, sends{once, tree}), f.price("ring", up+f.n-1, 2*part, sends{up * bytes / 2, halves}, sends{once, ring}), f.price("direct", 1, once, to))
	case AllGather, ReduceScatter:
		return append(list, f.crowded().price("tree", up, part, to), f.price("ring", f.n-1, part, sends{once, ring}), f.crowded().price("direct", 1, part, to))
	case Exchange:
		return append(list, f.price("direct", 1, bytes, sends{f.n * bytes, tree}))
	case AllReduce:
		return append(list, f.price("tree", 2*up, 2*up*bytes, sends{2 * once, tree}), f.price("ring", 2*(f.n-1), 2*part, sends{2 * once, ring}),
			f.crowded().price("direct", 1, once, sends{f.n * once, pairs}))
	}
	return append(list, f.crowded().price("ring", f.n-1, part, to), f.crowded().price("direct", 1, part, to))
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
	levels, outer, err := inside(l, devices)
	if err != nil {
		return nil, err
	}
	n, sharing := float64(len(devices)), sharing(l, groups, outer)
	g := &Group{flat: flat{n, outer.Link, sharing, 1, levels}}
	if per := levels[1].n; per > 1 {
		in, across := levels, [maxLevels]level{{outer.Link, n / per}}
		in[0] = level{}
		g.many, g.in, g.across = true, flat{per, levels[1].link, 1, 1, in}, flat{n / per, outer.Link, sharing, 1, across}
		if outer.Link.Each == "" || outer.Link.Each == machine.EachMember {
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
		for i, l := range p.loads {
			if l.link != nil {
				sum.loads[i].link, sum.loads[i].bytes = l.link, sum.loads[i].bytes+p.groups*l.bytes
			}
		}
		sum.Seconds = machine.Figure{Value: sum.Seconds.Value + p.Seconds.Value, Low: sum.Seconds.Low + p.Seconds.Low, High: sum.Seconds.High + p.Seconds.High}
	}
	return sum
}

// inside finds the localities of devices: the innermost one that holds them all and, if several of them are in each member of that, the innermost one of those in the first member, and
// so on; and the port of the first device to the outermost.
func inside(l *machine.Layout, devices []int64) (levels [maxLevels]level, outer machine.Port, err error) {
	seen := map[int64]bool{}
	for _, d := range devices {
		if kind, _ := l.Find(d); kind == nil || seen[d] {
			return levels, outer, diag.Errorf(codeGroup, "cost", diag.Location{}, "device %d of a collective is not of the machine, or is there twice", d).
				Want(fmt.Sprintf("each of the devices 0 to %d at most once", l.Devices()-1), fmt.Sprint(d))
		}
		seen[d] = true
	}
	for i := range levels {
		port := outermost(l, devices)
		members := map[int64][]int64{}
		for _, d := range devices {
			m := l.Member(d, port.Depth)
			members[m] = append(members[m], d)
		}
		first := members[l.Member(devices[0], port.Depth)]
		uneven := false
		for _, m := range slices.Sorted(maps.Keys(members)) {
			if uneven = len(members[m]) != len(first); !uneven {
				continue
			}
			if i == 0 {
				return levels, outer, diag.Errorf(codeGroup, "cost", diag.Location{}, "a collective among %d devices that are not equally many in each locality", len(devices)).
					Want(fmt.Sprintf("%d in each, as with device %d", len(first), devices[0]), fmt.Sprintf("%d with device %d", len(members[m]), m))
			}
			break
		}
		levels[i] = level{port.Link, float64(len(devices))}
		if i == 0 {
			outer = port
		}
		if devices = first; uneven || len(first) < 2 {
			break
		}
	}
	return levels, outer, nil
}

// outermost is the port of the first of several devices to the link of the innermost locality that holds them all.
func outermost(l *machine.Layout, devices []int64) (port machine.Port) {
	for i, d := range devices[1:] {
		out, _ := l.Route(devices[0], d)
		if p := out[len(out)-1]; i == 0 || p.Depth < port.Depth {
			port = p
		}
	}
	return port
}
