package constraints_test

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tensortapestry.org/tapc/dialects"
	"tensortapestry.org/tapc/dialects/application"
	"tensortapestry.org/tapc/dialects/schedule/collective"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/check"
)

var update = flag.Bool("update", false, "write docs/constraints.md")

const (
	document = "../../../docs/constraints.md"
	litTests = "../../../lit-tests/dialects"
)

var environments = []*check.Environment{tensorops.Environment(), application.Environment(), collective.Environment()}

func TestConstraintsDocument(t *testing.T) {
	want := check.Document(environments...)
	if *update {
		if err := os.WriteFile(document, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(have)); diff != "" {
		t.Errorf("docs/constraints.md is not current; run go generate ./dialects/schedule/constraints (-want +have):\n%s", diff)
	}
}

func TestEnvironmentsAreValid(t *testing.T) {
	for _, e := range environments {
		if err := e.Validate(); err != nil {
			t.Error(err)
		}
	}
}

// TestEnvironmentHasEveryKind compares the last environment with the list of kinds that readers use.
func TestEnvironmentHasEveryKind(t *testing.T) {
	uris := func(kinds []*ir.Kind) (out []string) {
		for _, k := range kinds {
			out = append(out, k.URI)
		}
		slices.Sort(out)
		return out
	}
	all, e := dialects.Registry(), collective.Environment()
	if diff := cmp.Diff(uris(all.Nodes), uris(e.NodeKinds)); diff != "" {
		t.Error("nodes:", diff)
	}
	if diff := cmp.Diff(uris(all.Tags), uris(e.TagKinds)); diff != "" {
		t.Error("tags:", diff)
	}
}

// TestEveryConstraintHasARegressionTest looks for each constraint's id in the tests of its dialect.
func TestEveryConstraintHasARegressionTest(t *testing.T) {
	var text strings.Builder
	err := filepath.WalkDir(litTests, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		text.Write(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range collective.Environment().All() {
		if !strings.Contains(text.String(), k.ID+"]") {
			t.Errorf("no test in lit-tests/dialects checks for %s", k.ID)
		}
	}
}
