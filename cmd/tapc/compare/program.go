package compare

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"time"

	"tensortapestry.org/tapc/internal/childproc"
	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/ir/tensorfile"
)

// Program is an executable that tapc made.
type Program struct {
	Name    string // for people
	Path    string
	Dir     string // a folder for its files
	Threads int    // 0: all cores
	inputs  string // the file of its inputs
	runs    int    // of one measurement
}

// Give writes the inputs that the program runs on, under the names that it has for them.
func (p *Program) Give(inputs []Named) error {
	tensors := map[string]tensorfile.Tensor{}
	for _, x := range inputs {
		tensors[x.Name] = x.Tensor
	}
	if len(tensors) == 0 {
		return nil
	}
	p.inputs = filepath.Join(p.Dir, "inputs.safetensors")
	return tensorfile.WriteSafetensors(p.inputs, tensors)
}

// Title names the program.
func (p *Program) Title() string { return p.Name }

// Close does nothing: the program runs only while it is asked for something.
func (p *Program) Close() error { return nil }

// outputsFile is where one run's outputs are.
func (p *Program) outputsFile() string { return filepath.Join(p.Dir, "outputs.safetensors") }

// Values runs the program once.
func (p *Program) Values(ctx context.Context) (map[string]tensorfile.Tensor, error) {
	if _, err := p.run(ctx, nil, "--outputs", p.outputsFile()); err != nil {
		return nil, err
	}
	f, err := tensorfile.Open(p.outputsFile())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, diag.Usage("%s wrote no outputs: expected an executable that tapc made", p.Name)
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	out := map[string]tensorfile.Tensor{}
	for _, x := range f.Tensors() {
		if out[x.Name], err = f.Load(x.Name); err != nil {
			return nil, err
		}
	}
	return out, nil
}

var benchLine = regexp.MustCompile(`(?m)^bench: median ([0-9.e+-]+) ms`)

// Bench measures the program in a process of its own.
func (p *Program) Bench(ctx context.Context) (float64, error) {
	if p.runs == 0 {
		t, err := p.bench(ctx, leastRuns, nil)
		if err != nil {
			return 0, err
		}
		p.runs = runsFor(t)
	}
	return p.bench(ctx, p.runs, nil)
}

func (p *Program) bench(ctx context.Context, runs int, watch func(pid int)) (float64, error) {
	out, err := p.run(ctx, watch, "--bench", strconv.Itoa(runs))
	if err != nil {
		return 0, err
	}
	m := benchLine.FindSubmatch(out)
	if m == nil {
		return 0, diag.Fault("%s: --bench printed no time:\n%s", p.Name, out)
	}
	return strconv.ParseFloat(string(m[1]), 64)
}

// Once times a process with one run. Its memory is that of other ones, which run for long enough to be looked at.
func (p *Program) Once(ctx context.Context) (Usage, error) {
	begun := time.Now()
	if _, err := p.run(ctx, nil, "--outputs", p.outputsFile()); err != nil {
		return Usage{}, err
	}
	return Usage{Milliseconds: float64(time.Since(begun)) / 1e6}, nil
}

// Peak looks at the memory of processes, which know their own peak, until they are gone.
func (p *Program) Peak(ctx context.Context) (Usage, error) {
	u := Usage{}
	for range peakProcesses {
		_, err := p.bench(ctx, peakRuns, func(pid int) {
			for {
				now, err := peakOf(pid)
				if err != nil {
					return
				}
				u.Peak = max(u.Peak, now)
				time.Sleep(peakPace)
			}
		})
		if err != nil {
			return u, err
		}
	}
	return u, nil
}

// How the memory of processes is looked at: often enough for those that are soon over, and in several.
const (
	peakPace      = 100 * time.Microsecond
	peakProcesses = 5
	peakRuns      = leastRuns
)

// run runs the program and gives what it prints. watch, if there is one, looks at the process and returns when that is gone.
func (p *Program) run(ctx context.Context, watch func(pid int), args ...string) ([]byte, error) {
	if p.inputs != "" {
		args = append(args, "--input", p.inputs)
	}
	if p.Threads > 0 {
		args = append(args, "--threads", strconv.Itoa(p.Threads))
	}
	cmd := childproc.Command(ctx, p.Path, args...)
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Start(); err != nil {
		return nil, diag.Fault("%s: %w", p.Name, err)
	}
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		if watch != nil {
			watch(cmd.Process.Pid)
		}
	}()
	err := cmd.Wait()
	<-watched
	if cause := context.Cause(ctx); cause != nil {
		return nil, cause
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return nil, fmt.Errorf("%s: %v:\n%s", p.Name, err, bytes.TrimSpace(said.Bytes()))
	} else if err != nil {
		return nil, diag.Fault("%s: %w", p.Name, err)
	}
	return out.Bytes(), nil
}

// CheckProgram says what is wrong with the name of an executable.
func CheckProgram(path string) error {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		if near, ok := diag.Nearest(path, []string{Peer, Reference}); ok {
			return diag.NotKnown("--against: %v: did you mean %q?", err, near)
		}
		return diag.Usage("--against: %v: expected onnxruntime, reference or an executable that tapc made", err)
	case !info.Mode().IsRegular() || info.Mode()&0o111 == 0:
		return diag.Usage("--against: %s is no program: expected onnxruntime, reference or an executable that tapc made", path)
	}
	return nil
}
