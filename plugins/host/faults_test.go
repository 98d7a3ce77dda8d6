package host_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/passes/apply"
	"tensortapestry.org/tapc/passes/pipeline"
	"tensortapestry.org/tapc/plugins/confine"
	"tensortapestry.org/tapc/plugins/host"
)

var misbehave = sync.OnceValues(func() (string, error) { return build("./testdata/misbehave") })

// misbehaving gives a program of its own that does one thing wrong.
func misbehaving(t testing.TB, name string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.Link(program(t, misbehave), path); err != nil {
		t.Fatal(err)
	}
	return path
}

// patience bounds what may take long on a busy machine and should not.
const patience = 30 * time.Second

// limits of the tests, with a change for one of them.
func limits(change func(*host.Limits)) host.Limits {
	l := host.Limits{Start: patience, Run: patience, Grace: 200 * time.Millisecond, Memory: 1 << 30}
	if change != nil {
		change(&l)
	}
	return l
}

// fault is one row of the matrix: a way of misbehaving and what must be said about it.
type fault struct {
	name   string
	kind   host.Kind
	says   string
	limits func(*host.Limits)
}

func quickStart(l *host.Limits) { l.Start = 1500 * time.Millisecond }
func quickRun(l *host.Limits)   { l.Run = 700 * time.Millisecond }

var startFaults = []fault{
	{"exits-0", host.NotAPlugin, "it ended without serving", nil},
	{"exits-3", host.CrashedAtStart, "it exited with status 3", nil},
	{"panics-at-start", host.CrashedAtStart, "it exited with status 2", nil},
	{"prints-first", host.PrintedFirst, `"Hello from the library!"`, nil},
	{"prints-blank", host.PrintedFirst, `""`, nil},
	{"prints-only", host.NotAPlugin, `"usage: grep PATTERN"`, nil},
	{"prints-on", host.NotAPlugin, "yyyy", nil},
	{"prints-waits", host.NotAPlugin, `"Password:"`, nil},
	{"silent", host.NoAnswer, "within 1.5s", quickStart},
	{"closes-stdout", host.NotAPlugin, "closed its standard output", nil},
	{"floods-at-start", host.Flooded, "bytes to standard error", nil},
	{"version-7", host.WrongVersion, "protocol 7, and tapc speaks 1", nil},
	{"core-9", host.WrongVersion, "handshake 9, and tapc speaks 1", nil},
	{"netrpc", host.NotAPlugin, "it serves netrpc, not grpc", nil},
	{"elsewhere", host.Garbage, "not a socket in its temporary directory", nil},
	{"no-certificate", host.Garbage, "without a certificate", nil},
	{"bad-certificate", host.Garbage, "", nil},
	{"no-listener", host.Garbage, "its address can not be used: no such file or directory", nil},
	{"linked-socket", host.Garbage, "its address can not be used: it is not a socket", nil},
	{"plain-file", host.Garbage, "its address can not be used: it is not a socket", nil},
	{"bad-description", host.CrashedAtStart, "it exited with status 1", nil},
}

