// Package app is one run of tapc, which every command is given: its streams, diagnostics and exit status, the files that it read and writes, the plugins and
// kernels that it knows, and tapc's own passes and back ends (table.go). It knows no command, no form of a graph's file and no pipeline. It must not import
// cmd/tapc or what reads and compiles graphs. Read next: app.go, report.go, plugin.go.
package app

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"tensortapestry.org/tapc/cmd/tapc/content"
	"tensortapestry.org/tapc/cmd/tapc/flagfiles"
	"tensortapestry.org/tapc/cmd/tapc/importflags"
	"tensortapestry.org/tapc/cmd/tapc/progress"
	"tensortapestry.org/tapc/cmd/tapc/signals"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/diag"
)

// App is one run of tapc: its streams, the files it has read and what it has found.
type App struct {
	Stdin       io.Reader
	Stdout      *output
	Stderr      io.Writer
	Args        []string
	Started     bool              // a command's own code has begun, so errors are not the command line's
	Format      string            // of diagnostics
	held        diag.List         // diagnostics that are written at the end
	Sources     map[string]Source // files that were read, for excerpts
	Origins     map[*ir.Graph]Origin
	Tuned       bool // garbage is collected as content.CollectWhileReading says
	Plugins     pluginSet
	Imports     importflags.Flags
	KernelFiles []string // those of --kernels
}

// New begins a run.
func New(stdin io.Reader, stdout, stderr io.Writer) *App {
	return &App{Stdin: stdin, Stdout: newOutput(stdout), Stderr: stderr, Format: "text", Sources: map[string]Source{},
		Origins: map[*ir.Graph]Origin{}}
}

// Finish reports an error and everything held back, and gives the exit status.
func (a *App) Finish(err error) int {
	a.EndProgress(err == nil)
	status := statusOf(err)
	var done Reported
	if err != nil && !errors.As(err, &done) {
		a.Report(signals.Reported(err))
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

// UsageError marks an error of the command line.
func UsageError(err error) error {
	var s *diag.StatusError
	if errors.As(err, &s) {
		return err
	}
	return &diag.StatusError{Status: diag.ExitUsage, Err: err}
}

// Command completes a command: errors of run count as errors of its work, not of the command line.
func (a *App) Command(c *cobra.Command, run func(ctx context.Context, args []string) error) *cobra.Command {
	c.RunE = func(cmd *cobra.Command, args []string) error {
		a.Started = true
		if err := flagfiles.Check(cmd.Flags(), args); err != nil {
			return err
		}
		return run(cmd.Context(), args)
	}
	c.DisableFlagsInUseLine = true
	return c
}

// output is a buffered stream that remembers its first error.
type output struct{ *bufio.Writer }

func newOutput(w io.Writer) *output { return &output{bufio.NewWriterSize(w, 1<<16)} }

// Finish writes what is buffered.
func (o *output) Finish() error { return o.Flush() }

// Printf writes to standard output; an error shows at the end of the run.
func (a *App) Printf(format string, args ...any) { fmt.Fprintf(a.Stdout, format, args...) }

// Source is a file that was read, and what excerpts of it need.
type Source struct {
	Text         *content.Content
	Binary, Loom bool // whether it has no lines, and whether JSON pointers have places in it
}

// Origin is where a graph came from: its file's directory, and how to read it once more.
type Origin struct {
	Dir   string
	Again func() (*ir.Graph, error)
}

// EndProgress takes a meter away from standard error.
func (a *App) EndProgress(done bool) {
	if m, ok := a.Stderr.(*progress.Meter); ok {
		a.Stderr = m.End(done)
	}
}
