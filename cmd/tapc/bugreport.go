package main

import (
	"context"
	"io"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"tensortapestry.org/tapc/cmd/tapc/app"
	"tensortapestry.org/tapc/cmd/tapc/beside"
	"tensortapestry.org/tapc/cmd/tapc/flagnames"
	"tensortapestry.org/tapc/cmd/tapc/graphfiles"
	"tensortapestry.org/tapc/cmd/tapc/recorded"
	"tensortapestry.org/tapc/cmd/tapc/report"
	"tensortapestry.org/tapc/dialects"
	"tensortapestry.org/tapc/frontends/amanda"
	"tensortapestry.org/tapc/internal/release"
	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/ir/text"
	"tensortapestry.org/tapc/passes/pipeline"
)

func reportCommand(a *app.App) *cobra.Command {
	c := &cobra.Command{Use: "report -o FOLDER|NAME.zip COMMAND [ARGUMENT...]", Short: "Pack a bug report about a command", Long: report.Help, Args: cobra.ArbitraryArgs,
		Example: "  tapc report -o report.zip build model.onnx --dim batch=8 -o model\n  tapc report -o report replay tapc-reproducer-simplify.tap"}
	c.Flags().SetInterspersed(false)
	j := &report.Job{Version: release.Text()}
	c.Flags().StringVarP(&j.Output, "output", "o", "", "folder, or archive NAME.zip, to write")
	c.Flags().BoolVar(&j.NoRun, "no-run", false, "do not run the command on what is packed")
	weights := c.Flags().String("weights", report.Weights[0], "what becomes of weights and inputs: random, or kept")
	flagnames.Files(c.Flags(), flagnames.Placed, "output")
	app.Words(c, "weights", report.Weights)
	return a.Command(c, func(ctx context.Context, args []string) (err error) {
		if j.Output == "" || len(args) == 0 {
			return diag.Usage("report needs -o FOLDER or -o NAME.zip, and behind it the command to report, without tapc")
		}
		if j.Words, err = reported(ctx, a, args); err != nil {
			return err
		}
		j.Keep = *weights == "kept"
		j.Graph = func(path string) (*report.Graph, error) { return maskedGraph(ctx, a, path) }
		m, err := j.Make(ctx)
		if err == nil {
			m.Tell(a.Stdout, j.Output)
		}
		return err
	})
}

// reported takes a command of tapc apart. Of a reproducer it is the one that the reproducer holds.
func reported(ctx context.Context, a *app.App, args []string) (*report.Words, error) {
	other := app.New(nil, nil, nil)
	other.Args = args
	root := root(other)
	c, rest, err := root.Find(args)
	if err == nil && (c == root || c.DisableFlagParsing || c.Name() == "report") {
		err = diag.Usage("a report is on a command that takes a graph, not on %q", args[0])
	}
	if err == nil {
		err = c.ParseFlags(rest)
	}
	if err != nil {
		return nil, diag.Usage("the command to report: %w", err)
	}
	words := &report.Words{Args: c.Flags().Args(), Flags: recorded.Given(c.Flags()), Passes: app.Passes().Renamed}
	if c.Name() == "replay" && len(words.Args) > 0 {
		text, _, err := graphfiles.ReadFile(ctx, a, words.Args[0])
		if err != nil {
			return nil, err
		}
		if again, ok := pipeline.ReplayArguments(text.Data); ok {
			return reported(ctx, a, slices.Concat(beside.Replayed(again, filepath.Dir(words.Args[0])), words.Args[1:], []string{"--", words.Args[0]}))
		}
	}
	for ; c.HasParent(); c = c.Parent() {
		words.Command = slices.Insert(words.Command, 0, c.Name())
	}
	return words, nil
}

// maskedGraph reads a graph for a report.
func maskedGraph(ctx context.Context, a *app.App, path string) (*report.Graph, error) {
	f, content, file, err := graphfiles.OpenGraph(ctx, a, path, "")
	if err != nil {
		return nil, err
	}
	data, err := content.Bytes()
	if err != nil || f.Name == "onnx" {
		return &report.Graph{Model: data}, err
	}
	if f.Read == nil {
		ag, err := amanda.Read(data, file)
		return report.OfAmanda(ag, f.Name == "amanda-json"), err
	}
	g, err := f.Read(data, file, dialects.Registry())
	return report.OfGraph(g, func(w io.Writer) error {
		return f.Write(w, g, graphfiles.Shown{Text: text.Options{IDs: true, GraphOrder: true}})
	}), err
}
