package beside

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestCopies(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	for name, text := range map[string]string{"a b.rules": "rules", "w.npz": "weights"} {
		if err := os.WriteFile(at(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c := For(at("tapc-reproducer-x.tap"))
	var names []string
	for _, path := range []string{at("a b.rules"), at("w.npz"), at("a b.rules")} {
		name, err := c.Add(path)
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
	}
	if want := []string{"tapc-reproducer-x.files/0-a_b.rules", "tapc-reproducer-x.files/1-w.npz", "tapc-reproducer-x.files/0-a_b.rules"}; !slices.Equal(names, want) {
		t.Errorf("%q", names)
	}
	c.limit = 11 // they have 12 bytes
	if err := c.Write(); err == nil || !strings.Contains(err.Error(), "12 bytes") {
		t.Error(err)
	}
	if _, err := os.Stat(at("tapc-reproducer-x.files")); err == nil {
		t.Error("there is a folder of files that are too large")
	}
	c.limit = 12
	if err := c.Write(); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(at(names[1])); err != nil || string(text) != "weights" {
		t.Errorf("%q, %v", text, err)
	}
	if _, err := c.Add(dir); err == nil || !strings.Contains(err.Error(), "a directory") {
		t.Error(err)
	}
}

func TestReplayed(t *testing.T) {
	args := []string{"opt", "--passes=simplify{rules=tapc-reproducer-simplify.files/0-a.rules}", "--kernels=tapc-reproducer-simplify.files/1-k.kernel", "--seed=1"}
	if got := Replayed(args, "."); !slices.Equal(got, args) {
		t.Errorf("%q", got)
	}
	want := []string{"opt", `--passes=simplify{rules="some where/tapc-reproducer-simplify.files/0-a.rules"}`, "--kernels=some where/tapc-reproducer-simplify.files/1-k.kernel", "--seed=1"}
	if got := Replayed(args, "some where"); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}
