package main

import (
	"context"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"tensortapestry.org/tapc/backends/cpu"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/dialects/schedule/collective"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/internal/testkit"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/ir/tensorfile"
	"tensortapestry.org/tapc/ir/zspace"
	"tensortapestry.org/tapc/passes/lower"
	"tensortapestry.org/tapc/passes/pipeline"
	"tensortapestry.org/tapc/passes/standard"
)

// fault does one thing to a schedule that it must not survive. It gives what it changed, or nil if there is nothing to change, and the words one of which the error must have.
type fault struct {
	name  string
	codes []string
	do    func(rnd *rand.Rand, x *ir.Graph) []ir.NodeID
}

// steps gives the nodes of a kind of body.
func steps[B ir.Body](x *ir.Graph, fit func(*ir.Node, B) bool) (list []ir.NodeID) {
	for n := range x.Nodes() {
		if b, ok := n.Body.(B); ok && fit(n, b) {
			list = append(list, n.ID)
		}
	}
	return list
}

// anyOf draws one of a list; NoNode if it is empty.
func anyOf(rnd *rand.Rand, list []ir.NodeID) ir.NodeID {
	if len(list) == 0 {
		return ir.NoNode
	}
	return list[rnd.IntN(len(list))]
}

// moving are the transfers that carry a cell.
func moving(x *ir.Graph) []ir.NodeID {
	return steps(x, func(_ *ir.Node, t *schedule.Transfer) bool {
		size, _ := t.Box(x.Node(t.From).Body.(*schedule.Buffer)).Size()
		return size > 0
	})
}

// after gives the list of a step's predecessors.
func after(n *ir.Node) *[]ir.NodeID {
	switch b := n.Body.(type) {
	case *schedule.Kernel:
		return &b.After
	case *schedule.Transfer:
		return &b.After
	}
	return nil
}

// without takes a node out of a schedule, and every mention of it.
func without(x *ir.Graph, id ir.NodeID) {
	gone := func(a ir.NodeID) bool { return a == id }
	for n := range x.Nodes() {
		if list := after(n); list != nil {
			*list = slices.DeleteFunc(slices.Clone(*list), gone)
		}
	}
	x.Remove(id)
}

// uncollected takes the collectives away, which say again what transfers do.
func uncollected(x *ir.Graph) *ir.Graph {
	x = x.Clone()
	for _, id := range steps(x, func(*ir.Node, *collective.Collective) bool { return true }) {
		x.Remove(id)
	}
	return x
}

var faults = []fault{
	{"take a transfer away", []string{"TAP0303", "TAP0306", "TAP0305"}, func(rnd *rand.Rand, x *ir.Graph) []ir.NodeID {
		id := anyOf(rnd, moving(x))
		if id == ir.NoNode {
			return nil
		}
		without(x, id)
		return []ir.NodeID{id}
	}},
	{"make a transfer twice", []string{"TAP0302"}, func(rnd *rand.Rand, x *ir.Graph) []ir.NodeID {
		id := anyOf(rnd, moving(x))
		if id == ir.NoNode {
			return nil
		}
		t := *x.Node(id).Body.(*schedule.Transfer)
		return []ir.NodeID{id, x.Add(&t, "twice").ID}
	}},
	{"cut a box short", []string{"TAP0303", "TAP0306", "TAP0305"}, func(rnd *rand.Rand, x *ir.Graph) []ir.NodeID {
		id := anyOf(rnd, slices.DeleteFunc(moving(x), func(id ir.NodeID) bool {
			t := x.Node(id).Body.(*schedule.Transfer)
			return t.Box(x.Node(t.From).Body.(*schedule.Buffer)).Rank() == 0
		}))
		if id == ir.NoNode {
			return nil
		}
		t := x.Node(id).Body.(*schedule.Transfer)
		box := t.Box(x.Node(t.From).Body.(*schedule.Buffer))
		box = zspace.Range{Start: slices.Clone(box.Start), End: slices.Clone(box.End)}
		if d := rnd.IntN(box.Rank()); rnd.IntN(2) == 0 {
			box.Start[d]++
		} else {
			box.End[d]--
		}
		t.Range = box
		return []ir.NodeID{id}
	}},
	{"let two steps wait for each other", []string{"TAP0300"}, func(rnd *rand.Rand, x *ir.Graph) []ir.NodeID {
		id := anyOf(rnd, steps(x, func(n *ir.Node, _ ir.Body) bool { return after(n) != nil && len(*after(n)) > 0 }))
		if id == ir.NoNode {
			return nil
		}
		first := anyOf(rnd, *after(x.Node(id)))
		list := after(x.Node(first))
		*list = append(slices.Clone(*list), id)
		return []ir.NodeID{first, id}
	}},
	{"lower a device's memory", []string{"TAP0396"}, func(rnd *rand.Rand, x *ir.Graph) []ir.NodeID {
		held := schedule.Held(x)
		id := anyOf(rnd, steps(x, func(n *ir.Node, _ *schedule.Device) bool { return held[n.ID] != nil && held[n.ID].Total() > 1 }))
		if id == ir.NoNode {
			return nil
		}
		x.Node(id).Body.(*schedule.Device).Memory = held[id].Total() - 1
		return []ir.NodeID{id}
	}},
}

