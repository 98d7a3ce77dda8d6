package cpu

import (
	"os"
	"path/filepath"
	"testing"
)

// TestCache compiles a file, which other builds then take out of the cache, as they do with the oldest when there are too many.
func TestCache(t *testing.T) {
	cc := compiler(t)
	cache := t.TempDir()
	u := unit{name: "one.c", text: "int one(void) { return 1; }\n", flags: []string{"-O1"}}
	compile := func() string {
		t.Helper()
		object, err := cc.compile(t.Context(), cache, t.TempDir(), u)
		if err != nil {
			t.Fatal(err)
		}
		return object
	}
	cached := func() string {
		t.Helper()
		list, err := filepath.Glob(filepath.Join(cache, "*"))
		if err != nil || len(list) != 1 {
			t.Fatalf("the cache has %q, expected one file (%v)", list, err)
		}
		return list[0]
	}
	read := func(file string) string {
		t.Helper()
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	made := compile()
	want, entry := read(made), cached()
	if err := os.WriteFile(entry, []byte("kept"), 0o644); err != nil {
		t.Fatal(err)
	}
	if read(made) != want {
		t.Error("a build's own object changes with the cache")
	}
	found := compile() // not compiled again
	if err := os.Remove(entry); err != nil {
		t.Fatal(err)
	}
	if got := read(found); got != "kept" {
		t.Errorf("the object is %.20q, expected what the cache held", got)
	}
	if again := compile(); read(again) != want {
		t.Error("what is gone from the cache is not compiled again as it was")
	}
	if cached() != entry {
		t.Error("the same file has another place in the cache")
	}
}
