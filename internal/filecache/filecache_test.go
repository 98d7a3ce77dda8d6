//go:build unix

package filecache

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

func keyOf(i int) Key { return Key{byte(i), byte(i >> 8), 1} }

func at(t *testing.T, dir string) *Cache {
	t.Helper()
	c, err := At(dir)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// A folder that others have a hand in is no cache.
func TestFolders(t *testing.T) {
	file := func(dir string) error { return os.WriteFile(dir, nil, 0o600) }
	cases := map[string]struct {
		make func(dir string) error
		want string
	}{
		"new":            {func(string) error { return nil }, ""},
		"there":          {func(dir string) error { return os.Mkdir(dir, 0o755) }, ""},
		"written by all": {func(dir string) error { return errors.Join(os.Mkdir(dir, 0o755), os.Chmod(dir, 0o777)) }, "0777"},
		"sticky":         {func(dir string) error { return errors.Join(os.Mkdir(dir, 0o755), os.Chmod(dir, 0o777|os.ModeSticky)) }, "0777"},
		"a group's":      {func(dir string) error { return errors.Join(os.Mkdir(dir, 0o755), os.Chmod(dir, 0o775)) }, "0775"},
		"a link":         {func(dir string) error { return errors.Join(os.Mkdir(dir+"2", 0o700), os.Symlink(dir+"2", dir)) }, "something else"},
		"a link to none": {func(dir string) error { return os.Symlink(dir+"2", dir) }, "file exists"},
		"a file":         {file, "not a directory"},
		"below a file":   {func(dir string) error { return file(filepath.Dir(dir)) }, "not a directory"},
		"another's":      {func(dir string) error { return errors.Join(os.Mkdir(dir, 0o755), os.Chown(dir, 12345, -1)) }, "found 12345"},
		"a pipe":         {func(dir string) error { return syscall.Mkfifo(dir, 0o600) }, "not a directory"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if os.Geteuid() != 0 && name == "another's" {
				t.Skip("only root can give files away")
			}
			parent := filepath.Join(t.TempDir(), "parent")
			if name != "below a file" {
				if err := os.Mkdir(parent, 0o700); err != nil {
					t.Fatal(err)
				}
			}
			dir := filepath.Join(parent, "cache")
			if err := c.make(dir); err != nil {
				t.Fatal(err)
			}
			cache, err := At(dir)
			if err == nil {
				defer cache.Close()
			}
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("expected %q, found %v", c.want, err)
			}
		})
	}
}

func TestEntriesOfOthers(t *testing.T) {
	c := at(t, t.TempDir())
	defer c.Close()
	entry := filepath.Join(c.path, entryName(keyOf(1)))
	for name, spoil := range map[string]func() error{
		"another's":      func() error { return os.Chown(entry, 12345, -1) },
		"written by all": func() error { return os.Chmod(entry, 0o602) },
		"a link":         func() error { return errors.Join(os.Rename(entry, entry+"2"), os.Symlink(entry+"2", entry)) },
		"a pipe":         func() error { return errors.Join(os.Remove(entry), syscall.Mkfifo(entry, 0o600)) },
		"a folder":       func() error { return errors.Join(os.Remove(entry), os.Mkdir(entry, 0o700)) },
		"another entry":  func() error { return os.Rename(filepath.Join(c.path, entryName(keyOf(2))), entry) },
	} {
		if name == "another's" && os.Geteuid() != 0 {
			continue // only root can give files away
		}
		c.Put(keyOf(1), []byte("good"))
		c.Put(keyOf(2), []byte("other"))
		if got, ok := c.Get(keyOf(1)); !ok || string(got) != "good" {
			t.Fatalf("%q, %v", got, ok)
		}
		if err := spoil(); err != nil {
			t.Fatal(name, err)
		}
		if got, ok := c.Get(keyOf(1)); ok {
			t.Errorf("%s: gives %q", name, got)
		}
		if err := os.RemoveAll(entry); err != nil {
			t.Fatal(err)
		}
	}
}

// Every bit and every length counts.
func TestDamage(t *testing.T) {
	c := at(t, t.TempDir())
	defer c.Close()
	c.Put(keyOf(1), []byte("some content"))
	entry := filepath.Join(c.path, entryName(keyOf(1)))
	whole, err := os.ReadFile(entry)
	if err != nil {
		t.Fatal(err)
	}
	refused := func(what string, data []byte) {
		t.Helper()
		if err := os.WriteFile(entry, data, 0o600); err != nil {
			t.Fatal(err)
		}
		if got, ok := c.Get(keyOf(1)); ok {
			t.Errorf("%s: gives %q", what, got)
		}
	}
	for bit := range 8 * len(whole) {
		flipped := slices.Clone(whole)
		flipped[bit/8] ^= 1 << (bit % 8)
		refused(fmt.Sprint("bit ", bit), flipped)
	}
	for n := range whole {
		refused(fmt.Sprint("length ", n), whole[:n])
	}
	refused("longer", append(slices.Clone(whole), 0))
}

