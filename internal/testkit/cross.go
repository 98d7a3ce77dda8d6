package testkit

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Cross is a compiler for other machines, and what runs its programs on this one.
type Cross struct {
	Compiler string   // its name, for the option --cc; arguments may stand behind it
	Emulator []string // the command that programs are arguments of
}

// Processor is the emulator of one kind of processor, as it calls it.
func (c Cross) Processor(name string) []string {
	return append(c.Emulator[:1:1], append([]string{"-cpu", name}, c.Emulator[1:]...)...)
}

// CrossAArch64 is FindAArch64 for a test, which is skipped, or fails, where something is missing.
func CrossAArch64(t testing.TB, compiler string) Cross {
	t.Helper()
	c, err := FindAArch64(compiler)
	Need(t, AArch64, err)
	return c
}

// FindAArch64 gives GCC or Clang ("gcc" or "clang") for AArch64 with Linux, where there is a C library for it (Debian's
// libc6-dev-arm64-cross), and an emulator of its programs.
func FindAArch64(compiler string) (Cross, error) {
	const gcc = "aarch64-linux-gnu-gcc"
	c := Cross{Compiler: gcc}
	if compiler == "clang" {
		c.Compiler = "clang --target=aarch64-linux-gnu"
	}
	for _, name := range []string{gcc, strings.Fields(c.Compiler)[0]} {
		if _, err := exec.LookPath(name); err != nil {
			return c, err
		}
	}
	emulator, err := exec.LookPath("qemu-aarch64")
	if err != nil {
		return c, err
	}
	found, err := exec.Command(gcc, "-print-file-name=libc.so.6").Output()
	library := strings.TrimSpace(string(found))
	switch {
	case err != nil:
		return c, err
	case !filepath.IsAbs(library):
		return c, fmt.Errorf("%s finds no C library", gcc)
	}
	c.Emulator = []string{emulator, "-L", filepath.Dir(filepath.Dir(filepath.Clean(library)))}
	return c, nil
}
