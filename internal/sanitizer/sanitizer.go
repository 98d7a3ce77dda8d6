// Package sanitizer is for tests that build C with a compiler's sanitizers, whose libraries a machine may lack although the
// compiler is there. It must not import anything of tapc.
package sanitizer

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

// RequireVariable is the environment variable that turns the skips of Need into failures when it is 1.
const RequireVariable = "TAPC_REQUIRE_SANITIZERS"

var (
	mutex  sync.Mutex
	probed = map[string]error{} // by compiler and flags
)

// Need skips a test if a compiler cannot link, or the machine cannot run, a program with the sanitizers among flags. If
// $TAPC_REQUIRE_SANITIZERS is 1 it fails the test instead.
func Need(t testing.TB, compiler string, flags ...string) {
	t.Helper()
	wanted := slices.DeleteFunc(slices.Clone(flags), func(f string) bool { return !strings.HasPrefix(f, "-fsanitize") })
	if len(wanted) == 0 {
		return
	}
	err := probe(compiler, wanted)
	switch {
	case err == nil:
	case os.Getenv(RequireVariable) == "1":
		t.Fatal(err)
	default:
		t.Skip(err)
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
