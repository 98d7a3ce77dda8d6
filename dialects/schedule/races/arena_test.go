package races

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"tensortapestry.org/tapc/dialects/schedule"
)

func TestArenaKnowsWhoHadTheBytes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var lives []*life
		for range rapid.IntRange(1, 25).Draw(t, "lives") {
			lives = append(lives, &life{b: &schedule.Buffer{Offset: rapid.Int64Range(0, 30).Draw(t, "offset"), Bytes: rapid.Int64Range(1, 12).Draw(t, "bytes")}})
		}
		a := newArena(lives)
		owner := make([]int32, 64)
		for i := range owner {
			owner[i] = none
		}
		for i, l := range lives {
			var want []int32
			for at := l.b.Offset; at < l.b.Offset+l.b.Bytes; at++ {
				if owner[at] != none {
					want = append(want, owner[at])
				}
				owner[at] = int32(i)
			}
			slices.Sort(want)
			want = slices.Compact(want)
			if got := a.take(int32(i)); !slices.Equal(got, want) {
				t.Fatalf("life %d takes bytes from %v, want %v", i, got, want)
			}
		}
	})
}
