package main

import (
	"context"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tensortapestry.org/tapc/backends"
	"tensortapestry.org/tapc/cmd/tapc/app"
	"tensortapestry.org/tapc/cmd/tapc/compiling"
	"tensortapestry.org/tapc/cmd/tapc/cuts"
	"tensortapestry.org/tapc/cmd/tapc/explain"
	"tensortapestry.org/tapc/cmd/tapc/guide"
	"tensortapestry.org/tapc/cmd/tapc/plandiff"
	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/passes/pipeline"
	"tensortapestry.org/tapc/passes/tile"
)

func explainCommand(a *app.App) *cobra.Command {
	c := &cobra.Command{Use: "explain kernel|sizes|cuts|time|memory|transfer|plan FILE [NAME]", Short: "Explain what was decided, and what else there was", Long: explain.Help, Args: app.NeedFiles(2, 4),
		Example: "  tapc explain kernel model.loom.json --target=cuda\n  tapc explain kernel model.onnx op:matmul+op:add --cpu=x86-64-v3\n  tapc explain sizes model.onnx --dim batch=1..8\n  tapc explain cuts model.onnx op:conv --format=json\n  tapc explain time model.onnx --machine=laptop\n  tapc explain plan plan.json other.json\n  tapc explain plan plan.json other.json model.onnx --machine=8xh100 --target=cuda"}
	f := compiling.AddFlags(a, c)
	own := app.OwnBackends()
	c.Flags().StringVar(&f.Target, "target", f.Target, "what the program runs on: "+guide.WordList(compiling.Targets(own)))
	app.Words(c, "target", compiling.Targets(own))
	priced := addCostFlags(c, f)
	format := c.Flags().String("format", "text", "form of what explains cuts, time, memory and transfers: text or json")
	app.Words(c, "format", kernelFormats)
	asJSON := app.JSONFlag(c)
	c.Flags().Lookup("json").Usage = "the same as --format=json"
	return a.Command(c, func(ctx context.Context, args []string) error {
		if *asJSON {
			*format = "json"
		}
		if things := []string{"kernel", "sizes", "cuts", "time", "memory", "transfer", "plan"}; !slices.Contains(things, args[0]) {
			return diag.Unknown("thing to explain", args[0], things)
		}
		if *format != "text" && !slices.Contains([]string{"cuts", "time", "memory", "transfer"}, args[0]) {
			return diag.Usage("--format=%s goes with explain cuts, time, memory and transfer alone", *format)
		}
		if args[0] == "plan" {
			return priced.explainPlans(ctx, a, args[1:])
		}
		if len(args) > 3 {
			return diag.Usage("explain %s takes a file and a name: expected nothing behind %s", args[0], args[2])
		}
		if args[0] == "time" || args[0] == "memory" || args[0] == "transfer" {
			return priced.explain(ctx, a, args, *format == "json")
		}
		if priced.compile.Cuts.Machine() != "" || f.Given("threads") {
			return diag.Usage("--machine and --threads go with explain time, memory and transfer alone")
		}
		if err := f.Begin(ctx); err != nil {
			return err
		}
		switch args[0] {
		case "sizes":
			return compiling.ExplainSizes(ctx, a, args, f)
		case "cuts":
			return explainCuts(ctx, a, args, f, *format)
		}
		return explainKernels(ctx, a, args, f, own)
	})
}

// explainKernels writes the candidates of kernels, on the processors that flags name.
func explainKernels(ctx context.Context, a *app.App, args []string, f *compiling.Flags, own backends.List) error {
	b, err := compiling.BackendOf(a, f)
	if err == nil {
		err = f.Decide(ctx, b, pipeline.ScheduledKernels, "explain kernel --target="+f.Target, f.CostModel())
	}
	if err != nil {
		return err
	}
	choosers, err := tile.Chosen(own.Choosers(), strings.Join(f.Options.Processors, ","))
	if err != nil {
		return err
	}
	x, err := compiling.File(ctx, a, args[1], f, pipeline.ScheduledKernels)
	if err != nil {
		return err
	}
	defer x.Loader.Close()
	model, err := f.Model(choosers)
	if err != nil {
		return err
	}
	text, err := explain.Kernels(ctx, x.Graph, strings.Join(args[2:], ""), choosers, model)
	if err != nil {
		return err
	}
	return a.WriteFile(ctx, app.Standard, func(w io.Writer) error { _, err := io.WriteString(w, text); return err })
}

// explainCuts writes how the operations of a graph can be cut, as build would cut them.
func explainCuts(ctx context.Context, a *app.App, args []string, f *compiling.Flags, format string) error {
	f.Cuts.KeepDefinitions()
	x, err := compiling.File(ctx, a, args[1], f, pipeline.OperationExpression)
	if err != nil {
		return err
	}
	defer x.Loader.Close()
	list, err := cuts.Of(x.Graph, a.Plugins.Library(), strings.Join(args[2:], ""))
	if err != nil {
		return err
	}
	write := cuts.Print
	if format == "json" {
		write = cuts.JSON
	}
	return a.WriteFile(ctx, app.Standard, func(w io.Writer) error { return write(w, list) })
}

// explainPlans writes how two plan files differ, and with a graph what each difference costs.
func (f *costFlags) explainPlans(ctx context.Context, a *app.App, files []string) error {
	first, second, err := plandiff.Files(files)
	if err != nil {
		return err
	}
	text := plandiff.Compare(first, second, files[0], files[1])
	if len(files) == 3 {
		priced, err := plandiff.Price(ctx, first, second, files[0], files[1], func(ctx context.Context, plan string) (plandiff.Cost, error) {
			with, compile := *f, *f.compile
			compile.Cuts = compile.Cuts.With(plan)
			with.compile = &compile
			m, err := with.mesh(ctx, a, files[2])
			if err != nil {
				return plandiff.Cost{}, err
			}
			return plandiff.Cost{Time: m.Result.Seconds, Memory: m.Peak(), Sent: m.Sent()}, nil
		})
		if err != nil {
			return err
		}
		text += "\n" + priced
	}
	return a.WriteFile(ctx, app.Standard, func(w io.Writer) error { _, err := io.WriteString(w, text); return err })
}
