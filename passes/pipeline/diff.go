package pipeline

import (
	"fmt"
	"strings"
)

// The bounds of a diff: equal lines around a change, and differing lines beyond which a stretch is shown as replaced whole.
const (
	diffContext = 3
	maxEdits    = 2000
)

// edit is a line of a diff: ' ' stands in both texts, '-' in the old one, '+' in the new one.
type edit struct {
	op   byte
	line string
}

// unifiedDiff compares two texts by lines and writes the hunks of a unified diff, without file names.
func unifiedDiff(old, now string) string {
	edits := diffLines(lines(old), lines(now))
	var b strings.Builder
	for from := 0; from < len(edits); {
		first := from
		for first < len(edits) && edits[first].op == ' ' {
			first++
		}
		if first == len(edits) {
			break
		}
		end := hunkEnd(edits, first)
		writeHunk(&b, edits, max(from, first-diffContext), end)
		from = end
	}
	return b.String()
}

func lines(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

// hunkEnd finds where the hunk with the change at first ends: after a change with too many equal lines behind it.
func hunkEnd(edits []edit, first int) int {
	last := first
	for i := first; i < len(edits) && i-last <= 2*diffContext; i++ {
		if edits[i].op != ' ' {
			last = i
		}
	}
	return min(last+1+diffContext, len(edits))
}

func writeHunk(b *strings.Builder, edits []edit, from, end int) {
	var at, size [2]int
	for i, e := range edits[:end] {
		for side, other := range [2]byte{'+', '-'} {
			if e.op == other {
				continue
			}
			if i < from {
				at[side]++
			} else {
				size[side]++
			}
		}
	}
	for side := range at {
		if size[side] > 0 {
			at[side]++
		}
	}
	fmt.Fprintf(b, "@@ -%d,%d +%d,%d @@\n", at[0], size[0], at[1], size[1])
	for _, e := range edits[from:end] {
		b.WriteByte(e.op)
		b.WriteString(e.line + "\n")
	}
}

// diffLines gives a shortest edit script, if it has at most maxEdits changes.
func diffLines(a, b []string) []edit {
	var head, tail []edit
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		head = append(head, edit{' ', a[0]})
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		tail = append(tail, edit{' ', a[len(a)-1]})
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	out := append(head, shortest(a, b)...)
	for i := len(tail) - 1; i >= 0; i-- {
		out = append(out, tail[i])
	}
	return out
}

// shortest is the greedy algorithm of E. W. Myers, "An O(ND) Difference Algorithm and Its Variations", Algorithmica 1 (1986):
// reach[k] is how far in a a path on diagonal k gets with d changes.
func shortest(a, b []string) []edit {
	limit := min(len(a)+len(b), maxEdits)
	reach := make([]int, 2*limit+2)
	var trail [][]int // of reach, the part -d..d for each d
	for d := 0; d <= limit; d++ {
		for k := -d; k <= d; k += 2 {
			x := 0
			switch {
			case d == 0:
			case k == -d || k != d && reach[limit+k-1] < reach[limit+k+1]:
				x = reach[limit+k+1]
			default:
				x = reach[limit+k-1] + 1
			}
			for x < len(a) && x-k < len(b) && a[x] == b[x-k] {
				x++
			}
			reach[limit+k] = x
			if x >= len(a) && x-k >= len(b) {
				return backtrack(a, b, trail)
			}
		}
		trail = append(trail, append([]int(nil), reach[limit-d:limit+d+1]...))
	}
	out := make([]edit, 0, len(a)+len(b))
	for _, l := range a {
		out = append(out, edit{'-', l})
	}
	for _, l := range b {
		out = append(out, edit{'+', l})
	}
	return out
}

// backtrack walks from the ends of both texts to their beginnings along the paths that were kept.
func backtrack(a, b []string, trail [][]int) []edit {
	var out []edit
	x, y := len(a), len(b)
	for d := len(trail); d > 0; d-- {
		k, last := x-y, trail[d-1] // last[i] is diagonal i-(d-1)
		at := func(k int) int {
			if i := k + d - 1; i >= 0 && i < len(last) {
				return last[i]
			}
			return -1
		}
		fromX, op := at(k-1), byte('-')
		if k == -d || k != d && at(k-1) < at(k+1) {
			fromX, op = at(k+1), '+'
		}
		fromY := fromX - (k - 1)
		if op == '+' {
			fromY = fromX - (k + 1)
		}
		startX := fromX
		if op == '-' {
			startX++
		}
		for x > startX {
			x, y = x-1, y-1
			out = append(out, edit{' ', a[x]})
		}
		if op == '-' {
			out = append(out, edit{'-', a[fromX]})
		} else {
			out = append(out, edit{'+', b[fromY]})
		}
		x, y = fromX, fromY
	}
	for x > 0 {
		x--
		out = append(out, edit{' ', a[x]})
	}
	for i, j := 0, len(out)-1; i < j; i, j = i+1, j-1 {
		out[i], out[j] = out[j], out[i]
	}
	return out
}
