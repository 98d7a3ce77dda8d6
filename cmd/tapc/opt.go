package main

import (
	"context"

	"github.com/spf13/cobra"

	"tensortapestry.org/tapc/cmd/tapc/app"
	"tensortapestry.org/tapc/cmd/tapc/codec"
	"tensortapestry.org/tapc/cmd/tapc/compiling"
	"tensortapestry.org/tapc/cmd/tapc/content"
	"tensortapestry.org/tapc/cmd/tapc/flagnames"
	"tensortapestry.org/tapc/cmd/tapc/graphfiles"
	"tensortapestry.org/tapc/cmd/tapc/guide"
	"tensortapestry.org/tapc/cmd/tapc/programflags"
	"tensortapestry.org/tapc/internal/inputfile"
	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/passes/pipeline"
)

const optHelp = guide.Opt + codec.WithHelp

const optExample = `  tapc opt --passes='fix(simplify,cse,dce)' model.tap -o better.tap
  tapc opt --passes=simplify --print-ir-after-change --stats model.tap -o -
  tapc opt --passes=simplify --check-values --seed=7 model.loom.json -o /dev/null
  tapc opt --passes=simplify --bisect 'tapc run {} --random 1' model.tap`

func optCommand(a *app.App) *cobra.Command {
	c := &cobra.Command{Use: "opt --passes=PIPELINE [-o FILE] [FILE]", Short: "Run passes over a graph", Long: optHelp, Example: optExample,
		Args: app.NeedFiles(0, 1)}
	text := c.Flags().String("passes", "", "the passes to run, in order")
	list := c.Flags().Bool("list-passes", false, "list the passes with their options and stop")
	judged := c.Flags().String("bisect", "", "find the first rewrite after which this `COMMAND` fails")
	expect := c.Flags().String("expect-rules", "", "fail unless the rules that are applied are those that lines EXPECT-RULE: of this `FILE` name")
	flagnames.Later(c.Flags(), "passes")
	flagnames.Texts(c.Flags(), "bisect", "expect-rules")
	var plan programflags.Plan
	plan.Add(c.Flags())
	var math programflags.Arithmetic
	math.Add(c.Flags())
	from := graphfiles.AddFromFlag(c)
	a.Imports.Add(c)
	out := graphfiles.AddOutputFlags(c)
	f := compiling.AddPassFlags(a, c)
	return a.Command(c, func(ctx context.Context, args []string) error {
		if *list {
			if err := a.StartPlugins(ctx, &f.Plugins, f.Log()); err != nil {
				return err
			}
			a.Printf("%s", guide.PassList(a.Plugins.Table()))
			return nil
		}
		if err := app.FirstError(f.Check(ctx, *text), plan.Check(), math.Check(plan.Permissions())); err != nil {
			return err
		}
		passes := plan.Passes(a.Plugins.Table(), *text, math.Set)
		if passes == "" {
			return diag.Usage("opt needs --passes=PIPELINE; --list-passes says which passes there are")
		}
		p, err := compiling.ParsePasses(a, passes)
		if err != nil {
			return err
		}
		g, err := graphfiles.LoadAs(ctx, a, app.FileArgument(args), *from)
		if err != nil {
			return err
		}
		expected, err := expectedRules(a, *expect)
		if err := app.FirstError(plan.Takes(g, app.FileArgument(args)), err); err != nil {
			return err
		}
		if c.Flags().Changed("bisect") {
			if expected != nil {
				return diag.Usage("--expect-rules is for one run, and does not go with --bisect")
			}
			return compiling.Bisect(ctx, a, f, p, g, *judged)
		}
		result, err := f.RunPasses(ctx, p, g)
		if err != nil {
			return err
		}
		if expected != nil {
			if err := expected.Check(result.Rules); err != nil {
				return err
			}
		}
		return out.Write(ctx, a, result.Graph, f.Loader(g, p.Paths()))
	})
}

// maxExpected bounds the file of --expect-rules.
const maxExpected = 64 << 20

// expectedRules reads what a file expects of the rules of a run; nil without a file.
func expectedRules(a *app.App, file string) (*pipeline.ExpectedRules, error) {
	if file == "" {
		return nil, nil
	}
	text, err := inputfile.ReadText(file, maxExpected)
	if err != nil {
		return nil, err
	}
	if _, ok := a.Sources[file]; !ok {
		a.Sources[file] = app.Source{Text: &content.Content{Data: text}}
	}
	return pipeline.ParseExpectedRules(file, string(text))
}
