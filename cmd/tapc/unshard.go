package main

import (
	"context"

	"github.com/spf13/cobra"

	"tensortapestry.org/tapc/cmd/tapc/codec"
	"tensortapestry.org/tapc/dialects/application/cut"
	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/passes/pipeline"
)

const unshardHelp = `Take the shards of a graph away.

What is left is the graph that was cut: signatures and indexes that the cut added go too,
those that the graph had stay. Operations that were cut along what they reduce are one again.
A scheduled graph has no way back, and neither have cuts of what a rewrite changed afterwards.

` + codec.WithHelp

func unshardCommand(a *app) *cobra.Command {
	c := &cobra.Command{Use: "unshard [-o FILE] [FILE]", Short: "Take the shards of a graph away", Long: unshardHelp, Args: needFiles(0, 1),
		Example: "  tapc opt --plan plan.json model.tap -o cut.tap\n  tapc unshard cut.tap -o model.tap"}
	from := addFromFlag(c)
	a.addImportFlags(c)
	out := addOutputFlags(c)
	return a.command(c, func(ctx context.Context, args []string) error {
		g, err := a.loadAs(ctx, fileArg(args), *from)
		if err != nil {
			return err
		}
		if pipeline.StageOf(g) == pipeline.ScheduledKernels {
			return diag.Usage("%s is scheduled: what its kernels were made of is not known any more", fileArg(args))
		}
		cut.Undo(g)
		return out.write(ctx, a, g, a.loaderOf(g))
	})
}
