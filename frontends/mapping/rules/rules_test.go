package rules

import (
	"testing"

	"tensortapestry.org/tapc/dialects/tensorops/kernels"
)

// Every kernel, port and parameter that the built-in rules name is in the library.
func TestBuiltinTables(t *testing.T) {
	n := 0
	for _, table := range Builtin() {
		n += len(table.Rules)
		if err := table.Check(kernels.Builtin()); err != nil {
			t.Error(err)
		}
	}
	if n < 100 {
		t.Errorf("%d rules are built in, expected at least 100", n)
	}
}
