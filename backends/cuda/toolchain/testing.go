package toolchain

import (
	"errors"
	"os"
)

// Tester is the part of *testing.T that ForTest uses.
type Tester interface {
	Helper()
	Skip(args ...any)
	Fatal(args ...any)
}

// ForTest returns a toolkit for a test. Where none is installed the test is skipped with the reason,
// or fails if $TAPC_REQUIRE_CUDA is 1. A toolkit that is there and does not run is always a failure.
func ForTest(t Tester) *Toolchain {
	t.Helper()
	found, err := Find()
	var missing *NotFoundError
	switch {
	case err == nil:
		return found
	case errors.As(err, &missing) && os.Getenv(RequireVariable) != "1":
		t.Skip(err)
	default:
		t.Fatal(err)
	}
	return nil
}
