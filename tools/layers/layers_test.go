package layers

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"strings"
	"testing"
)

const module = "tensortapestry.org/tapc"

// TestImports checks every package of the module against the table.
func TestImports(t *testing.T) {
	cmd := exec.Command("go", "list", "-json=ImportPath,Imports", "./...")
	cmd.Dir = "../.."
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	packages := 0
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; packages++ {
		var p struct {
			ImportPath string
			Imports    []string
		}
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		from := inside(p.ImportPath)
		rule, ok := Find(from)
		if !ok {
			t.Errorf("package %s has no level in tools/layers", from)
			continue
		}
		for _, i := range p.Imports {
			if !strings.HasPrefix(i, module+"/") {
				continue
			}
			if to, ok := Find(inside(i)); ok && !May(rule, to) {
				t.Errorf("%s (level %d.%d) must not import %s (level %d.%d)", from, rule.Level, rule.Order, inside(i), to.Level, to.Order)
			}
		}
	}
	if packages < 20 {
		t.Errorf("go list found only %d packages", packages)
	}
}

func inside(path string) string { return strings.TrimPrefix(strings.TrimPrefix(path, module), "/") }

func TestRules(t *testing.T) {
	cases := []struct {
		from, to string
		want     bool
	}{
		{"ir", "ir/diag", true}, {"ir/diag", "ir", false}, {"ir/text", "ir/loomjson", true}, {"dialects/schedule", "passes/lower", false},
		{"passes/lower", "passes/pipeline", true}, {"passes/pipeline", "passes/lower", false}, {"passes/fuse", "passes/tile", false},
		{"passes/fuse", "dialects/schedule/nest", true}, {"dialects/schedule", "dialects/schedule/nest", false}, {"dialects/schedule", "dialects/schedule/uses", false},
		{"dialects/schedule/races", "dialects/schedule/constraints", false}, {"passes/standard", "passes/tile", true}, {"cmd/tapc", "plugins/host", true},
		{"plugins", "plugins/host", false}, {"dialects/tensorops", "dialects/application", false},
	}
	for _, c := range cases {
		from, ok := Find(c.from)
		to, ok2 := Find(c.to)
		if !ok || !ok2 || May(from, to) != c.want {
			t.Errorf("%s imports %s: want %v", c.from, c.to, c.want)
		}
	}
}
