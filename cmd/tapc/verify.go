package main

import (
	"context"

	"github.com/spf13/cobra"

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
  schedule     Scheduled Kernels`

func (a *app) verifyCommand() *cobra.Command {
	c := &cobra.Command{Use: "verify [--dialect=NAME] FILE...", Short: "Verify graph files against a dialect's constraints",
		Long: verifyHelp, Args: needFiles(1, 0),
		Example: "  tapc verify model.loom.json\n  tapc verify --dialect=application --diagnostics=sarif a.tap b.tap"}
	dialect := c.Flags().String("dialect", "auto", "dialect to verify against: auto, tensorops, application or schedule")
	foreign := c.Flags().Bool("unknown-kernels", false, "let operations have kernels that tapc does not know")
	from := addFromFlag(c)
	a.addImportFlags(c)
	names := append([]string{"auto"}, pipeline.StageWords()...)
	complete(c, "dialect", names)
	return a.command(c, func(ctx context.Context, files []string) error {
		if err := oneOf("--dialect", *dialect, names); err != nil {
			return err
		}
		if err := formFlag("--from", *from, true); err != nil {
			return err
		}
		return a.verify(ctx, files, *from, *dialect, *foreign)
	})
}

func (a *app) verify(ctx context.Context, files []string, from, dialect string, foreign bool) error {
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
		stage, ok := pipeline.StageNamed(dialect)
		if !ok {
			stage = pipeline.StageOf(g)
		}
		found := a.verifyAs(ctx, g, stage, foreign)
		a.report(found)
		if found.HasErrors() {
			failed = a.fail(failed, errReported{})
		}
	}
	return failed
}

// verifyAs holds a graph to a dialect's constraints, and its operations to their kernels, if they are not scheduled yet.
func (a *app) verifyAs(ctx context.Context, g *ir.Graph, stage pipeline.Stage, foreign bool) diag.List {
	found := stage.Environment().Verify(ctx, g)
	if !found.HasErrors() && stage != pipeline.ScheduledKernels {
		lib := a.plugins.library()
		found = append(append(found, lib.CheckOperations(g, foreign)...), reduced.CheckOperations(g, lib)...)
	}
	return found
}

// errReported is the error of input whose diagnostics are written already.
type errReported struct{}

func (errReported) Error() string { return "the input is at fault" }

// fail reports one of several errors and gives the one that decides the exit status: the first of the worst.
func (a *app) fail(before, err error) error {
	if _, done := err.(errReported); !done {
		a.report(diag.FromError(err))
	}
	err = &diag.StatusError{Status: diag.ExitStatus(err), Err: errReported{}}
	if before != nil && diag.ExitStatus(before) >= diag.ExitStatus(err) {
		return before
	}
	return err
}