// The longest unused entries go, and files that are not the cache's stay.
func TestLimits(t *testing.T) {
	for what, limit := range map[string]func(*Cache){"entries": func(c *Cache) { c.maxEntries = 8 }, "bytes": func(c *Cache) { c.maxBytes = 8 * (100 + 32) }} {
		c := at(t, t.TempDir())
		limit(c)
		foreign := filepath.Join(c.path, "thesis.o")
		abandonedPart := filepath.Join(c.path, entryName(keyOf(99))+".1-x.part")
		freshPart := filepath.Join(c.path, entryName(keyOf(98))+".1-x.part")
		old := time.Now().Add(-2 * abandoned)
		if err := errors.Join(os.WriteFile(foreign, nil, 0o600), os.WriteFile(abandonedPart, nil, 0o600), os.WriteFile(freshPart, nil, 0o600), os.Chtimes(abandonedPart, old, old),
			os.Chtimes(foreign, old, old)); err != nil {
			t.Fatal(err)
		}
		for i := range 9 {
			c.Put(keyOf(i), bytes.Repeat([]byte{1}, 100))
			used := time.Now().Add(time.Duration(i-100) * time.Second)
			if err := os.Chtimes(filepath.Join(c.path, entryName(keyOf(i))), used, used); err != nil {
				t.Fatal(err)
			}
		}
		c.Get(keyOf(0)) // used just now
		if info := c.Info(); info.Entries != 11 || info.Surplus < 4 {
			t.Errorf("%s: %+v", what, info)
		}
		c.Close()
		c = at(t, c.path)
		kept := ""
		for i := range 9 {
			if _, ok := c.Get(keyOf(i)); ok {
				kept += fmt.Sprint(i)
			}
		}
		if !strings.HasPrefix(kept, "0") || strings.Contains(kept, "1") || !strings.HasSuffix(kept, "5678") {
			t.Errorf("%s: entries %s are kept", what, kept)
		}
		if _, _, err := c.Clean(); err != nil {
			t.Error(err)
		}
		left, err := os.ReadDir(c.path)
		if err != nil || len(left) != 1 || left[0].Name() != "thesis.o" {
			t.Errorf("%s: %v, %v are left", what, left, err)
		}
		c.Close()
	}
}

func TestWhere(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct{ setting, xdg, home, want string }{
		{"off", dir, dir, "off"},
		{filepath.Join(dir, "mine"), "", "", ""},
		{"", dir, "", ""},
		{"", "relative", dir, "relative"},
		{"", "", "", "defined"},
	} {
		t.Setenv(Variable, c.setting)
		t.Setenv("XDG_CACHE_HOME", c.xdg)
		t.Setenv("HOME", c.home)
		cache, err := Open()
		cache.Close()
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%+v: found %v", c, err)
		}
	}
}

// A cache that can not be written keeps nothing, and that is all.
func TestReadOnly(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root can write everywhere")
	}
	c := at(t, t.TempDir())
	defer c.Close()
	c.Put(keyOf(1), []byte("kept"))
	t.Cleanup(func() { os.Chmod(c.path, 0o700) }) // so that it can be removed
	if err := os.Chmod(c.path, 0o500); err != nil {
		t.Fatal(err)
	}
	c.Put(keyOf(2), []byte("not kept"))
	got, ok := c.Get(keyOf(1))
	if _, other := c.Get(keyOf(2)); !ok || string(got) != "kept" || other {
		t.Errorf("%q, %v, %v", got, ok, other)
	}
}

// TestLock: one has the lock at a time, until it closes the cache; entries are kept and removed whoever has it.
func TestLock(t *testing.T) {
	dir := t.TempDir()
	first, second := at(t, dir), at(t, dir)
	lock := func(c *Cache) bool {
		ok, err := c.TryLock()
		if err != nil {
			t.Fatal(err)
		}
		return ok
	}
	if !lock(first) {
		t.Fatal("the lock is taken by nobody")
	}
	if runtime.GOOS == "linux" && lock(second) {
		t.Error("two have the lock")
	}
	if err := second.Put(keyOf(1), []byte("x")); err != nil {
		t.Error(err)
	}
	if n, _, err := second.Clean(); n != 1 || err != nil {
		t.Errorf("removed %d entries: %v", n, err)
	}
	first.Close()
	if !lock(second) {
		t.Error("the lock outlives its cache")
	}
}
