// Package trial is a program of one kernel: how long it takes, and what it computes. What such programs are built for is in backends/tune.
package trial

import (
	"context"
	"fmt"
	"os"
	"strconv"

	"tensortapestry.org/tapc/backends"
	"tensortapestry.org/tapc/cost/calibrate"
	"tensortapestry.org/tapc/internal/childproc"
	"tensortapestry.org/tapc/ir/tensorfile"
)

// Program is a file that can be run.
type Program struct {
	Path    string
	Threads int // that it runs on
	runs    int // of one measurement
}

// perRun is how long a measurement takes at least, in seconds, but for the fewest runs.
const (
	perRun    = 0.015
	fewest    = 3
	mostRuns  = 20000
	firstRuns = 5
)

// Time gives the 10th percentile of some runs in a process of its own.
func (p *Program) Time(ctx context.Context) (float64, error) {
	if p.runs == 0 {
		t, err := p.time(ctx, firstRuns)
		if err != nil {
			return 0, err
		}
		p.runs = min(max(fewest, int(perRun/max(t, 1e-9))), mostRuns)
	}
	return p.time(ctx, p.runs)
}

func (p *Program) time(ctx context.Context, runs int) (float64, error) {
	t, err := calibrate.Time(ctx, p.Path, runs, int64(p.Threads))
	if err != nil {
		if ended := context.Cause(ctx); ended != nil {
			return 0, ended
		}
		return 0, fmt.Errorf("%w: %w", backends.ErrNoMeasure, err)
	}
	return t, nil
}

// Remove removes the program.
func (p *Program) Remove() { os.Remove(p.Path) }

// Values runs the program once, on inputs at random. What it does not write has the same bytes in every program.
func (p *Program) Values(ctx context.Context) (map[string]tensorfile.Tensor, error) {
	file := p.Path + ".safetensors"
	defer os.Remove(file)
	cmd := childproc.Command(ctx, p.Path, "--random", "1", "--threads", strconv.Itoa(p.Threads), "--outputs", file)
	cmd.Env = append(os.Environ(), "TAPC_MEMORY=poison")
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("the program failed: %v: %s", err, out)
	}
	f, err := tensorfile.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	values := map[string]tensorfile.Tensor{}
	for _, t := range f.Tensors() {
		if values[t.Name], err = f.Load(t.Name); err != nil {
			return nil, err
		}
	}
	return values, nil
}
