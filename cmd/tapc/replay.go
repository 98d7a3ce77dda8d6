package main

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"tensortapestry.org/tapc/cmd/tapc/app"
	"tensortapestry.org/tapc/cmd/tapc/beside"
	"tensortapestry.org/tapc/cmd/tapc/flagnames"
	"tensortapestry.org/tapc/cmd/tapc/graphfiles"
	"tensortapestry.org/tapc/passes/pipeline"
)

const replayHelp = `Run the command again that a reproducer holds.

When a pass is at fault, tapc writes the graph before it to a file, with the command
that repeats the fault at its head. replay runs that command on the file; arguments
behind the file are added to it. The data files of constants, rules and kernels that it
takes are in a folder beside it, FILE without .tap and with .files, of at most 1 GiB: both
together repeat the fault on another machine.`

func replayCommand(a *app.App) *cobra.Command {
	c := &cobra.Command{Use: "replay FILE [FLAG...]", Short: "Repeat the fault that a reproducer holds", Long: replayHelp, Args: app.NeedFiles(1, 0),
		Example: "  tapc replay tapc-reproducer-simplify.tap\n  tapc replay tapc-reproducer-simplify.tap --print-ir-after-change"}
	c.Flags().SetInterspersed(false)
	return a.Command(c, func(ctx context.Context, args []string) error {
		text, _, err := graphfiles.ReadFile(ctx, a, args[0])
		if err != nil {
			return err
		}
		again, ok := pipeline.ReplayArguments(text.Data)
		if !ok {
			return fmt.Errorf("%s is no reproducer: expected a line \"// replay: [...]\" at its head", args[0])
		}
		if again[0] != "opt" {
			return fmt.Errorf("%s: replay runs the command opt, not %q", args[0], again[0])
		}
		root := root(a)
		opt, words, err := root.Find(append(beside.Replayed(again, filepath.Dir(args[0])), "--reproducer-dir=", "--output=-"))
		if err == nil {
			err = opt.ParseFlags(words)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", args[0], err)
		}
		flagnames.Forget(opt.Flags())
		root.SetArgs(slices.Concat(again[:1], args[1:], []string{"--", args[0]}))
		a.Started = false
		return root.ExecuteContext(ctx)
	})
}
