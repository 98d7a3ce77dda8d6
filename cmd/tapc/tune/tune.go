// Package tune is the command `tapc tune`, and what --tuned does: it finds what a back end measures with and the cache, tunes the kernels of a schedule, and says what
// came of it. What is measured is decided in backends/tune, and how by labs of back ends. Read next: those.
package tune

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	"github.com/spf13/pflag"

	"tensortapestry.org/tapc/backends"
	"tensortapestry.org/tapc/backends/tune"
	"tensortapestry.org/tapc/dialects/schedule"
	"tensortapestry.org/tapc/internal/filecache"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/passes/pipeline"
)

// Help is the text of --help.
const Help = `Measure which configs carry out the kernels of a graph fastest on this machine, and keep
what is found in the cache, from which build --tuned and run --tuned take it.

Each kernel is built by itself, by what tapc explain kernel lists and by configs that differ
from the best so far in one field, and timed in turns with that until the difference is sure
or too small to matter. What the price says is cheapest is measured first. Programs whose
values differ in a bit are refused, unless --allow=reassociate. What was found once is not
measured again; an interrupted run goes on where it was. With --target=cuda kernels are
measured on the GPU, by tapc-cuda and nvcc. docs/tune.md has the rest.`

// Example is that of the command.
const Example = "  tapc tune model.onnx --time-budget=5m\n  tapc build model.onnx --tuned -o model\n  tapc tune model.onnx --target=cuda"

// All is the value of --tuned without one: programs run on all cores.
const All = "all"

// Flags are those of tapc tune.
type Flags struct {
	Budget  time.Duration
	Threads int
	All     bool
	Verbose bool
}

// Add adds the flags to a command.
func (f *Flags) Add(to *pflag.FlagSet) {
	to.DurationVar(&f.Budget, "time-budget", 0, "time that measuring takes, such as 30s or 10m; 0 is as long as there is something to measure")
	to.IntVar(&f.Threads, "threads", 0, "threads that programs run on (default: all cores)")
	to.BoolVar(&f.All, "all", false, "measure also what the price says is more than twice as slow")
}

// Check says what is wrong with the flags, beside one for --tuned.
func (f *Flags) Check(tuned string) error {
	switch {
	case tuned != "":
		return diag.Usage("--tuned is for what is built: tune begins with the defaults")
	case f.Budget < 0:
		return diag.Usage("--time-budget=%v: expected a time, or 0 for no end", f.Budget)
	case f.Threads < 0 || f.Threads > mostThreads:
		return diag.Usage("--threads=%d: expected a number of threads, at most %d, or 0 for one on each core", f.Threads, mostThreads)
	}
	return nil
}

// mostThreads bounds what flags ask for.
const mostThreads = 4096

