package layers

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var code = regexp.MustCompile(`"(TAP[0-9]{4})"`)

// TestCodesAreUnique finds diagnostic codes that two packages use: a code means one thing, in one package.
func TestCodesAreUnique(t *testing.T) {
	users := map[string][]string{}
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, m := range code.FindAllSubmatch(text, -1) {
			if pkg := filepath.Dir(path); !slices.Contains(users[string(m[1])], pkg) {
				users[string(m[1])] = append(users[string(m[1])], pkg)
			}
		}
		return err
	})
	if err != nil || len(users) < 50 {
		t.Fatalf("%d codes, %v", len(users), err)
	}
	for c, pkgs := range users {
		if len(pkgs) > 1 && !shared[c] {
			t.Errorf("%s is used by %v", c, pkgs)
		}
	}
}

// shared are the codes of findings that readers and verifiers make alike.
var shared = map[string]bool{"TAP0101": true, "TAP0102": true, "TAP0111": true, "TAP0112": true, "TAP0114": true}
