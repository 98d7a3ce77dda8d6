package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"slices"

	"github.com/spf13/cobra"

	"tensortapestry.org/tapc/cmd/tapc/flagfiles"
	"tensortapestry.org/tapc/cmd/tapc/signals"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/diag"
)

// app is one run of tapc: its streams, the files it has read and what it has found.
type app struct {
	stdin   io.Reader
	stdout  *output
	stderr  io.Writer
	args    []string
	started bool // a command's own code has begun, so errors are not the command line's
	reporting
	tuned   bool // garbage is collected as memory.go says
	origins map[*ir.Graph]origin
	plugins pluginSet
	imports importFlags
	// kernelFiles are those of --kernels.
	kernelFiles []string
}

// reporting is the diagnostics of a run, and what is needed to show them.
type reporting struct {
	format  string            // of diagnostics
	held    diag.List         // those that are written at the end
	sources map[string]source // files that were read, for excerpts
}

func newApp(stdin io.Reader, stdout, stderr io.Writer) *app {
	return &app{stdin: stdin, stdout: newOutput(stdout), stderr: stderr, reporting: reporting{format: "text", sources: map[string]source{}},
		origins: map[*ir.Graph]origin{}}
}

// main runs the command line and gives the exit status.
func (a *app) main(args []string) int {
	ctx, stop := signals.Context()
	defer stop()
	defer a.plugins.stop()
	a.args = args
	root := a.root()
	root.SetArgs(args)
	err := execute(ctx, root)
	if !a.started && err != nil {
		err = usageError(err)
	}
	err = signals.Cut(ctx, err)
	if flushErr := a.stdout.finish(); err == nil && flushErr != nil {
		err = diag.Fault("standard output: %w", flushErr)
	}
	return a.finish(err)
}

// execute runs the command line. A panic, which nothing in the input may cause, becomes a fault with its stack.
func execute(ctx context.Context, root *cobra.Command) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = diag.Fault("internal error: %v; please report it with the input and what follows\n%s", p, debug.Stack())
		}
	}()
	return root.ExecuteContext(ctx)
}

// finish reports an error and everything held back, and gives the exit status.
func (a *app) finish(err error) int {
	endProgress(a, err == nil)
	status := statusOf(err)
	var done errReported
	if err != nil && !errors.As(err, &done) {
		a.report(signals.Reported(err))
	}
	if flushErr := a.flush(); flushErr != nil && status == diag.ExitOK {
		return diag.ExitInternal
	}
	return status
}

func statusOf(err error) int {
	if status := signals.Status(err); status != 0 {
		return status
	}
	return diag.ExitStatus(err)
}

// usageError marks an error of the command line.
func usageError(err error) error {
	var s *diag.StatusError
	if errors.As(err, &s) {
		return err
	}
	return &diag.StatusError{Status: diag.ExitUsage, Err: err}
}

// command completes a command: errors of run count as errors of its work, not of the command line.
func (a *app) command(c *cobra.Command, run func(ctx context.Context, args []string) error) *cobra.Command {
	c.RunE = func(cmd *cobra.Command, args []string) error {
		a.started = true
		if err := flagfiles.Check(cmd.Flags(), args); err != nil {
			return err
		}
		return run(cmd.Context(), args)
	}
	c.DisableFlagsInUseLine = true
	return c
}

// needFiles says how many files a command takes; more than one if most is 0.
func needFiles(least, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case slices.Contains(args, ""):
			return diag.Usage("%s: the name of a file is empty", cmd.CommandPath())
		case len(args) < least:
			return diag.Usage("%s needs a file (%q is standard input); see %s --help", cmd.CommandPath(), stdName, cmd.CommandPath())
		case most > 0 && len(args) > most:
			return diag.Usage("%s takes %d file%s, not also %q", cmd.CommandPath(), most, "s"[:min(most-1, 1)], args[most])
		}
		return nil
	}
}

// output is a buffered stream that remembers its first error.
type output struct{ *bufio.Writer }

func newOutput(w io.Writer) *output { return &output{bufio.NewWriterSize(w, 1<<16)} }

func (o *output) finish() error { return o.Flush() }

// printf writes to standard output; an error shows at the end of the run.
func (a *app) printf(format string, args ...any) { fmt.Fprintf(a.stdout, format, args...) }
