package cpu_test

import (
	"os/exec"
	"path/filepath"
	"testing"

	"tensortapestry.org/tapc/internal/testkit"
)

// The C of templates and of the run-time library is formatted as the file .clang-format says.
func TestFormat(t *testing.T) {
	program := testkit.Program(t, testkit.Format, "clang-format")
	for _, pattern := range []string{"*/c/*.c", "runtime/csrc/*.[ch]"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: no files (%v)", pattern, err)
		}
		if out, err := exec.Command(program, append([]string{"--dry-run", "--Werror"}, files...)...).CombinedOutput(); err != nil {
			t.Errorf("clang-format -i would change files of %s: %v\n%s", pattern, err, out)
		}
	}
}
