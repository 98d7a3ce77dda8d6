package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"tensortapestry.org/tapc/tools/gengraph/gen"
)

// runner is a program in the race, with its measurements of the module at hand.
type runner struct {
	name   string
	input  string
	format string
	args   func(input string) []string
	env    []string

	seconds, cpu, mib []float64 // wall-clock and processor's time, and peak memory, of each run
}

// race generates the module of n operations for every runner and takes the rounds.
func (s *settings) race(ctx context.Context, dir string, n int, rs []*runner) error {
	for _, r := range rs {
		r.seconds, r.cpu, r.mib = nil, nil, nil
		if err := s.generate(filepath.Join(dir, r.input), r.format, n); err != nil {
			return err
		}
	}
	for range s.rounds {
		for _, r := range rs {
			if err := r.once(ctx, filepath.Join(dir, r.input)); err != nil {
				return err
			}
		}
	}
	return nil
}

// generate writes a module.
func (s *settings) generate(path, format string, n int) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	sink, err := gen.NewSink(format, f)
	if err != nil {
		return err
	}
	if err := gen.Generate(gen.Options{Shape: s.shape, Ops: n, Seed: 1}, sink); err != nil {
		return err
	}
	return f.Close()
}

// once runs the program and notes its time and its peak resident set. (The kernel counts this process's own size at the
// moment of the fork in, which is kept small by writing modules as streams.)
func (r *runner) once(ctx context.Context, input string) error {
	args := r.args(input)
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Env = append(os.Environ(), r.env...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	start := time.Now()
	err := cmd.Run()
	took := time.Since(start)
	if err != nil {
		text := out.String()
		return fmt.Errorf("%s: %w: %s", strings.Join(args, " "), err, text[:min(len(text), 2000)])
	}
	usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok {
		return fmt.Errorf("this system does not say how much memory a process took")
	}
	r.seconds = append(r.seconds, took.Seconds())
	r.cpu = append(r.cpu, (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds())
	r.mib = append(r.mib, float64(usage.Maxrss)/1024)
	return nil
}

// median of at least one number; of an even count the lower of the two in the middle.
func median(xs []float64) float64 {
	s := slices.Sorted(slices.Values(xs))
	return s[(len(s)-1)/2]
}
