package graphfiles

import (
	"cmp"
	"context"
	"io"
	"path/filepath"
	"strings"

	"tensortapestry.org/tapc/backends/constants"
	"tensortapestry.org/tapc/cmd/tapc/app"
	"tensortapestry.org/tapc/cmd/tapc/datanames"
	"tensortapestry.org/tapc/cmd/tapc/into"
	"tensortapestry.org/tapc/frontends/amanda"
	"tensortapestry.org/tapc/frontends/namespace"
	"tensortapestry.org/tapc/frontends/onnx/modelfile"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/passes/pipeline"
)

// TranslateInto writes a graph in a vocabulary that is named, by the rules that lead from one operator of that to one kernel, and the rules
// back.
func TranslateInto(ctx context.Context, a *app.App, name, from, space string, out *outputFlags) error {
	to := cmp.Or(formNamed(out.To), formOfName(out.File), formNamed("amanda"))
	n, err := a.Imports.Vocabularies.Find("--into", space)
	if err != nil {
		return err
	}
	if err := to.takes(space, n); err != nil {
		return err
	}
	if done, err := translateOpen(ctx, a, name, from, out.File, to, n); done || err != nil {
		return err
	}
	g, err := LoadAs(ctx, a, name, from)
	if err != nil {
		return err
	}
	return storeInto(ctx, a, out.File, to, n, g, LoaderOf(a, g))
}

// translateOpen writes a model of a foreign graph some of whose sizes nothing gives. It gives false for any other graph.
func translateOpen(ctx context.Context, a *app.App, name, from, outFile string, to *form, n namespace.Namespace) (bool, error) {
	f, text, file, err := peek(ctx, a, name, from)
	if err != nil || to.Into == "" || f.Imports == nil || a.Imports.Analyze {
		return err != nil, err
	}
	x, err := f.Imports(a, text.Data, file)
	if err != nil || x.Own != nil || x.Fault != nil {
		return err != nil, err
	}
	loader := &constants.Loader{Dir: filepath.Dir(name)}
	defer loader.Close()
	known := a.Imports.Vocabularies.Set()
	fg, err := into.Open(ctx, x.Foreign, x.Options, n, into.Options{Rules: x.Options.Tables, Dictionaries: known, Library: x.Options.Library, Constants: loader.Load})
	if err != nil || fg == nil {
		return err != nil, err
	}
	return true, a.WriteFile(ctx, outFile, func(w io.Writer) error { return modelfile.Write(w, fg, known) })
}

// takes is an error of the command line if a form does not hold graphs in a vocabulary.
func (f *form) takes(space string, n namespace.Namespace) error {
	framework, domain, _ := strings.Cut(n.Name, "/")
	switch {
	case f.Into != "" && (domain != "" || framework != f.Name):
		return diag.Usage("--into %s: expected a vocabulary such as %s for the form %s", space, f.Into, f.Name)
	case f.Into == "" && !strings.HasPrefix(f.Name, "amanda"), domain != "" && n.String() != namespace.Own:
		return diag.Usage("--into %s: expected a form for foreign graphs (amanda, amanda-json or onnx) and a vocabulary such as onnx/17", space)
	}
	return nil
}

// storeInto writes a graph in a vocabulary. Data files are those that from finds.
func storeInto(ctx context.Context, a *app.App, name string, to *form, n namespace.Namespace, g *ir.Graph, from *constants.Loader) error {
	if found := VerifyAs(ctx, a, g, pipeline.OperationExpression.Word(), false); found.HasErrors() {
		a.Report(found)
		return app.Reported{}
	}
	o, err := a.Imports.Options(a.Plugins.Library())
	if err != nil {
		return err
	}
	defer from.Close()
	given := into.Options{Rules: o.Tables, Dictionaries: a.Imports.Vocabularies.Set(), Library: o.Library, Constants: from.Load}
	if to.Into == "" {
		ag, err := into.Amanda(ctx, g, n, given)
		if err != nil {
			return err
		}
		return storeAmanda(ctx, a, name, to, ag, from)
	}
	fg, err := into.Graph(ctx, g, n, given)
	if err != nil {
		return err
	}
	return a.WriteFile(ctx, name, func(w io.Writer) error { return modelfile.Write(w, fg, given.Dictionaries) })
}

func storeAmanda(ctx context.Context, a *app.App, name string, to *form, g *amanda.Graph, from *constants.Loader) error {
	if err := datanames.Amanda(g.Ops, datanames.SeenFrom(name, from)); err != nil {
		return err
	}
	return a.WriteFile(ctx, name, func(w io.Writer) error {
		if to.Name == "amanda-json" {
			return amanda.WriteJSON(w, g)
		}
		return amanda.Write(w, g)
	})
}
