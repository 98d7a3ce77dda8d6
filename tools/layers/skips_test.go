package layers

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// silent is a test that is skipped for an error: for something that a machine lacks.
var silent = regexp.MustCompile(`(?:\.Skip\(err|\.Skipf\([^)]*\berr\b)[^\n]*`)

// TestSkipsAreRequirable finds tests that are skipped whatever the environment requires.
func TestSkipsAreRequirable(t *testing.T) {
	files := 0
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") || d.Name() == "skips_test.go" {
			return err
		}
		files++
		text, err := os.ReadFile(path)
		for _, m := range silent.FindAll(text, -1) {
			if !strings.Contains(string(m), "// another processor") {
				t.Errorf("%s: %s: expected testkit.Need, which fails where the environment requires what is missing", path, m)
			}
		}
		return err
	})
	if err != nil || files < 100 {
		t.Fatalf("%d files, %v", files, err)
	}
	if !silent.MatchString("t.Skip(err)") || silent.MatchString(`t.Skip("the unit is Linux's")`) {
		t.Error("the pattern does not tell skips apart")
	}
}