var passFaults = []fault{
	{"panics", host.Crashed, "panic: index out of tapestry", nil},
	{"panics-elsewhere", host.Crashed, "it exited with status 2", nil},
	{"exits", host.Crashed, "it exited with status 4", nil},
	{"killed", host.Crashed, "it was killed by signal 9", nil},
	{"fails", host.Failed, "no table for this target", nil},
	{"hangs", host.TimedOut, "after 700ms", quickRun},
	{"deaf", host.TimedOut, "after 700ms", quickRun},
	{"stopped", host.TimedOut, "after 700ms", quickRun},
	{"allocates", host.OutOfMemory, "of 256 MiB", func(l *host.Limits) { l.Memory = 256 << 20 }},
	{"computes", host.OutOfProcessorTime, "of 1s", func(l *host.Limits) { l.CPU = time.Second }},
	{"floods", host.Flooded, "67108864 bytes to standard error", nil},
	{"long-line", host.Flooded, "67108864 bytes to standard error", nil},
	{"forks-and-exits", host.Crashed, "it exited with status 0", nil},
	{"forks-often", host.OutOfMemory, "more than 8 processes", func(l *host.Limits) { l.Processes = 8 }},
	{"no-graph-set", host.Garbage, "left no graph", nil},
	{"truncated", host.Garbage, "can not be decoded", nil},
	{"garbage", host.Garbage, "can not be decoded", nil},
	{"not-a-message", host.Garbage, "", nil},
	{"oversized-message", host.TooLarge, "", nil},
	{"endless-graph", host.TooLarge, "more than 33554432 bytes", func(l *host.Limits) { l.Answer = 32 << 20 }},
	{"endless-field", host.Garbage, "can not be decoded", nil},
	{"empty-chunks", host.TooLarge, "reports", func(l *host.Limits) { l.Reports = 10000 }},
	{"many-reports", host.TooLarge, "more than 10000 reports", func(l *host.Limits) { l.Reports = 10000 }},
	{"no-graph", host.Garbage, "it sent no graph", nil},
	{"no-done", host.Garbage, "without saying that it is done", nil},
	{"both", host.Garbage, "it sent a graph and says that it left the old one unchanged", nil},
	{"after-done", host.Garbage, "more after it said that it is done", nil},
	{"half-read", host.TimedOut, "after 700ms", quickRun},
	{"bad-dtype", host.InvalidGraph, "Operation Expression", nil},
	{"bad-range", host.InvalidGraph, "Operation Expression", nil},
	{"bad-signature", host.InvalidGraph, "Operation Expression", nil},
	{"drops-output", host.ChangedProgram, "the output z", nil},
}

func TestFaultsAtStart(t *testing.T) {
	for _, f := range startFaults {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			path := misbehaving(t, f.name)
			began := time.Now()
			p, err := host.Start(context.Background(), path, host.Options{Limits: limits(f.limits)})
			if err == nil {
				p.Close()
			}
			f.check(t, err, path, "")
			gone(t, path)
			if d := time.Since(began); d > patience {
				t.Errorf("it took %v", d)
			}
		})
	}
}

// TestLateEnds runs plugins whose end tapc learns of after it has lost its patience, as on a busy machine: what is said of them is how they
// ended, and of one that closes its output and goes on, that.
func TestLateEnds(t *testing.T) {
	defer host.Impatient()()
	for _, f := range startFaults {
		if !slices.Contains([]string{"exits-0", "exits-3", "panics-at-start", "closes-stdout"}, f.name) {
			continue
		}
		path := misbehaving(t, f.name)
		_, err := host.Start(context.Background(), path, host.Options{Limits: limits(f.limits)})
		f.check(t, err, path, "")
	}
}

func TestFaultsInPasses(t *testing.T) {
	for _, f := range passFaults {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			path := misbehaving(t, f.name)
			p := open(t, path, host.Options{Limits: limits(f.limits)})
			g := load(t, "linear-relu.loom.json")
			_, err := p.RunPass(context.Background(), "pass", nil, g)
			f.check(t, err, path, "pass pass")
			p.Close()
			gone(t, path)
		})
	}
}

// TestFaultsWithoutNamespaces runs the rows that rest on the supervisor where the kernel gives it no PID namespace.
func TestFaultsWithoutNamespaces(t *testing.T) {
	for _, f := range passFaults {
		if !slices.Contains([]string{"killed", "stopped", "allocates", "computes", "forks-and-exits", "forks-often"}, f.name) {
			continue
		}
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			path := misbehaving(t, f.name)
			p := open(t, path, host.Options{Limits: limits(f.limits)}.Without(confine.Spaces))
			_, err := p.RunPass(context.Background(), "pass", nil, load(t, "linear-relu.loom.json"))
			f.check(t, err, path, "pass pass")
			p.Close()
			gone(t, path)
		})
	}
}

