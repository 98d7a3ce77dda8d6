package toolchain

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/sync/errgroup"

	"tensortapestry.org/tapc/backends/cpu/isa"
	"tensortapestry.org/tapc/internal/filecache"
)

// counted is a compiler that leaves a file for each time that it runs, and a unit for it.
func counted(t *testing.T) (c *Compiler, runs func() int, u Unit) {
	t.Helper()
	real := found(t, "cc", "gcc", "clang")
	log := filepath.Join(t.TempDir(), "log")
	script := filepath.Join(t.TempDir(), "cc")
	text := "#!/bin/sh\necho run >> '" + log + "'\nexec '" + real.Path + "' \"$@\"\n"
	if err := os.WriteFile(script, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("there is no shell to count with")
	}
	runs = func() int {
		text, err := os.ReadFile(log)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		return bytes.Count(text, []byte("\n"))
	}
	return &Compiler{Path: script, Version: real.Version, says: real.says, gnu: real.gnu}, runs,
		Unit{Name: "one.c", Text: "int one(void) { return 1; }\n", Flags: []string{"-O1"}}
}

func open(t *testing.T, dir string) *filecache.Cache {
	t.Helper()
	cache, err := filecache.At(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cache.Close)
	return cache
}

// What the cache holds is damaged in every way that a disk, a kill or another program has; each time the object is as it was.
func TestDamagedEntries(t *testing.T) {
	cc, runs, u := counted(t)
	dir := t.TempDir()
	compile := func() []byte {
		t.Helper()
		object, err := cc.Compile(t.Context(), open(t, dir), t.TempDir(), u)
		if err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(object)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	want := compile()
	if again := compile(); !bytes.Equal(again, want) || runs() != 1 {
		t.Fatalf("what is in the cache was compiled again (%d runs)", runs())
	}
	list, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(list) != 1 {
		t.Fatalf("the cache has %q, expected one file (%v)", list, err)
	}
	entry := list[0]
	whole, err := os.ReadFile(entry)
	if err != nil {
		t.Fatal(err)
	}
	damages := map[string]func() error{
		"empty":     func() error { return os.Truncate(entry, 0) },
		"truncated": func() error { return os.Truncate(entry, int64(len(whole)/2)) },
		"longer":    func() error { return os.WriteFile(entry, append(slices.Clone(whole), 0), 0o600) },
		"writable":  func() error { return os.Chmod(entry, 0o666) },
		"gone":      func() error { return os.Remove(entry) },
		"a link": func() error {
			return errors.Join(os.Rename(entry, filepath.Join(dir, "other")), os.Symlink("other", entry))
		},
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		at := r.IntN(len(whole))
		damages["byte "+string(rune('a'+len(damages)))] = func() error {
			flipped := slices.Clone(whole)
			flipped[at] ^= 1 << r.IntN(8)
			return os.WriteFile(entry, flipped, 0o600)
		}
	}
	for name, damage := range damages {
		before := runs()
		if err := damage(); err != nil {
			t.Fatal(name, err)
		}
		if got := compile(); !bytes.Equal(got, want) || runs() != before+1 {
			t.Errorf("%s: expected the object to be made again as it was; %d runs more", name, runs()-before)
		}
		if got := compile(); !bytes.Equal(got, want) || runs() != before+1 {
			t.Errorf("%s: the entry is not mended; %d runs more", name, runs()-before)
		}
	}
}

// What decides about an object decides about its key.
func TestKey(t *testing.T) {
	cc, _, u := counted(t)
	base, lasts := cc.keyOf(u)
	if !lasts {
		t.Fatal("the object does not last")
	}
	vary := map[string]func() (*Compiler, Unit){
		"text":     func() (*Compiler, Unit) { v := u; v.Text += " "; return cc, v },
		"header":   func() (*Compiler, Unit) { v := u; v.Key = "other"; return cc, v },
		"flags":    func() (*Compiler, Unit) { v := u; v.Flags = []string{"-O2"}; return cc, v },
		"version":  func() (*Compiler, Unit) { c := *cc; c.says += "+"; return &c, u },
		"path":     func() (*Compiler, Unit) { c := *cc; c.Path = "/bin/sh"; return &c, u },
		"compiler": func() (*Compiler, Unit) { appendTo(t, cc.Path, "# newer\n"); return cc, u },
		"machine":  func() (*Compiler, Unit) { c := *cc; c.Machine = isa.MachineOf("aarch64-linux-gnu"); return &c, u },
		"argument": func() (*Compiler, Unit) { c := *cc; c.Args = []string{"--target=aarch64-linux-gnu"}; return &c, u },
		"headers":  func() (*Compiler, Unit) { t.Setenv("CPATH", "/elsewhere"); return cc, u },
	}
	for name, change := range vary {
		c, v := change()
		if key, _ := c.keyOf(v); key == base {
			t.Errorf("%s: the key is the same", name)
		}
	}
	for _, flag := range []string{"-fprofile-use", "-Iinclude", "-include", "-fplugin=x", "@options", "-specs=x"} {
		v := u
		v.Flags = []string{flag}
		if _, lasts := cc.keyOf(v); lasts {
			t.Errorf("%s: the object lasts, though it depends on a file", flag)
		}
		c := *cc
		c.Args = []string{flag}
		if _, lasts := c.keyOf(u); lasts {
			t.Errorf("%s behind the compiler's name: the object lasts, though it depends on a file", flag)
		}
	}
}

func appendTo(t *testing.T, file, text string) {
	t.Helper()
	f, err := os.OpenFile(file, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(text); errors.Join(err, f.Close()) != nil {
		t.Fatal(err)
	}
}

// Builds side by side share a cache, which others damage and empty meanwhile.
func TestBuildsShareTheCache(t *testing.T) {
	cc, _, u := counted(t)
	dir := t.TempDir()
	var group errgroup.Group
	for i := range 6 {
		work := t.TempDir()
		group.Go(func() error {
			cache, err := filecache.At(dir)
			if err != nil {
				return err
			}
			defer cache.Close()
			var first []byte
			for range 5 {
				object, err := cc.Compile(context.Background(), cache, work, u)
				if err != nil {
					return err
				}
				data, err := os.ReadFile(object)
				if err != nil {
					return err
				}
				if first = firstOf(first, data); !bytes.Equal(first, data) {
					return errors.New("objects of one text differ")
				}
				if i%3 == 0 {
					if _, _, err := cache.Clean(); err != nil {
						return err
					}
				}
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		t.Error(err)
	}
}

func firstOf(first, data []byte) []byte {
	if first == nil {
		return data
	}
	return first
}
