// Package plugintest runs the conformance kit over a plugin as Go tests.
//
// The author of a plugin calls Main in TestMain, so that the plugin runs under a supervisor as it does in tapc, and Run or
// RunProgram in a test. Unit tests of a pass need neither: plugins.Pass.Call runs it in the process of the test. Read next:
// plugins/conformance.
package plugintest

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"tensortapestry.org/tapc/plugins/conformance"
	"tensortapestry.org/tapc/plugins/supervise"
)

// Main is the whole of a TestMain function.
func Main(m *testing.M) {
	supervise.Main()
	os.Exit(m.Run())
}

// Build builds the Go package in a directory and gives the path of the program, which is removed with the test.
func Build(t testing.TB, dir string) string {
	t.Helper()
	abs, err := filepath.Abs(dir)
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(t.TempDir(), filepath.Base(abs))
	cmd := exec.Command("go", "build", "-ldflags=-s -w", "-o", program, ".")
	cmd.Dir = abs
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return program
}

// Run builds the plugin in a directory and runs the kit over it.
func Run(t *testing.T, dir string) { RunProgram(t, conformance.Subject{Path: Build(t, dir)}) }

// RunProgram runs the kit over a plugin's program, in any language: a subtest for each check.
func RunProgram(t *testing.T, s conformance.Subject) {
	for i, c := range conformance.Checks() {
		ok := t.Run(c.Name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(context.Background(), conformance.Duration)
			defer cancel()
			c.Run(ctx, &s, t)
		})
		if !ok && i == 0 {
			t.Fatal("the plugin does not start, so the other checks mean nothing")
		}
	}
}
