package main

import (
	"context"

	"github.com/spf13/cobra"

	"tensortapestry.org/tapc/cmd/tapc/app"
	"tensortapestry.org/tapc/cmd/tapc/compiling"
	"tensortapestry.org/tapc/cmd/tapc/guide"
	"tensortapestry.org/tapc/cmd/tapc/tune"
	"tensortapestry.org/tapc/passes/pipeline"
)

func tuneCommand(a *app.App) *cobra.Command {
	c := &cobra.Command{Use: "tune FILE", Short: "Measure which configs carry out kernels fastest here", Long: tune.Help, Args: app.NeedFiles(1, 1), Example: tune.Example}
	f, o := compiling.AddFlags(a, c), &tune.Flags{}
	o.Add(c.Flags())
	c.Flags().StringVar(&f.Target, "target", f.Target, "what kernels run on: "+guide.WordList(compiling.Targets(app.OwnBackends())))
	app.Words(c, "target", compiling.Targets(app.OwnBackends()))
	return a.Command(c, func(ctx context.Context, args []string) error {
		b, err := compiling.BackendOf(a, f)
		if err := app.FirstError(o.Check(f.Options.Tuned), f.Begin(ctx), err); err != nil {
			return err
		}
		if err := f.Options.DecideMeasured(ctx, b, "tune"); err != nil {
			return err
		}
		x, err := compiling.File(ctx, a, args[0], f, pipeline.ScheduledKernels)
		if err != nil {
			return err
		}
		defer x.Loader.Close()
		o.Verbose, a.Stderr = f.Passes.Report.Verbose, f.Passes.Report.Meter(a.Stderr)
		return tune.Run(ctx, x.Graph, f.TunedProgram(), *o, a.Stdout, a.Stderr)
	})
}