// check compares an error with what the row says.
func (f *fault) check(t *testing.T, err error, path, part string) {
	t.Helper()
	got, ok := host.IsFault(err)
	if !ok {
		t.Fatalf("the error is not a plugin's fault: %v", err)
	}
	if got.Kind != f.kind || !strings.Contains(got.Error(), f.says) || got.Part != part {
		t.Errorf("the fault is %q of part %q\nwant the kind %s (%s) and %q", got.Error(), got.Part,
			host.Kinds[f.kind].Code, host.Kinds[f.kind].Meaning, f.says)
	}
	if !strings.Contains(got.Error(), path) {
		t.Errorf("the fault does not name the plugin's file %s: %v", path, got)
	}
	if status := diag.ExitStatus(err); status != diag.ExitInternal {
		t.Errorf("the exit status is %d", status)
	}
	var list diag.List = diag.FromError(err)
	if len(list) != 1 || list[0].Code != host.Kinds[f.kind].Code {
		t.Errorf("the error is not one diagnostic with the code: %v", list)
	}
}

// gone checks that no process of a program is left.
func gone(t *testing.T, path string) {
	t.Helper()
	for deadline := time.Now().Add(5 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		left := running(path)
		if len(left) == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Errorf("processes %v of %s are left", left, path)
			return
		}
	}
}

// TestInvalidInEachDialect lets a plugin break graphs of the later dialects.
func TestInvalidInEachDialect(t *testing.T) {
	for _, f := range []fault{
		{"bad-shard", host.InvalidGraph, "Application Expression", nil},
		{"bad-schedule", host.InvalidGraph, "Scheduled Kernels", nil},
		{"bad-order", host.InvalidGraph, "Scheduled Kernels", nil},
	} {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			g := load(t, "linear-relu.loom.json")
			apply.Run(g)
			if f.says == "Scheduled Kernels" {
				schedule(t, g)
			}
			path := misbehaving(t, f.name)
			p := open(t, path, host.Options{Limits: limits(nil)})
			_, err := p.RunPass(context.Background(), "pass", nil, g)
			f.check(t, err, path, "pass pass")
		})
	}
}

func TestStderrIsShown(t *testing.T) {
	t.Parallel()
	_, err := host.Start(context.Background(), misbehaving(t, "exits-3"), host.Options{})
	f, ok := host.IsFault(err)
	if !ok || len(f.Stderr) != 1 || f.Stderr[0] != "the license server is down" {
		t.Fatalf("the error is %v", err)
	}
	if notes := f.Diagnostic().Notes; len(notes) != 1 || !strings.HasSuffix(notes[0].Message, f.Stderr[0]) {
		t.Errorf("the notes are %v", notes)
	}
	p := open(t, misbehaving(t, "panics"), host.Options{})
	_, err = p.RunPass(context.Background(), "pass", nil, load(t, "linear-relu.loom.json"))
	if f, ok = host.IsFault(err); !ok || !strings.Contains(strings.Join(f.Stderr, "\n"), "passes.go") {
		t.Errorf("the stack is not shown: %v", f.Stderr)
	}
}

func TestFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	elf := func(machine string) string {
		return "\x7fELF\x02\x01\x01" + strings.Repeat("\x00", 9) + "\x02\x00" + machine + "\x01\x00\x00\x00" +
			strings.Repeat("\x00", 28) + "\x40\x00\x38\x00\x00\x00\x40\x00\x00\x00\x00\x00"
	}
	good := program(t, linearRelu)
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		name, path, digest string
		kind               host.Kind
		says               string
	}{
		{"missing", filepath.Join(dir, "missing"), "", host.CannotStart, "there is no such file"},
		{"directory", dir, "", host.CannotStart, "expected a regular file, found a directory"},
		{"named pipe", pipe, "", host.CannotStart, "expected a regular file, found a named pipe"},
		{"device", "/dev/zero", "", host.CannotStart, "expected a regular file, found a device"},
		{"not executable", write("plain", "#!/bin/sh\n", 0o644), "", host.CannotStart, "it is not executable (mode -rw-r--r--)"},
		{"sparc", write("sparc", elf("\x2b\x00"), 0o755), "", host.CannotStart, "it is built for linux/EM_SPARCV9, and this is"},
		{"mac", write("mac", "\xcf\xfa\xed\xfe\x0c\x00\x00\x01rest", 0o755), "", host.CannotStart, "it is built for darwin/arm64"},
		{"windows", write("exe", "MZ\x00rest", 0o755), "", host.CannotStart, "it is built for windows"},
		{"text", write("text", "just words\n", 0o755), "", host.CannotStart, "exec format error"},
		{"empty", write("empty", "", 0o755), "", host.CannotStart, "exec format error"},
		{"no interpreter", write("script", "#!/no/such/thing\n", 0o755), "", host.CannotStart, "no such file or directory"},
		{"shell script", write("sh", "#!/bin/sh\necho hello\n", 0o755), "", host.NotAPlugin, `"hello"`},
		{"digest", good, strings.Repeat("0", 64), host.WrongDigest, "expected SHA-256 0000"},
	} {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			p, err := host.Start(context.Background(), x.path, host.Options{Digest: x.digest})
			if err == nil {
				p.Close()
			}
			f := fault{kind: x.kind, says: x.says}
			f.check(t, err, x.path, "")
		})
	}
	t.Run("right digest", func(t *testing.T) {
		digest, err := host.Digest(good)
		if err != nil {
			t.Fatal(err)
		}
		open(t, good, host.Options{Digest: digest})
	})
}

