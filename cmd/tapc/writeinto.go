package main

import (
	"cmp"
	"context"
	"io"
	"path/filepath"
	"strings"

	"tensortapestry.org/tapc/backends/constants"
	"tensortapestry.org/tapc/cmd/tapc/datanames"
	"tensortapestry.org/tapc/cmd/tapc/into"
	"tensortapestry.org/tapc/frontends/amanda"
	"tensortapestry.org/tapc/frontends/namespace"
	"tensortapestry.org/tapc/frontends/onnx/modelfile"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/passes/pipeline"
)

// translateInto writes a graph in a vocabulary that is named, by the rules that lead from one operator of that to one kernel, and the rules
// back.
func (a *app) translateInto(ctx context.Context, name, from, space string, out *outputFlags) error {
	to := cmp.Or(formNamed(out.to), formOfName(out.file), formNamed("amanda"))
	n, err := a.imports.vocabularies.Find("--into", space)
	if err != nil {
		return err
	}
	if err := to.takes(space, n); err != nil {
		return err
	}
	if done, err := a.translateOpen(ctx, name, from, out.file, to, n); done || err != nil {
		return err
	}
	g, err := a.loadAs(ctx, name, from)
	if err != nil {
		return err
	}
	return a.storeInto(ctx, out.file, to, n, g, a.loaderOf(g))
}

// translateOpen writes a model of a foreign graph some of whose sizes nothing gives. It gives false for any other graph.
func (a *app) translateOpen(ctx context.Context, name, from, outFile string, to *form, n namespace.Namespace) (bool, error) {
	f, text, file, err := a.peek(ctx, name, from)
	if err != nil || to.into == "" || f.imports == nil || a.imports.analyze {
		return err != nil, err
	}
	x, err := f.imports(a, text.Data, file)
	if err != nil || x.own != nil || x.fault != nil {
		return err != nil, err
	}
	loader := &constants.Loader{Dir: filepath.Dir(name)}
	defer loader.Close()
	known := a.imports.vocabularies.Set()
	fg, err := into.Open(ctx, x.foreign, x.options, n, into.Options{Rules: x.options.Tables, Dictionaries: known, Library: x.options.Library, Constants: loader.Load})
	if err != nil || fg == nil {
		return err != nil, err
	}
	return true, a.writeFile(ctx, outFile, func(w io.Writer) error { return modelfile.Write(w, fg, known) })
}

// takes is an error of the command line if a form does not hold graphs in a vocabulary.
func (f *form) takes(space string, n namespace.Namespace) error {
	framework, domain, _ := strings.Cut(n.Name, "/")
	switch {
	case f.into != "" && (domain != "" || framework != f.name):
		return diag.Usage("--into %s: expected a vocabulary such as %s for the form %s", space, f.into, f.name)
	case f.into == "" && !strings.HasPrefix(f.name, "amanda"), domain != "" && n.String() != namespace.Own:
		return diag.Usage("--into %s: expected a form for foreign graphs (amanda, amanda-json or onnx) and a vocabulary such as onnx/17", space)
	}
	return nil
}

// storeInto writes a graph in a vocabulary. Data files are those that from finds.
func (a *app) storeInto(ctx context.Context, name string, to *form, n namespace.Namespace, g *ir.Graph, from *constants.Loader) error {
	if found := a.verifyAs(ctx, g, pipeline.OperationExpression.Word(), false); found.HasErrors() {
		a.report(found)
		return errReported{}
	}
	o, err := a.imports.options(a.plugins.library())
	if err != nil {
		return err
	}
	defer from.Close()
	given := into.Options{Rules: o.Tables, Dictionaries: a.imports.vocabularies.Set(), Library: o.Library, Constants: from.Load}
	if to.into == "" {
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
	return a.writeFile(ctx, name, func(w io.Writer) error { return modelfile.Write(w, fg, given.Dictionaries) })
}

func storeAmanda(ctx context.Context, a *app, name string, to *form, g *amanda.Graph, from *constants.Loader) error {
	if err := datanames.Amanda(g.Ops, datanames.SeenFrom(name, from)); err != nil {
		return err
	}
	return a.writeFile(ctx, name, func(w io.Writer) error {
		if to.name == "amanda-json" {
			return amanda.WriteJSON(w, g)
		}
		return amanda.Write(w, g)
	})
}
