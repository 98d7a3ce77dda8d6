package textmate_test

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"tensortapestry.org/tapc/ir/lang"
	"tensortapestry.org/tapc/ir/scalar"
)

// pattern is one of a grammar that has matches alone, in Go's own regular expressions.
type pattern struct {
	Name, Match string
	Captures    map[string]struct{ Name string }
	re          *regexp.Regexp
}

// grammar reads syntaxes/NAME.tmLanguage.json.
func grammar(t *testing.T, name string) []pattern {
	t.Helper()
	data, err := os.ReadFile("syntaxes/" + name + ".tmLanguage.json")
	if err != nil {
		t.Fatal(err)
	}
	var g struct {
		ScopeName string
		FileTypes []string
		Patterns  []pattern
	}
	if err := json.Unmarshal(data, &g); err != nil || g.ScopeName != "source."+name || !slices.Equal(g.FileTypes, []string{name}) {
		t.Fatalf("%s: %v, %q, %q", name, err, g.ScopeName, g.FileTypes)
	}
	for i := range g.Patterns {
		g.Patterns[i].re = regexp.MustCompile(g.Patterns[i].Match)
	}
	return g.Patterns
}

// scopes gives the scope of each byte of a line as editors do: the pattern that matches first, of several the first in the list.
func scopes(patterns []pattern, line string) []string {
	out := make([]string, len(line))
	for at := 0; at < len(line); {
		best, found := []int(nil), pattern{}
		for _, p := range patterns {
			if m := p.re.FindStringSubmatchIndex(line[at:]); m != nil && m[1] > m[0] && (best == nil || m[0] < best[0]) && (at == 0 || p.Match[0] != '^') {
				best, found = m, p
			}
		}
		if best == nil {
			break
		}
		for i := best[0]; i < best[1]; i++ {
			out[at+i] = found.Name
		}
		for group, c := range found.Captures {
			g := 2 * int(group[0]-'0')
			for i := best[g]; i < best[g+1]; i++ {
				out[at+i] = c.Name
			}
		}
		at += best[1]
	}
	return out
}

// files gives the lines of files that a pattern of names finds.
func files(t *testing.T, glob string) map[string][]string {
	t.Helper()
	names, err := filepath.Glob("../../" + glob)
	if err != nil || len(names) == 0 {
		t.Fatalf("%s: %d files, %v", glob, len(names), err)
	}
	lines := map[string][]string{}
	for _, n := range names {
		lines[n] = strings.Split(read(t, n), "\n")
	}
	return lines
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestEveryTokenHasAScope: nothing in the library's files is without a colour.
func TestEveryTokenHasAScope(t *testing.T) {
	for name, glob := range map[string]string{"kernel": "dialects/tensorops/kernels/library/*.kernel", "rules": "passes/simplify/rules/*.rules",
		"map": "frontends/mapping/rules/*.map"} {
		patterns := grammar(t, name)
		for file, lines := range files(t, glob) {
			for i, line := range lines {
				for at, s := range scopes(patterns, line) {
					if s == "" && strings.TrimSpace(line[at:at+1]) != "" {
						t.Errorf("%s:%d:%d: no scope for %q", file, i+1, at+1, line[at:])
						break
					}
				}
			}
		}
	}
}

// taken finds the words that parsers take by name.
var taken = regexp.MustCompile(`p\.(?:Accept|Expect|Is|joined)\("([a-z]+)"`)

// wordsIn gives the words that match the first group of an expression, anywhere in files.
func wordsIn(t *testing.T, glob string, re *regexp.Regexp) map[string]bool {
	t.Helper()
	words := map[string]bool{}
	for name, lines := range files(t, glob) {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		for _, m := range re.FindAllStringSubmatch(strings.Join(lines, "\n"), -1) {
			words[m[1]] = true
		}
	}
	return words
}

// alternatives are the words of a pattern such as \b(?:a|b)\b.
func alternatives(t *testing.T, patterns []pattern, name string) map[string]bool {
	t.Helper()
	words := map[string]bool{}
	for _, p := range patterns {
		if list, ok := strings.CutPrefix(p.Match, `\b(?:`); ok && strings.HasPrefix(p.Name, name) {
			for _, w := range strings.Split(strings.TrimSuffix(list, `)\b`), "|") {
				words[w] = true
			}
		}
	}
	return words
}

func same(t *testing.T, what string, got, want map[string]bool) {
	t.Helper()
	if a, b := slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want)); !slices.Equal(a, b) {
		t.Errorf("%s: the grammar has %q, the parser %q", what, a, b)
	}
}

