package isa

import (
	"debug/elf"
	"math/bits"
	"slices"
	"strings"

	"tensortapestry.org/tapc/passes/tile"
)

// Machine is what a compiler writes programs for: a row of architectures and the system, as its target triple says. Nothing here
// depends on the machine that tapc itself runs on.
type Machine struct {
	Triple string // as the compiler gives it for -dumpmachine, or "" if it gives none
	architecture
	linux bool
}

// architecture is what there is to know of a family of processors.
type architecture struct {
	Name    string      // as triples begin
	aliases []string    // that some systems call it
	ELF     elf.Machine // of object files, EM_NONE if they are not written here

	Levels   []Target                   // that programs can carry versions for side by side, the best first; the last is every such processor's
	Portable []Target                   // those that a portable program carries
	Flags    func(name string) []string // that make a compiler write code for another processor that it knows by name
	Stack    []string                   // what GCC needs besides so that vectors on the stack are aligned
	Copies   Copies
}

// The second cache that code is written for where nothing else is known, and the most: no processor with a larger one was measured.
const usualL2 = 1 << 20

// leastL2 is that of the smallest second cache that code is written for.
const leastL2 = 128 << 10

// Baseline is the name, for --cpu, of the least of the levels.
const Baseline = "baseline"

// architectures are the families of processors that are known by more than what compilers say of them.
var architectures = []architecture{
	{Name: "x86_64", aliases: []string{"amd64"}, ELF: elf.EM_X86_64, Levels: X86Levels, Portable: X86Levels, Flags: march, Copies: usualCopies,
		// Up to version 14 GCC does not see accesses through a pointer to a local array when it looks for what a function without calls
		// needs (GCC bugs 109780 and 109093), and then its vectors fault on a stack that is aligned to 8 bytes; told that no more can
		// be relied on, it aligns for the arrays themselves.
		Stack: []string{"-mincoming-stack-boundary=3"}},
	// All levels have the same vectors, and products choose among instructions when they run, so one version is portable.
	{Name: "aarch64", aliases: []string{"arm64"}, ELF: elf.EM_AARCH64, Levels: armLevels, Portable: armLevels[len(armLevels)-1:], Flags: marchOrMCPU, Copies: usualCopies},
}

var (
	v3Flags = []string{"-mavx2", "-mfma", "-mbmi", "-mbmi2", "-mf16c", "-mlzcnt", "-mmovbe", "-mpopcnt", "-msse4.2"}
	v4Flags = append(slices.Clone(v3Flags), "-mavx512f", "-mavx512bw", "-mavx512cd", "-mavx512dq", "-mavx512vl", "-mprefer-vector-width=512")
)

// X86Levels are told apart by features, as older compilers do not know them by name.
var X86Levels = []Target{
	{tile.Target{Vector: 64, Registers: 32, L2: usualL2}, "x86-64-v4", v4Flags, x86Has("avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"), "x86_64"},
	{tile.Target{Vector: 32, Registers: 16, L2: usualL2 / 2}, "x86-64-v3", v3Flags, x86Has("avx2", "fma", "bmi", "bmi2"), "x86_64"},
	{tile.Target{Vector: 16, Registers: 16, L2: usualL2 / 2}, "x86-64", nil, "", "x86_64"},
}

// armLevels differ in what compilers may use and in the instructions for narrow numbers: dot products of bytes, and those of
// bfloat16 and of bytes of either sign.
var armLevels = []Target{
	{neon, "armv8.6-a", []string{"-march=armv8.6-a"}, "tapc_features() & TAPC_ARMV8_6", "aarch64"},
	{neon, "armv8.2-a+dotprod", []string{"-march=armv8.2-a+dotprod"}, "tapc_features() & TAPC_ARMV8_2", "aarch64"},
	{neon, "armv8-a", nil, "", "aarch64"},
}

// neon is the vector unit of every AArch64.
var neon = tile.Target{Vector: 16, Registers: 32, L2: usualL2 / 2}

