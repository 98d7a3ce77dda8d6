package pipeline

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestUnifiedDiff(t *testing.T) {
	var old []string
	for i := range 30 {
		old = append(old, fmt.Sprint(i))
	}
	now := slices.Clone(old)
	now[4] = "four"
	now = slices.Delete(now, 20, 21)
	now = append(now, "end")
	got := unifiedDiff(strings.Join(old, "\n")+"\n", strings.Join(now, "\n")+"\n")
	want := `@@ -2,7 +2,7 @@
 1
 2
 3
-4
+four
 5
 6
 7
@@ -18,7 +18,6 @@
 17
 18
 19
-20
 21
 22
 23
@@ -28,3 +27,4 @@
 27
 28
 29
+end
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got := unifiedDiff("", "a\n"); got != "@@ -0,0 +1,1 @@\n+a\n" {
		t.Errorf("from nothing: %q", got)
	}
	if got := unifiedDiff("a\n", "a\n"); got != "" {
		t.Errorf("equal texts differ: %q", got)
	}
}

// side takes one text out of a diff.
func side(edits []edit, without byte) []string {
	out := []string{}
	for _, e := range edits {
		if e.op != without {
			out = append(out, e.line)
		}
	}
	return out
}

// common is the length of a longest common subsequence, by the textbook's table.
func common(a, b []string) int {
	table := make([][]int, len(a)+1)
	for i := range table {
		table[i] = make([]int, len(b)+1)
	}
	for i := range a {
		for j := range b {
			if a[i] == b[j] {
				table[i+1][j+1] = table[i][j] + 1
			} else {
				table[i+1][j+1] = max(table[i][j+1], table[i+1][j])
			}
		}
	}
	return table[len(a)][len(b)]
}

func TestDiffsAreRightAndShortest(t *testing.T) {
	words := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c"}), 0, 12)
	rapid.Check(t, func(t *rapid.T) {
		a, b := words.Draw(t, "a"), words.Draw(t, "b")
		edits := diffLines(a, b)
		if !slices.Equal(side(edits, '+'), a) || !slices.Equal(side(edits, '-'), b) {
			t.Fatalf("%v", edits)
		}
		if got, want := len(a)+len(b)-len(edits), common(a, b); got != want {
			t.Fatalf("%d lines are kept, want %d: %v", got, want, edits)
		}
	})
}

func TestLongDiffsAreReplaced(t *testing.T) {
	var a, b []string
	for i := range maxEdits {
		a, b = append(a, fmt.Sprint("a", i)), append(b, fmt.Sprint("b", i))
	}
	if edits := diffLines(a, b); !slices.Equal(side(edits, '+'), a) || !slices.Equal(side(edits, '-'), b) {
		t.Error("the diff is not right")
	}
}
