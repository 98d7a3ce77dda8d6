package main

import (
	"cmp"
	"context"
	"io"

	"github.com/spf13/cobra"

	"tensortapestry.org/tapc/cmd/tapc/app"
	"tensortapestry.org/tapc/cmd/tapc/compiling"
	"tensortapestry.org/tapc/cmd/tapc/flagnames"
	"tensortapestry.org/tapc/cmd/tapc/graphfiles"
	"tensortapestry.org/tapc/cmd/tapc/guide"
	"tensortapestry.org/tapc/cmd/tapc/outputflags"
	"tensortapestry.org/tapc/cmd/tapc/pages"
	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/passes/pipeline"
)

func viewCommand(a *app.App) *cobra.Command {
	c := &cobra.Command{Use: "view FILE [FILE [FILE]] -o PAGE.html", Short: "Write a page that shows a program, or several side by side", Long: pages.Help, Args: app.NeedFiles(1, pages.Most),
		Example: "  tapc view model.onnx -o model.html\n  tapc view model.tap --plan plan.json -o model.html\n  tapc view model.tap --machine=laptop --profile profile.txt -o model.html\n  tapc view model.tap --frontier frontier.json -o model.html\n  tapc view old.onnx new.onnx -o both.html\n  tapc view model.tap --plan a.json --beside-plan b.json -o plans.html"}
	f := addCostFlags(c, compiling.AddFlags(a, c))
	c.Flags().StringVar(&f.compile.Target, "target", f.compile.Target, "what the program runs on: "+guide.WordList(compiling.Targets(app.OwnBackends())))
	app.Words(c, "target", compiling.Targets(app.OwnBackends()))
	out := c.Flags().StringP("output", "o", "", "page to write; \"-\" is standard output")
	flagnames.Files(c.Flags(), flagnames.Written, "output")
	v := pages.AddFlags(c.Flags())
	return a.Command(c, func(ctx context.Context, args []string) error {
		asked, err := v.Programs(args, c.Flags())
		if err != nil {
			return err
		}
		if *out == "" {
			return diag.Usage("expected the page to write: -o PAGE.html")
		}
		if err := f.begin(ctx); err != nil {
			return err
		}
		m := pages.Made{}
		if m.Plans, err = pages.Frontier(v.Frontier); err != nil {
			return err
		}
		for i := range asked {
			if err := asked[i].UsePlan(c.Flags()); err != nil {
				return err
			}
			if err := f.view(ctx, a, &asked[i]); err != nil {
				return err
			}
			m.Programs = append(m.Programs, asked[i].Program)
		}
		return a.WriteFile(ctx, *out, func(w io.Writer) error { return pages.Write(w, &m) })
	})
}

// view compiles a graph for a page.
func (f *costFlags) view(ctx context.Context, a *app.App, m *pages.Asked) error {
	g, err := graphfiles.Load(ctx, a, m.File)
	if err != nil {
		return err
	}
	m.Source = pages.Source(g)
	if s, ok := a.Sources[g.File]; ok && !s.Binary {
		m.Text, _ = s.Text.Bytes() // a text that is gone is not shown
	}
	x, err := compiling.Graph(ctx, a, m.File, f.compile, g, pipeline.ScheduledKernels)
	if err != nil {
		return err
	}
	defer x.Loader.Close()
	if b, err := compiling.BackendOf(a, f.compile); err == nil {
		m.Code = pages.Text(ctx, b, x.Job(outputflags.ProgramName(m.File)), &f.compile.Options)
	}
	if m.Graph = x.Graph; f.compile.Cuts.Machine() != "" {
		if m.Prices, err = f.priceOf(ctx, x, m.File); err == nil {
			err = m.Prices.Walk(f.compile.Target, f.compile.Cuts.Devices())
		}
	}
	return cmp.Or(err, m.Measure(m.Profile))
}
