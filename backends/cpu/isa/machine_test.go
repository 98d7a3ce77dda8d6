package isa

import (
	"debug/elf"
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
		m := MachineOf(c.triple)
		if m.Name != c.name || m.Triple != c.triple || m.linux != c.linux {
			t.Errorf("%q: found %q, Linux %v", c.triple, m.Name, m.linux)
		}
		if got := strings.Join(m.LevelNames(), " "); got != c.levels || len(m.Portable) != c.portable {
			t.Errorf("%q: found levels %s, %d of them in a portable program", c.triple, got, len(m.Portable))
		}
		if m.WritesObjects() != (c.object != elf.EM_NONE) || m.WritesObjects() && m.ELF != c.object {
			t.Errorf("%q: objects are written: %v, for %v", c.triple, m.WritesObjects(), m.ELF)
		}
		if last := m.Levels[len(m.Levels)-1]; last.Has != "" || m.Level(last.Name) != len(m.Levels)-1 {
			t.Errorf("%q: the least level asks for %q", c.triple, last.Has)
		}
	}
}

// Every architecture that has a row says how operands are copied, and others have what is usual.
func TestCopies(t *testing.T) {
	for _, a := range architectures {
		if c := (Target{Machine: a.Name}).Copies(); c.Line <= 0 || c.Rows <= 0 || c.Ahead <= 0 || c != a.Copies {
			t.Errorf("%s: %+v", a.Name, c)
		}
	}
	if c := (Target{Machine: "riscv64"}).Copies(); c != usualCopies {
		t.Errorf("riscv64: %+v", c)
	}
}

// Second caches are those of levels, and the machine's own within bounds, as powers of two.
func TestL2(t *testing.T) {
	const avx512 = "#define __AVX512F__ 1\n#define __AVX512BW__ 1\n#define __AVX512DQ__ 1\n#define __AVX512VL__ 1\n#define __AVX2__ 1\n"
	for macros, want := range map[string]string{"": "cpu_v16_r16_l512k", "#define __AVX2__ 1\n": "cpu_v32_r16_l512k", avx512: "cpu_v64_r32_l1024k", "#define __ARM_NEON 1\n": "cpu_v16_r32_l512k"} {
		if got := TargetOf("x", nil, macros).Target.Name(); got != want {
			t.Errorf("%q is %s", macros, got)
		}
	}
	x := TargetOf("x", nil, "")
	for size, want := range map[int64]int64{0: x.L2, 1: 128 << 10, 64 << 10: 128 << 10, 256<<10 - 1: 128 << 10, 256 << 10: 256 << 10, 512 << 10: 512 << 10, 1280 << 10: 1 << 20, 2 << 20: 1 << 20, 1 << 40: 1 << 20} {
		if got := x.WithL2(size).L2; got != want {
			t.Errorf("%d bytes count as %d", size, got)
		}
	}
}
