// Package testkit says what tests need that a machine may lack, and which of many slow cases take their turn in a run. It is for
// tests and imports nothing of tapc.
//
// A test that needs something calls Need: it is skipped with a reason where that is missing, or fails where the environment
// requires it, as .ci/run does. A suite too long for every run keeps the cases that Turns gives; TAPC_CONFORMANCE=full runs all.
package testkit

import (
	"os"
	"os/exec"
	"testing"
)

// Requirement is the environment variable that, set to 1, turns the skips for what is missing into failures.
type Requirement string

// What tests may need.
const (
	Compilers  Requirement = "TAPC_REQUIRE_COMPILERS"  // gcc, g++, clang and make
	Sanitizers Requirement = "TAPC_REQUIRE_SANITIZERS" // of these compilers
	CUDA       Requirement = "TAPC_REQUIRE_CUDA"       // CUDA's compiler and headers
	Python     Requirement = "TAPC_REQUIRE_PYTHON"     // python3 and the packages of a test
	NumPy      Requirement = "TAPC_REQUIRE_NUMPY"      // a Python with NumPy and pip
	Graphviz   Requirement = "TAPC_REQUIRE_GRAPHVIZ"   // dot
	ONNX       Requirement = "TAPC_REQUIRE_ONNX"       // its package and its node tests
	Memcheck   Requirement = "TAPC_REQUIRE_MEMCHECK"   // valgrind
	AArch64    Requirement = "TAPC_REQUIRE_AARCH64"    // a compiler for it, its C library and an emulator
	FileCheck  Requirement = "TAPC_REQUIRE_FILECHECK"  // LLVM's FileCheck, to compare ours with
	Wine       Requirement = "TAPC_REQUIRE_WINE"       // Wine, and the assembler and linker of MinGW
	Chromium   Requirement = "TAPC_REQUIRE_CHROMIUM"   // chromium, which tests drive without a window
	Format     Requirement = "TAPC_REQUIRE_FORMAT"     // clang-format
)

// Required says whether what is missing makes tests fail.
func Required(r Requirement) bool { return os.Getenv(string(r)) == "1" }

// Need skips a test with the reason if err says that something is missing, or fails it where that is required.
func Need(t testing.TB, r Requirement, err error) {
	t.Helper()
	switch {
	case err == nil:
	case Required(r):
		t.Fatalf("%s=1, but: %v", r, err)
	default:
		t.Skipf("%v (%s=1 makes this a failure)", err, r)
	}
}

// Program gives the path of a program that a test needs.
func Program(t testing.TB, r Requirement, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	Need(t, r, err)
	return path
}
