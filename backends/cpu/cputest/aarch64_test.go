package cputest_test

import (
	"os/exec"
	"testing"

	"tensortapestry.org/tapc/backends/conformance"
	"tensortapestry.org/tapc/backends/cpu/cputest"
	"tensortapestry.org/tapc/backends/cpu/toolchain"
)

// TestAArch64 runs the suite and the examples as programs for AArch64, in an emulator. Kernels of the library take turns, one of them
// compiled by clang, and so do the versions that a program may have.
func TestAArch64(t *testing.T) {
	warnings := []string{"-Wall", "-Wextra", "-Werror", "-O1", cputest.Pattern}
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
			cc, tools := cputest.Cross(t, c.compiler)
			conformance.Declared(t, cputest.Device, c.every, cputest.Executes(cc, c.cpu, c.flags, tools.Emulator...)(nil))
		})
	}
	t.Run("suite", func(t *testing.T) {
		cc, tools := cputest.Cross(t, "gcc")
		conformance.Run(t, cputest.Device, cputest.Executes(cc, toolchain.Portable, warnings, tools.Emulator...)(nil))
	})
	t.Run("examples", func(t *testing.T) {
		cc, tools := cputest.Cross(t, "gcc")
		conformance.Examples(t, "../../..", cputest.Device, cputest.Executes(cc, "", nil, tools.Emulator...))
	})
}

// What programs find of processors is what is emulated.
func TestFeaturesOfAArch64(t *testing.T) {
	cc, tools := cputest.Cross(t, "gcc")
	exe := cputest.CompileC(t, cc, cputest.WithFeatures(`
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
