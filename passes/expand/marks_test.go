package expand_test

import (
	"io/fs"
	"os"
	"regexp"
	"strings"
	"testing"

	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/passes/expand"
	"tensortapestry.org/tapc/passes/rewrite"
	"tensortapestry.org/tapc/passes/simplify"
	"tensortapestry.org/tapc/passes/split"
)

// TestEveryRuleHasLitTests holds every rule of simplify, cse, expand and split to a lit test where it is applied (EXPECT-RULE: NAME) and one where it nearly is
// (NEAR-MISS: NAME); a mark of a rule that there is none of is a fault, too.
func TestEveryRuleHasLitTests(t *testing.T) {
	mark := regexp.MustCompile(`(?:^|[^-_a-zA-Z0-9])(EXPECT-RULE|NEAR-MISS):[ \t]+([a-z0-9][-a-z0-9_]*)`)
	found := map[string]map[string]string{"EXPECT-RULE": {}, "NEAR-MISS": {}}
	lit := os.DirFS("../../lit-tests/passes")
	err := fs.WalkDir(lit, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".tap") && !strings.HasSuffix(path, ".lit") {
			return err
		}
		text, err := fs.ReadFile(lit, path)
		for _, m := range mark.FindAllStringSubmatch(string(text), -1) {
			found[m[1]][m[2]] = path
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{"none": true, "expand": true, "dce": true, "fuse": true, "tile": true}
	for _, list := range [][]rewrite.Rule{simplify.EarlyRules(), simplify.Rules(), {simplify.CSERule(ir.New())}, expand.Rules(), split.Rules()} {
		for _, r := range list {
			known[r.Name] = true
			for kind, names := range found {
				if names[r.Name] == "" {
					t.Errorf("%s has no lit test with %s: %s", r.Name, kind, r.Name)
				}
			}
		}
	}
	for name, path := range found["NEAR-MISS"] {
		if !known[name] {
			t.Errorf("lit-tests/passes/%s: NEAR-MISS: %s is of no rule", path, name)
		}
	}
}
