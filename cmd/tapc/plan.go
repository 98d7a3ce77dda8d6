package main

import (
	"context"

	"github.com/spf13/cobra"

	"tensortapestry.org/tapc/cmd/tapc/app"
	"tensortapestry.org/tapc/cmd/tapc/graphfiles"
	"tensortapestry.org/tapc/cmd/tapc/plans"
	"tensortapestry.org/tapc/cmd/tapc/programflags"
	"tensortapestry.org/tapc/cmd/tapc/progress"
	"tensortapestry.org/tapc/cost/machine"
	"tensortapestry.org/tapc/dialects/application/planfile"
	"tensortapestry.org/tapc/passes/pipeline"
	"tensortapestry.org/tapc/search/layouts"
)

func planCommand(a *app.App) *cobra.Command {
	c := &cobra.Command{Use: "plan FILE --machine MACHINE", Short: "Search for the best ways to cut a graph over devices", Long: plans.Help, Args: app.NeedFiles(0, 1),
		Example: "  tapc plan model.tap --machine=8xh100 --allow=reassociate\n  tapc plan model.tap --machine=8xh100 --devices=4 --rounds=100 --pick=knee -o plan.json\n  tapc plan --schema"}
	var f plans.Flags
	var plugins app.PluginFlags
	f.Add(c.Flags())
	plugins.Add(c.Flags())
	a.Imports.Add(c)
	app.Complete(c, "machine", machine.Presets())
	app.Complete(c, "objective", layouts.Objectives)
	app.Complete(c, "progress", progress.Words)
	return a.Command(c, func(ctx context.Context, args []string) error {
		if f.Schema && len(args) == 0 {
			_, err := a.Stdout.Write(planfile.Schema())
			return err
		}
		if err := app.FirstError(app.NeedFiles(1, 1)(c, args), f.Check()); err != nil {
			return err
		}
		if err := a.StartPlugins(ctx, &plugins, nil); err != nil {
			return err
		}
		g, err := graphfiles.Load(ctx, a, args[0])
		if err != nil {
			return err
		}
		if err := app.FirstError(programflags.Past(g, args[0], "tapc plan looks for ways to cut a graph", pipeline.OperationExpression), graphfiles.VerifyAs(ctx, a, g, "", true).Err()); err != nil {
			return err
		}
		return f.Run(ctx, &plans.Work{Graph: g, Kernels: a.Plugins.Library(), File: args[0], Log: a.Stderr, Write: a.WriteFile, Plugins: a.Plugins.Searching})
	})
}
