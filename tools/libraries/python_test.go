package libraries_test

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"tensortapestry.org/tapc/internal/testkit"
)

// python gives a Python that has NumPy and pip: the one that TAPC_ONNX_PYTHON names, else python3.
func python(t *testing.T) string {
	t.Helper()
	program := testkit.Program(t, testkit.NumPy, cmp.Or(os.Getenv("TAPC_ONNX_PYTHON"), "python3"))
	if out, err := exec.Command(program, "-c", "import numpy, pip").CombinedOutput(); err != nil {
		testkit.Need(t, testkit.NumPy, fmt.Errorf("%s: %s", program, strings.TrimSpace(string(out))))
	}
	return program
}

var installed = sync.OnceValues(func() (string, error) {
	wheels, site := filepath.Join(scratch, "wheels"), filepath.Join(scratch, "site")
	pip := func(args ...string) error {
		cmd := exec.Command(cmp.Or(os.Getenv("TAPC_ONNX_PYTHON"), "python3"), append([]string{"-m", "pip", "-q", "--disable-pip-version-check", "--no-cache-dir"}, args...)...)
		cmd.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1")
		out, err := cmd.CombinedOutput()
		if err != nil {
			err = fmt.Errorf("pip %s: %w\n%s", strings.Join(args, " "), err, out)
		}
		return err
	}
	if err := pip("wheel", "--no-index", "--no-deps", "--wheel-dir", wheels, filepath.Join(root, "python")); err != nil {
		return "", err
	}
	files, _ := filepath.Glob(filepath.Join(wheels, "tapc-*-py3-none-any.whl"))
	if len(files) != 1 {
		return "", errors.New("pip made no wheel for every Python 3")
	}
	return site, pip("install", "--no-index", "--no-deps", "--target", site, files[0])
})

// pythonEnvironment is the environment of a Python program that imports the package, installed from a wheel.
func pythonEnvironment(t *testing.T) []string {
	t.Helper()
	site, err := installed()
	if err != nil {
		t.Fatal(err)
	}
	return []string{"TAPC=" + tapc(t), "PYTHONPATH=" + site, "PYTHONDONTWRITEBYTECODE=1"}
}

// TestPython runs the tests of the Python package, installed from a wheel.
func TestPython(t *testing.T) {
	program := python(t)
	out := do(t, t.TempDir(), pythonEnvironment(t), program, absolute(t, "python/tests/test_tapc.py"))
	if !strings.Contains(out, "\nOK") {
		t.Error(out)
	}
}
