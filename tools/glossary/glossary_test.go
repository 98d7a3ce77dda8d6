// Package glossary_test holds the code to docs/glossary.md: the page's places are there, and words that the page replaces become
// fewer. words.txt has the most that each part of the module may have of them; -update lowers it to what there is, and never
// raises it. Read next: docs/glossary.md.
package glossary_test

import (
	"cmp"
	"flag"
	"fmt"
	"go/scanner"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
)

var update = flag.Bool("update", false, "lower the counts in words.txt to what there is")

const root = "../.."

// instead are the words that code should not have, and what the field says. They are counted in comments and in identifiers; those
// that are ordinary elsewhere, only where loops are cut and C is written.
var instead = map[string]struct {
	word  *regexp.Regexp
	field string
}{
	"stand":    {regexp.MustCompile(`^(stands?|standing|stood)$`), "is, is at; of an operand: unpacked, in place"},
	"fold":     {regexp.MustCompile(`^(folds?|folded|folding)$`), "reduction, reduced dimension; fold is what is done with constants"},
	"piece":    {regexp.MustCompile(`^(pieces?|piecewise)$`), "macro-tile, part"},
	"share":    {regexp.MustCompile(`^shares?$`), "panel bytes, part"},
	"strip":    {regexp.MustCompile(`^strips?$`), "panel, register tile"},
	"place":    {regexp.MustCompile(`^places?$`), "offset, index, slot, address, coordinate"},
	"seam":     {regexp.MustCompile(`^(seams?|sewn|sews?)$`), "index-set splitting, bound"},
	"narrow":   {regexp.MustCompile(`^narrow$`), "low-precision"},
	"turned":   {regexp.MustCompile(`^(turned|turns?|turning)$`), "transposed output, transposed"},
	"chain":    {regexp.MustCompile(`^chains?$`), "back-to-back GEMM"},
	"held":     {regexp.MustCompile(`^held$`), "workspace"},
	"whatever": {regexp.MustCompile(`^whatever$`), "any, in every case"},
}

var everywhere = map[string]bool{"stand": true, "whatever": true}

const lower = "lower"

// areas are the parts of the module that are counted together, so that code may move inside them.
var areas = []struct {
	name  string
	paths []string
}{
	{lower, []string{"dialects/schedule", "passes/fuse", "passes/layout", "passes/tile", "passes/memory", "backends"}},
	{"upper", []string{"ir", "dialects", "passes", "frontends"}},
	{"around", []string{"plugins", "cmd", "tools", "internal", "lit-tests"}},
}

func areaOf(path string) string {
	for _, a := range areas {
		for _, p := range a.paths {
			if strings.HasPrefix(path, p+"/") {
				return a.name
			}
		}
	}
	return ""
}

// key is a line of words.txt.
type key struct{ area, word string }

// parts cuts a text into words in lower case, at what is no letter and at capitals.
func parts(s string) []string {
	var out []string
	start, before := -1, rune(0)
	for i, r := range s {
		if start >= 0 && (!unicode.IsLetter(r) || unicode.IsUpper(r) && unicode.IsLower(before)) {
			out, start = append(out, strings.ToLower(s[start:i])), -1
		}
		if start < 0 && unicode.IsLetter(r) {
			start = i
		}
		before = r
	}
	if start >= 0 {
		out = append(out, strings.ToLower(s[start:]))
	}
	return out
}

// count adds the words of a Go file's comments and identifiers.
func count(area, text string, counts map[key]int) {
	var s scanner.Scanner
	files := token.NewFileSet()
	s.Init(files.AddFile("", files.Base(), len(text)), []byte(text), nil, scanner.ScanComments)
	for {
		_, tok, lit := s.Scan()
		if tok == token.EOF {
			return
		}
		if tok != token.COMMENT && tok != token.IDENT {
			continue
		}
		for _, w := range parts(lit) {
			for name, x := range instead {
				if (area == lower || everywhere[name]) && x.word.MatchString(w) {
					counts[key{area, name}]++
				}
			}
		}
	}
}

