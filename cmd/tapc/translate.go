package main

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"tensortapestry.org/tapc/cmd/tapc/codec"
	"tensortapestry.org/tapc/cmd/tapc/dictionaries"
)

func (a *app) translateCommand() *cobra.Command {
	c := &cobra.Command{Use: "translate --to=FORM [-o FILE] [FILE]", Short: "Write a graph in another form",
		Args: needFiles(0, 1), Example: "  tapc translate --to=tap model.loom.json\n  tapc translate -o model.loom.json model.tap\n" +
			"  tapc translate --to=tap --with=ids,order - < model.loom.json\n  tapc translate --to=onnx --into onnx/17 model.tap -o model.onnx"}
	c.Long = codec.Help + "\n\nForms:\n" + formTable()
	from := addFromFlag(c)
	a.addImportFlags(c)
	out := addOutputFlags(c)
	into := c.Flags().String("into", "", "vocabulary to write an Amanda graph or a model in, such as onnx/17; default: of a model onnx/21, of an Amanda graph that of a foreign graph, else that of tapc's kernels")
	dictionaries.Check(c.Flags(), "into", a.args)
	return a.command(c, func(ctx context.Context, args []string) error {
		if to := formFor(out.file, out.to); *into != "" || to.into != "" {
			return a.translateInto(ctx, fileArg(args), *from, cmp.Or(*into, to.into), out)
		}
		if done, err := a.translateForeign(ctx, fileArg(args), *from, out); done || err != nil {
			return err
		}
		g, err := a.loadAs(ctx, fileArg(args), *from)
		if err != nil {
			return err
		}
		return out.write(ctx, a, g, a.loaderOf(g))
	})
}

// fileArg gives the only argument; none is standard input.
func fileArg(args []string) string {
	if len(args) == 0 {
		return stdName
	}
	return args[0]
}

func formTable() string {
	var lines []string
	for _, f := range forms {
		line := fmt.Sprintf("  %-11s %s", f.name, f.doc)
		if len(f.suffixes) > 0 {
			line += " (" + strings.Join(f.suffixes, ", ") + ")"
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}
