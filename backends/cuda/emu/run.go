package emu

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"tensortapestry.org/tapc/internal/cudashim/launchlist"
)

// Settings are the choices of a run.
type Settings struct {
	Seed               uint64 // not 0: permutes the order of threads at every switch, and of blocks
	ExitedPassBarriers bool   // a thread that has returned counts as having reached every barrier, as on real devices
	Stack              int    // bytes of a thread's stack; 64 KiB by default
}

// Buffer is device memory that a run begins with and leaves behind.
type Buffer struct {
	Name string
	Data []byte // replaced by what the kernels left there
}

// Result is what a run printed and took.
type Result struct {
	Stdout       string    // what the kernels printed, at most 1 MiB of it
	Milliseconds []float64 // of each launch, in order; of the emulation, not of any GPU
}

// RunError is a mistake that a kernel made, or a launch that does not fit it.
type RunError struct {
	Message string // what the emulation, or a sanitizer, says of it
	Cause   error  // the context's error, if the run was stopped by it
}

// Error gives the message.
func (e *RunError) Error() string { return e.Message }

// Unwrap gives the context's error, if the run was stopped by it.
func (e *RunError) Unwrap() error { return e.Cause }

// Run performs the launches on buffers in memory, one after the other. Errors that a kernel or a
// launch is to blame for are *RunError. A kernel that never ends is stopped by ctx; the error then says
// which thread was running.
func (p *Program) Run(ctx context.Context, buffers []Buffer, launches []launchlist.Launch, s Settings) (Result, error) {
	dir, err := os.MkdirTemp(p.dir, "run-")
	if err != nil {
		return Result{}, err
	}
	defer os.RemoveAll(dir)
	todo := &launchlist.List{Version: launchlist.Version, Launches: launches}
	for i, b := range buffers {
		in := fmt.Sprintf("in%d", i)
		todo.Buffers = append(todo.Buffers, launchlist.Buffer{Name: b.Name, Bytes: int64(len(b.Data)), File: in})
		todo.Outputs = append(todo.Outputs, launchlist.Output{Buffer: b.Name, File: fmt.Sprintf("out%d", i)})
		if err := os.WriteFile(filepath.Join(dir, in), b.Data, 0o666); err != nil {
			return Result{}, err
		}
	}
	result, err := p.RunList(ctx, todo, dir, s)
	if err != nil {
		return result, err
	}
	for i := range buffers {
		if buffers[i].Data, err = os.ReadFile(filepath.Join(dir, todo.Outputs[i].File)); err != nil {
			return result, err
		}
	}
	return result, nil
}

// RunList performs a list's launches once; its module, warm-ups and repeats are not looked at. Paths
// are relative to dir. Outputs are written only if all went well. Errors that a kernel or a launch is
// to blame for are *RunError.
func (p *Program) RunList(ctx context.Context, todo *launchlist.List, dir string, s Settings) (Result, error) {
	if err := todo.Validate(); err != nil {
		return Result{}, err
	}
	work, err := os.MkdirTemp(p.dir, "launches-")
	if err != nil {
		return Result{}, err
	}
	defer os.RemoveAll(work)
	text, err := script(todo, dir, s)
	if err != nil {
		return Result{}, err
	}
	if err := os.WriteFile(filepath.Join(work, "script"), []byte(text), 0o666); err != nil {
		return Result{}, err
	}
	stdout, err := p.execute(ctx, work)
	if err != nil {
		return Result{Stdout: stdout}, err
	}
	times, err := readTimes(filepath.Join(work, "report"))
	if err != nil {
		return Result{Stdout: stdout}, err
	}
	for i, o := range todo.Outputs {
		data, err := os.ReadFile(filepath.Join(work, fmt.Sprintf("output%d", i)))
		if err == nil {
			err = launchlist.WriteFile(launchlist.Path(dir, o.File), data)
		}
		if err != nil {
			return Result{Stdout: stdout}, err
		}
	}
	return Result{Stdout: stdout, Milliseconds: times}, nil
}

