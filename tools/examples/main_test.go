package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

const dir = "../../examples"

func TestCheckedInFilesAreGenerated(t *testing.T) {
	want, err := files()
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range want {
		got, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Error(err)
		} else if !bytes.Equal(got, data) {
			t.Errorf("%s differs from what `go run ./tools/examples` writes", name)
		}
	}
	present, err := filepath.Glob(filepath.Join(dir, "inputs", "*"))
	if err != nil || len(present) != len(want)-len(graphs) {
		t.Errorf("inputs holds %v (%v), want the %d generated files", present, err, len(want)-len(graphs))
	}
}

func TestGeneratorIsDeterministic(t *testing.T) {
	first, second := t.TempDir(), t.TempDir()
	for _, d := range []string{first, second} {
		if err := write(d); err != nil {
			t.Fatal(err)
		}
	}
	all, _ := files()
	for name := range all {
		a, errA := os.ReadFile(filepath.Join(first, name))
		b, errB := os.ReadFile(filepath.Join(second, name))
		if errA != nil || errB != nil || len(a) == 0 || !bytes.Equal(a, b) {
			t.Errorf("%s: %d and %d bytes, %v, %v", name, len(a), len(b), errA, errB)
		}
	}
}

// Every Loom JSON file of the examples is one well-formed document whose nodes
// have the format's four members and distinct ids in rising order.
func TestExampleFilesAreWellFormed(t *testing.T) {
	paths, _ := filepath.Glob(filepath.Join(dir, "*.loom.json"))
	more, _ := filepath.Glob(filepath.Join(dir, "*", "*.loom.json"))
	paths = append(paths, more...)
	if len(paths) < 5 {
		t.Fatalf("found only %v", paths)
	}
	type node struct {
		ID    string                     `json:"id"`
		Type  string                     `json:"type"`
		Label string                     `json:"label"`
		Body  map[string]json.RawMessage `json:"body"`
		Tags  map[string]json.RawMessage `json:"tags"`
	}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var d struct {
			ID    string `json:"id"`
			Nodes []node `json:"nodes"`
		}
		dec := json.NewDecoder(bytes.NewReader(data))
		dec.DisallowUnknownFields()
		if err := dec.Decode(&d); err != nil {
			t.Errorf("%s: %v", path, err)
		}
		last := ""
		for _, n := range d.Nodes {
			if n.ID <= last || len(n.ID) != 36 || n.Type == "" || n.Body == nil {
				t.Errorf("%s: node %+v after %s", path, n, last)
			}
			last = n.ID
		}
		if len(d.ID) != 36 || last == "" || dec.More() {
			t.Errorf("%s: id %q, last node %q, trailing text %v", path, d.ID, last, dec.More())
		}
	}
}
