package diag

import (
	"slices"
	"strings"
)

// Nearest finds the name that a mistyped word most likely stands for: the first of those with the least edit distance
// (insertions, deletions, substitutions, swaps of neighbours), if that is at most a third of the word's length and one more; else the
// only one that begins with the word.
func Nearest(word string, names []string) (string, bool) {
	best, at := len(word)/3+2, -1
	for i, n := range names {
		if d := distance(word, n, best); d < best {
			best, at = d, i
		}
	}
	if at < 0 || best >= len(word) {
		at = onlyBeginning(word, names)
	}
	if at < 0 {
		return "", false
	}
	return names[at], true
}

// onlyBeginning gives the place of the only name that begins with a word of two letters or more, or -1.
func onlyBeginning(word string, names []string) int {
	begins := func(n string) bool { return len(word) > 1 && strings.HasPrefix(n, word) }
	i := slices.IndexFunc(names, begins)
	if i >= 0 && slices.ContainsFunc(names[i+1:], begins) {
		return -1
	}
	return i
}

// distance is the restricted Damerau-Levenshtein distance, or limit if it is not less.
func distance(a, b string, limit int) int {
	if len(a)-len(b) >= limit || len(b)-len(a) >= limit {
		return limit
	}
	before, last, now := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		now[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			now[j] = min(last[j]+1, now[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				now[j] = min(now[j], before[j-2]+1)
			}
		}
		before, last, now = last, now, before
	}
	return min(last[len(b)], limit)
}

// Unknown is the usage error for a word that is not one of the names: it names the nearest or, where none is near, all.
func Unknown(what, word string, names []string) error {
	if near, ok := Nearest(word, names); ok {
		return NotKnown("unknown %s %q: did you mean %q?", what, word, near)
	}
	if len(names) == 0 {
		return NotKnown("unknown %s %q: there is none", what, word)
	}
	if len(names) == 1 {
		return NotKnown("unknown %s %q: expected %q", what, word, names[0])
	}
	names = slices.Sorted(slices.Values(names))
	return NotKnown("unknown %s %q: expected one of %s", what, word, strings.Join(names, ", "))
}
