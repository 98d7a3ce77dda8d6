package main

import (
	"context"

	"github.com/spf13/cobra"

	"tensortapestry.org/tapc/cmd/tapc/plans"
	"tensortapestry.org/tapc/cmd/tapc/programflags"
	"tensortapestry.org/tapc/cmd/tapc/progress"
	"tensortapestry.org/tapc/cost/machine"
	"tensortapestry.org/tapc/dialects/application/planfile"
	"tensortapestry.org/tapc/passes/pipeline"
	"tensortapestry.org/tapc/search/layouts"
)

func planCommand(a *app) *cobra.Command {
	c := &cobra.Command{Use: "plan FILE --machine MACHINE", Short: "Search for the best ways to cut a graph over devices", Long: plans.Help, Args: needFiles(0, 1),
		Example: "  tapc plan model.tap --machine=8xh100 --allow=reassociate\n  tapc plan model.tap --machine=8xh100 --devices=4 --rounds=100 --pick=knee -o plan.json\n  tapc plan --schema"}
	var f plans.Flags
	var plugins pluginFlags
	f.Add(c.Flags())
	plugins.add(c.Flags())
	a.addImportFlags(c)
	complete(c, "machine", machine.Presets())
	complete(c, "objective", layouts.Objectives)
	complete(c, "progress", progress.Words)
	return a.command(c, func(ctx context.Context, args []string) error {
		if f.Schema && len(args) == 0 {
			_, err := a.stdout.Write(planfile.Schema())
			return err
		}
		if err := firstError(needFiles(1, 1)(c, args), f.Check()); err != nil {
			return err
		}
		if err := a.startPlugins(ctx, &plugins, nil); err != nil {
			return err
		}
		g, err := a.load(ctx, args[0])
		if err != nil {
			return err
		}
		if err := firstError(programflags.Past(g, args[0], "tapc plan looks for ways to cut a graph", pipeline.OperationExpression), a.verifyAs(ctx, g, "", true).Err()); err != nil {
			return err
		}
		return f.Run(ctx, &plans.Work{Graph: g, Kernels: a.plugins.library(), File: args[0], Log: a.stderr, Write: a.writeFile, Plugins: a.plugins.searching})
	})
}
