//go:build unix

package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"tensortapestry.org/tapc/backends/cpu/toolchain"
	"tensortapestry.org/tapc/cmd/tapc/app"
	"tensortapestry.org/tapc/cmd/tapc/graphfiles"
	"tensortapestry.org/tapc/internal/filecache"
	"tensortapestry.org/tapc/internal/testkit"
)

// slowCompiler is a compiler's driver that leaves a temporary file and waits for a child that does not mind being told to end.
const slowCompiler = `#!/bin/sh
case $1 in --version) echo slow 1; exit ;; -dumpmachine) exit ;; esac
touch "${TMPDIR:-/tmp}/ccXXXX.s"
sh -c 'trap "" TERM INT HUP; echo $$ >> "$PIDS"; touch "$STARTED"; while :; do sleep 1; done' &
wait
`

// slowly makes that compiler the one that tapc finds, and gives its folder for temporary files and the file with its children's numbers.
func slowly(t *testing.T) (dir, pids string) {
	t.Helper()
	dir = t.TempDir()
	cc, pids := filepath.Join(t.TempDir(), "cc"), filepath.Join(t.TempDir(), "pids")
	if err := os.WriteFile(cc, []byte(slowCompiler), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{"CC": cc, "PIDS": pids, "TMPDIR": dir, filecache.Variable: "off"} {
		t.Setenv(name, value)
	}
	return dir, pids
}

// A build is cut short while the compiler's child hangs: nothing of it is alive, and nothing is left.
func TestSignalsEndTheCompiler(t *testing.T) {
	cpus := map[os.Signal]string{os.Interrupt: "baseline", syscall.SIGTERM: "native", syscall.SIGHUP: "portable"} // asked about native, it waits there
	for s, want := range map[os.Signal]int{os.Interrupt: 130, syscall.SIGTERM: 143, syscall.SIGHUP: 129} {
		if ignored(t, s) {
			continue
		}
		dir, pids := slowly(t)
		began := time.Now()
		status, stderr := interrupt(t, s, dir, "build", "--cpu="+cpus[s], example, "-o", filepath.Join(dir, "out"))
		if status != want || !strings.HasSuffix(stderr, "; nothing was written\n") || time.Since(began) > 30*time.Second {
			t.Errorf("%v: status %d, want %d: %s", s, status, want, stderr)
		}
		if names, _ := os.ReadDir(dir); len(names) != 1 || names[0].Name() != "started" {
			t.Errorf("%v: left behind: %v", s, names)
		}
		noneAlive(t, pids)
	}
}

// A measurement ends with the compiler that it waits for, and takes away what that compiler's tapc had; what fails is the machine's fault.
func TestSignalsEndCalibration(t *testing.T) {
	if runtime.GOOS != "linux" || ignored(t, os.Interrupt) {
		t.Skip("calibrate works on Linux")
	}
	dir, pids := slowly(t)
	if status, stderr := interrupt(t, os.Interrupt, dir, "calibrate", "-o", filepath.Join(dir, "out")); status != 130 || !strings.HasSuffix(stderr, "; nothing was written\n") {
		t.Errorf("status %d: %s", status, stderr)
	}
	if names, _ := os.ReadDir(dir); len(names) != 1 || names[0].Name() != "started" {
		t.Errorf("left behind: %v", names)
	}
	noneAlive(t, pids)

	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := command(t, self, "calibrate")
	cmd.Env = append(os.Environ(), asTapc+"=1", "CC="+filepath.Join(dir, "none"))
	out, _ := cmd.CombinedOutput()
	if want := "no C compiler found"; cmd.ProcessState.ExitCode() != 3 || !strings.Contains(string(out), want) || strings.Count(string(out), "error: ") != 1 {
		t.Errorf("status %d, expected 3 and one error of %q: %s", cmd.ProcessState.ExitCode(), want, out)
	}
}

// A program that waits for more of a graph on standard input ends at an interrupt.
func TestSignalsEndReading(t *testing.T) {
	for s, want := range map[os.Signal]int{os.Interrupt: 130, syscall.SIGTERM: 143} {
		if ignored(t, s) {
			continue
		}
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		cmd := command(t, self, "verify", "-")
		cmd.Env = append(os.Environ(), asTapc+"=1")
		var errs bytes.Buffer
		cmd.Stderr = &errs
		in, err := cmd.StdinPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		if _, err := in.Write(bytes.Repeat([]byte("\n"), 1<<20)); err != nil { // more than a pipe holds: it is reading
			t.Error(err)
		}
		cmd.Process.Signal(s)
		state, err := cmd.Process.Wait() // the pipe stays open
		in.Close()
		cmd.Wait()
		if err != nil || state.ExitCode() != want || !strings.HasSuffix(errs.String(), "; nothing was written\n") {
			t.Errorf("%v: %v, %v, want status %d: %s", s, state, err, want, errs.String())
		}
	}
}

// counting is a context that says how often it is asked whether it has ended.
type counting struct {
	context.Context
	asked atomic.Int64
}

func (c *counting) Err() error {
	c.asked.Add(1)
	return c.Context.Err()
}

// Reading a foreign graph asks for an interrupt at every operation.
func TestReadingAsksForInterrupts(t *testing.T) {
	const n = 300
	var b strings.Builder
	b.WriteString("tapc 1\n%x0 = tensor float32 [0:2]\n")
	for i := range n {
		fmt.Fprintf(&b, "%%x%d = tensor float32 [0:2]\noperation op:relu (tensor: %%x%d) -> (result: %%x%d)\n", i+1, i, i+1)
	}
	chain := filepath.Join(t.TempDir(), "chain.yaml")
	if status, _, errs := tapc(t, "", "translate", "--to=amanda", "--into", "onnx/17", write(t, "chain.tap", b.String()), "-o", chain); status != 0 {
		t.Fatal(errs)
	}
	c := &counting{Context: t.Context()}
	if _, err := graphfiles.Load(c, app.New(strings.NewReader(""), io.Discard, io.Discard), chain); err != nil {
		t.Fatal(err)
	}
	if asked := c.asked.Load(); asked < n {
		t.Errorf("asked %d times for %d operations", asked, n)
	}
}

// ignored says whether a signal can not be tested, as it is ignored here, and so by what is started: nohup does that, and shells for what
// they start in the background.
func ignored(t *testing.T, s os.Signal) bool {
	t.Helper()
	if signal.Ignored(s) {
		t.Logf("%v is ignored here, and not tested", s)
		return true
	}
	return false
}

// noneAlive is a fault if a process of a list is there and more than its exit status.
func noneAlive(t *testing.T, pids string) {
	t.Helper()
	text, err := os.ReadFile(pids)
	if err != nil {
		t.Fatal(err)
	}
	for _, field := range strings.Fields(string(text)) {
		pid, err := strconv.Atoi(field)
		if err != nil {
			t.Fatal(err)
		}
		stat, _ := os.ReadFile("/proc/" + field + "/stat")
		if syscall.Kill(pid, 0) == nil && !bytes.Contains(stat, []byte(") Z ")) {
			t.Errorf("process %d is alive", pid)
			syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

// A program is ended while it writes a large output, by each signal that ends programs: nothing is left, whether the system makes files
// without names or, as behind many outputs, a handler removes them.
func TestSignalsLeaveNoParts(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs /proc to see what a program writes")
	}
	_, err := toolchain.FindCompiler(t.Context())
	testkit.Need(t, testkit.Compilers, err)
	for before, signals := range map[int][]syscall.Signal{0: {syscall.SIGTERM, syscall.SIGKILL}, 40: {syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP}} {
		graph := "tapc 1\n%a = tensor float32 [0:1]\n%x = tensor float32 [0:16000000]\n"
		for i := range before {
			graph += fmt.Sprintf("%%o%d = tensor float32 [0:1]\noperation op:neg (tensor: %%a) -> (result: %%o%d)\n", i, i)
		}
		graph += "%y = tensor float32 [0:16000000]\noperation op:neg (tensor: %x) -> (result: %y)\n"
		program := filepath.Join(t.TempDir(), "program")
		if status, _, errs := tapc(t, "", "build", "--cpu=baseline", write(t, "large.tap", graph), "-o", program); status != 0 {
			t.Fatal(errs)
		}
		for _, s := range signals {
			if !ignored(t, s) {
				endWriting(t, program, before, s)
			}
		}
	}
}

// endWriting starts a program and ends it while it writes its large output.
func endWriting(t *testing.T, program string, before int, s syscall.Signal) {
	t.Helper()
	for range 5 {
		dir := t.TempDir()
		args := []string{"--random", "1", "--output", "y=" + filepath.Join(dir, "y.npz")}
		for i := range before {
			args = append(args, "--output", fmt.Sprintf("o%d=%s", i, filepath.Join(dir, fmt.Sprintf("o%d.npz", i))))
		}
		cmd := command(t, program, args...)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		nameless := untilWriting(cmd.Process.Pid, dir)
		cmd.Process.Signal(s) // it may have ended
		cmd.Wait()
		if cmd.ProcessState.Success() {
			continue // too late
		}
		if w, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || w.Signal() != s {
			t.Errorf("%v: ended with %v", s, cmd.ProcessState)
		}
		if names, _ := os.ReadDir(dir); len(names) != 0 && (s != syscall.SIGKILL || nameless) {
			t.Errorf("%v, %d outputs before: left behind: %v", s, before, names)
		}
		return
	}
	t.Errorf("%v: the program always ended before it was signalled", s)
}

// untilWriting waits until a process has written a megabyte to a file of a folder, or has ended, and says whether that file is without a name.
func untilWriting(pid int, dir string) (nameless bool) {
	fds := fmt.Sprintf("/proc/%d/fd", pid)
	for range 20000 {
		list, err := os.ReadDir(fds)
		if err != nil {
			return false
		}
		for _, fd := range list {
			at, err := os.Readlink(filepath.Join(fds, fd.Name()))
			if err != nil || !strings.HasPrefix(at, dir+"/") {
				continue
			}
			if info, err := os.Stat(filepath.Join(fds, fd.Name())); err == nil && info.Size() > 1<<20 {
				return strings.HasSuffix(at, " (deleted)")
			}
		}
		time.Sleep(time.Millisecond)
	}
	return false
}
