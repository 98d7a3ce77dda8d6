// Package lit_test runs the regression tests of this directory as Go tests: it builds the commands that they use and hands
// every file with a RUN line to package tools/lit/run.
//
// The directories mirror the module's. LIT_FILTER (a regular expression over names) selects tests; LIT_REWRITE=1 regenerates
// the CHECK lines of tests that have a BLESS line. Read next: docs/lit.md.
package lit_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"tensortapestry.org/tapc/backends/cuda/toolchain"
	"tensortapestry.org/tapc/frontends/onnx/onnxtest"
	"tensortapestry.org/tapc/internal/cudashim/fake"
	"tensortapestry.org/tapc/internal/testkit"
	"tensortapestry.org/tapc/tools/lit/run"
	"tensortapestry.org/tapc/tools/lit/shell"
)

// commands are the programs for RUN lines, by package.
var commands = []string{"./cmd/tapc", "./tools/filecheck", "./plugins/examples/linear-relu", "./plugins/examples/cpu-backend", "./plugins/examples/retile", "./plugins/examples/whole"}

func TestLit(t *testing.T) {
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	watch(t, root)
	bin := t.TempDir()
	found, arm := features(t)
	cuda := emulatedGPU(t, bin)
	if cuda != "" {
		found = append(found, "cuda")
	}
	build := exec.Command("go", append([]string{"build", "-o", bin + string(os.PathSeparator)}, commands...)...)
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", build, err, out)
	}
	run.Suite(t, ".", run.Config{
		Tools:    map[string]shell.Tool{"status": {Run: status}, "onnxmodel": {Run: onnxModel}},
		Excludes: []string{"lit_test.go", "README.md"},
		Env:      []string{"PATH=" + bin + string(os.PathListSeparator) + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "XDG_CACHE_HOME=" + os.Getenv("XDG_CACHE_HOME")},
		Substitutions: []run.Substitution{
			{From: "%{bin}", To: bin},
			{From: "%{examples}", To: filepath.Join(root, "examples")},
			{From: "%{root}", To: root},
			{From: "%{peers-python}", To: os.Getenv(peersPython)},
			{From: "%{cuda}", To: cuda},
			{From: "%{aarch64-cc}", To: arm.Compiler},
			{From: "%{aarch64-runner}", To: strings.Join(arm.Emulator, " ")},
		},
		Features: found,
		Timeout:  2 * time.Minute,
		Rewrite:  os.Getenv("LIT_REWRITE") == "1",
	})
}

// peersPython names the variable with a Python that has ONNX Runtime.
const peersPython = "TAPC_PEERS_PYTHON"

// features are what REQUIRES lines may ask for, the programs of this machine: cc; x86_64, where that is one for it; onnxruntime, where peersPython says a Python; and aarch64, a compiler for that and what runs its
// programs, which are given besides. cuda is emulatedGPU.
func features(t *testing.T) (found []string, arm testkit.Cross) {
	for _, cc := range []string{"cc", "gcc", "clang"} {
		if _, err := exec.LookPath(cc); err == nil {
			found = append(found, "cc")
			if runtime.GOARCH == "amd64" {
				found = append(found, "x86_64")
			}
			break
		}
	}
	if found == nil && testkit.Required(testkit.Compilers) {
		testkit.Need(t, testkit.Compilers, errors.New("there is no C compiler"))
	}
	if os.Getenv(peersPython) != "" {
		found = append(found, "onnxruntime")
	}
	arm, err := testkit.FindAArch64("gcc")
	switch {
	case err == nil:
		found = append(found, "aarch64")
	case testkit.Required(testkit.AArch64):
		testkit.Need(t, testkit.AArch64, err)
	}
	return found, arm
}

// emulatedGPU gives variables, as env takes them, by which tapc finds a GPU that is none, with a compiler and a driver for it; "" where these cannot be built, for want
// of CUDA's headers.
func emulatedGPU(t *testing.T, bin string) string {
	_, err := toolchain.Find()
	if err != nil && testkit.Required(testkit.CUDA) {
		testkit.Need(t, testkit.CUDA, err)
	}
	dir := t.TempDir()
	if err != nil || testing.Short() {
		return ""
	}
	if err := fake.BuildMachine(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	words := []string{"TAPC_EMU_CLOCK=threads"}
	for name, value := range fake.Environment(dir) {
		if name == "PATH" {
			value = bin + string(os.PathListSeparator) + value
		}
		words = append(words, name+"="+value)
	}
	slices.Sort(words)
	return strings.Join(words, " ")
}

// watch looks at every source file, so that the go command, which remembers what a test looked at, runs this test again after
// a change to a command that it only builds.
func watch(t *testing.T, root string) {
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil // files that vanish meanwhile are none of this test's business
		}
		if d.IsDir() && path != root && strings.HasPrefix(d.Name(), ".") {
			return fs.SkipDir
		}
		os.Stat(path)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// status is the command "status N COMMAND ARGUMENT...", which succeeds if the command ends with exit status N.
func status(ctx context.Context, p *shell.Process) int {
	if len(p.Args) < 2 {
		fmt.Fprintln(p.Stderr, "status: needs a number and a command")
		return 2
	}
	cmd := exec.CommandContext(ctx, p.Args[1], p.Args[2:]...)
	if path, ok := lookPath(p.Args[1], p.Getenv("PATH")); ok {
		cmd.Path, cmd.Err = path, nil
	}
	cmd.Dir, cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = p.Dir, []string{"PATH=" + p.Getenv("PATH")}, p.Stdin, p.Stdout, p.Stderr
	err := cmd.Run()
	if cmd.ProcessState == nil {
		fmt.Fprintln(p.Stderr, "status:", err)
		return 2
	}
	if got := strconv.Itoa(cmd.ProcessState.ExitCode()); got != p.Args[0] {
		fmt.Fprintf(p.Stderr, "status: %s ended with %s, expected %s\n", p.Args[1], got, p.Args[0])
		return 1
	}
	return 0
}

// onnxModel is the command "onnxmodel TEXT FILE", which writes the model of a text.
func onnxModel(_ context.Context, p *shell.Process) int {
	if len(p.Args) != 2 {
		fmt.Fprintln(p.Stderr, "onnxmodel: needs a text and a file to write")
		return 2
	}
	inside := func(path string) string {
		if filepath.IsAbs(path) {
			return path
		}
		return filepath.Join(p.Dir, path)
	}
	text, err := os.ReadFile(inside(p.Args[0]))
	var model []byte
	if err == nil {
		model, err = onnxtest.Model(string(text))
	}
	if err == nil {
		err = os.WriteFile(inside(p.Args[1]), model, 0o644)
	}
	if err != nil {
		fmt.Fprintln(p.Stderr, "onnxmodel:", err)
		return 1
	}
	return 0
}

// lookPath finds a program in the directories of a PATH.
func lookPath(name, path string) (string, bool) {
	for _, dir := range filepath.SplitList(path) {
		if info, err := os.Stat(filepath.Join(dir, name)); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return filepath.Join(dir, name), true
		}
	}
	return "", false
}
