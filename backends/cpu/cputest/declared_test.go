package cputest_test

import (
	"testing"

	"tensortapestry.org/tapc/backends/conformance"
	"tensortapestry.org/tapc/backends/cpu/cputest"
	"tensortapestry.org/tapc/internal/testkit"
)

// TestDeclared runs every kernel of the library as gcc builds it with every warning an error. Parts of them, by turns, are built by
// clang, under the address and undefined-behaviour sanitizers, under the thread sanitizer, and as programs are. Under Valgrind's memory
// checker a lane of an array on a stack that is read before it was written shows, as results or branches depend on it; that knows no
// AVX-512, and takes -(a*b - c) for the fused c - a*b, whose zero has the other sign.
func TestDeclared(t *testing.T) {
	warnings := []string{"-Wall", "-Wextra", "-Werror", "-O1", cputest.Pattern}
	for _, c := range []struct {
		name, compiler string
		every          int // one in so many has its turn
		flags          []string
		runner         []string
	}{
		{"gcc", "gcc", 1, warnings, nil},
		{"clang", "clang", 8, warnings, nil},
		{"as shipped", "gcc", 23, nil, nil},
		{"address", "gcc", 23, cputest.Strict, nil},
		{"threads", "gcc", 23, append(warnings, "-fsanitize=thread"), nil},
		{"memory", "gcc", 23, []string{"-O1", "-g"}, []string{"valgrind", "-q", "--error-exitcode=9"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if testing.Short() && c.name != "gcc" {
				t.Skip("the short run is with one compiler")
			}
			cc := cputest.Compiler(t, c.compiler)
			processor, device := "native", cputest.Device
			if len(c.runner) > 0 {
				testkit.Program(t, testkit.Memcheck, c.runner[0])
				processor, device.AnyZeros = "x86-64-v3", true
			}
			conformance.Declared(t, device, c.every, cputest.Executes(cc, processor, c.flags, c.runner...)(nil))
		})
	}
}

// TestThreads runs the suite's other graphs, whose kernels are shared between threads, under the thread sanitizer.
func TestThreads(t *testing.T) {
	cc := cputest.Compiler(t)
	conformance.Run(t, cputest.Device, cputest.Executes(cc, "native", []string{"-O1", "-fsanitize=thread"})(nil))
}