// script writes a list in the statements of include/tapc_emu/runner.h.
func script(todo *launchlist.List, dir string, s Settings) (string, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "report report\nseed %d\n", s.Seed)
	if s.ExitedPassBarriers {
		b.WriteString("exited_pass_barriers 1\n")
	}
	if s.Stack > 0 {
		fmt.Fprintf(&b, "stack %d\n", s.Stack)
	}
	for _, buffer := range todo.Buffers {
		content := "poison"
		if buffer.File != "" {
			path, err := filepath.Abs(launchlist.Path(dir, buffer.File))
			if err != nil || strings.ContainsAny(path, "\n\r") {
				return "", fmt.Errorf("buffer %s: bad path %q", buffer.Name, buffer.File)
			}
			content = "file " + path
		} else if buffer.Byte != nil {
			content = fmt.Sprintf("byte %d", *buffer.Byte)
		}
		fmt.Fprintf(&b, "buffer %s %d %s\n", buffer.Name, buffer.Bytes, content)
	}
	for _, l := range todo.Launches {
		fmt.Fprintf(&b, "launch %s %d %d %d %d %d %d %d %d", l.Kernel, l.Grid[0], l.Grid[1], l.Grid[2],
			l.Block[0], l.Block[1], l.Block[2], l.Shared, len(l.Args))
		for _, a := range l.Args {
			b.WriteString(argument(a))
		}
		b.WriteString("\n")
	}
	for i, o := range todo.Outputs {
		fmt.Fprintf(&b, "output %s output%d\n", o.Buffer, i)
	}
	return b.String(), nil
}

func argument(a launchlist.Arg) string {
	letter := "u"
	switch a.Kind {
	case launchlist.KindBuffer:
		return fmt.Sprintf(" b %s %d", a.Buffer, a.Offset)
	case launchlist.KindI32, launchlist.KindI64:
		letter = "i"
	case launchlist.KindF32, launchlist.KindF64:
		letter = "f"
	}
	return fmt.Sprintf(" %s %d %x", letter, a.Size(), a.Bits)
}

// sanitizers make one report the end of the program.
const sanitizers = "halt_on_error=1:abort_on_error=0:exitcode=1:detect_leaks=0:print_summary=0:history_size=4"

func (p *Program) execute(ctx context.Context, work string) (stdout string, err error) {
	stdout, message, err := p.start(ctx, work, p.Path, "script")
	if err != nil && p.check == Race && strings.Contains(message, "unexpected memory mapping") {
		// The sanitizer wants fixed places for its shadow, which some kernels' address randomization takes.
		stdout, message, err = p.start(ctx, work, "setarch", "-R", p.Path, "script")
	}
	var exit *exec.ExitError
	switch {
	case err == nil:
		return stdout, nil
	case ctx.Err() != nil:
		return stdout, &RunError{Message: fmt.Sprintf("%v: %s", ctx.Err(), strings.TrimSpace(message)), Cause: ctx.Err()}
	case errors.As(err, &exit) && message != "":
		return stdout, &RunError{Message: strings.TrimSpace(strings.ReplaceAll(message, p.dir+"/", ""))}
	}
	return stdout, err
}

func (p *Program) start(ctx context.Context, work, name string, args ...string) (stdout, stderr string, err error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = work
	cmd.Env = append(os.Environ(), "ASAN_OPTIONS="+sanitizers, "TSAN_OPTIONS="+sanitizers, "UBSAN_OPTIONS="+sanitizers)
	var out, problems bounded
	cmd.Stdout, cmd.Stderr = &out, &problems
	// A program that is stopped says which thread was running.
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 2 * time.Second
	err = cmd.Run()
	return out.String(), problems.String(), err
}

// bounded keeps the first part of what a program prints: a kernel may print without end.
type bounded struct{ kept []byte }

const maxPrinted = 1 << 20

func (b *bounded) Write(p []byte) (int, error) {
	b.kept = append(b.kept, p[:min(maxPrinted-len(b.kept), len(p))]...)
	return len(p), nil
}

func (b *bounded) String() string { return string(b.kept) }

func readTimes(path string) ([]float64, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var times []float64
	for field := range strings.FieldsSeq(string(text)) {
		t, err := strconv.ParseFloat(field, 64)
		if err != nil {
			return nil, err
		}
		times = append(times, t)
	}
	return times, nil
}

// Number is a type of element that a device and this machine store alike.
type Number interface {
	~int8 | ~uint8 | ~int16 | ~uint16 | ~int32 | ~uint32 | ~int64 | ~uint64 | ~float32 | ~float64
}

// Bytes returns the elements as a device stores them.
func Bytes[T Number](values []T) []byte {
	data, err := binary.Append(nil, binary.LittleEndian, values)
	if err != nil {
		panic(err) // a Number always has a fixed size
	}
	return data
}

// Values is the inverse of Bytes; a last element that is not whole is left out.
func Values[T Number](data []byte) []T {
	var one T
	values := make([]T, len(data)/binary.Size(one))
	if _, err := binary.Decode(data, binary.LittleEndian, values); err != nil {
		panic(err) // the data are as long as the values
	}
	return values
}
