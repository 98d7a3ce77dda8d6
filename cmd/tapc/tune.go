package main

import (
	"context"

	"github.com/spf13/cobra"

	"tensortapestry.org/tapc/backends"
	"tensortapestry.org/tapc/cmd/tapc/guide"
	"tensortapestry.org/tapc/cmd/tapc/tune"
	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/passes/pipeline"
)

func tuneCommand(a *app) *cobra.Command {
	c := &cobra.Command{Use: "tune FILE", Short: "Measure which configs carry out kernels fastest here", Long: tune.Help, Args: needFiles(1, 1), Example: tune.Example}
	f, o := a.addCompileFlags(c), &tune.Flags{}
	o.Add(c.Flags())
	c.Flags().StringVar(&f.target, "target", f.target, "what kernels run on: "+guide.WordList(targets(ownBackends())))
	words(c, "target", targets(ownBackends()))
	return a.command(c, func(ctx context.Context, args []string) error {
		b, err := a.backend(f)
		if err := firstError(o.Check(f.options.Tuned), f.begin(ctx), err); err != nil {
			return err
		}
		if err := f.options.Decide(ctx, b, pipeline.ScheduledKernels, "tune"); err != nil {
			return err
		}
		x, err := a.compile(ctx, args[0], f, pipeline.ScheduledKernels)
		if err != nil {
			return err
		}
		defer x.loader.Close()
		o.Verbose, a.stderr = f.report.verbose, f.report.meter(a.stderr)
		return tune.Run(ctx, x.g, f.tunedProgram(), *o, a.stdout, a.stderr)
	})
}

// tunedProgram is what the flags have kernels tuned for.
func (f *compileFlags) tunedProgram() tune.Program {
	return tune.Program{Backend: func() (*backends.Backend, error) { return f.app.backend(f) }, Values: f.options.Processor,
		Warn: func(d diag.Diagnostic) { f.app.report(diag.List{d}) }}
}
