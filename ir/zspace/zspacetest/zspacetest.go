// Package zspacetest draws boxes whose cells tests count one by one.
package zspacetest

import (
	"testing"

	"pgregory.net/rapid"

	"tensortapestry.org/tapc/ir/zspace"
)

// Parse reads the text of a range, such as "[0:4, 1:3]".
func Parse(t testing.TB, text string) zspace.Range {
	t.Helper()
	r, err := zspace.ParseRange(text)
	if err != nil {
		t.Fatalf("ParseRange(%q): %v", text, err)
	}
	return r
}

// Ranges draws some boxes of a rank with few cells.
func Ranges(t *rapid.T, rank int, name string) (out []zspace.Range) {
	for range rapid.IntRange(0, 4).Draw(t, name+"s") {
		out = append(out, Range(t, rank, name))
	}
	return out
}

// Range draws a box of a rank with few cells.
func Range(t *rapid.T, rank int, name string) zspace.Range {
	start, end := make(zspace.Point, rank), make(zspace.Point, rank)
	for i := range rank {
		start[i] = rapid.Int64Range(-3, 3).Draw(t, name+" start")
		end[i] = start[i] + rapid.Int64Range(0, 4).Draw(t, name+" extent")
	}
	return zspace.Range{Start: start, End: end}
}

// Cells lists the cells of a range as texts.
func Cells(r zspace.Range) []string {
	var out []string
	for p := range r.Points() {
		out = append(out, p.String())
	}
	return out
}

// Count says how many of the parts hold each cell.
func Count(parts []zspace.Range) map[string]int {
	n := map[string]int{}
	for _, r := range parts {
		for _, c := range Cells(r) {
			n[c]++
		}
	}
	return n
}
