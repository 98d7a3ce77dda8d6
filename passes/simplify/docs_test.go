package simplify_test

import (
	_ "embed"
	"flag"
	"os"
	"testing"

	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/passes/expand"
	"tensortapestry.org/tapc/passes/rewrite"
	"tensortapestry.org/tapc/passes/rewrite/language"
	"tensortapestry.org/tapc/passes/rewrite/rulepage"
	"tensortapestry.org/tapc/passes/simplify"
	"tensortapestry.org/tapc/passes/split"
)

//go:embed guide.md
var guide string

var update = flag.Bool("update", false, "write docs/rewrites.md")

const page = "../../docs/rewrites.md"

// TestPage checks that docs/rewrites.md is what the rules and the guide give; with -update it writes it.
func TestPage(t *testing.T) {
	want := "<!-- Made by go generate ./passes/simplify from its rules and guide.md. -->\n" + guide +
		language.LanguageTables() + "\n## The rules of simplify for dequantized bytes, which are tried before the others\n\n" + rulepage.Markdown(simplify.EarlyRules()) +
		"## The rules of simplify, in the order in which they are tried\n\n" +
		rulepage.Markdown(simplify.Rules()) + "## The rules of expand\n\n" + rulepage.Markdown(expand.Rules()) +
		"## The identities of split, which a request applies\n\n" + rulepage.Markdown(split.Rules()) + "## The rules of the other passes\n\n" +
		rulepage.Markdown([]rewrite.Rule{simplify.CSERule(ir.New())})
	want = want[:len(want)-1]
	if *update {
		if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Error("docs/rewrites.md is not current; run go generate ./passes/simplify")
	}
}
