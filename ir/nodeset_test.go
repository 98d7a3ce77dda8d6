package ir

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// A set and a list hold what a map and a slice hold after the same steps.
func TestNodeSetAndList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var set NodeSet
		var list NodeList
		in, order := map[NodeID]bool{}, []NodeID{}
		for _, id := range rapid.SliceOf(rapid.Custom(func(t *rapid.T) NodeID { return NodeID(rapid.IntRange(0, 200).Draw(t, "node")) })).Draw(t, "nodes") {
			isNew := !slices.Contains(order, id)
			if list.Add(id) != isNew {
				t.Fatalf("the list says that %d is new: %v", id, !isNew)
			}
			if isNew {
				order = append(order, id)
			}
			if set.Add(id) == in[id] {
				t.Fatalf("the set says that %d is new: %v", id, in[id])
			}
			in[id] = true
			if id%3 == 0 {
				set.Remove(id)
				delete(in, id)
			}
		}
		for id := range NodeID(210) {
			if set.Has(id) != in[id] {
				t.Fatalf("the set has %d: %v", id, set.Has(id))
			}
		}
		all := slices.Collect(set.All)
		if len(all) != len(in) || set.Len() != len(in) || !slices.IsSorted(all) {
			t.Fatalf("the set of %v has %v, %d nodes", in, all, set.Len())
		}
		if !slices.Equal(list.List(), order) {
			t.Fatalf("the list is %v instead of %v", list.List(), order)
		}
	})
	var set NodeSet
	if set.Remove(NoNode); set.Add(NoNode) || set.Has(NoNode) || set.Len() != 0 {
		t.Error("no node is in a set")
	}
}
