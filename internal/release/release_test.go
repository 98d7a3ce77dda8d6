package release

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestOneVersion holds the Python package and the version command to the version of tapc.
func TestOneVersion(t *testing.T) {
	text, err := os.ReadFile("../../python/src/tapc/__init__.py")
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`(?m)^__version__ = "(.*)"$`).FindSubmatch(text)
	if m == nil || string(m[1]) != Version {
		t.Errorf("the Python package has version %q, tapc %s", m, Version)
	}
	if !strings.HasPrefix(Text(), "tapc "+Version+" ") {
		t.Error(Text())
	}
}