// x86Has writes the condition, in C, that a processor has some features, as __builtin_cpu_supports calls them.
func x86Has(features ...string) string {
	tests := make([]string, len(features))
	for i, f := range features {
		tests[i] = `__builtin_cpu_supports("` + f + `")`
	}
	return strings.Join(tests, " && ")
}

// march names a processor as most compilers take it.
func march(name string) []string { return []string{"-march=" + name} }

// marchOrMCPU names a processor as compilers for Arm take it: -march is versions of the architecture, and -mcpu everything else.
func marchOrMCPU(name string) []string {
	if strings.HasPrefix(name, "armv") {
		return march(name)
	}
	return []string{"-mcpu=" + name}
}

// MachineOf reads a target triple: processor, perhaps a vendor, and a system. What it does not know is a processor with vectors of 16
// bytes, of which there is one level, "baseline".
func MachineOf(triple string) Machine {
	processor, system, _ := strings.Cut(triple, "-")
	m := Machine{Triple: triple, linux: strings.Contains(system, "linux")}
	for _, a := range architectures {
		if a.Name == processor || slices.Contains(a.aliases, processor) {
			m.architecture = a
			return m
		}
	}
	any := Target{Target: neon, Name: Baseline, Machine: processor} // most have as many registers
	m.architecture = architecture{Name: processor, Levels: []Target{any}, Portable: []Target{any}, Flags: march}
	return m
}

// Machines gives one of each architecture that is known, and at the end one of any other, without a name.
func Machines() []Machine {
	var out []Machine
	for _, a := range architectures {
		out = append(out, Machine{architecture: a})
	}
	return append(out, MachineOf(""))
}

// Names are what triples of the architecture begin with.
func (m Machine) Names() []string { return append([]string{m.Name}, m.aliases...) }

// WritesObjects says whether objects of the machine can be written here. Elsewhere the assembler does it, which reads all that it
// includes.
func (m Machine) WritesObjects() bool {
	narrowAddresses := strings.HasSuffix(m.Triple, "x32") || strings.HasSuffix(m.Triple, "ilp32")
	return m.linux && m.ELF != elf.EM_NONE && !narrowAddresses
}

// Level gives the index of a target among the levels, or -1.
func (m Machine) Level(name string) int {
	return slices.IndexFunc(m.Levels, func(l Target) bool { return l.Name == name })
}

// LevelNames are the names of all levels, the best first.
func (m Machine) LevelNames() []string {
	names := make([]string, len(m.Levels))
	for i, l := range m.Levels {
		names[i] = l.Name
	}
	return names
}

// NoBuildID keeps the linker from digesting all constants for an identification that nothing uses.
func (m Machine) NoBuildID() []string {
	if !m.linux {
		return nil
	}
	return []string{"-Wl,--build-id=none"}
}

// TargetOf reads what processor a compiler's macros describe. Its second cache is taken for that of the level with the same vectors.
func TargetOf(name string, flags []string, macros string) Target {
	has := func(macro string) bool { return strings.Contains(macros, "#define "+macro+" ") }
	t := Target{Target: tile.Target{Vector: 16, Registers: 16, L2: usualL2 / 2}, Name: name, Flags: flags}
	switch {
	case has("__AVX512F__") && has("__AVX512BW__") && has("__AVX512DQ__") && has("__AVX512VL__"):
		t.Vector, t.Registers, t.L2 = 64, 32, usualL2
		t.Flags = append(flags, "-mprefer-vector-width=512")
	case has("__AVX2__"):
		t.Vector = 32
	case has("__ARM_NEON") || has("__VSX__"):
		t.Registers = 32
	}
	return t
}

// WithL2 gives the target with a second cache of so many bytes, or the power of two below, within what code is written for; as it is if they are not known: 0.
func (t Target) WithL2(size int64) Target {
	if size > 0 {
		t.L2 = min(max(int64(1)<<(bits.Len64(uint64(size))-1), leastL2), usualL2)
	}
	return t
}
