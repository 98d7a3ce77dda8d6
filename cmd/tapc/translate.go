package main

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"tensortapestry.org/tapc/cmd/tapc/app"
	"tensortapestry.org/tapc/cmd/tapc/codec"
	"tensortapestry.org/tapc/cmd/tapc/dictionaries"
	"tensortapestry.org/tapc/cmd/tapc/graphfiles"
)

func translateCommand(a *app.App) *cobra.Command {
	c := &cobra.Command{Use: "translate --to=FORM [-o FILE] [FILE]", Short: "Write a graph in another form",
		Args: app.NeedFiles(0, 1), Example: "  tapc translate --to=tap model.loom.json\n  tapc translate -o model.loom.json model.tap\n" +
			"  tapc translate --to=tap --with=ids,order - < model.loom.json\n  tapc translate --to=onnx --into onnx/17 model.tap -o model.onnx"}
	c.Long = codec.Help + "\n\nForms:\n" + formTable()
	from := graphfiles.AddFromFlag(c)
	a.Imports.Add(c)
	out := graphfiles.AddOutputFlags(c)
	into := c.Flags().String("into", "", "vocabulary to write an Amanda graph or a model in, such as onnx/17; default: of a model onnx/21, of an Amanda graph that of a foreign graph, else that of tapc's kernels")
	dictionaries.Check(c.Flags(), "into", a.Args)
	return a.Command(c, func(ctx context.Context, args []string) error {
		if to := graphfiles.FormFor(out.File, out.To); *into != "" || to.Into != "" {
			return graphfiles.TranslateInto(ctx, a, app.FileArgument(args), *from, cmp.Or(*into, to.Into), out)
		}
		if done, err := graphfiles.TranslateForeign(ctx, a, app.FileArgument(args), *from, out); done || err != nil {
			return err
		}
		g, err := graphfiles.LoadAs(ctx, a, app.FileArgument(args), *from)
		if err != nil {
			return err
		}
		return out.Write(ctx, a, g, graphfiles.LoaderOf(a, g))
	})
}

func formTable() string {
	var lines []string
	for _, f := range graphfiles.Forms {
		line := fmt.Sprintf("  %-11s %s", f.Name, f.Doc)
		if len(f.Suffixes) > 0 {
			line += " (" + strings.Join(f.Suffixes, ", ") + ")"
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}
