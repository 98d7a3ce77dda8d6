package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"tensortapestry.org/tapc/cmd/tapc/app"
	"tensortapestry.org/tapc/cmd/tapc/guide"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/plugins/supervise"
)

// asTapc is the variable that turns the test program into tapc, for tests that need a process.
const asTapc = "TAPC_TEST_AS_TAPC"

func TestMain(m *testing.M) {
	supervise.Main()
	if os.Getenv(asTapc) != "" {
		main()
	}
	os.Exit(m.Run())
}

const example = "../../examples/linear-relu.loom.json"

// patience is how long a command may take until it is taken for one that hangs: far more than any takes, and less than what a run of all tests has.
const patience = 2 * time.Minute

// tapc runs a command line. Of one that hangs it says which it is, and where all of its goroutines are.
func tapc(t *testing.T, stdin string, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	late := time.AfterFunc(patience, func() {
		debug.SetTraceback("all")
		panic(fmt.Sprintf("%s: tapc %q has not ended in %v; its standard input:\n%s", t.Name(), args, patience, stdin))
	})
	defer late.Stop()
	var out, errs bytes.Buffer
	status = runLine(app.New(strings.NewReader(stdin), &out, &errs), args)
	return status, out.String(), errs.String()
}

// command is exec.Command for what is killed if it hangs.
func command(t *testing.T, name string, args ...string) *exec.Cmd {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.WaitDelay = time.Second // for what it started
	return cmd
}

// write makes a file in a temporary directory.
func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o640); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestThePassTableIsValid(t *testing.T) {
	if err := app.Passes().Validate(); err != nil {
		t.Fatal(err)
	}
}

func TestExitStatusAndFirstLine(t *testing.T) {
	invalid := write(t, "invalid.tap", "tapc 1\n%x = tensor float99 [0:4]\n")
	broken := write(t, "broken.tap", "tapc 1\n%x = tensor float32 [0:\n")
	for _, k := range []struct {
		args   string
		status int
		want   string // begins standard error
	}{
		{"verify " + example, 0, ""},
		{"verify " + invalid, 1, invalid + ":2:1: error: tensor \"x\" has an element type that is not allowed"},
		{"verify " + broken, 1, broken + ":3:1: error: "},
		{"verify no-such-file", 1, "tapc: error: open no-such-file: no such file or directory"},
		{"verify no-such-file " + invalid, 1, "tapc: error: open no-such-file"},
		{"verify", 2, "tapc: error: tapc verify needs a file"},
		{"verify --dialect=tensorop x", 2, `tapc: error: unknown value of --dialect "tensorop": did you mean "tensorops"?`},
		{"verify --from=lom x", 2, `tapc: error: unknown value of --from "lom": did you mean "loom"?`},
		{"verfy", 2, `tapc: error: unknown command "verfy": did you mean "verify"?`},
		{"verfy --dialect x y", 2, `tapc: error: unknown command "verfy": did you mean "verify"?`},
		{"xyzzy", 2, `tapc: error: unknown command "xyzzy": expected one of `},
		{"--verson", 2, "tapc: error: unknown flag --verson: did you mean --version?"},
		{"verify --dialct=x y", 2, "tapc: error: unknown flag --dialct: did you mean --dialect?"},
		{"verify -z y", 2, "tapc: error: unknown flag -z; see tapc verify --help"},
		{"verify --diagnostics=xml y", 2, `tapc: error: unknown value of --diagnostics "xml"`},
		{"translate a b", 2, `tapc: error: tapc translate takes 1 file, not also "b"`},
		{"translate --to=png " + example, 2, `tapc: error: unknown value of --to "png"`},
		{"translate --with=id " + example, 2, `tapc: error: unknown value of --with "id": did you mean "ids"?`},
		{"translate -o /no/such/dir/x " + example, 2, "tapc: error: /no/such/dir/"},
		{"translate -o /dev/full " + example, 3, "tapc: error: write /dev/full: no space left on device"},
		{"opt " + example, 2, "tapc: error: opt needs --passes"},
		{"opt --passes=simplfy " + example, 2, `--passes:1:1: error: there is no pass "simplfy"; did you mean "simplify"?`},
		{"opt --passes=lower " + example, 2, "--passes:1:1: error: pass lower can not stand here"},
		{"opt --passes=verify --disable=dcee " + example, 2, `tapc: error: unknown pass or rule in --disable "dcee": did you mean "dce"?`},
		{"opt --passes=verify --print-ir-after=vrify " + example, 2, `tapc: error: unknown pass in --print-ir-after "vrify"`},
		{"opt --passes=verify --timing=xml " + example, 2, `tapc: error: unknown value of --timing "xml"`},
		{"opt --passes=verify --fuel=x " + example, 2, `tapc: error: invalid argument "x" for "--fuel"`},
		{"plan --fuel=keep=x " + example, 2, `tapc: error: invalid argument "keep=x" for "--fuel" flag: expected a whole number; see tapc plan --help`},
		{"plan --fuel=keep " + example, 2, `tapc: error: invalid argument "keep" for "--fuel" flag: expected NAME=N; see tapc plan --help`},
		{"plan --devices=99999999999999999999 " + example, 2, `tapc: error: invalid argument "99999999999999999999" for "--devices" flag: the number is too large`},
		{"plan --seed=-1 " + example, 2, `tapc: error: invalid argument "-1" for "--seed" flag: expected a whole number, not below 0; see`},
		{"plan --time-budget=5 " + example, 2, `tapc: error: invalid argument "5" for "--time-budget" flag: expected a time, as 60s or 5m; see`},
		{"plan --machine=8xh100 --space=none,leaves " + example, 2, "tapc: error: --space=none,leaves: expected none alone, or beside a mesh"},
		{"opt --passes=verify " + invalid, 1, invalid + ":2:1: error: tensor"},
		{"replay " + invalid, 1, "tapc: error: " + invalid + " is no reproducer"},
		{"reduce " + example, 2, "tapc: error: the command is empty"},
		{"reduce --test=true " + example, 1, "tapc: error: nothing to reduce"},
		{"reduce --test=no-such-command-here " + example, 2, "tapc: error: the command can not run"},
		{"reduce --test=-1 " + example, 2, "tapc: error: the command can not run"},
		{"kernels linaer", 2, `tapc: error: unknown kernel "linaer": did you mean "linear"?`},
		{"version extra", 2, "tapc: error: "},
	} {
		status, _, stderr := tapc(t, "", strings.Fields(k.args)...)
		if status != k.status || !strings.HasPrefix(stderr, k.want) || k.want == "" && stderr != "" {
			t.Errorf("tapc %s: status %d, want %d\n%s\nwant %s", k.args, status, k.status, stderr, k.want)
		}
	}
}

