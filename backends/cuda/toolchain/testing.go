package toolchain

import (
	"errors"
	"testing"

	"tensortapestry.org/tapc/internal/testkit"
)

// ForTest returns a toolkit for a test. Where none is installed the test is skipped with the reason,
// or fails if $TAPC_REQUIRE_CUDA is 1. A toolkit that is there and does not run is always a failure.
func ForTest(t testing.TB) *Toolchain {
	t.Helper()
	found, err := Find()
	var missing *NotFoundError
	if errors.As(err, &missing) {
		testkit.Need(t, testkit.CUDA, err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return found
}
