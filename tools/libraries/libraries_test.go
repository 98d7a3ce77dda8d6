// Package libraries_test uses libraries of models as their users do: from C, Python and Go, by what docs/libraries.md and the examples say.
//
// It runs the program tapc, C compilers and Python. Read next: docs/libraries.md.
package libraries_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"tensortapestry.org/tapc/internal/testkit"
)

const root = "../.."

var scratch string // a folder for what tests have in common

func TestMain(m *testing.M) {
	var err error
	if scratch, err = os.MkdirTemp("", "libraries-test-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	os.RemoveAll(scratch)
	os.Exit(code)
}

var build = sync.OnceValues(func() (string, error) {
	program := filepath.Join(scratch, "tapc")
	cmd := exec.Command("go", "build", "-o", program, "./cmd/tapc")
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w\n%s", err, out)
	}
	return program, nil
})

// tapc gives the program tapc.
func tapc(t *testing.T) string {
	t.Helper()
	testkit.Program(t, testkit.Compilers, "cc")
	program, err := build()
	if err != nil {
		t.Fatal(err)
	}
	return program
}

// do runs a command in a folder, with further variables in its environment, and gives what it prints.
func do(t *testing.T, dir string, env []string, command ...string) string {
	t.Helper()
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(command, " "), err, out)
	}
	return string(out)
}

// absolute gives a path of the clone.
func absolute(t *testing.T, path string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join(root, path))
	if err != nil {
		t.Fatal(err)
	}
	return path
}