func TestStandardInputAndOutput(t *testing.T) {
	data, err := os.ReadFile(example)
	if err != nil {
		t.Fatal(err)
	}
	status, text, stderr := tapc(t, string(data), "translate", "--with=ids,order", "-")
	if status != 0 || !strings.HasPrefix(text, "tapc 1 @") {
		t.Fatalf("%d %s %s", status, text, stderr)
	}
	status, back, stderr := tapc(t, "\n// a comment\n"+text, "translate", "--to=loom")
	if diff := cmp.Diff(string(data), back); status != 0 || diff != "" {
		t.Errorf("%d %s %s", status, diff, stderr)
	}
	status, _, stderr = tapc(t, "neither", "verify", "-")
	if status != 1 || !strings.Contains(stderr, "neither its name nor its content tell") {
		t.Errorf("%d %s", status, stderr)
	}
	status, _, stderr = tapc(t, "tapc 1\n%x = tensor int99 []\n", "verify", "-")
	if status != 1 || !strings.HasPrefix(stderr, "<stdin>:2:1: error: ") || !strings.Contains(stderr, "\n  %x = tensor int99 []\n  ^\n") {
		t.Errorf("%d %s", status, stderr)
	}
}

func TestFormsKeepTheGraph(t *testing.T) {
	files, err := filepath.Glob("../../examples/*.json")
	if err != nil || len(files) == 0 {
		t.Fatal(err)
	}
	for _, file := range files {
		_, want, _ := tapc(t, "", "translate", "--to=loom", file)
		for _, path := range [][]string{{"tap"}, {"wire"}, {"wire", "tap", "loom", "wire"}} {
			status, text, stderr := tapc(t, "", "translate", "--to="+path[0], "--with=ids,order,places", file)
			for _, to := range append(path[1:], "loom") {
				if status == 0 {
					status, text, stderr = tapc(t, text, "translate", "--to="+to, "--with=ids,order,places", "-")
				}
			}
			if diff := cmp.Diff(want, text); status != 0 || diff != "" || want == "" {
				t.Errorf("%s by way of %v: %d %s %s", file, path, status, diff, stderr)
			}
		}
	}
}

