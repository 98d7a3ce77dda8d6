package testkit

import (
	"fmt"
	"hash/fnv"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
)

// Environment variables that choose cases.
const (
	ConformanceVariable = "TAPC_CONFORMANCE" // full runs every case of every suite
	RotationVariable    = "TAPC_ROTATION"    // a number that says whose turn it is, 0 unless it is set; .ci/run counts commits
)

// Full says whether every case of every suite is asked for.
func Full() bool { return os.Getenv(ConformanceVariable) == "full" }

// Rotation is the number that says which cases have their turn.
func Rotation(t testing.TB) uint64 {
	t.Helper()
	text := os.Getenv(RotationVariable)
	if text == "" {
		return 0
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("%s: expected a number: %v", RotationVariable, err)
	}
	return n
}

// shortShare is how many times fewer cases go test -short runs of those that take turns.
const shortShare = 4

// Turns gives the function that says, for one case of a test after the other, always in the same order, whether it runs this time:
// each case does in one of every so many rotations, and all do if the whole suite is asked for. It logs what is run, and the
// command that repeats it if the test fails.
func Turns(t testing.TB, every int) func() bool {
	t.Helper()
	if Full() || every <= 1 {
		return func() bool { return true }
	}
	if testing.Short() {
		every *= shortShare
	}
	n := Rotation(t)
	t.Logf("rotation %d: one of %d cases has its turn; %s=full runs all", n, every, ConformanceVariable)
	t.Cleanup(func() {
		if t.Failed() {
			t.Log("to repeat: " + command(t.Name(), n))
		}
	})
	h := fnv.New32a()
	h.Write([]byte(t.Name())) // tests do not begin with the same case
	next := n + uint64(h.Sum32())
	return func() bool {
		next++
		return next%uint64(every) == 0
	}
}

// command runs a test again with the cases of a rotation.
func command(test string, rotation uint64) string {
	pkg := "."
	if info, ok := debug.ReadBuildInfo(); ok {
		pkg = strings.TrimSuffix(info.Path, ".test") // a test's program is named for its package
	}
	levels := strings.Split(test, "/")
	for i, l := range levels {
		levels[i] = "^" + l + "$"
	}
	return fmt.Sprintf("%s=%d go test %s -run '%s'", RotationVariable, rotation, pkg, strings.Join(levels, "/"))
}
