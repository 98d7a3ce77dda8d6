package cpu

import (
	"testing"

	"tensortapestry.org/tapc/backends/conformance"
	"tensortapestry.org/tapc/dialects/schedule"
)

// TestDeclared runs every kernel of the library, as both compilers build it with every warning an error, and a part of them
// under the address and undefined-behaviour sanitizers, another under the thread sanitizer, and one as programs are built.
func TestDeclared(t *testing.T) {
	warnings := []string{"-Wall", "-Wextra", "-Werror", "-O1"}
	for _, c := range []struct {
		name, compiler string
		part           conformance.Part
		flags          []string
	}{
		{"gcc", "gcc", conformance.Part{}, warnings},
		{"clang", "clang", conformance.Part{}, warnings},
		{"as shipped", "gcc", conformance.Part{Of: 7, Number: 5}, nil},
		{"address", "gcc", conformance.Part{Of: 7}, strict},
		{"threads", "gcc", conformance.Part{Of: 7, Number: 3}, append(warnings, "-fsanitize=thread")},
	} {
		t.Run(c.name, func(t *testing.T) {
			if testing.Short() && c.name != "gcc" {
				t.Skip("the short run is with one compiler")
			}
			t.Setenv("CC", c.compiler)
			cc, err := FindCompiler()
			if err != nil {
				t.Skip(err)
			}
			conformance.Declared(t, schedule.CPU, c.part, executeFor(cc, "native", c.flags)(nil))
		})
	}
}

// TestThreads runs the suite's other graphs, whose kernels are shared between threads, under the thread sanitizer.
func TestThreads(t *testing.T) {
	cc, err := FindCompiler()
	if err != nil {
		t.Skip(err)
	}
	conformance.Run(t, schedule.CPU, executeFor(cc, "native", []string{"-O1", "-fsanitize=thread"})(nil))
}
