package main

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"tensortapestry.org/tapc/cmd/tapc/compiling"
)

// TestIntoDirectoryLeavesNothing: a directory that was made for files that could not be written is removed, and one that was there stays.
func TestIntoDirectoryLeavesNothing(t *testing.T) {
	wrong := errors.New("wrong")
	fails := func(dir string) error {
		return errors.Join(os.WriteFile(filepath.Join(dir, "a.c"), nil, 0o600), wrong)
	}
	made, there := filepath.Join(t.TempDir(), "made"), t.TempDir()
	for _, dir := range []string{made, there} {
		if err := compiling.IntoDirectory(dir, fails); !errors.Is(err, wrong) {
			t.Errorf("%s: %v", dir, err)
		}
	}
	if _, err := os.Stat(made); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s is left: %v", made, err)
	}
	if list, err := os.ReadDir(there); err != nil || len(list) != 0 {
		t.Errorf("%s has %v: %v", there, list, err)
	}
	writes := func(dir string) error { return os.WriteFile(filepath.Join(dir, "a.c"), nil, 0o600) }
	if err := compiling.IntoDirectory(made, writes); err != nil {
		t.Error(err)
	}
	if list, err := os.ReadDir(made); err != nil || len(list) != 1 {
		t.Errorf("%s has %v: %v", made, list, err)
	}
}
