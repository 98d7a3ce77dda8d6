package collective

import (
	"cmp"
	"fmt"
	"slices"

	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/check"
)

// Find gives the collectives that transfers of a schedule without cycles are, in the order of their first transfers: of all transfers of a tensor between devices that reach each other by them, or
// of the tensors that kernels on several devices combine. Names play no part. Transfers that are none, and those to the caller's memory, stay by themselves; so do those that could not be carried out
// together, as some wait for what others bring.
func Find(g *ir.Graph) []*Collective {
	f := &finder{g: g, of: map[ir.NodeID][]ir.NodeID{}}
	for n := range g.Nodes() {
		if _, ok := n.Body.(*schedule.Transfer); !ok {
			continue
		}
		from, to, box := ends(g, n.ID)
		if from.Device == to.Device || to.Space == schedule.Output || box.Empty() {
			continue
		}
		if f.of[from.Tensor] == nil {
			f.tensors = append(f.tensors, from.Tensor)
		}
		f.of[from.Tensor] = append(f.of[from.Tensor], n.ID)
	}
	f.reductions()
	for _, t := range f.tensors {
		if !f.taken.Has(t) {
			f.tensor(t)
		}
	}
	slices.SortFunc(f.found, func(a, b *Collective) int { return cmp.Compare(a.Transfers[0], b.Transfers[0]) })
	return possible(g, f.found)
}

type finder struct {
	g       *ir.Graph
	tensors []ir.NodeID
	of      map[ir.NodeID][]ir.NodeID // transfers between devices, by tensor
	taken   ir.NodeSet                // tensors
	found   []*Collective
}

// try keeps a collective if its transfers are what it says.
func (f *finder) try(c *Collective) bool {
	t, stranger := trafficOf(f.g, c.Devices, c.Transfers)
	if stranger != ir.NoNode || len(c.Devices) < 2 || t.fits(c.Does, c.Kernels) != nil {
		return false
	}
	f.found = append(f.found, c)
	for _, x := range t.tensor {
		f.taken.Add(x)
	}
	return true
}

// reductions finds kernels that combine the same tensors on several devices.
func (f *finder) reductions() {
	groups := map[string][]ir.NodeID{}
	var keys []string
	for n := range f.g.Nodes() {
		k, ok := n.Body.(*schedule.Kernel)
		if !ok {
			continue
		}
		terms, _ := Combines(f.g, k)
		if !slices.ContainsFunc(terms, func(t ir.NodeID) bool { return len(f.of[t]) > 0 }) {
			continue
		}
		result, _, _ := writes(f.g, k)
		key := fmt.Sprint(terms, result)
		if groups[key] == nil {
			keys = append(keys, key)
		}
		groups[key] = append(groups[key], n.ID)
	}
	for _, key := range keys {
		f.reduction(groups[key])
	}
}

// reduction tries what kernels that combine the same tensors are, if there is one on each device that sends one of these.
func (f *finder) reduction(kernels []ir.NodeID) {
	terms, _ := Combines(f.g, f.g.Node(kernels[0]).Body.(*schedule.Kernel))
	result, _, _ := writes(f.g, f.g.Node(kernels[0]).Body.(*schedule.Kernel))
	c := &Collective{Does: ReduceScatter}
	for _, t := range terms {
		if len(f.of[t]) == 0 {
			return
		}
		from, _, _ := ends(f.g, f.of[t][0])
		i := slices.IndexFunc(kernels, func(k ir.NodeID) bool { return f.g.Node(k).Body.(*schedule.Kernel).Device == from.Device })
		if i < 0 || slices.Contains(c.Devices, from.Device) {
			return
		}
		c.Devices, c.Kernels, c.Transfers = append(c.Devices, from.Device), append(c.Kernels, kernels[i]), append(c.Transfers, f.of[t]...)
	}
	if len(kernels) != len(terms) {
		return
	}
	all := *c
	all.Does, all.Transfers = AllReduce, slices.Concat(c.Transfers, f.of[result])
	if len(f.of[result]) == 0 || !f.try(&all) || len(possible(f.g, []*Collective{&all})) == 0 {
		f.found = slices.DeleteFunc(f.found, func(x *Collective) bool { return x == &all })
		f.taken.Remove(result)
		f.try(c)
	}
}

// tensor tries what the transfers of a tensor are, between devices that reach each other by them.
func (f *finder) tensor(t ir.NodeID) {
	rest := f.of[t]
	for len(rest) > 0 {
		part, members := []ir.NodeID{rest[0]}, map[ir.NodeID]bool{}
		for before := -1; before != len(members); {
			before = len(members)
			part = part[:0]
			for _, id := range rest {
				from, to, _ := ends(f.g, id)
				if before == 0 || members[from.Device] || members[to.Device] {
					members[from.Device], members[to.Device], before = true, true, max(before, 1)
					part = append(part, id)
				}
			}
		}
		part = slices.Clone(part)
		rest = slices.DeleteFunc(slices.Clone(rest), func(id ir.NodeID) bool { return slices.Contains(part, id) })
		f.group(part, members)
	}
}

// group tries what transfers among devices are.
func (f *finder) group(transfers []ir.NodeID, members map[ir.NodeID]bool) {
	var devices []ir.NodeID
	for d := range members {
		devices = append(devices, d)
	}
	number := func(d ir.NodeID) int64 { return f.g.Node(d).Body.(*schedule.Device).Number }
	slices.SortFunc(devices, func(a, b ir.NodeID) int { return cmp.Or(cmp.Compare(number(a), number(b)), cmp.Compare(a, b)) })
	if f.try(&Collective{Does: AllGather, Devices: devices, Transfers: transfers}) || f.try(&Collective{Does: AllToAll, Devices: devices, Transfers: transfers}) {
		return
	}
	from, _, _ := ends(f.g, transfers[0])
	others := slices.DeleteFunc(slices.Clone(devices), func(d ir.NodeID) bool { return d == from.Device })
	f.try(&Collective{Does: Broadcast, Devices: append([]ir.NodeID{from.Device}, others...), Transfers: transfers})
}

// possible gives the collectives of which each can be carried out as one step, beside those before it.
func possible(g *ir.Graph, list []*Collective) []*Collective {
	if len(waits(g, list)) == 0 {
		return list
	}
	var kept []*Collective
	for _, c := range list {
		if with := append(kept, c); len(waits(g, with)) == 0 {
			kept = with
		}
	}
	return kept
}

// waits gives the cycles among steps where each collective is one, with the number of its first transfer.
func waits(g *ir.Graph, list []*Collective) []check.Cycle {
	one, parts := map[ir.NodeID]ir.NodeID{}, map[ir.NodeID][]ir.NodeID{}
	for _, c := range list {
		all := slices.Concat(c.Transfers, c.Kernels)
		for _, id := range all {
			one[id] = all[0]
		}
		parts[all[0]] = all
	}
	return check.Cycles(g.Bound(), func(id ir.NodeID) (next []ir.NodeID) {
		steps := []ir.NodeID{id}
		if of, ok := one[id]; ok && of != id {
			return nil
		} else if ok {
			steps = parts[id]
		}
		for _, s := range steps {
			n := g.Node(s)
			if n == nil {
				continue
			}
			after, _ := schedule.After(n)
			for _, a := range after {
				if of, ok := one[a]; ok {
					a = of
				}
				if a != id {
					next = append(next, a)
				}
			}
		}
		return next
	})
}
