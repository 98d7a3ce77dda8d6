package cpu_test

import (
	"testing"

	"tensortapestry.org/tapc/backends/conformance"
	"tensortapestry.org/tapc/backends/cpu/cputest"
)

// TestStack runs a kernel whose sums are an array that it reaches by a pointer only: compilers must align the stack for it, which
// is checked by the processor, so it is compiled for each level that it has and without sanitizers, which move the array.
func TestStack(t *testing.T) {
	cc := cputest.Compiler(t)
	g := "%x = tensor float32 [0:2, 0:3, 0:4]\n%i = tensor int64 [0:2, 0:5, 0:2]\n%y = tensor float32 [0:2, 0:5, 0:4]\n" +
		"operation op:gather_nd {depth: 2} (tensor: %x, indices: %i) -> (result: %y)\n"
	for _, cpu := range []string{"native", "x86-64-v4", "x86-64-v3", "x86-64", "baseline"} {
		if _, err := cc.Targets(t.Context(), cpu); err != nil {
			continue // the compiler writes for another machine
		}
		t.Run(cpu, func(t *testing.T) {
			conformance.Graph(t, cputest.Operations(t, g), cputest.Device, nil, cputest.Executes(cc, cpu, nil)(nil))
		})
	}
}
