package main

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"tensortapestry.org/tapc/cmd/tapc/guide"
	"tensortapestry.org/tapc/cmd/tapc/outputflags"
	"tensortapestry.org/tapc/cmd/tapc/pages"
	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/passes/pipeline"
)

func viewCommand(a *app) *cobra.Command {
	c := &cobra.Command{Use: "view FILE -o PAGE.html", Short: "Write a page that shows a program", Long: pages.Help, Args: needFiles(1, 1),
		Example: "  tapc view model.onnx -o model.html\n  tapc view model.tap --plan plan.json -o model.html\n  tapc view model.tap --machine=laptop -o model.html\n  tapc view model.tap --frontier frontier.json -o model.html"}
	f := addCostFlags(c, a.addCompileFlags(c))
	c.Flags().StringVar(&f.compile.target, "target", f.compile.target, "what the program runs on: "+guide.WordList(targets(ownBackends())))
	complete(c, "target", targets(ownBackends()))
	out := c.Flags().StringP("output", "o", "", "page to write; \"-\" is standard output")
	frontier := c.Flags().String("frontier", "", "frontier that tapc plan wrote, to be shown with the plans behind its points")
	return a.command(c, func(ctx context.Context, args []string) error {
		if *out == "" {
			return diag.Usage("expected the page to write: -o PAGE.html")
		}
		if err := f.begin(ctx); err != nil {
			return err
		}
		return f.view(ctx, a, args[0], *frontier, *out)
	})
}

// view compiles a graph and writes the page.
func (f *costFlags) view(ctx context.Context, a *app, file, frontier, out string) (err error) {
	m := pages.Made{File: file}
	if m.Plans, err = pages.Frontier(frontier); err != nil {
		return err
	}
	g, err := a.load(ctx, file)
	if err != nil {
		return err
	}
	m.Source = pages.Source(g)
	if s, ok := a.sources[g.File]; ok && !s.form.binary {
		m.Text, _ = s.text.Bytes() // a text that is gone is not shown
	}
	x, err := compileGraph(ctx, a, file, f.compile, g, pipeline.ScheduledKernels)
	if err != nil {
		return err
	}
	defer x.loader.Close()
	if b, err := a.backend(f.compile); err == nil {
		m.Code = pages.Text(ctx, b, x.job(outputflags.ProgramName(file)), &f.compile.options)
	}
	if m.Graph = x.g; f.compile.cuts.Machine() != "" {
		if m.Prices, err = f.priceOf(ctx, x, file); err != nil {
			return err
		}
	}
	return a.writeFile(ctx, out, func(w io.Writer) error { return pages.Write(w, &m) })
}