// counted gives the counts of all hand-written Go files.
func counted(t *testing.T) map[key]int {
	counts, files := map[key]int{}, 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, ".pb.go") {
			return err
		}
		name, err := filepath.Rel(root, path)
		name = filepath.ToSlash(name)
		if area := areaOf(name); err == nil && area != "" && !strings.HasPrefix(name, "tools/glossary/") {
			var text []byte
			text, err = os.ReadFile(path)
			count(area, string(text), counts)
			files++
		}
		return err
	})
	if err != nil || files < 300 {
		t.Fatalf("%d files, %v", files, err)
	}
	return counts
}

func TestWords(t *testing.T) {
	counts, most := counted(t), map[key]int{}
	text, err := os.ReadFile("words.txt")
	if os.IsNotExist(err) && *update {
		write(t, counts)
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(string(text), "\n") {
		var k key
		var n int
		if _, err := fmt.Sscan(line, &k.area, &k.word, &n); err == nil && !strings.HasPrefix(line, "#") {
			most[k] = n
		}
	}
	for k, n := range counts {
		if allowed := most[k]; n > allowed {
			t.Errorf("%s has %q %d times, at most %d are allowed: say %s (docs/glossary.md)", k.area, k.word, n, allowed, instead[k.word].field)
		}
	}
	if *update && !t.Failed() {
		write(t, counts)
	}
}

func write(t *testing.T, counts map[key]int) {
	var b strings.Builder
	b.WriteString("# area word most: how often comments and identifiers may have a word that docs/glossary.md replaces.\n" +
		"# go test ./tools/glossary -update lowers the counts; nothing raises them.\n")
	keys := slices.SortedFunc(maps.Keys(counts), func(a, b key) int { return cmp.Or(cmp.Compare(a.area, b.area), cmp.Compare(a.word, b.word)) })
	for _, k := range keys {
		fmt.Fprintf(&b, "%s %s %d\n", k.area, k.word, counts[k])
	}
	if err := os.WriteFile("words.txt", []byte(b.String()), 0o666); err != nil {
		t.Fatal(err)
	}
}

func TestCount(t *testing.T) {
	counts := map[key]int{}
	count(lower, "package p // It stands here.\n\n// Fold: what folds; unfolded.\nvar theFold, foldedSums, manifold = \"stands\", 1, 2\n", counts)
	if want := (map[key]int{{lower, "stand"}: 1, {lower, "fold"}: 4}); !maps.Equal(counts, want) {
		t.Errorf("%v, expected %v", counts, want)
	}
}

// TestPlaces: what the page says is somewhere is there, no word has two rows, and every word that is to be said is explained.
func TestPlaces(t *testing.T) {
	text, err := os.ReadFile(root + "/docs/glossary.md")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, line := range strings.Split(string(text), "\n") {
		cells := strings.Split(line, "|")
		if len(cells) != 5 || strings.HasPrefix(cells[1], "---") || cells[1] == " word " {
			continue
		}
		for _, w := range strings.Split(strings.TrimSpace(cells[1]), ", ") {
			if seen[w] {
				t.Errorf("%q is explained twice", w)
			}
			seen[w] = true
		}
		for _, m := range regexp.MustCompile("`([^`]*)`").FindAllStringSubmatch(cells[3], -1) {
			if _, err := os.Stat(filepath.Join(root, m[1])); err != nil {
				t.Errorf("%s: %v", strings.TrimSpace(cells[1]), err)
			}
		}
	}
	for _, w := range []string{"reduction", "epilogue", "prefetch", "packing", "register tile (MR×NR)", "index-set splitting", "back-to-back GEMM"} {
		if !seen[w] {
			t.Errorf("%q is not explained", w)
		}
	}
}
