package main

import (
	"context"

	"github.com/spf13/cobra"

	"tensortapestry.org/tapc/cmd/tapc/app"
	"tensortapestry.org/tapc/cmd/tapc/graphfiles"
	"tensortapestry.org/tapc/cmd/tapc/info"
	"tensortapestry.org/tapc/dialects"
	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/passes/pipeline"
)

const infoHelp = `Say what a graph file wants and what it holds.

Inputs and outputs with their types and shapes; dimensions whose sizes must be given,
with every flag that gives them; the versions of the vocabularies (opsets); operators,
with those that are not mapped and why; parameters; and a command that builds it. No sizes
are needed: what is not given is assumed, at several sizes in turn, and the
command has those at which most is mapped. Flags that are given are part of it.

The exit status is 0 whether or not the graph can be built; "builds" in --json says that.`

func infoCommand(a *app.App) *cobra.Command {
	c := &cobra.Command{Use: "info FILE", Short: "Say what a model wants and what it holds", Long: infoHelp, Args: app.NeedFiles(1, 1),
		Example: "  tapc info model.onnx\n  tapc info --json model.onnx\n  tapc info model.tap"}
	from := graphfiles.AddFromFlag(c)
	asJSON := app.JSONFlag(c)
	a.Imports.Add(c)
	c.Flags().Lookup("analyze").Hidden = true // info says the same
	plugins := &app.PluginFlags{}
	plugins.Add(c.Flags())
	return a.Command(c, func(ctx context.Context, args []string) error {
		if a.Imports.Analyze {
			return diag.Usage("--analyze does not go with info, which says the same")
		}
		if err := a.StartPlugins(ctx, plugins, nil); err != nil {
			return err
		}
		x, err := infoOf(ctx, a, args[0], *from)
		if err != nil {
			return err
		}
		if *asJSON {
			return x.WriteJSON(a.Stdout)
		}
		return x.Write(a.Stdout)
	})
}

// info looks at a graph file in any form.
func infoOf(ctx context.Context, a *app.App, name, from string) (*info.Info, error) {
	f, text, file, err := graphfiles.OpenGraph(ctx, a, name, from)
	if err != nil {
		return nil, err
	}
	x := &graphfiles.Imported{}
	if f.Imports == nil {
		if err := a.Imports.NoModel(file); err != nil {
			return nil, err
		}
		x.Own, err = f.Read(text.Data, file, dialects.Registry())
	} else {
		x, err = f.Imports(a, text.Data, file)
	}
	if err != nil {
		return nil, err
	}
	if x.Own != nil {
		out, err := info.OfOwn(x.Own, a.Plugins.Library(), a.Imports.Words(a.KernelFiles))
		if err != nil {
			return nil, err
		}
		out.Form = pipeline.StageOf(x.Own).String()
		return out, nil
	}
	out, err := info.OfForeign(ctx, x.Foreign, x.Options, a.Imports.Words(a.KernelFiles))
	if err != nil {
		return nil, err
	}
	out.Form, out.Producer = map[string]string{"onnx": "ONNX model"}[f.Name], x.Producer
	if out.Form == "" {
		out.Form = "Amanda graph"
	}
	for _, d := range diag.FromError(x.Fault) {
		out.Builds, out.Faults = false, append(out.Faults, d.Error())
	}
	return out, nil
}
