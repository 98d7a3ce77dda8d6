package main

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"tensortapestry.org/tapc/backends/cpu/toolchain"
	"tensortapestry.org/tapc/internal/filecache"
	"tensortapestry.org/tapc/internal/testkit"
)

// Every entry that a program is made of is damaged at a random place, and folders are unfit: the program has the same bytes each time.
func TestDamagedCacheBuildsTheSame(t *testing.T) {
	_, err := toolchain.FindCompiler(t.Context())
	testkit.Need(t, testkit.Compilers, err)
	out := filepath.Join(t.TempDir(), "program")
	build := func(cache string) []byte {
		t.Helper()
		t.Setenv(filecache.Variable, cache)
		if status, _, errs := tapc(t, "", "build", "--cpu=baseline", example, "-o", out); status != 0 || errs != "" {
			t.Fatalf("status %d: %s", status, errs)
		}
		data, err := os.ReadFile(out)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	dir := t.TempDir()
	want := build(dir)
	entries, err := filepath.Glob(filepath.Join(dir, "*.o"))
	if err != nil || len(entries) < 5 { // the library's three, the kernels, the program
		t.Fatalf("%q, %v", entries, err)
	}
	r := rand.New(rand.NewPCG(3, 4))
	for range 2 {
		for _, e := range entries {
			if err := flip(e, r); err != nil {
				t.Fatal(err)
			}
		}
		if !bytes.Equal(build(dir), want) {
			t.Error("a damaged entry changes the program")
		}
	}
	unfit := filepath.Join(t.TempDir(), "unfit")
	if err := errors.Join(os.Symlink(dir, unfit), os.Chmod(dir, 0o777)); err != nil {
		t.Fatal(err)
	}
	for _, cache := range []string{unfit, dir, "off"} {
		if !bytes.Equal(build(cache), want) {
			t.Errorf("TAPC_CACHE=%s changes the program", cache)
		}
	}
}

// flip changes a bit of a file.
func flip(file string, r *rand.Rand) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	data[r.IntN(len(data))] ^= 1 << r.IntN(8)
	return os.WriteFile(file, data, 0o600)
}
