package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"tensortapestry.org/tapc/backends"
	"tensortapestry.org/tapc/cmd/tapc/app"
	"tensortapestry.org/tapc/cmd/tapc/compiling"
	"tensortapestry.org/tapc/cmd/tapc/flagnames"
	"tensortapestry.org/tapc/cmd/tapc/outputflags"
	"tensortapestry.org/tapc/cmd/tapc/portfiles"
	"tensortapestry.org/tapc/cmd/tapc/signals"
	"tensortapestry.org/tapc/ir/diag"
)

const runHelp = `Compile a graph file and run it, in one step.

Inputs come from .npy, .npz, .safetensors or .pb files (a tensor as ONNX has it), or at
random; outputs go to files of the same kinds or, without --output, to the terminal.
Sizes that a model leaves open are those of the tensors in these files; --dim gives others.
Without a C compiler on the machine the reference evaluator computes the values, slowly,
and a line on standard error says so.

With --cc a compiler for other machines can be named, and with --runner what runs its
programs here.`

// runFlags are the flags that go on to the program.
type runFlags struct {
	inputs  []string
	outputs []string
	random  int64
	bench   int
	on      struct {
		threads int
		pin     bool
	}
	runner string // the command that runs programs; "" for none
	given  func(flag string) bool
}

func runCommand(a *app.App) *cobra.Command {
	c := &cobra.Command{Use: "run FILE --input NAME=FILE.npy --output NAME=FILE.npy", Short: "Compile a graph file and run it", Long: runHelp,
		Args: app.NeedFiles(1, 1),
		Example: "  tapc run model.loom.json --input x=x.npy --output y=y.npy\n  tapc run model.loom.json --random 1\n" +
			"  tapc run model.tap --cc=aarch64-linux-gnu-gcc --runner='qemu-aarch64 -L /usr/aarch64-linux-gnu' --random 1"}
	f := compiling.AddFlags(a, c)
	r := &runFlags{given: c.Flags().Changed}
	c.Flags().StringArrayVar(&r.inputs, "input", nil, "input NAME=FILE, or FILE for all inputs by name (repeatable)")
	c.Flags().StringArrayVar(&r.outputs, "output", nil, "write an output to NAME=FILE, or all outputs to FILE.npz or FILE.safetensors (repeatable)")
	c.Flags().Int64Var(&r.random, "random", 0, "fill inputs that are not given at random, from this seed")
	c.Flags().IntVar(&r.bench, "bench", 0, "run this many times and print the times")
	c.Flags().IntVar(&r.on.threads, "threads", 0, "threads to run on (default: all cores)")
	c.Flags().BoolVar(&r.on.pin, "pin", false, "bind each thread to a core")
	c.Flags().StringVar(&r.runner, "runner", "", "command that runs the program, where this machine does not by itself: an emulator, with arguments behind its name")
	flagnames.Entries(c.Flags(), "input", "output")
	flagnames.Files(c.Flags(), flagnames.Written, "output")
	flagnames.Texts(c.Flags(), "runner")
	reference := c.Flags().Bool("reference", false, "compute with the reference evaluator")
	return a.Command(c, func(ctx context.Context, args []string) error { return runGraph(ctx, a, args[0], f, r, *reference) })
}

// runnable is the output of back ends that can be executed.
const runnable = "exe"