func TestPlacesAreThoseOfFields(t *testing.T) {
	data, err := os.ReadFile(example)
	if err != nil {
		t.Fatal(err)
	}
	path := write(t, "g.json", strings.Replace(string(data), `"float32"`, `"float99"`, 1))
	_, _, stderr := tapc(t, "", "verify", path)
	line := 1 + strings.Count(string(data)[:strings.Index(string(data), `"float32"`)], "\n")
	if want := fmt.Sprintf("%s:%d:18: error:", path, line); !strings.HasPrefix(stderr, want) || !strings.Contains(stderr, "  pointer:  /nodes/0/body/dtype\n") {
		t.Errorf("want %s\n%s", want, stderr)
	}
}

func TestDiagnosticsForMachines(t *testing.T) {
	invalid := write(t, "invalid.tap", "tapc 1\n%x = tensor float99 [0:4]\n")
	var doc struct {
		Diagnostics []struct {
			Code     string
			Location struct{ Line int }
		}
	}
	status, _, stderr := tapc(t, "", "verify", "--diagnostics=json", invalid, invalid)
	if err := json.Unmarshal([]byte(stderr), &doc); err != nil || status != 1 || len(doc.Diagnostics) != 2 || doc.Diagnostics[0].Location.Line != 2 {
		t.Errorf("%d %v %s", status, err, stderr)
	}
	if status, _, stderr = tapc(t, "", "verify", "--diagnostics=json", example); status != 0 || stderr != "{\"diagnostics\":[]}\n" {
		t.Errorf("%d %s", status, stderr)
	}
	var log struct {
		Runs []struct{ Results []struct{ RuleID string } }
	}
	status, _, stderr = tapc(t, "", "verify", "--diagnostics=sarif", invalid)
	if err := json.Unmarshal([]byte(stderr), &log); err != nil || status != 1 || len(log.Runs) != 1 || len(log.Runs[0].Results) != 1 {
		t.Errorf("%d %v %s", status, err, stderr)
	}
}

func TestOutputFilesAreWhole(t *testing.T) {
	dir := t.TempDir()
	target, link := filepath.Join(dir, "g.json"), filepath.Join(dir, "link.json")
	if err := errors.Join(os.WriteFile(target, []byte("old"), 0o600), os.Symlink("g.json", link)); err != nil {
		t.Fatal(err)
	}
	if status, _, stderr := tapc(t, "", "opt", "--passes=lower", "-o", link, example); status != 2 {
		t.Fatal(stderr)
	}
	if got, _ := os.ReadFile(target); string(got) != "old" {
		t.Errorf("a failed run left %q", got)
	}
	if status, _, stderr := tapc(t, "", "translate", "-o", link, example); status != 0 {
		t.Fatal(stderr)
	}
	want, _ := os.ReadFile(example)
	got, _ := os.ReadFile(target)
	info, _ := os.Lstat(link)
	mode, _ := os.Stat(target)
	if string(got) != string(want) || info.Mode()&os.ModeSymlink == 0 || mode.Mode().Perm() != 0o600 {
		t.Errorf("%d bytes, link %v, target %v", len(got), info.Mode(), mode.Mode())
	}
	if names, _ := filepath.Glob(filepath.Join(dir, ".*")); names != nil {
		t.Errorf("left behind: %v", names)
	}
}

