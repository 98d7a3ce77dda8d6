// Command tapc compiles tensor graph files to executables.
//
// This package lists the commands (table.go), each of which is a file of its own. What they share are packages below it: app (a run of tapc: streams,
// diagnostics, plugins, and the list of back ends), graphfiles (the forms of a graph's file) and compiling (flags and work of what compiles); passes/standard
// lists the passes. No other package may import it. Read next: table.go, then docs/cli.md.
package main

import (
	"context"
	"os"
	"runtime/debug"

	"github.com/spf13/cobra"

	"tensortapestry.org/tapc/cmd/tapc/app"
	"tensortapestry.org/tapc/cmd/tapc/content"
	"tensortapestry.org/tapc/cmd/tapc/signals"
	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/plugins/supervise"
)

func main() {
	supervise.Main() // does not return in a process that watches a plugin
	a := app.New(os.Stdin, os.Stdout, os.Stderr)
	a.Tuned = content.CollectWhileReading()
	os.Exit(runLine(a, os.Args[1:]))
}

// runLine runs the command line and gives the exit status.
func runLine(a *app.App, args []string) int {
	ctx, stop := signals.Context()
	defer stop()
	defer a.Plugins.Stop()
	a.Args = args
	root := root(a)
	root.SetArgs(args)
	err := execute(ctx, root)
	if !a.Started && err != nil {
		err = app.UsageError(err)
	}
	err = signals.Cut(ctx, err)
	if flushErr := a.Stdout.Finish(); err == nil && flushErr != nil {
		err = diag.Fault("standard output: %w", flushErr)
	}
	return a.Finish(err)
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
