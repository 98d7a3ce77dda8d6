package loomjson

import (
	"slices"
	"strconv"
	"strings"

	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/zspace"
)

// pool shares what many nodes have in common (names, dtypes, ranges, maps), which is safe as none of them is ever changed in
// place, and hands out small slices from larger ones.
type pool struct {
	names      map[string]string
	ranges     [1 << rangeBits]zspace.Range
	ints       []int64
	selections []ir.Selection
	ports      []ir.Port
	start, end []int64 // scratch
}

const (
	rangeBits = 10
	maxNames  = 1 << 14
	chunk     = 256
)

// name gives the text as a string, the same one for the same text.
func (p *pool) name(text []byte) string {
	if s, ok := p.names[string(text)]; ok {
		return s
	}
	s := string(text)
	if len(p.names) < maxNames {
		p.names[s] = s
	}
	return s
}

// box gives a range with these bounds, which it does not keep.
func (p *pool) box(start, end []int64) zspace.Range {
	h := uint64(len(start))
	for i := range start {
		h = (h ^ uint64(start[i])) * 0x9e3779b97f4a7c15
		h = (h ^ h>>29 ^ uint64(end[i])) * 0xbf58476d1ce4e5b9
	}
	slot := &p.ranges[h>>(64-rangeBits)]
	if slot.Start == nil || !slices.Equal(slot.Start, start) || !slices.Equal(slot.End, end) {
		*slot = zspace.Range{Start: p.vector(start), End: p.vector(end)}
	}
	return *slot
}

// vector copies integers; the result is never nil.
func (p *pool) vector(v []int64) []int64 {
	n := len(v)
	if n == 0 {
		return []int64{}
	}
	if n > chunk/4 {
		return slices.Clone(v)
	}
	if len(p.ints) < n {
		p.ints = make([]int64, chunk)
	}
	out := p.ints[:n:n]
	p.ints = p.ints[n:]
	copy(out, v)
	return out
}

// carve gives n items from a reserve that is renewed when used up.
func carve[T any](reserve *[]T, n int) []T {
	if n > chunk/4 {
		return make([]T, n)
	}
	if len(*reserve) < n {
		*reserve = make([]T, chunk)
	}
	out := (*reserve)[:n:n]
	*reserve = (*reserve)[n:]
	return out
}

func contains(names []string, name string) bool { return slices.Contains(names, name) }

// quote writes a name for a message, cut short if it is long.
func quote(s string) string {
	if len(s) > 60 {
		s = s[:60] + "…"
	}
	return strconv.Quote(s)
}

// expectNames lists what fields there are, for a message.
func expectNames(known []string) string {
	if len(known) == 0 {
		return "no fields"
	}
	quoted := make([]string, len(known))
	for i, k := range known {
		quoted[i] = quote(k)
	}
	if len(quoted) == 1 {
		return "only " + quoted[0]
	}
	return "one of " + strings.Join(quoted, ", ")
}
