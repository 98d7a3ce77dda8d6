package cpu_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Nothing of a program depends on the machine that tapc is built for. What only tests use may.
func TestNoHost(t *testing.T) {
	files := 0
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && d.Name() == "cputest" {
			return fs.SkipDir
		}
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		files++
		text, err := os.ReadFile(path)
		for _, word := range []string{"GOARCH", "GOOS"} {
			if strings.Contains(string(text), "runtime."+word) {
				t.Errorf("%s asks for %s", path, word)
			}
		}
		return err
	})
	if err != nil || files < 50 {
		t.Fatal(files, err)
	}
}
