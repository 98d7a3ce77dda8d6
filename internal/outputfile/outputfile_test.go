//go:build unix

package outputfile

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func put(text string) func(*os.File) error {
	return func(f *os.File) error { _, err := f.WriteString(text); return err }
}

func TestReplace(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	if err := errors.Join(Replace(at("new"), 0o600, put("one")), Replace(at("new"), 0o666, put("two")), os.Symlink("new", at("link")),
		Replace(at("link"), 0o666, put("three"))); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(at("new"))
	info, lerr := os.Lstat(at("link"))
	if err := errors.Join(err, lerr); err != nil || string(text) != "three" || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("%q, %v, %v", text, info.Mode(), err)
	}
	if info, err := os.Stat(at("new")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("permissions are not kept: %v, %v", info.Mode(), err)
	}
	failed := errors.New("no more")
	err = Replace(at("new"), 0o666, func(f *os.File) error { return errors.Join(put("part")(f), failed) })
	if text, _ = os.ReadFile(at("new")); !errors.Is(err, failed) || string(text) != "three" {
		t.Errorf("after an error: %q, %v", text, err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 2 {
		t.Errorf("files are left: %v, %v", left, err)
	}
}

// A file that another program writes by its name, as linkers do, is the one that is moved.
func TestReplaceByName(t *testing.T) {
	path := filepath.Join(t.TempDir(), "program")
	err := Replace(path, 0o755, func(f *os.File) error {
		return errors.Join(f.Close(), os.Remove(f.Name()), os.WriteFile(f.Name(), []byte("linked"), 0o700))
	})
	if text, _ := os.ReadFile(path); err != nil || string(text) != "linked" {
		t.Errorf("%q, %v", text, err)
	}
}

func TestNothingElseIsReplaced(t *testing.T) {
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe")
	if err := errors.Join(syscall.Mkfifo(pipe, 0o600), os.Symlink("pipe", filepath.Join(dir, "link"))); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{pipe: "a named pipe", filepath.Join(dir, "link"): "a named pipe", dir: "a directory", "/dev/null": "a device",
		filepath.Join(dir, "none", "file"): "no such file"} {
		if err := Replace(path, 0o666, put("x")); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: expected %q, found %v", path, want, err)
		}
	}
}

// TestFiles: files that belong together are all there or none is.
func TestFiles(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	names := func() string {
		list, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		var out []string
		for _, e := range list {
			out = append(out, e.Name())
		}
		return strings.Join(out, " ")
	}
	failed := errors.New("no more")
	var none Files
	if err := none.Add(at("lib.so"), 0o755, put("library")); err != nil {
		t.Fatal(err)
	}
	if err := none.Add(at("lib.h"), 0o644, func(*os.File) error { return failed }); !errors.Is(err, failed) {
		t.Error(err)
	}
	none.Discard()
	if got := names(); got != "" {
		t.Errorf("files are left of those that were discarded: %s", got)
	}
	var both Files
	if err := errors.Join(both.Add(at("lib.so"), 0o755, put("library")), both.Add(at("lib.h"), 0o644, put("header"))); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(at("lib.so")); err == nil {
		t.Error("a file is there before all are")
	}
	err := both.Place()
	both.Discard()
	if got := names(); err != nil || got != "lib.h lib.so" {
		t.Errorf("%v, %s", err, got)
	}
	var stuck Files
	defer stuck.Discard()
	if err := errors.Join(stuck.Add(at("a"), 0o644, put("one")), stuck.Add(at("b"), 0o644, put("two")), os.Mkdir(at("b"), 0o755)); err != nil {
		t.Fatal(err)
	}
	if err := stuck.Place(); err == nil {
		t.Error("a folder is replaced by a file")
	}
	stuck.Discard()
	if got := names(); got != "b lib.h lib.so" {
		t.Errorf("a file stays though the other could not be moved: %s", got)
	}
}
