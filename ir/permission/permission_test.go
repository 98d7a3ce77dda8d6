package permission

import (
	"fmt"
	"math/bits"
	"os"
	"slices"
	"strings"
	"testing"
)

// TestTable holds the table to one row for each permission, in the order of their bits.
func TestTable(t *testing.T) {
	sum := Set(0)
	for i, r := range Table {
		if r.Set != 1<<i || r.Name == "" || !strings.HasSuffix(r.Allows, ".") || r.Used == "" {
			t.Errorf("row %d: %+v", i, r)
		}
		sum |= r.Set
	}
	if sum != all || bits.OnesCount16(uint16(all)) != len(Table) {
		t.Errorf("rows for %b of %b", sum, all)
	}
}

// TestParse reads every set back as it is written, and in another order.
func TestParse(t *testing.T) {
	for s := Set(0); s <= all; s++ {
		words := s.Words()
		slices.Reverse(words)
		for _, text := range []string{s.String(), strings.Join(words, ",")} {
			if got, err := Parse(text); err != nil || got != s {
				t.Errorf("%q: %b, %v", text, got, err)
			}
		}
	}
	for _, text := range []string{"fast", "bf16,", ",", "bf16, tf32", "BF16", " "} {
		if got, err := Parse(text); err == nil {
			t.Errorf("%q: %v", text, got)
		}
	}
}

// TestDocument holds docs/numerics.md to the table, and to the sets that flags name.
func TestDocument(t *testing.T) {
	text, err := os.ReadFile("../../docs/numerics.md")
	if err != nil {
		t.Fatal(err)
	}
	quoted := func(s Set) string { return "`" + strings.Join(s.Words(), "`, `") + "`" }
	lines := []string{fmt.Sprintf("| `--fast-math` | %s |", quoted(FastMath))}
	for _, r := range Table {
		lines = append(lines, fmt.Sprintf("| %s | %s | %s |", quoted(r.Set), r.Allows, r.Used))
	}
	for _, p := range Precisions[1:] {
		lines = append(lines, fmt.Sprintf("| `--precision=%s` | %s |", p.Word, quoted(p.Set)))
	}
	for _, want := range lines {
		if !strings.Contains(string(text), "\n"+want+"\n") {
			t.Errorf("docs/numerics.md has no line\n%s", want)
		}
	}
}