// TestKeywords: a grammar's keywords are the parser's, no more and no less.
func TestKeywords(t *testing.T) {
	rules := grammar(t, "rules")
	same(t, ".rules", alternatives(t, rules, "keyword.control"), wordsIn(t, "passes/rewrite/language/*.go", taken))

	table := read(t, "../../frontends/mapping/expr/parse.go")
	table = table[strings.Index(table, "var keywords = "):]
	table = table[:strings.Index(table, "}\n")]
	words := map[string]bool{}
	for _, m := range regexp.MustCompile(`"(\w+)": true`).FindAllStringSubmatch(table, -1) {
		words[m[1]] = true
	}
	tables := grammar(t, "map")
	same(t, ".map", alternatives(t, tables, "keyword.control"), words)
	for _, glob := range []string{"frontends/mapping/rules/*.go", "frontends/mapping/expr/*.go"} {
		for w := range wordsIn(t, glob, taken) {
			if !words[w] {
				t.Errorf(".map: the parser takes %q, which is no keyword", w)
			}
		}
	}

	kernels := grammar(t, "kernel")
	clauses := regexp.MustCompile(`const clauseWords = "(.*)"`).FindStringSubmatch(read(t, "../../dialects/tensorops/kernels/declaration/parse.go"))
	if clauses == nil {
		t.Fatal("the parser of kernels has no list of clauses")
	}
	for _, w := range strings.Split(clauses[1], ", ") {
		line := "  " + w + " x"
		if s := scopes(kernels, line)[2]; s != "keyword.control.kernel" {
			t.Errorf(".kernel: clause %s is %q", w, s)
		}
	}
	types := alternatives(t, kernels, "support.type")
	dtypes := map[string]bool{}
	for _, d := range scalar.DTypes() {
		dtypes[d.String()] = true
	}
	same(t, ".kernel, types", types, dtypes)
}

// TestTokensAgree: what the parsers' own tokens are, the grammars take it for.
func TestTokensAgree(t *testing.T) {
	symbols := strings.Fields("... .. => -> != == <= >= // ( ) [ ] { } , : | @ = ? < > + - * / % ~")
	for name, c := range map[string]struct {
		glob string
		of   lang.Lexicon
	}{
		"rules": {"passes/simplify/rules/*.rules", lang.Lexicon{Symbols: symbols, Dashes: true, Signed: true}},
		"map":   {"frontends/mapping/rules/*.map", lang.Lexicon{Symbols: symbols, Single: true}},
	} {
		patterns := grammar(t, name)
		keywords := alternatives(t, patterns, "keyword.control")
		for file, lines := range files(t, c.glob) {
			for i, line := range lines {
				tokens, err := c.of.Scan(line)
				if err != nil {
					t.Fatalf("%s:%d:%v", file, i+1, err)
				}
				colours := scopes(patterns, line)
				for _, x := range tokens[:len(tokens)-1] {
					if s := colours[x.Column-1]; !fits(x, s, keywords[x.Text]) {
						t.Errorf("%s:%d:%d: %v is coloured as %q", file, i+1, x.Column, x, s)
					}
				}
			}
		}
	}
}

// fits says whether a token may have a scope.
func fits(x lang.Token, scope string, keyword bool) bool {
	switch x.Kind {
	case lang.Number:
		return strings.HasPrefix(scope, "constant.numeric")
	case lang.String:
		return strings.HasPrefix(scope, "string.") || strings.HasPrefix(scope, "entity.")
	case lang.Symbol:
		return strings.HasPrefix(scope, "punctuation.") || strings.HasPrefix(scope, "keyword.operator")
	}
	return keyword == strings.HasPrefix(scope, "keyword.control") || keyword && strings.HasPrefix(scope, "entity.name")
}
