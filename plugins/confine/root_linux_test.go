package confine

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestFind looks at what is mounted for grants: under real names, with the links on the way, and a directory before what is in it.
func TestFind(t *testing.T) {
	old, at := t.TempDir(), t.TempDir()
	for _, dir := range []string{"usr/lib", "data-b", "data/in"} {
		if err := os.MkdirAll(filepath.Join(old, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, target := range map[string]string{"lib": "usr/lib", "far": filepath.Join(old, "data"), "loop": "loop"} {
		if err := os.Symlink(target, filepath.Join(old, name)); err != nil {
			t.Fatal(err)
		}
	}
	in := func(name string) string { return filepath.Join(old, name) }
	r := &root{at: at}
	list, err := r.find([]grant{{"the folder", 0}, {in("data/in"), rightRead}, {in("data-b"), rightRead}, {in("lib"), rightRead}, {in("usr"), rightRead},
		{in("far"), rightRead | rightMake}, {in("none"), rightRead}, {in("data"), rightRead}})
	want := []mount{{in("data"), true}, {in("data"), false}, {in("data-b"), false}, {in("data/in"), false}, {in("usr"), false}, {in("usr/lib"), false}}
	if err != nil || !slices.Equal(list, want) {
		t.Errorf("%v\n%v\nwant\n%v", err, list, want)
	}
	for _, name := range []string{"lib", "far"} {
		if here, there := readlink(t, in(name)), readlink(t, at+in(name)); here != there {
			t.Errorf("%s leads to %s, and in the new root to %s", name, here, there)
		}
	}
	r.mounts = []mount{{in("data"), false}}
	for m, want := range map[mount]bool{{in("data/in"), false}: true, {in("data/in"), true}: false, {in("data-b"), false}: false, {in("data"), false}: true} {
		if r.has(m) != want {
			t.Errorf("%+v in %+v: %v", m, r.mounts, !want)
		}
	}
	if _, err := r.find([]grant{{"the folder", 0}, {"/", rightRead}}); err == nil {
		t.Error("the whole system is mounted into itself")
	}
	if _, err := r.find([]grant{{"the folder", 0}, {in("loop"), rightRead}}); err == nil {
		t.Error("a link to itself has an end")
	}
}

func readlink(t *testing.T, path string) string {
	t.Helper()
	target, err := os.Readlink(path)
	if err != nil {
		t.Fatal(err)
	}
	return target
}