func TestCancel(t *testing.T) {
	for _, name := range []string{"hangs", "deaf", "stopped"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := misbehaving(t, name)
			p := open(t, path, host.Options{Limits: limits(nil)})
			cause := errors.New("the user lost interest")
			ctx, cancel := context.WithCancelCause(context.Background())
			time.AfterFunc(100*time.Millisecond, func() { cancel(cause) })
			_, err := p.RunPass(ctx, "pass", nil, load(t, "linear-relu.loom.json"))
			if !errors.Is(err, cause) {
				t.Errorf("the error is %v", err)
			}
			p.Close()
			gone(t, path)
		})
	}
}

// TestOffspring checks that what a plugin starts ends with it, also after a good answer.
func TestOffspring(t *testing.T) {
	t.Parallel()
	path := misbehaving(t, "forks")
	p := open(t, path, host.Options{Limits: limits(nil)})
	if _, err := p.RunPass(context.Background(), "pass", nil, load(t, "linear-relu.loom.json")); err != nil {
		t.Fatal(err)
	}
	if left := running(path); len(left) != 2 {
		t.Errorf("%d processes run, not the plugin and its child", len(left))
	}
	p.Close()
	gone(t, path)
}

func TestUnusualButGood(t *testing.T) {
	for _, name := range []string{"good", "prints-to-stdout", "early"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := open(t, misbehaving(t, name), host.Options{Limits: limits(nil)})
			for range 2 {
				if _, err := p.RunPass(context.Background(), "pass", nil, load(t, "linear-relu.loom.json")); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

func TestReports(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var steps []string
	log := &strings.Builder{}
	p := open(t, misbehaving(t, "reports"), host.Options{Limits: limits(nil), Log: textLog(log),
		Progress: func(plugin, part string, done, total uint64, text string) {
			mu.Lock()
			defer mu.Unlock()
			steps = append(steps, plugin+"/"+part+"/"+text)
			if total != 5 {
				t.Errorf("total is %d", total)
			}
		}})
	a, err := p.RunPass(context.Background(), "pass", []pipeline.Setting{{Name: "at", Value: "x"}}, load(t, "linear-relu.loom.json"))
	if err != nil {
		t.Fatal(err)
	}
	if len(a.Found) != 2 || a.Found[0].Severity != diag.Warning || a.Found[0].Constraint != "misbehave" {
		t.Fatalf("found %v", a.Found)
	}
	at := a.Found[0].Location
	if at.File != "linear-relu.loom.json" || at.Line == 0 || at.Pointer != "/nodes/5/body/kernel" || !strings.Contains(at.Node, "linear") {
		t.Errorf("the location is %+v", at)
	}
	if strings.Contains(a.Found[0].Message, "\x1b") {
		t.Error("a control character came through")
	}
	mu.Lock()
	defer mu.Unlock()
	if len(steps) < 2 || steps[0] != "misbehave/pass pass/steps" {
		t.Errorf("progress is %v", steps)
	}
	if text := log.String(); !strings.Contains(text, `level=INFO msg="half way"`) || !strings.Contains(text, "a=1 g.b=two") {
		t.Errorf("the log is %s", text)
	}
}
