package memory

import (
	"math/rand/v2"
	"slices"
	"testing"

	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/ir"
)

// randomLives gives lives of all sorts: most are short, some last to the end.
func randomLives(r *rand.Rand, n, steps int) []*life {
	lives := make([]*life, n)
	for i := range lives {
		first := r.IntN(steps)
		last := min(steps-1, first+r.IntN(1+r.IntN(steps)))
		lives[i] = &life{id: ir.NodeID(i), first: first, last: last,
			buf: &schedule.Buffer{Bytes: int64(r.IntN(5) * r.IntN(100)), Align: int64(8 << r.IntN(3))}}
	}
	return lives
}

// lowest is what place does, by looking at every buffer that has a place for every other.
func lowest(lives []*life) []int64 {
	order := slices.Clone(lives)
	slices.SortStableFunc(order, func(a, b *life) int { return int(b.buf.Bytes - a.buf.Bytes) })
	out := make([]int64, len(lives))
	for i, l := range order {
		for moved := l.buf.Bytes > 0; moved; {
			moved = false
			for _, p := range order[:i] {
				at := out[p.id]
				if p.last >= l.first && l.last >= p.first && at < out[l.id]+l.buf.Bytes && out[l.id] < at+p.buf.Bytes {
					out[l.id], moved = align(at+p.buf.Bytes, l.buf.Align), true
				}
			}
		}
	}
	return out
}

func TestPlace(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		steps := 1 + r.IntN(40)
		lives := randomLives(r, 1+r.IntN(60), steps)
		want := lowest(lives)
		place(lives, steps)
		for i, l := range lives {
			if l.buf.Offset != want[i] {
				t.Fatalf("seed %d, buffer %d: at %d, the lowest free place is %d", seed, i, l.buf.Offset, want[i])
			}
		}
	}
}

// TestClaims compares with one owner for each byte.
func TestClaims(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	var c claims
	var owner [100]*life
	for range 500 {
		from := r.IntN(99)
		to, by := from+1+r.IntN(100-from-1), &life{}
		var want []*life
		for i := from; i < to; i++ {
			if o := owner[i]; o != nil && !slices.Contains(want, o) {
				want = append(want, o)
			}
			owner[i] = by
		}
		var got []*life
		for _, x := range c.take(int64(from), int64(to), by) {
			if !slices.Contains(got, x) {
				got = append(got, x)
			}
		}
		if !slices.Equal(got, want) {
			t.Fatalf("bytes %d to %d had %v, found %v", from, to, want, got)
		}
	}
}
