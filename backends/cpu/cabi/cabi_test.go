package cabi

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	rt "tensortapestry.org/tapc/backends/cpu/runtime"
	"tensortapestry.org/tapc/internal/testkit"
)

// awkward has names that become the same macro, or a macro that is there already, and characters that C reads otherwise.
func awkward() *Description {
	x := func(name string) Tensor {
		return Tensor{Name: name, DType: "float32", Shape: []int64{2, 3}, Bytes: 24}
	}
	return &Description{Program: "mo-del", Tapc: "test", Inputs: []Tensor{x("a/b"), x("a.b"), x("A_B_NAME"), x("a_b_2"), x("??/\"\\\n\xff"), x("")},
		Outputs: []Tensor{x("a/b"), {Name: "scalar", DType: "bool", Shape: []int64{}, Bytes: 1}}}
}

// TestHeaderCompiles compiles a header of awkward names beside another, as C and as C++.
func TestHeaderCompiles(t *testing.T) {
	dir := t.TempDir()
	other := &Description{Program: "other", Tapc: "test"}
	source := `#include "a.h"
#include "a.h"
#include "b.h"
#define EQUAL(x, y) typedef char check##x[(x) == (y) ? 1 : -1]
EQUAL(MO_DEL_INPUTS, 6);
EQUAL(MO_DEL_INPUT_A_B, 0);
EQUAL(MO_DEL_INPUT_A_B_2, 1);
EQUAL(MO_DEL_INPUT_A_B_NAME_2, 2);
EQUAL(MO_DEL_INPUT_A_B_2_2, 3);
EQUAL(MO_DEL_INPUT_A_B_2_BYTES, 24);
EQUAL(MO_DEL_OUTPUT_SCALAR_RANK, 0);
EQUAL(MO_DEL_OUTPUT_SCALAR_COUNT, 1);
EQUAL(OTHER_INPUTS, 0);
EQUAL(OTHER_ABI, TAPC_ABI);
`
	for name, text := range map[string]string{"a.h": awkward().Header(), "b.h": other.Header(), "use.c": source} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{{"gcc", "-std=c11"}, {"clang", "-std=c11"}, {"g++", "-xc++"}} {
		cc := testkit.Program(t, testkit.Compilers, args[0])
		args = append(args[1:], "-Wall", "-Wextra", "-Werror", "-pedantic", "-Wno-unused-local-typedefs", "-fsyntax-only", filepath.Join(dir, "use.c"))
		if out, err := exec.Command(cc, args...).CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", cc, err, out)
		}
	}
}

// TestVersion holds the version here to that of the run-time library, and the description to it.
func TestVersion(t *testing.T) {
	if !strings.Contains(string(rt.Files()[rt.LibraryHeader]), "\n#define TAPC_ABI 1\n") || Version != 1 {
		t.Errorf("version %d is not that of %s", Version, rt.LibraryHeader)
	}
	text, err := awkward().JSON()
	var d struct{ ABI int }
	if err != nil || json.Unmarshal([]byte(text), &d) != nil || d.ABI != Version {
		t.Errorf("%v: version %d in\n%s", err, d.ABI, text)
	}
}

func TestCheckPrefix(t *testing.T) {
	for _, good := range []string{"a", "Model_2", strings.Repeat("x", 40)} {
		if err := CheckPrefix(good); err != nil {
			t.Error(err)
		}
	}
	for _, bad := range []string{"", "2a", "a-b", "ä", "_a", "tapc", "TAPC_x", strings.Repeat("x", 41)} {
		if CheckPrefix(bad) == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
}
