package testkit

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

var (
	mutex  sync.Mutex
	probed = map[string]error{} // by compiler and flags
)

// NeedSanitizers is Need for the sanitizers among a compiler's flags: a machine may lack their libraries although the compiler
// is there, or not run programs that have them.
func NeedSanitizers(t testing.TB, compiler string, flags ...string) {
	t.Helper()
	wanted := slices.DeleteFunc(slices.Clone(flags), func(f string) bool { return !strings.HasPrefix(f, "-fsanitize") })
	if len(wanted) > 0 {
		Need(t, Sanitizers, probe(compiler, wanted))
	}
}

func probe(compiler string, flags []string) error {
	mutex.Lock()
	defer mutex.Unlock()
	key := fmt.Sprint(compiler, flags)
	err, known := probed[key]
	if !known {
		err = build(compiler, flags)
		probed[key] = err
	}
	return err
}

// build builds an empty program and runs it.
func build(compiler string, flags []string) error {
	dir, err := os.MkdirTemp("", "sanitizer-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	source, program := filepath.Join(dir, "t.c"), filepath.Join(dir, "t")
	if err := os.WriteFile(source, []byte("int main(void) { return 0; }\n"), 0o600); err != nil {
		return err
	}
	args := append([]string{"-x", "c", source, "-o", program}, flags...)
	if out, err := exec.Command(compiler, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s does not build with %s here: %w\n%s", compiler, strings.Join(flags, " "), err, out)
	}
	if out, err := exec.Command(program).CombinedOutput(); err != nil {
		return fmt.Errorf("a program of %s with %s does not run here: %w\n%s", compiler, strings.Join(flags, " "), err, out)
	}
	return nil
}
