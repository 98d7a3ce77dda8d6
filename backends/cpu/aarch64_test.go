package cpu

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"tensortapestry.org/tapc/backends/conformance"
	"tensortapestry.org/tapc/backends/cpu/toolchain"
	"tensortapestry.org/tapc/backends/reference"
	"tensortapestry.org/tapc/internal/testkit"
)

// cross gives a compiler for AArch64 and an emulator.
func cross(t *testing.T, compiler string) (*toolchain.Compiler, testkit.Cross) {
	t.Helper()
	tools := testkit.CrossAArch64(t, compiler)
	cc, err := toolchain.NamedCompiler(t.Context(), tools.Compiler)
	if err != nil {
		t.Fatal(err)
	}
	return cc, tools
}

// TestAArch64 runs the suite and the examples as programs for AArch64, in an emulator. Kernels of the library take turns, one of them
// compiled by clang, and so do the versions that a program may have.
func TestAArch64(t *testing.T) {
	warnings := []string{"-Wall", "-Wextra", "-Werror", "-O1", pattern}
	for _, c := range []struct {
		compiler, cpu string
		every         int // one in so many kernels of the library has its turn
		flags         []string
	}{
		{"gcc", toolchain.Portable, 8, warnings},
		{"gcc", "armv8.6-a", 24, nil},
		{"clang", toolchain.Portable, 24, warnings},
	} {
		t.Run(c.compiler+" "+c.cpu, func(t *testing.T) {
			cc, tools := cross(t, c.compiler)
			conformance.Declared(t, onCPU, c.every, executeFor(cc, c.cpu, c.flags, tools.Emulator...)(nil))
		})
	}
	t.Run("suite", func(t *testing.T) {
		cc, tools := cross(t, "gcc")
		conformance.Run(t, onCPU, executeFor(cc, toolchain.Portable, warnings, tools.Emulator...)(nil))
	})
	t.Run("examples", func(t *testing.T) {
		cc, tools := cross(t, "gcc")
		conformance.Examples(t, "../..", onCPU, executeFor(cc, "", nil, tools.Emulator...))
	})
}

// TestVersionsOfAArch64 runs the versions of one program on processors that can and that can not run each.
func TestVersionsOfAArch64(t *testing.T) {
	cc, tools := cross(t, "gcc")
	g := scheduled(t, "%x = tensor float32 [0:70]\n%y = tensor float32 [0:70]\noperation op:exp (tensor: %x) -> (result: %y)\n")
	src, err := Emit(g, "test", "test")
	if err != nil {
		t.Fatal(err)
	}
	exe := filepath.Join(t.TempDir(), "program")
	names := []string{"armv8.6-a", "armv8.2-a+dotprod", "armv8-a"}
	if err := Build(t.Context(), cc, src, nil, exe, Options{Version: "test", CPU: strings.Join(names, ",")}); err != nil {
		t.Fatal(err)
	}
	in := randomInputs(t, g)
	want := evaluate(t, g, in)
	for _, processor := range []string{"cortex-a57", "cortex-a76", "max"} {
		got := executeThreads(t, append(tools.Processor(processor), exe), g, in, "1")
		if err := reference.CompareWithin("y", want["y"], got["y"], reference.Ulps); err != nil {
			t.Errorf("%s: %v", processor, err)
		}
	}
}

// What programs find of processors is what is emulated.
func TestFeaturesOfAArch64(t *testing.T) {
	cc, tools := cross(t, "gcc")
	exe := compileC(t, cc, withFeatures(`
#include <stdio.h>
int main(void) {
  const unsigned has = tapc_features();
  printf("%d %d %d %d %d", !!(has & TAPC_DOTPROD), !!(has & TAPC_I8MM), !!(has & TAPC_BF16_DOT), !!(has & TAPC_ARMV8_2), !!(has & TAPC_ARMV8_6));
}
`), "-Wall", "-Wextra", "-Werror")
	for processor, want := range map[string]string{"cortex-a57": "0 0 0 0 0", "cortex-a76": "1 0 0 1 0", "neoverse-n1": "1 0 0 1 0", "a64fx": "0 0 0 0 0", "max": "1 1 1 1 1"} {
		command := append(tools.Processor(processor), exe)
		if got, err := exec.Command(command[0], command[1:]...).CombinedOutput(); err != nil || string(got) != want {
			t.Errorf("%s: found %s (%v), expected %s", processor, got, err, want)
		}
	}
}
