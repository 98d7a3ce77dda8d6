package loomjson_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tensortapestry.org/tapc/dialects"
	"tensortapestry.org/tapc/ir/loomjson"
)

// documents are the example graphs of the repository.
func documents(t testing.TB) []string {
	t.Helper()
	var files []string
	for _, pattern := range []string{"../../examples/*.loom.json", "../../examples/*/*.loom.json"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	if len(files) < 6 {
		t.Fatalf("only %d example documents found", len(files))
	}
	return files
}

// rewrite reads a document and writes it again.
func rewrite(t testing.TB, data []byte, file string) []byte {
	t.Helper()
	g, err := loomjson.Read(data, file, dialects.Registry())
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := loomjson.Write(&out, g); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// The documents' own print of one example differs in white space; everything else is canonical as it stands.
func TestExamplesAreCanonical(t *testing.T) {
	for _, file := range documents(t) {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		out := rewrite(t, data, file)
		want := string(data)
		if strings.HasSuffix(file, "operation-expression.loom.json") {
			var a, b bytes.Buffer
			if err := json.Compact(&a, data); err != nil {
				t.Fatal(err)
			}
			if err := json.Compact(&b, out); err != nil {
				t.Fatal(err)
			}
			want, out = a.String(), b.Bytes()
		}
		if diff := cmp.Diff(strings.TrimSpace(want), strings.TrimSpace(string(out))); diff != "" {
			t.Errorf("%s is written back otherwise (-file +written):\n%s", file, diff)
		}
	}
}

func TestFieldsInAnyOrder(t *testing.T) {
	data, err := os.ReadFile("../../examples/application-expression.loom.json")
	if err != nil {
		t.Fatal(err)
	}
	var tree any
	if err := json.Unmarshal(data, &tree); err != nil {
		t.Fatal(err)
	}
	shuffled, err := json.Marshal(tree) // sorts every object's keys, so bodies come before types
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(data), string(rewrite(t, shuffled, "shuffled"))); diff != "" {
		t.Error(diff)
	}
}
