package check

import "strings"

// Limits of the search for what a pattern may have meant.
const (
	fuzzyReach = 4096 // bytes searched
	fuzzyMost  = 50   // greatest distance that is worth showing
)

// closest returns the offset in text of the likeliest near miss of example, or 0 if there is none worth showing: not
// at the start, which the caller points at anyway. Distance counts edits and a hundredth for each line passed.
func closest(example, text string) int {
	best, quality := 0, float64(fuzzyMost)
	lines := 0
	for i := 0; i < min(len(text), fuzzyReach); i++ {
		switch text[i] {
		case '\n':
			lines++
		case ' ', '\t':
			continue
		}
		line, _, _ := strings.Cut(text[i:min(len(text), i+len(example))], "\n")
		passed := float64(lines) / 100
		if passed >= quality {
			break
		}
		d := float64(editDistance(line, example, int(quality))) + passed
		if d < quality {
			best, quality = i, d
		}
	}
	return best
}

// editDistance returns the number of bytes to add, remove or replace to turn a into b, or more than limit if it is
// more than limit.
func editDistance(a, b string, limit int) int {
	if len(a)-len(b) > limit || len(b)-len(a) > limit {
		return limit + 1
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		diagonal, least := row[0], i
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := diagonal
			if a[i-1] != b[j-1] {
				cost = 1 + min(diagonal, row[j], row[j-1])
			}
			diagonal, row[j] = row[j], cost
			least = min(least, cost)
		}
		if least > limit {
			return limit + 1
		}
	}
	return row[len(b)]
}
