package cpu

import (
	"testing"

	"tensortapestry.org/tapc/backends/conformance"
	"tensortapestry.org/tapc/dialects/schedule"
)

// TestDeclared runs every kernel of the library as gcc builds it with every warning an error. Parts of them, by turns, are built by
// clang, under the address and undefined-behaviour sanitizers, under the thread sanitizer, and as programs are.
func TestDeclared(t *testing.T) {
	warnings := []string{"-Wall", "-Wextra", "-Werror", "-O1"}
	for _, c := range []struct {
		name, compiler string
		every          int // one in so many has its turn
		flags          []string
	}{
		{"gcc", "gcc", 1, warnings},
		{"clang", "clang", 4, warnings},
		{"as shipped", "gcc", 11, nil},
		{"address", "gcc", 11, strict},
		{"threads", "gcc", 11, append(warnings, "-fsanitize=thread")},
	} {
		t.Run(c.name, func(t *testing.T) {
			if testing.Short() && c.name != "gcc" {
				t.Skip("the short run is with one compiler")
			}
			cc := compiler(t, c.compiler)
			conformance.Declared(t, schedule.CPU, c.every, executeFor(cc, "native", c.flags)(nil))
		})
	}
}

// TestThreads runs the suite's other graphs, whose kernels are shared between threads, under the thread sanitizer.
func TestThreads(t *testing.T) {
	cc := compiler(t)
	conformance.Run(t, schedule.CPU, executeFor(cc, "native", []string{"-O1", "-fsanitize=thread"})(nil))
}
