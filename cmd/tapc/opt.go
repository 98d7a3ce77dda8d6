package main

import (
	"context"

	"github.com/spf13/cobra"

	"tensortapestry.org/tapc/cmd/tapc/guide"
	"tensortapestry.org/tapc/ir/diag"
)

const optHelp = `Run passes over a graph and write what comes of it.

--passes names them in order, separated by commas, each with options in braces:
  simplify{fuel=10},shard{plan=p.json},verify
A group runs until it changes nothing, at most max times (10):
  fix(simplify,cse,dce){max=4}
--list-passes says which there are.

The graph is verified before the first pass and after each. A pass that panics,
leaves an invalid graph or, with --check-values, changes a value is at fault: the
exit status is 3, and a file tapc-reproducer-PASS.tap holds the graph before the
pass and the command that repeats it (see replay).

--bisect finds the rewrite that breaks something: the passes run again and again
with less fuel, and COMMAND (a shell command; the graph's file name goes in for {},
or at its end) tells by its exit status whether the result is good (0) or bad.

` + withHelp

const optExample = `  tapc opt --passes='fix(simplify,cse,dce)' model.tap -o better.tap
  tapc opt --passes=simplify --print-ir-after-change --stats model.tap -o -
  tapc opt --passes=simplify --check-values --seed=7 model.loom.json -o /dev/null
  tapc opt --passes=simplify --bisect 'tapc run {} --random 1' model.tap`

func (a *app) optCommand() *cobra.Command {
	c := &cobra.Command{Use: "opt --passes=PIPELINE [-o FILE] [FILE]", Short: "Run passes over a graph", Long: optHelp, Example: optExample,
		Args: needFiles(0, 1)}
	text := c.Flags().String("passes", "", "the passes to run, in order")
	list := c.Flags().Bool("list-passes", false, "list the passes with their options and stop")
	bisect := c.Flags().String("bisect", "", "find the first rewrite after which this `COMMAND` fails")
	from := addFromFlag(c)
	a.addImportFlags(c)
	out := addOutputFlags(c)
	f := a.addPipelineFlags(c)
	return a.command(c, func(ctx context.Context, args []string) error {
		if *list {
			if err := a.startPlugins(ctx, &f.plugins, f.log()); err != nil {
				return err
			}
			a.printf("%s", guide.PassList(a.plugins.table()))
			return nil
		}
		if err := firstError(formFlag("--from", *from, true), out.check(), f.check(ctx)); err != nil {
			return err
		}
		if *text == "" {
			return diag.Usage("opt needs --passes=PIPELINE; --list-passes says which passes there are")
		}
		p, err := a.parsePasses(*text)
		if err != nil {
			return err
		}
		g, err := a.loadAs(fileArg(args), *from)
		if err != nil {
			return err
		}
		if c.Flags().Changed("bisect") {
			return a.bisect(ctx, f, p, g, *bisect)
		}
		result, err := f.runPasses(ctx, p, g)
		if err != nil {
			return err
		}
		return out.write(ctx, a, result.Graph, f.loader(g, p.Paths()))
	})
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
