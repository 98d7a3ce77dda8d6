package rt

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sync/errgroup"

	"tensortapestry.org/tapc/internal/testkit"
)

// A toolchain is a compiler with flags; the library is compiled once for each.
type toolchain struct {
	cc    string
	flags []string
	lean  bool     // only what a shared library needs
	on    []string // the command that its programs are arguments of; nil for none
}

var (
	strict  = []string{"-std=c11", "-Wall", "-Wextra", "-Wshadow", "-Wconversion", "-Werror", "-g", "-pthread"}
	address = append([]string{"-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"}, strict...)
	thread  = append([]string{"-O1", "-fsanitize=thread"}, strict...)
	plain   = append([]string{"-O2"}, strict...)
)

func (c toolchain) key() string { return fmt.Sprint(c.cc, c.lean, c.flags) }

var (
	scratch string // a directory for all that is built
	mutex   sync.Mutex
	built   = map[string]string{}   // directories of compiled libraries and programs, by what they were built from
	on      = map[string][]string{} // what programs are run by, other than themselves
)

func TestMain(m *testing.M) {
	var err error
	if scratch, err = os.MkdirTemp("", "rt-test-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	os.RemoveAll(scratch)
	os.Exit(code)
}

// compilers are those of gcc and clang that this machine has. Without any the test is skipped.
func compilers(t testing.TB) []string {
	var found []string
	var missing error
	for _, cc := range []string{"gcc", "clang"} {
		_, err := exec.LookPath(cc)
		if err == nil {
			found = append(found, cc)
		}
		missing = errors.Join(missing, err)
	}
	if found == nil || testkit.Required(testkit.Compilers) {
		testkit.Need(t, testkit.Compilers, missing)
	}
	return found
}

func compile(cc string, args ...string) error {
	if out, err := exec.Command(cc, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %v\n%s", cc, strings.Join(args, " "), err, out)
	}
	return nil
}

// library compiles the run-time library; it gives the directory with headers and objects.
func library(t testing.TB, c toolchain) string {
	t.Helper()
	mutex.Lock()
	defer mutex.Unlock()
	if dir, ok := built[c.key()]; ok {
		return dir
	}
	testkit.NeedSanitizers(t, c.cc, c.flags...)
	dir, err := os.MkdirTemp(scratch, "lib-")
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range Files() {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var group errgroup.Group
	group.SetLimit(runtime.NumCPU())
	for _, name := range Sources(!c.lean) {
		source := filepath.Join(dir, name)
		group.Go(func() error {
			return compile(c.cc, append([]string{"-c", source, "-o", strings.TrimSuffix(source, ".c") + ".o"}, c.flags...)...)
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	built[c.key()] = dir
	return dir
}

// build compiles a program of testdata with the library; executable: with its main function.
func build(t testing.TB, c toolchain, source string, executable bool, defines ...string) string {
	t.Helper()
	lib := library(t, c)
	mutex.Lock()
	defer mutex.Unlock()
	key := fmt.Sprint(c.key(), source, executable, defines)
	if path, ok := built[key]; ok {
		return path
	}
	path := filepath.Join(scratch, fmt.Sprintf("program-%d", len(built)))
	args := append([]string{"-I", lib, filepath.Join("testdata", source), "-o", path}, c.flags...)
	args = append(args, defines...)
	text, err := os.ReadFile(filepath.Join("testdata", source))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range Sources(!c.lean) {
		included := bytes.Contains(text, fmt.Appendf(nil, "#include %q", name)) // a test of what a source keeps to itself
		if (executable || name != Main) && !included {
			args = append(args, filepath.Join(lib, strings.TrimSuffix(name, ".c")+".o"))
		}
	}
	if err := compile(c.cc, args...); err != nil {
		t.Fatal(err)
	}
	built[key], on[path] = path, c.on
	return path
}

// result is what an executable did.
type result struct {
	status      int
	out, errors string
}

// run starts a program in a directory.
func run(t testing.TB, dir, program string, args ...string) result {
	t.Helper()
	cmd := command(program, args...)
	var out, errors bytes.Buffer
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &out, &errors
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return result{cmd.ProcessState.ExitCode(), out.String(), errors.String()}
}

// command is how a program that build gave is run.
func command(program string, args ...string) *exec.Cmd {
	mutex.Lock()
	defer mutex.Unlock()
	words := append(append(slices.Clone(on[program]), program), args...)
	return exec.Command(words[0], words[1:]...)
}

// succeed runs a program that must end well and say nothing on standard error.
func succeed(t testing.TB, dir, program string, args ...string) string {
	t.Helper()
	r := run(t, dir, program, args...)
	if r.status != 0 || r.errors != "" {
		t.Fatalf("%v: status %d, standard error %q", args, r.status, r.errors)
	}
	return r.out
}

// fail runs a program that must end with a status and one line on standard error that contains a text.
func fail(t testing.TB, dir, program string, status int, want string, args ...string) {
	t.Helper()
	r := run(t, dir, program, args...)
	prefix := filepath.Base(program) + ": error: "
	if r.status != status || !strings.HasPrefix(r.errors, prefix) || !strings.Contains(r.errors, want) ||
		strings.Count(r.errors, "\n") != 1 || !strings.HasSuffix(r.errors, "\n") {
		t.Errorf("%v:\ngot status %d, standard error %q\nwant status %d and one line %q...%q", args, r.status, r.errors, status, prefix, want)
	}
}

// each runs a test with every compiler under the address and undefined-behaviour sanitizers, and on an emulated AArch64.
func each(t *testing.T, test func(t *testing.T, c toolchain)) {
	for _, cc := range compilers(t) {
		t.Run(cc, func(t *testing.T) { test(t, toolchain{cc: cc, flags: address}) })
	}
	t.Run("aarch64", func(t *testing.T) { test(t, aarch64(t)) })
}

// aarch64 is a compiler for AArch64.
func aarch64(t testing.TB) toolchain {
	t.Helper()
	tools := testkit.CrossAArch64(t, "gcc")
	return toolchain{cc: tools.Compiler, flags: plain, on: tools.Emulator}
}

// one is a single toolchain for what need not be tried with all.
func one(t testing.TB, flags []string) toolchain { return toolchain{cc: compilers(t)[0], flags: flags} }