// readThreads reads the value of --tuned; 0 is all cores.
func readThreads(text string) (int, error) {
	if text == All {
		return 0, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > mostThreads {
		return 0, diag.Usage("--tuned=%s: expected a number of threads that programs run on, at most %d, or nothing for all cores", text, mostThreads)
	}
	return n, nil
}

// CheckThreads says what is wrong with a value of --tuned.
func CheckThreads(text string) error {
	_, err := readThreads(text)
	return err
}

// Program is what kernels are tuned for.
type Program struct {
	Backend func() (*backends.Backend, error)
	Values  func(*backends.Backend) (pipeline.OptionValues, error) // of the options of its processors
	Warn    func(diag.Diagnostic)
}

// measured gives the back end, which measures kernels.
func (p *Program) measured() (*backends.Backend, error) {
	b, err := p.Backend()
	if err == nil && b.Lab == nil {
		err = diag.Usage("the back end %s does not measure kernels, as tune and --tuned need: expected another --target or --backend", b.Name)
	}
	return b, err
}

// lab finds what the back end measures with.
func (p *Program) lab(ctx context.Context, b *backends.Backend, threads int, dir string) (backends.Lab, error) {
	values, err := p.Values(b)
	if err != nil {
		return nil, err
	}
	l, err := b.Lab(ctx, backends.LabRequest{Values: values, Threads: threads, Dir: dir})
	return l, failed(err)
}

// Use gives the kernels of a graph what was found for them, and says what that changes; threads is the value of --tuned, "" for nothing. Kernels that nothing was
// found for keep their defaults.
func Use(ctx context.Context, g *ir.Graph, threads string, p Program, say io.Writer) error {
	switch {
	case threads == "":
		return nil
	case pipeline.StageOf(g) != pipeline.ScheduledKernels:
		return diag.Usage("--tuned goes with schedules, and what is made of them")
	}
	n, err := readThreads(threads)
	if err != nil {
		return err
	}
	b, err := p.measured()
	if err != nil {
		return err
	}
	l, err := p.lab(ctx, b, n, "")
	if err != nil {
		return err
	}
	cache, err := filecache.OpenTuned()
	if err != nil {
		_, err = fmt.Fprintf(say, "tapc: nothing is tuned, as there is no cache: %v\n", err)
		return err
	}
	defer cache.Close()
	list, err := tune.Kernels(g, tune.Settings{Store: cache, Warn: p.Warn, Lab: l})
	if err != nil {
		return failed(err)
	}
	tune.Apply(g, list)
	return tell(say, list)
}

// Run tunes the kernels of a graph.
func Run(ctx context.Context, g *ir.Graph, p Program, f Flags, out, log io.Writer) error {
	b, err := p.measured()
	if err != nil {
		return err
	}
	if !has(g, b) {
		return diag.Usage("the schedule has no kernels for the back end %s: expected --target of the device that they are for", b.Name)
	}
	dir, err := os.MkdirTemp("", "tapc-tune-")
	if err != nil {
		return diag.Fault("%w", err)
	}
	defer os.RemoveAll(dir)
	l, err := p.lab(ctx, b, f.Threads, dir)
	if err != nil {
		return err
	}
	cache, err := filecache.OpenTuned()
	if err != nil {
		return diag.Fault("what is measured is kept in the cache, and there is none: %w", err)
	}
	defer cache.Close()
	if err := wait(ctx, cache, log); err != nil {
		return err
	}
	t := &table{out: out, log: log}
	s := tune.Settings{Store: cache, Warn: p.Warn, Budget: f.Budget, All: f.All, Lab: l, Done: t.row,
		Trial: func(r *tune.Result, x tune.Trial) {
			if f.Verbose {
				fmt.Fprintf(log, "%s: %s\n", r.Kernel.Name, trial(x))
			}
		}}
	list, err := tune.Kernels(g, s)
	if err != nil {
		return failed(err)
	}
	t.begin(list, l.On())
	begun := time.Now()
	if err := tune.Run(ctx, list, s); err != nil {
		return failed(err)
	}
	return t.end(time.Since(begun))
}

// has says whether a graph has kernels for devices of a back end.
func has(g *ir.Graph, b *backends.Backend) bool {
	for n := range g.Nodes() {
		if k, ok := n.Body.(*schedule.Kernel); ok && b.Takes(g.Node(k.Device).Body.(*schedule.Device).Type) {
			return true
		}
	}
	return false
}

// wait waits until no other run measures: both would be disturbed, and each would write over what the other keeps.
func wait(ctx context.Context, cache *filecache.Cache, log io.Writer) error {
	for told := false; ; told = true {
		alone, err := cache.TryLock()
		switch {
		case err != nil:
			return diag.Fault("the lock of the cache: %w", err)
		case alone:
			return nil
		case !told:
			fmt.Fprintln(log, "tapc: another tapc tune measures: this one goes on when it has ended")
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// failed gives an error of measuring its status.
func failed(err error) error {
	if errors.Is(err, backends.ErrNoMeasure) {
		return diag.Fault("%w", err)
	}
	return err
}