func runGraph(ctx context.Context, a *app.App, file string, f *compiling.Flags, r *runFlags, reference bool) error {
	runner, err := r.command()
	err = app.FirstError(err, flagnames.Apart(r.given, "reference", "which makes no program", "threads", "pin", "runner", "bench", "cc", "cpu", "weights", "tuned"))
	if err != nil {
		return err
	}
	if err := f.Begin(ctx); err != nil {
		return err
	}
	goal, err := compiling.NewGoal(ctx, a, f, runnable, true)
	if err != nil {
		return err
	}
	machine, lacks := goal.Output.Tools(ctx, goal.Values)
	if cause := signals.Of(ctx); cause != nil {
		return cause
	}
	f.Passes.Report.Later = lacks == nil && !reference
	var missing *backends.Missing
	switch {
	case reference:
	case errors.As(lacks, &missing):
		fmt.Fprintf(a.Stderr, "tapc: no %s on this machine: computing with the reference evaluator\n", missing.What)
	case lacks != nil:
		return lacks
	}
	a.Imports.Files = r.inputs
	c, err := compiling.Sizes(ctx, a, file, f, goal)
	if err != nil {
		return err
	}
	defer c.Close()
	dir, remove, err := app.Temporary()
	if err != nil {
		return err
	}
	defer remove()
	args, written, err := portfiles.Named(c.Graph, c.Loader)
	if err = app.FirstError(err, keepInputs(a, r, c.DataFiles(), written)); err != nil {
		return err
	}
	files, err := portfiles.Convert(dir, r.inputs, r.outputs)
	if err != nil {
		return err
	}
	r.inputs, r.outputs = files.Inputs, files.Outputs
	if lacks != nil || reference {
		if c.Sizes != nil {
			return diag.Usage("--dim: the reference evaluator takes one size of each dimension")
		}
		if err := evaluate(ctx, a, c, r); err != nil {
			return err
		}
		return files.Finish()
	}
	program := filepath.Join(dir, outputflags.ProgramName(file))
	if err := c.Make(ctx, goal, file, program); err != nil {
		return err
	}
	err = executeProgram(ctx, a, slices.Concat(runner, []string{program}, r.args(), args))
	if errors.Is(err, syscall.ENOEXEC) {
		return diag.Usage("the program is for %s, which this machine does not run: name what does, such as --runner='qemu-aarch64 -L /usr/aarch64-linux-gnu'", machine)
	}
	if err != nil {
		return err
	}
	return files.Finish()
}

// keepInputs refuses outputs in the place of files that are read; written are those that the graph names.
func keepInputs(a *app.App, r *runFlags, read, written []string) error {
	for _, x := range r.inputs {
		file, _, _ := portfiles.CutKey(fileOf(x))
		read = append(read, file)
	}
	for _, x := range r.outputs {
		written = append(written, fileOf(x))
	}
	for _, file := range written {
		if err := a.NotRead(file, read...); err != nil {
			return err
		}
	}
	return nil
}

// fileOf gives the file of NAME=FILE, or of FILE alone.
func fileOf(text string) string {
	if _, file, ok := strings.Cut(text, "="); ok {
		return file
	}
	return text
}

// args gives the program's command line.
func (r *runFlags) args() []string {
	var args []string
	for _, x := range r.inputs {
		args = append(args, "--input", x)
	}
	for _, x := range r.outputs {
		flag := "--output"
		if !strings.Contains(x, "=") {
			flag = "--outputs"
		}
		args = append(args, flag, x)
	}
	if r.given("random") {
		args = append(args, "--random", strconv.FormatInt(r.random, 10))
	}
	if r.given("bench") {
		args = append(args, "--bench", strconv.Itoa(r.bench))
	}
	if r.given("threads") {
		args = append(args, "--threads", strconv.Itoa(r.on.threads))
	}
	if r.on.pin {
		args = append(args, "--pin")
	}
	return args
}

// command gives the words of the command that runs programs.
func (r *runFlags) command() ([]string, error) {
	words := strings.Fields(r.runner)
	if len(words) == 0 {
		return nil, nil
	}
	path, err := exec.LookPath(words[0])
	if err != nil {
		return nil, diag.Usage("--runner: %v", err)
	}
	return append([]string{path}, words[1:]...), nil
}

// execute runs a command with tapc's own streams; its exit status becomes tapc's.
func executeProgram(ctx context.Context, a *app.App, command []string) error {
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Cancel = func() error { return cmd.Process.Signal(signals.Received(ctx)) } // it stays in the terminal's group: it may read from there
	cmd.WaitDelay = 2 * time.Second
	cmd.Stdin, cmd.Stdout, cmd.Stderr = a.Stdin, a.Stdout, a.Stderr
	return exited(ctx, cmd.Run())
}

// exited makes tapc's exit status of that of a command.
func exited(ctx context.Context, err error) error {
	var exit *exec.ExitError
	switch {
	case context.Cause(ctx) != nil:
		return context.Cause(ctx)
	case errors.As(err, &exit) && exit.ExitCode() > 0:
		return &diag.StatusError{Status: exit.ExitCode(), Err: app.Reported{}}
	case err != nil:
		return diag.Fault("the program: %w", err)
	}
	return nil
}
