package main

import (
	"context"

	"github.com/spf13/cobra"

	"tensortapestry.org/tapc/cost/marginal"
	"tensortapestry.org/tapc/dialects/application"
	"tensortapestry.org/tapc/dialects/tensorops"
	"tensortapestry.org/tapc/dialects/tensorops/composite"
	"tensortapestry.org/tapc/dialects/tensorops/reduced"
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

func (a *app) verifyCommand() *cobra.Command {
	c := &cobra.Command{Use: "verify [--dialect=NAME] FILE...", Short: "Verify graph files against a dialect's constraints",
		Long: verifyHelp, Args: needFiles(1, 0),
		Example: "  tapc verify model.loom.json\n  tapc verify --dialect=application --diagnostics=sarif a.tap b.tap"}
	dialect := c.Flags().String("dialect", "auto", "dialect to verify against: auto, tensorops, application or schedule")
	foreign := c.Flags().Bool("unknown-kernels", false, "let operations have kernels that tapc does not know")
	environment := c.Flags().String("environment", "tapc", "what graphs may hold: tapc, or loom for the Tapestry documents alone")
	dtypes := c.Flags().StringSlice("dtypes", nil, "element types that tensors may have, with --environment=loom; all that tapc has if none is named (repeatable)")
	words(c, "dtypes", tensorops.DefaultDTypes())
	from := addFromFlag(c)
	a.addImportFlags(c)
	names := append([]string{"auto"}, pipeline.StageWords()...)
	words(c, "dialect", names)
	words(c, "environment", []string{"tapc", "loom"})
	return a.command(c, func(ctx context.Context, files []string) error {
		if *environment == "loom" {
			if *dialect != "auto" {
				return diag.Usage("--environment=loom has one dialect: --dialect=%s can not be with it", *dialect)
			}
			return a.verify(ctx, files, *from, func(g *ir.Graph) diag.List { return application.Loom(g, *dtypes...).Verify(ctx, g) })
		}
		if len(*dtypes) > 0 {
			return diag.Usage("--dtypes is for --environment=loom: kernels say what element types they take")
		}
		return a.verify(ctx, files, *from, func(g *ir.Graph) diag.List { return a.verifyAs(ctx, g, *dialect, *foreign) })
	})
}

func (a *app) verify(ctx context.Context, files []string, from string, check func(g *ir.Graph) diag.List) error {
	var failed error
	for _, name := range files {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		g, err := a.loadAs(ctx, name, from)
		if err != nil {
			failed = a.fail(failed, err)
			continue
		}
		found := check(g)
		a.report(found)
		if found.HasErrors() {
			failed = a.fail(failed, errReported{})
		}
	}
	return failed
}

// verifyAs holds a graph to a dialect's constraints, and its operations to their kernels. Of one that is scheduled, statements say what is computed, so
// that kernels may be any.
func (a *app) verifyAs(ctx context.Context, g *ir.Graph, dialect string, foreign bool) diag.List {
	stage, ok := pipeline.StageNamed(dialect)
	if !ok {
		stage = pipeline.StageOf(g)
	}
	found, lib := stage.Environment().Verify(ctx, g), a.plugins.library()
	if !found.HasErrors() {
		foreign = foreign || stage == pipeline.ScheduledKernels
		found = append(append(found, lib.CheckOperations(g, foreign)...), reduced.CheckOperations(g, lib)...)
		found = append(found, composite.CheckOperations(g, lib, foreign)...)
		found = append(found, marginal.CheckOperations(g, lib)...)
	}
	return found
}

// errReported is the error of input whose diagnostics are written already.
type errReported struct{}

func (errReported) Error() string { return "the input is at fault" }

// fail reports one of several errors and gives the one that decides the exit status: the first of the worst.
func (a *app) fail(before, err error) error {
	if _, done := err.(errReported); !done {
		a.report(diag.Reported(err))
	}
	err = &diag.StatusError{Status: diag.ExitStatus(err), Err: errReported{}}
	if before != nil && diag.ExitStatus(before) >= diag.ExitStatus(err) {
		return before
	}
	return err
}
