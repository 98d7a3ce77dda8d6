package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"tensortapestry.org/tapc/passes/pipeline"
)

const replayHelp = `Run the command again that a reproducer holds.

When a pass is at fault, tapc writes the graph before it to a file, with the command
that repeats the fault at its head. replay runs that command on the file; arguments
behind the file are added to it.`

func (a *app) replayCommand() *cobra.Command {
	c := &cobra.Command{Use: "replay FILE [FLAG...]", Short: "Repeat the fault that a reproducer holds", Long: replayHelp, Args: needFiles(1, 0),
		Example: "  tapc replay tapc-reproducer-simplify.tap\n  tapc replay tapc-reproducer-simplify.tap --print-ir-after-change"}
	c.Flags().SetInterspersed(false)
	return a.command(c, func(ctx context.Context, args []string) error {
		text, _, err := a.readFile(args[0])
		if err != nil {
			return err
		}
		again, ok := pipeline.ReplayArguments(text.data)
		if !ok {
			return fmt.Errorf("%s is no reproducer: expected a line \"// replay: [...]\" at its head", args[0])
		}
		if again[0] != "opt" {
			return fmt.Errorf("%s: replay runs the command opt, not %q", args[0], again[0])
		}
		root := a.root()
		root.SetArgs(slices.Concat(again, []string{"--reproducer-dir=", "--output=-"}, args[1:], []string{"--", args[0]}))
		root.SetIn(a.stdin)
		root.SetOut(a.stdout)
		root.SetErr(a.stderr)
		a.started = false
		return root.ExecuteContext(ctx)
	})
}
