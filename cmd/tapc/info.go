package main

import (
	"context"

	"github.com/spf13/cobra"

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

func infoCommand(a *app) *cobra.Command {
	c := &cobra.Command{Use: "info FILE", Short: "Say what a model wants and what it holds", Long: infoHelp, Args: needFiles(1, 1),
		Example: "  tapc info model.onnx\n  tapc info --json model.onnx\n  tapc info model.tap"}
	from := addFromFlag(c)
	asJSON := jsonFlag(c)
	a.addImportFlags(c)
	c.Flags().Lookup("analyze").Hidden = true // info says the same
	plugins := &pluginFlags{}
	plugins.add(c.Flags())
	return a.command(c, func(ctx context.Context, args []string) error {
		if a.imports.analyze {
			return diag.Usage("--analyze does not go with info, which says the same")
		}
		if err := a.startPlugins(ctx, plugins, nil); err != nil {
			return err
		}
		x, err := infoOf(ctx, a, args[0], *from)
		if err != nil {
			return err
		}
		if *asJSON {
			return x.WriteJSON(a.stdout)
		}
		return x.Write(a.stdout)
	})
}

// info looks at a graph file in any form.
func infoOf(ctx context.Context, a *app, name, from string) (*info.Info, error) {
	f, text, file, err := a.openGraph(ctx, name, from)
	if err != nil {
		return nil, err
	}
	x := &imported{}
	if f.imports == nil {
		if err := a.imports.noModel(file); err != nil {
			return nil, err
		}
		x.own, err = f.read(text.Data, file, dialects.Registry())
	} else {
		x, err = f.imports(a, text.Data, file)
	}
	if err != nil {
		return nil, err
	}
	if x.own != nil {
		out, err := info.OfOwn(x.own, a.plugins.library(), a.imports.words(a.kernelFiles))
		if err != nil {
			return nil, err
		}
		out.Form = pipeline.StageOf(x.own).String()
		return out, nil
	}
	out, err := info.OfForeign(ctx, x.foreign, x.options, a.imports.words(a.kernelFiles))
	if err != nil {
		return nil, err
	}
	out.Form, out.Producer = map[string]string{"onnx": "ONNX model"}[f.name], x.producer
	if out.Form == "" {
		out.Form = "Amanda graph"
	}
	for _, d := range diag.FromError(x.fault) {
		out.Builds, out.Faults = false, append(out.Faults, d.Error())
	}
	return out, nil
}

// words gives the flags again, for a command line.
func (f *importFlags) words(kernels []string) []string {
	var words []string
	add := func(flag string, values []string) {
		for _, v := range values {
			words = append(words, flag, v)
		}
	}
	add("--kernels", kernels)
	add("--rules", f.rules)
	add("--shape", f.shapes)
	add("--known", f.known)
	add("--dim", f.dims)
	add("--namespace", f.vocabularies.Values)
	if f.unchecked {
		words = append(words, "--unchecked-indices")
	}
	return words
}
