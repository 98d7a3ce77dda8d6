package main

import (
	"context"

	"github.com/spf13/cobra"

	"tensortapestry.org/tapc/cmd/tapc/app"
	"tensortapestry.org/tapc/cmd/tapc/codec"
	"tensortapestry.org/tapc/cmd/tapc/graphfiles"
	"tensortapestry.org/tapc/dialects/application/cut"
	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/passes/pipeline"
)

const unshardHelp = `Take the shards of a graph away.

What is left is the graph that was cut: signatures and indexes that the cut added go too,
those that the graph had stay. Operations that were cut along what they reduce are one again.
A scheduled graph has no way back, and neither have cuts of what a rewrite changed afterwards.

` + codec.WithHelp

func unshardCommand(a *app.App) *cobra.Command {
	c := &cobra.Command{Use: "unshard [-o FILE] [FILE]", Short: "Take the shards of a graph away", Long: unshardHelp, Args: app.NeedFiles(0, 1),
		Example: "  tapc opt --plan plan.json model.tap -o cut.tap\n  tapc unshard cut.tap -o model.tap"}
	from := graphfiles.AddFromFlag(c)
	a.Imports.Add(c)
	out := graphfiles.AddOutputFlags(c)
	return a.Command(c, func(ctx context.Context, args []string) error {
		g, err := graphfiles.LoadAs(ctx, a, app.FileArgument(args), *from)
		if err != nil {
			return err
		}
		if pipeline.StageOf(g) == pipeline.ScheduledKernels {
			return diag.Usage("%s is scheduled: what its kernels were made of is not known any more", app.FileArgument(args))
		}
		cut.Undo(g)
		return out.Write(ctx, a, g, graphfiles.LoaderOf(a, g))
	})
}
