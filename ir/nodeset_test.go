package ir

import (
	"testing"

	"pgregory.net/rapid"
)

// A set says what a map says.
func TestNodeSet(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var s NodeSet
		want := map[NodeID]bool{}
		for _, id := range rapid.SliceOf(rapid.Int32Range(0, 300)).Draw(t, "ids") {
			id := NodeID(id)
			if s.Add(id) == want[id] {
				t.Fatalf("adding %d: it is new: %v", id, want[id])
			}
			want[id] = true
		}
		for id := NodeID(-1); id < 400; id++ {
			if s.Has(id) != want[id] {
				t.Fatalf("has %d: %v", id, !want[id])
			}
		}
	})
	var s NodeSet
	if s.Add(NoNode) || s.Has(NoNode) {
		t.Error("no node is in a set")
	}
}
