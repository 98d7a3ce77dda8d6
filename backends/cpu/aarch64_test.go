package cpu_test

import (
	"path/filepath"
	"strings"
	"testing"

	"tensortapestry.org/tapc/backends/cpu"
	"tensortapestry.org/tapc/backends/cpu/cputest"
	"tensortapestry.org/tapc/backends/reference"
)

// TestVersionsOfAArch64 runs the versions of one program on processors that can and that can not run each.
func TestVersionsOfAArch64(t *testing.T) {
	cc, tools := cputest.Cross(t, "gcc")
	g := cputest.Scheduled(t, "%x = tensor float32 [0:70]\n%y = tensor float32 [0:70]\noperation op:exp (tensor: %x) -> (result: %y)\n")
	src, err := cpu.Prepare(g, "test", "test")
	if err != nil {
		t.Fatal(err)
	}
	exe := filepath.Join(t.TempDir(), "program")
	names := []string{"armv8.6-a", "armv8.2-a+dotprod", "armv8-a"}
	if err := cpu.Build(t.Context(), cc, src, nil, exe, cpu.Options{Version: "test", CPU: strings.Join(names, ",")}); err != nil {
		t.Fatal(err)
	}
	in := cputest.RandomInputs(t, g)
	want := cputest.Evaluate(t, g, in)
	for _, processor := range []string{"cortex-a57", "cortex-a76", "max"} {
		got := cputest.Run(t, append(tools.Processor(processor), exe), g, in, "1")
		if err := reference.CompareWithin("y", want["y"], got["y"], reference.Ulps); err != nil {
			t.Errorf("%s: %v", processor, err)
		}
	}
}
