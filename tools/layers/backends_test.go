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

// named finds in a file of Go what knows a back end or a device type by name.
var named = regexp.MustCompile(`"tensortapestry\.org/tapc/backends/(?:cpu|cuda)"|\bschedule\.(?:CPU|CUDA)\b`)

// TestBackEndsAreNamedInOneLine holds what docs/backends.md says of a new back end: its own package and one line of the list. Tools and
// examples of plugins use the back end that they are about.
func TestBackEndsAreNamedInOneLine(t *testing.T) {
	var found []string
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		name := filepath.ToSlash(path)
		for _, own := range []string{"../../backends/", "../../tools/", "../../plugins/examples/"} {
			if strings.HasPrefix(name, own) {
				return err
			}
		}
		if err != nil || d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		if named.Match(text) {
			found = append(found, strings.TrimPrefix(name, "../../"))
		}
		return err
	})
	if want := []string{"cmd/tapc/app/table.go"}; err != nil || !slices.Equal(found, want) {
		t.Errorf("back ends or device types are named in %v, want %v (%v)", found, want, err)
	}
}
