package cpu

import (
	"debug/elf"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What compilers say of themselves decides what programs are for.
func TestMachines(t *testing.T) {
	for _, c := range []struct {
		triple, name, levels string
		portable             int
		linux                bool
		object               elf.Machine
	}{
		{"x86_64-linux-gnu", "x86_64", "x86-64-v4 x86-64-v3 x86-64", 3, true, elf.EM_X86_64},
		{"x86_64-pc-linux-musl", "x86_64", "x86-64-v4 x86-64-v3 x86-64", 3, true, elf.EM_X86_64},
		{"amd64-unknown-openbsd7.4", "x86_64", "x86-64-v4 x86-64-v3 x86-64", 3, false, elf.EM_NONE},
		{"x86_64-w64-mingw32", "x86_64", "x86-64-v4 x86-64-v3 x86-64", 3, false, elf.EM_NONE},
		{"x86_64-linux-gnux32", "x86_64", "x86-64-v4 x86-64-v3 x86-64", 3, true, elf.EM_NONE},
		{"aarch64-linux-gnu", "aarch64", "armv8.6-a armv8.2-a+dotprod armv8-a", 1, true, elf.EM_AARCH64},
		{"aarch64-unknown-linux-gnu", "aarch64", "armv8.6-a armv8.2-a+dotprod armv8-a", 1, true, elf.EM_AARCH64},
		{"arm64-apple-darwin23.1.0", "aarch64", "armv8.6-a armv8.2-a+dotprod armv8-a", 1, false, elf.EM_NONE},
		{"aarch64_be-linux-gnu", "aarch64_be", "baseline", 1, true, elf.EM_NONE}, // its numbers are big-endian
		{"riscv64-linux-gnu", "riscv64", "baseline", 1, true, elf.EM_NONE},
		{"", "", "baseline", 1, false, elf.EM_NONE},
	} {
		m := machineOf(c.triple)
		if m.name != c.name || m.triple != c.triple || m.linux != c.linux {
			t.Errorf("%q: found %q, Linux %v", c.triple, m.name, m.linux)
		}
		if got := strings.Join(m.levelNames(), " "); got != c.levels || len(m.portable) != c.portable {
			t.Errorf("%q: found levels %s, %d of them in a portable program", c.triple, got, len(m.portable))
		}
		if m.writesObjects() != (c.object != elf.EM_NONE) || m.writesObjects() && m.elf != c.object {
			t.Errorf("%q: objects are written: %v, for %v", c.triple, m.writesObjects(), m.elf)
		}
		if last := m.levels[len(m.levels)-1]; last.Has != "" || m.level(last.Name) != len(m.levels)-1 {
			t.Errorf("%q: the least level asks for %q", c.triple, last.Has)
		}
	}
}

// A compiler's name may have arguments behind it, and what it is for is what they say.
func TestNamedCompiler(t *testing.T) {
	cc := compiler(t, "gcc")
	named, err := NamedCompiler(t.Context(), cc.Path+"  -O1")
	if err != nil || named.Triple() != cc.Triple() || len(named.args) != 1 || named.args[0] != "-O1" {
		t.Errorf("found %+v: %v", named, err)
	}
	for _, name := range []string{"no-such-compiler", "no-such-compiler -O1", "false", " "} {
		if _, err := NamedCompiler(t.Context(), name); err == nil || !strings.Contains(err.Error(), "--cc="+name) {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// The processors that a compiler for AArch64 knows are those of AArch64.
func TestTargetsOfAArch64(t *testing.T) {
	cc, _ := cross(t, "gcc")
	for _, c := range []struct{ names, want, flags string }{
		{"", "armv8-a", ""}, // it knows no native one
		{Portable, "armv8-a", ""},
		{Baseline, "armv8-a", ""},
		{"armv8.6-a,armv8-a", "armv8.6-a armv8-a", "-march=armv8.6-a"},
		{"armv8.2-a", "armv8.2-a", "-march=armv8.2-a"},
		{"neoverse-n1", "neoverse-n1", "-mcpu=neoverse-n1"},
	} {
		got, err := cc.Targets(t.Context(), c.names)
		if err != nil {
			t.Errorf("--cpu=%s: %v", c.names, err)
			continue
		}
		var names []string
		for _, x := range got {
			names = append(names, x.Name)
			if x.Vector != 16 || x.Registers != 32 {
				t.Errorf("--cpu=%s: %s has %d vectors of %d bytes", c.names, x.Name, x.Registers, x.Vector)
			}
		}
		if flags := strings.Join(got[0].Flags, " "); strings.Join(names, " ") != c.want || flags != c.flags {
			t.Errorf("--cpu=%s: found %v with %s, expected %s with %s", c.names, names, flags, c.want, c.flags)
		}
	}
	for _, bad := range []string{"native", "x86-64-v3", "haswell", "armv8-a,armv8.6-a", "neoverse-n1,armv8-a"} {
		if _, err := cc.Targets(t.Context(), bad); err == nil {
			t.Errorf("--cpu=%s is accepted", bad)
		}
	}
}

// Nothing of a program depends on the machine that tapc is built for.
func TestNoHost(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, word := range []string{"GOARCH", "GOOS"} {
			if !strings.HasSuffix(file, "_test.go") && strings.Contains(string(text), "runtime."+word) {
				t.Errorf("%s asks for %s", file, word)
			}
		}
	}
}