// TestDamagedDevices damages schedules of random graphs for two to eight devices in each of the ways above: each is refused, and the error names what was changed or what waits for it.
// An order that is taken away is refused unless another says it, or the values are the same the other way round.
func TestDamagedDevices(t *testing.T) {
	graphs := uint64(60)
	if testkit.Full() {
		graphs = 2000
	}
	count := map[string]int{}
	for seed := range graphs {
		g, err := generate(seed, 8, reducing[seed%2]...)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		x, in := g.build()
		if s := spreadAtRandom(t, seed, x); s.loose && s.partial > 0 {
			count["loose"]++
		}
		if err := standard.Run(x, kernels.Builtin(), lower.Options{}, cpu.Choosers()...); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		x = uncollected(x)
		if list := verified(x); list.HasErrors() {
			t.Fatalf("seed %d: %v", seed, list)
		}
		rnd := rand.New(rand.NewPCG(seed, 0xda3a9e))
		for _, f := range faults {
			for range 3 {
				y := x.Clone()
				changed := f.do(rnd, y)
				if changed == nil {
					continue
				}
				list := verified(y)
				count[f.name]++
				if !slices.ContainsFunc(list, func(d diag.Diagnostic) bool { return slices.Contains(f.codes, d.Code) }) {
					t.Errorf("seed %d: %s (%v): got %v", seed, f.name, changed, list)
					continue
				}
				for _, d := range list {
					count[f.name+" "+d.Code]++
				}
			}
		}
		want := evaluated(t, x, in)
		for range 6 {
			unordered(t, seed, rnd, x, in, want, count)
		}
	}
	t.Log(count)
}

func verified(x *ir.Graph) diag.List {
	return pipeline.ScheduledKernels.Environment().Verify(context.Background(), x)
}

// unordered takes away that one step waits for another.
func unordered(t *testing.T, seed uint64, rnd *rand.Rand, x *ir.Graph, in, want map[string]tensorfile.Tensor, count map[string]int) {
	t.Helper()
	y := x.Clone()
	id := anyOf(rnd, steps(y, func(n *ir.Node, _ ir.Body) bool { return after(n) != nil && len(*after(n)) > 0 }))
	if id == ir.NoNode {
		return
	}
	list := after(y.Node(id))
	first := anyOf(rnd, *list)
	*list = slices.DeleteFunc(slices.Clone(*list), func(a ir.NodeID) bool { return a == first })
	found := verified(y)
	switch {
	case waits(y, id, first) && found.HasErrors():
		t.Errorf("seed %d: an order that others say is missed: %v", seed, found)
	case waits(y, id, first):
		count["order said twice"]++
	case found.HasErrors():
		count["order refused"]++
		if !slices.ContainsFunc(found, func(d diag.Diagnostic) bool {
			return slices.Contains([]string{"TAP0305", "TAP0393"}, d.Code) && strings.Contains(d.Message, x.Name(id))
		}) {
			t.Errorf("seed %d: %s does not wait for %s: %v", seed, x.Name(id), x.Name(first), found)
		}
	default:
		back := after(y.Node(first))
		*back = append(slices.Clone(*back), id)
		count["order not needed"]++
		same(t, seed, want, evaluated(t, y, in))
	}
}

// waits says whether a step waits for another, over others.
func waits(x *ir.Graph, id, first ir.NodeID) bool {
	seen, open := map[ir.NodeID]bool{id: true}, []ir.NodeID{id}
	for len(open) > 0 {
		top := open[len(open)-1]
		open = open[:len(open)-1]
		for _, a := range *after(x.Node(top)) {
			if a == first {
				return true
			}
			if !seen[a] {
				seen[a] = true
				open = append(open, a)
			}
		}
	}
	return false
}
