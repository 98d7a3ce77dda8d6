package toolchain

import (
	"strings"
	"testing"

	"tensortapestry.org/tapc/backends/cpu/isa"
	"tensortapestry.org/tapc/internal/testkit"
)

// found gives the first compiler of some names.
func found(t *testing.T, names ...string) *Compiler {
	t.Helper()
	cc, err := Find(t.Context(), names...)
	testkit.Need(t, testkit.Compilers, err)
	return cc
}

// A compiler's name may have arguments behind it, and what it is for is what they say.
func TestNamedCompiler(t *testing.T) {
	cc := found(t, "gcc")
	named, err := NamedCompiler(t.Context(), cc.Path+"  -O1")
	if err != nil || named.Triple() != cc.Triple() || len(named.Args) != 1 || named.Args[0] != "-O1" {
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
	cc, err := NamedCompiler(t.Context(), testkit.CrossAArch64(t, "gcc").Compiler)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ names, want, flags string }{
		{"", "armv8-a", ""}, // it knows no native one
		{Portable, "armv8-a", ""},
		{isa.Baseline, "armv8-a", ""},
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
