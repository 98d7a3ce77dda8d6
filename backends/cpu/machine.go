package cpu

import (
	"debug/elf"
	"slices"
	"strings"

	"tensortapestry.org/tapc/passes/tile"
)

// machine is what a compiler writes programs for: a row of architectures and the system, as its target triple says. Nothing here
// depends on the machine that tapc itself runs on.
type machine struct {
	triple string // as the compiler gives it for -dumpmachine, or "" if it gives none
	architecture
	linux bool
}

// architecture is what there is to know of a family of processors.
type architecture struct {
	name    string      // as triples begin
	aliases []string    // that some systems call it
	elf     elf.Machine // of object files, EM_NONE if they are not written here

	levels   []Target                   // that programs can carry versions for side by side, the best first; the last is every such processor's
	portable []Target                   // those that a portable program carries
	flags    func(name string) []string // that make a compiler write code for another processor that it knows by name
	stack    []string                   // what GCC needs besides so that vectors on the stack are aligned
}

// architectures are the families of processors that are known by more than what compilers say of them.
var architectures = []architecture{
	{name: "x86_64", aliases: []string{"amd64"}, elf: elf.EM_X86_64, levels: x86Levels, portable: x86Levels, flags: march,
		// Up to version 14 GCC does not see accesses through a pointer to a local array when it looks for what a function without calls
		// needs (GCC bugs 109780 and 109093), and then its vectors fault on a stack that is aligned to 8 bytes; told that no more can
		// be relied on, it aligns for the arrays themselves.
		stack: []string{"-mincoming-stack-boundary=3"}},
	// All levels have the same vectors, and products choose among instructions when they run, so one version is portable.
	{name: "aarch64", aliases: []string{"arm64"}, elf: elf.EM_AARCH64, levels: armLevels, portable: armLevels[len(armLevels)-1:], flags: marchOrMCPU},
}

var (
	v3Flags = []string{"-mavx2", "-mfma", "-mbmi", "-mbmi2", "-mf16c", "-mlzcnt", "-mmovbe", "-mpopcnt", "-msse4.2"}
	v4Flags = append(slices.Clone(v3Flags), "-mavx512f", "-mavx512bw", "-mavx512cd", "-mavx512dq", "-mavx512vl", "-mprefer-vector-width=512")
)

// x86Levels are told apart by features, as older compilers do not know them by name.
var x86Levels = []Target{
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

// machineOf reads a target triple: processor, perhaps a vendor, and a system. What it does not know is a processor with vectors of 16
// bytes, of which there is one level, "baseline".
func machineOf(triple string) machine {
	processor, system, _ := strings.Cut(triple, "-")
	m := machine{triple: triple, linux: strings.Contains(system, "linux")}
	for _, a := range architectures {
		if a.name == processor || slices.Contains(a.aliases, processor) {
			m.architecture = a
			return m
		}
	}
	any := Target{Target: neon, Name: Baseline, machine: processor} // most have as many registers
	m.architecture = architecture{name: processor, levels: []Target{any}, portable: []Target{any}, flags: march}
	return m
}

// writesObjects says whether objects of the machine can be written here. Elsewhere the assembler does it, which reads all that it
// includes.
func (m machine) writesObjects() bool {
	narrowAddresses := strings.HasSuffix(m.triple, "x32") || strings.HasSuffix(m.triple, "ilp32")
	return m.linux && m.elf != elf.EM_NONE && !narrowAddresses
}

// level gives the index of a target among the levels, or -1.
func (m machine) level(name string) int {
	return slices.IndexFunc(m.levels, func(l Target) bool { return l.Name == name })
}

// levelNames are the names of all levels, the best first.
func (m machine) levelNames() []string {
	names := make([]string, len(m.levels))
	for i, l := range m.levels {
		names[i] = l.Name
	}
	return names
}