func TestAFailingWriterLeavesNothing(t *testing.T) {
	a := app.New(nil, io.Discard, io.Discard)
	dir := t.TempDir()
	ctx, cancel := context.WithCancelCause(context.Background())
	for name, write := range map[string]func(io.Writer) error{
		"error":     func(w io.Writer) error { w.Write([]byte("half")); return errors.New("no") },
		"cancelled": func(w io.Writer) error { cancel(errors.New("stop")); _, err := w.Write([]byte("all")); return err },
	} {
		if err := a.WriteFile(ctx, filepath.Join(dir, name), write); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if names, _ := os.ReadDir(dir); len(names) != 0 {
		t.Errorf("left behind: %v", names)
	}
}

// fullWriter is a disk without room.
type fullWriter struct{}

func (fullWriter) Write([]byte) (int, error) { return 0, syscall.ENOSPC }

func TestStandardOutputThatFails(t *testing.T) {
	var errs bytes.Buffer
	status := runLine(app.New(strings.NewReader(""), fullWriter{}, &errs), []string{"translate", example})
	if status != 3 || errs.String() != "tapc: error: standard output: no space left on device [TAP0867]\n" {
		t.Errorf("%d %s", status, errs.String())
	}
}

func TestAPanicIsAFault(t *testing.T) {
	root := &cobra.Command{Use: "x", Run: func(*cobra.Command, []string) { panic("ouch") }}
	root.SetArgs(nil)
	err := execute(context.Background(), root)
	if diag.ExitStatus(err) != diag.ExitInternal || !strings.Contains(err.Error(), "internal error: ouch") || !strings.Contains(err.Error(), "main_test.go") {
		t.Errorf("%v", err)
	}
}

// interrupt starts tapc as a process, waits for a file that it makes, and sends a signal.
func interrupt(t *testing.T, s os.Signal, dir string, args ...string) (status int, stderr string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	started := filepath.Join(dir, "started")
	cmd := command(t, self, args...)
	cmd.WaitDelay = 10 * time.Second // for what it started
	cmd.Env = append(os.Environ(), asTapc+"=1", "STARTED="+started, "TMPDIR="+dir)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Process.Kill()
	for range 1000 {
		if _, err := os.Stat(started); err == nil {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	cmd.Process.Signal(s)
	cmd.Wait()
	return cmd.ProcessState.ExitCode(), errs.String()
}

func TestSignals(t *testing.T) {
	for s, want := range map[os.Signal]int{os.Interrupt: 130, syscall.SIGTERM: 143} {
		dir := t.TempDir()
		status, stderr := interrupt(t, s, dir, "reduce", "--test", "touch $STARTED; exec sleep 60 # {}", "-o", filepath.Join(dir, "out.tap"), example)
		if status != want || !strings.HasSuffix(stderr, "; nothing was written\n") {
			t.Errorf("%v: status %d, want %d: %s", s, status, want, stderr)
		}
		if names, _ := os.ReadDir(dir); len(names) != 1 {
			t.Errorf("%v: left behind: %v", s, names)
		}
	}
}

func TestCompletion(t *testing.T) {
	for args, want := range map[string]string{
		"verify --dialect ":         "tensorops\n",
		"--diagnostics ":            "sarif\n",
		"opt --print-ir-after=":     "simplify\n",
		"translate --to ":           "loom\n",
		"ker":                       "kernels\t",
		"kernels mat":               "matmul\n",
		"opt --passes=x --disable ": "dce\n",
	} {
		_, out, _ := tapc(t, "", append([]string{"__complete"}, strings.Split(args, " ")...)...)
		if !strings.Contains("\n"+out, "\n"+want) {
			t.Errorf("%s: %q offers no %q", args, out, want)
		}
	}
}

func TestEveryCommandExplainsItself(t *testing.T) {
	for _, c := range root(app.New(nil, io.Discard, io.Discard)).Commands() {
		if c.Name() == "help" || c.Name() == "completion" {
			continue
		}
		if c.Short == "" || c.Long == "" || c.Example == "" || strings.HasSuffix(c.Short, ".") {
			t.Errorf("%s lacks a text", c.Name())
		}
		for _, line := range strings.Split(c.Long, "\n") {
			if len(line) > 95 {
				t.Errorf("%s: a line of the help is %d long: %s", c.Name(), len(line), line)
			}
		}
	}
}

func TestTheDocumentsAreCurrent(t *testing.T) {
	root := root(app.New(nil, io.Discard, io.Discard))
	have, err := os.ReadFile("../../docs/cli.md")
	if diff := cmp.Diff(string(guide.Commands(root)), string(have)); err != nil || diff != "" {
		t.Errorf("docs/cli.md is not current, run: go run ./cmd/tapc docs docs\n%v %s", err, diff)
	}
	have, err = os.ReadFile("../../docs/passes.md")
	if err != nil {
		t.Fatal(err)
	}
	want, err := guide.WithPasses(have, app.Passes())
	if diff := cmp.Diff(string(want), string(have)); err != nil || diff != "" {
		t.Errorf("docs/passes.md is not current, run: go run ./cmd/tapc docs docs\n%v %s", err, diff)
	}
	if have, err = os.ReadFile("../../docs/kernels.md"); err != nil {
		t.Fatal(err)
	}
	want, err = guide.WithKernels(have, kernels.Builtin())
	if diff := cmp.Diff(string(want), string(have)); err != nil || diff != "" {
		t.Errorf("docs/kernels.md is not current, run: go run ./cmd/tapc docs docs\n%v %s", err, diff)
	}
}
