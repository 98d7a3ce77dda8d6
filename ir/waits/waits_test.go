package waits

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestUnorderedAgreesWithReachability(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 30).Draw(t, "steps")
		after := make([][]int32, n)
		before := make([][]bool, n)
		for b := range n {
			before[b] = make([]bool, n)
			for a := range b {
				if rapid.IntRange(0, 5).Draw(t, "edge") > 0 {
					continue
				}
				after[b] = append(after[b], int32(a))
				before[b][a] = true
				for c := range a {
					before[b][c] = before[b][c] || before[a][c]
				}
			}
		}
		var pairs []Pair
		var want []int
		for range rapid.IntRange(0, 40).Draw(t, "pairs") {
			p := Pair{int32(rapid.IntRange(0, n-1).Draw(t, "a")), int32(rapid.IntRange(0, n-1).Draw(t, "b"))}
			if !before[p.B][p.A] {
				want = append(want, len(pairs))
			}
			pairs = append(pairs, p)
		}
		if got := New(after).Unordered(pairs, func() bool { return true }); !slices.Equal(got, want) {
			t.Fatalf("%v: got %v, want %v", pairs, got, want)
		}
	})
}

func TestUnorderedInManyBlocks(t *testing.T) {
	const n, broken = 3*sourceBlock + 7, 2*sourceBlock + 3
	after := make([][]int32, n)
	var pairs []Pair
	for b := int32(1); b < n; b++ {
		if b != broken {
			after[b] = []int32{b - 1}
		}
		if b > 1 {
			pairs = append(pairs, Pair{b - 2, b})
		}
	}
	pairs = append(pairs, Pair{0, broken - 1}, Pair{0, broken}, Pair{broken, n - 1})
	var want []int
	for i, p := range pairs {
		if p.A < broken && p.B >= broken {
			want = append(want, i)
		}
	}
	if got := New(after).Unordered(pairs, func() bool { return true }); !slices.Equal(got, want) || len(got) != 3 {
		t.Errorf("got %v, want %v", got, want)
	}
}
