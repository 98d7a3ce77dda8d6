package main

import (
	"context"

	"github.com/spf13/cobra"

	"tensortapestry.org/tapc/cmd/tapc/codec"
	"tensortapestry.org/tapc/cmd/tapc/content"
	"tensortapestry.org/tapc/cmd/tapc/flagnames"
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

func (a *app) optCommand() *cobra.Command {
	c := &cobra.Command{Use: "opt --passes=PIPELINE [-o FILE] [FILE]", Short: "Run passes over a graph", Long: optHelp, Example: optExample,
		Args: needFiles(0, 1)}
	text := c.Flags().String("passes", "", "the passes to run, in order")
	list := c.Flags().Bool("list-passes", false, "list the passes with their options and stop")
	bisect := c.Flags().String("bisect", "", "find the first rewrite after which this `COMMAND` fails")
	expect := c.Flags().String("expect-rules", "", "fail unless the rules that are applied are those that lines EXPECT-RULE: of this `FILE` name")
	flagnames.Later(c.Flags(), "passes")
	flagnames.Texts(c.Flags(), "bisect", "expect-rules")
	var plan programflags.Plan
	plan.Add(c.Flags())
	var math programflags.Arithmetic
	math.Add(c.Flags())
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
		if err := firstError(f.check(ctx, *text), plan.Check(), math.Check(plan.Permissions())); err != nil {
			return err
		}
		passes := plan.Passes(a.plugins.table(), *text, math.Set)
		if passes == "" {
			return diag.Usage("opt needs --passes=PIPELINE; --list-passes says which passes there are")
		}
		p, err := a.parsePasses(passes)
		if err != nil {
			return err
		}
		g, err := a.loadAs(ctx, fileArg(args), *from)
		if err != nil {
			return err
		}
		expected, err := expectedRules(a, *expect)
		if err := firstError(plan.Takes(g, fileArg(args)), err); err != nil {
			return err
		}
		if c.Flags().Changed("bisect") {
			if expected != nil {
				return diag.Usage("--expect-rules is for one run, and does not go with --bisect")
			}
			return a.bisect(ctx, f, p, g, *bisect)
		}
		result, err := f.runPasses(ctx, p, g)
		if err != nil {
			return err
		}
		if expected != nil {
			if err := expected.Check(result.Rules); err != nil {
				return err
			}
		}
		return out.write(ctx, a, result.Graph, f.loader(g, p.Paths()))
	})
}

// maxExpected bounds the file of --expect-rules.
const maxExpected = 64 << 20

// expectedRules reads what a file expects of the rules of a run; nil without a file.
func expectedRules(a *app, file string) (*pipeline.ExpectedRules, error) {
	if file == "" {
		return nil, nil
	}
	text, err := inputfile.ReadText(file, maxExpected)
	if err != nil {
		return nil, err
	}
	if _, ok := a.sources[file]; !ok {
		a.sources[file] = source{&form{}, &content.Content{Data: text}}
	}
	return pipeline.ParseExpectedRules(file, string(text))
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
