package symbols

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"tensortapestry.org/tapc/internal/testkit"
)

// half is an object with a hidden function and hidden data of names that the other half has too.
const half = `
#define HIDDEN __attribute__((visibility("hidden")))
extern int outside;
HIDDEN int data[2] = {NUMBER, NUMBER + 1};
HIDDEN int *second = &data[1];
HIDDEN int shared(void) { return data[0] * 100 + *second + outside; }
__attribute__((section(".text.own"))) int NAME(void) { return shared(); }
`

const whole = `
#include <stdio.h>
int outside = 1000, shared = 7;
int one(void), two(void);
int main(void) { return printf("%d %d %d\n", one(), two(), shared) < 0; }
`

// TestLocalize links two objects with hidden names in common, which the program has besides, into one program and runs it.
func TestLocalize(t *testing.T) {
	for _, cc := range []string{"gcc", "clang"} {
		t.Run(cc, func(t *testing.T) { localized(t, []string{testkit.Program(t, testkit.Compilers, cc)}, nil) })
		t.Run(cc+" aarch64", func(t *testing.T) {
			tools := testkit.CrossAArch64(t, cc)
			localized(t, strings.Fields(tools.Compiler), tools.Emulator)
		})
	}
}

func localized(t *testing.T, cc, runner []string) {
	dir := t.TempDir()
	compile := func(args ...string) error {
		cmd := exec.Command(cc[0], append(cc[1:], args...)...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Logf("%v: %s", args, out)
		}
		return err
	}
	need := func(args ...string) {
		t.Helper()
		if err := compile(args...); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{"half.c": half, "whole.c": whole} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for name, number := range map[string]string{"one": "1", "two": "5"} {
		need("-O2", "-fPIC", "-ffunction-sections", "-DNAME="+name, "-DNUMBER="+number, "-c", "half.c", "-o", name+"0.o")
		need("-r", "-nostdlib", name+"0.o", "-o", name+".o")
	}
	if compile("-DNAME=x", "whole.c", "one.o", "two.o", "-o", "whole") == nil {
		t.Error("the objects are linked as they are: the test shows nothing")
	}
	for _, name := range []string{"one.o", "two.o"} {
		f, err := os.OpenFile(filepath.Join(dir, name), os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		if err := Localize(f); err != nil {
			t.Fatal(err)
		}
		if err := Localize(f); err != nil { // again, it finds nothing
			t.Fatal(err)
		}
		f.Close()
	}
	need("whole.c", "one.o", "two.o", "-o", "whole")
	command := append(runner[:len(runner):len(runner)], filepath.Join(dir, "whole"))
	out, err := exec.Command(command[0], command[1:]...).CombinedOutput()
	if want := "1102 1506 7\n"; err != nil || string(out) != want {
		t.Errorf("%v: got %q, want %q", err, out, want)
	}
}

// memory is a file in memory.
type memory struct{ *bytes.Reader }

func (memory) WriteAt(p []byte, _ int64) (int, error) { return len(p), nil }

// TestDamaged cuts an object file and flips its bytes: all of it gives an error or nothing, and no panic.
func TestDamaged(t *testing.T) {
	gcc := testkit.Program(t, testkit.Compilers, "gcc")
	object := filepath.Join(t.TempDir(), "half.o")
	cmd := exec.Command(gcc, "-DNAME=x", "-DNUMBER=1", "-c", "-x", "c", "-", "-o", object)
	cmd.Stdin = strings.NewReader(half)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	data, err := os.ReadFile(object)
	if err != nil {
		t.Fatal(err)
	}
	for n := 0; n < len(data); n += 7 {
		if err := Localize(memory{bytes.NewReader(data[:n])}); err == nil && n < len(data)-64 {
			t.Fatalf("%d bytes of %d are taken", n, len(data))
		}
	}
	for i := range data {
		bad := bytes.Clone(data)
		bad[i] ^= 0xff
		_ = Localize(memory{bytes.NewReader(bad)})
	}
	if err := Localize(memory{bytes.NewReader(append([]byte("\xcf\xfa\xed\xfe"), data[4:]...))}); err != nil {
		t.Errorf("another format: %v", err)
	}
}
