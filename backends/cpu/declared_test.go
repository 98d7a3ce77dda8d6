package cpu

import (
	"testing"

	"tensortapestry.org/tapc/backends/conformance"
	"tensortapestry.org/tapc/dialects/schedule"
)

// TestDeclared runs every kernel of the library, as both compilers build it.
func TestDeclared(t *testing.T) {
	for _, name := range []string{"gcc", "clang"} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("CC", name)
			cc, err := FindCompiler()
			if err != nil {
				t.Skip(err)
			}
			conformance.Declared(t, schedule.CPU, 1, executeFor(cc, "native", warnings)(nil))
		})
	}
}

var warnings = []string{"-Wall", "-Wextra", "-Werror", "-O1"}
