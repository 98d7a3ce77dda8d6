package main

import (
	"context"

	"github.com/spf13/cobra"

	"tensortapestry.org/tapc/cmd/tapc/app"
	"tensortapestry.org/tapc/cmd/tapc/graphfiles"
	"tensortapestry.org/tapc/dialects/application"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/passes/pipeline"
)

const verifyHelp = `Verify graph files against the constraints of a dialect.

All files are verified. Nothing is printed for a valid graph; for any other, every
finding of the first constraint that it breaks. The exit status is 1 if any file
is not valid. Warnings do not change it.

Operations are held to their kernels: ports, shapes, element types, parameters and signatures
must be what the kernel takes. A kernel that tapc does not know is an error,
unless --unknown-kernels says that the graph is for others.

--dialect is one of
  auto         the first dialect that knows every node's type (the default)
  tensorops    Operation Expression
  application  Application Expression
  schedule     Scheduled Kernels

--environment=loom holds graphs to the Tapestry documents alone: tapc's own tags and
nodes are errors, by name, and kernels may be any. --dtypes says what element types
its tensors may have.`

func verifyCommand(a *app.App) *cobra.Command {
	c := &cobra.Command{Use: "verify [--dialect=NAME] FILE...", Short: "Verify graph files against a dialect's constraints",
		Long: verifyHelp, Args: app.NeedFiles(1, 0),
		Example: "  tapc verify model.loom.json\n  tapc verify --dialect=application --diagnostics=sarif a.tap b.tap"}
	dialect := c.Flags().String("dialect", "auto", "dialect to verify against: auto, tensorops, application or schedule")
	foreign := c.Flags().Bool("unknown-kernels", false, "let operations have kernels that tapc does not know")
	environment := c.Flags().String("environment", "tapc", "what graphs may hold: tapc, or loom for the Tapestry documents alone")
	dtypes := c.Flags().StringSlice("dtypes", nil, "element types that tensors may have, with --environment=loom; all that tapc has if none is named (repeatable)")
	app.Words(c, "dtypes", tensorops.DefaultDTypes())
	from := graphfiles.AddFromFlag(c)
	a.Imports.Add(c)
	names := append([]string{"auto"}, pipeline.StageWords()...)
	app.Words(c, "dialect", names)
	app.Words(c, "environment", []string{"tapc", "loom"})
	return a.Command(c, func(ctx context.Context, files []string) error {
		if *environment == "loom" {
			if *dialect != "auto" {
				return diag.Usage("--environment=loom has one dialect: --dialect=%s can not be with it", *dialect)
			}
			return verifyFiles(ctx, a, files, *from, func(g *ir.Graph) diag.List { return application.Loom(g, *dtypes...).Verify(ctx, g) })
		}
		if len(*dtypes) > 0 {
			return diag.Usage("--dtypes is for --environment=loom: kernels say what element types they take")
		}
		return verifyFiles(ctx, a, files, *from, func(g *ir.Graph) diag.List { return graphfiles.VerifyAs(ctx, a, g, *dialect, *foreign) })
	})
}

func verifyFiles(ctx context.Context, a *app.App, files []string, from string, check func(g *ir.Graph) diag.List) error {
	var failed error
	for _, name := range files {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		g, err := graphfiles.LoadAs(ctx, a, name, from)
		if err != nil {
			failed = a.Fail(failed, err)
			continue
		}
		found := check(g)
		a.Report(found)
		if found.HasErrors() {
			failed = a.Fail(failed, app.Reported{})
		}
	}
	return failed
}
