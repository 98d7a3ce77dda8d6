package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"tensortapestry.org/tapc/cmd/tapc/app"
	"tensortapestry.org/tapc/cmd/tapc/codec"
	"tensortapestry.org/tapc/cmd/tapc/compiling"
	"tensortapestry.org/tapc/cmd/tapc/flagnames"
	"tensortapestry.org/tapc/cmd/tapc/graphfiles"
	"tensortapestry.org/tapc/cmd/tapc/reduce"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/passes/pipeline"
)

const reduceHelp = `Shrink a graph that makes a command fail to a small one that still does.

COMMAND is a shell command; the graph's file name goes in for {}, or at its end. It
is run on smaller and smaller graphs, which lose operations and what depends on them,
shards, ports, tags, parameters, labels and lengths of dimensions. Where the input is
valid, so is every graph that the command sees. The result has been tested.

To look for one failure among several, let the command tell them apart:
  ! tapc opt --passes=simplify {} -o /dev/null 2>&1 | grep -q panicked`

func reduceCommand(a *app.App) *cobra.Command {
	c := &cobra.Command{Use: "reduce --test=COMMAND [-o FILE] [FILE]", Short: "Shrink a graph that makes a command fail", Long: reduceHelp + "\n\n" + codec.WithHelp,
		Args: app.NeedFiles(0, 1), Example: "  tapc reduce --test 'tapc run {} --random 1' model.tap -o small.tap"}
	test := c.Flags().String("test", "", "the `COMMAND` that fails")
	most := c.Flags().Int("max-tests", 10_000, "stop after this many runs of the command")
	verbose := c.Flags().BoolP("verbose", "v", false, "show each step")
	flagnames.Texts(c.Flags(), "test")
	from := graphfiles.AddFromFlag(c)
	out := graphfiles.AddOutputFlags(c)
	return a.Command(c, func(ctx context.Context, args []string) error {
		g, err := graphfiles.LoadAs(ctx, a, app.FileArgument(args), *from)
		if err != nil {
			return err
		}
		j, remove, err := compiling.NewJudge(a, *test, graphfiles.LoaderOf(a, g))
		if err != nil {
			return err
		}
		defer remove()
		small, err := reduceGraph(ctx, a, g, j, *most, *verbose)
		if err != nil {
			return err
		}
		return out.Write(ctx, a, small, graphfiles.LoaderOf(a, g))
	})
}

func reduceGraph(ctx context.Context, a *app.App, g *ir.Graph, j *compiling.Judge, most int, verbose bool) (*ir.Graph, error) {
	o := reduce.Options{Tests: max(most, 1), Test: func(ctx context.Context, g *ir.Graph) (bool, error) {
		good, err := j.Good(ctx, g)
		return !good, err
	}}
	if isValid(ctx, g) {
		o.Valid = isValid
	}
	if verbose {
		o.Log = func(what string, g *ir.Graph) { fmt.Fprintf(a.Stderr, "%s; %d nodes are left\n", what, g.Len()) }
	}
	r, err := reduce.Graph(ctx, g, o)
	switch {
	case errors.Is(err, reduce.ErrNotShown):
		return nil, fmt.Errorf("nothing to reduce: the command succeeds on the graph")
	case errors.Is(err, reduce.ErrUnsteady):
		return nil, fmt.Errorf("the command does not always say the same of one graph")
	case err != nil:
		return nil, err
	}
	more := ""
	if !r.Full {
		more = "; --max-tests stopped it"
	}
	fmt.Fprintf(a.Stderr, "tapc: reduced from %d to %d nodes in %d tests%s\n", g.Len(), r.Graph.Len(), r.Tests, more)
	return r.Graph, nil
}

// isValid says whether a graph keeps the constraints of its dialect.
func isValid(ctx context.Context, g *ir.Graph) bool {
	return !pipeline.StageOf(g).Environment().Verify(ctx, g).HasErrors()
}
