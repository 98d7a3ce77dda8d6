package main

import (
	"bytes"
	"cmp"
	"context"
	"io"
	"maps"
	"path/filepath"
	"regexp"
	"strings"

	"tensortapestry.org/tapc/backends/constants"
	"tensortapestry.org/tapc/cmd/tapc/content"
	"tensortapestry.org/tapc/cmd/tapc/dictionaries"
	"tensortapestry.org/tapc/frontends/amanda"
	"tensortapestry.org/tapc/frontends/amanda/closed"
	"tensortapestry.org/tapc/frontends/amanda/own"
	"tensortapestry.org/tapc/frontends/mapping"
	"tensortapestry.org/tapc/frontends/mapping/rules"
	"tensortapestry.org/tapc/frontends/namespace"
	"tensortapestry.org/tapc/frontends/onnx"
	"tensortapestry.org/tapc/ir"
)

// amandaStart is how a file of an Amanda graph begins, behind comments: YAML with one of three keys, or JSON with one.
var amandaStart = regexp.MustCompile(`^(?:\s|#[^\n]*\n|---\s)*(?:\{\s*"(?:graph|subgraph|op)"|(?:graph|subgraph|op)):`)

func isAmanda(data []byte) bool { return amandaStart.Match(data[:min(len(data), 1<<12)]) }

// readAmanda reads an Amanda graph and holds it to its invariants. One that names no vocabulary is in that of the command line.
func readAmanda(data []byte, file string, known *dictionaries.Known) (*amanda.Graph, error) {
	g, err := amanda.Read(data, file)
	if err != nil {
		return nil, err
	}
	g.Namespace = cmp.Or(g.Namespace, known.Space)
	return g, amanda.Check(g).Err()
}

// isOwn says whether a graph is in a vocabulary of tapc's own kernels, which needs no mapping.
func isOwn(g *amanda.Graph) bool {
	ns, err := namespace.All().Find(g.Namespace)
	return err == nil && (ns.Name == "loom" || ns.String() == namespace.Own)
}

// importAmanda reads an Amanda graph; one in the namespace of tapc's kernels needs no mapping.
func importAmanda(a *app, data []byte, file string) (*imported, error) {
	ag, err := readAmanda(data, file, &a.imports.vocabularies)
	if err != nil {
		return nil, err
	}
	o, err := a.imports.options(a.plugins.library())
	if err != nil {
		return nil, err
	}
	if isOwn(ag) {
		g, err := own.ToIR(ag, o.Library, o.Functions)
		return &imported{own: g}, err
	}
	fg, bodies, err := closed.Lower(ag, filepath.Dir(file), a.imports.vocabularies.Set(), o.Functions)
	if err == nil {
		err = a.imports.settle(fg, &o)
	}
	if err != nil {
		return nil, err
	}
	natives := amanda.Natives()
	if fg.Namespace == "onnx" {
		maps.Copy(natives, onnx.Natives())
	}
	return &imported{foreign: fg, fault: bodies.Check(a.imports.vocabularies.Set(), fg).Err(), options: mapping.Options{Tables: rules.For(fg.Namespace, o.Tables),
		Dims: o.Dims, Bind: o.Bind, Library: o.Library, Natives: natives, Bodies: bodies.Function, Functions: o.Functions, Unchecked: o.Unchecked}}, nil
}

// foreignAmanda gives the abstraction of a graph in a foreign vocabulary, without mapping it.
func foreignAmanda(data []byte, file string, known *dictionaries.Known) (*amanda.Graph, error) {
	if isAmanda(data) {
		return readAmanda(data, file, known)
	}
	m, err := onnx.Read(data, file)
	if err != nil {
		return nil, err
	}
	return closed.Lift(m.Graph, known.Set())
}

// writeAmanda writes a graph of tapc's kernels as an Amanda graph.
func writeAmanda(write func(io.Writer, *amanda.Graph) error) func(w io.Writer, g *ir.Graph, _ shown) error {
	return func(w io.Writer, g *ir.Graph, _ shown) error {
		ag, err := own.FromIR(g)
		if err != nil {
			return err
		}
		return write(w, ag)
	}
}

// peek opens a graph that is read again.
func (a *app) peek(ctx context.Context, name, from string) (f *form, text *content.Content, file string, err error) {
	if f, text, file, err = a.openGraph(ctx, name, from); err == nil && name == stdName {
		a.stdin = bytes.NewReader(text.Data)
	}
	return f, text, file, err
}

// translateForeign writes a foreign graph as an Amanda graph in its own vocabulary. It gives false if input or output is something else.
func (a *app) translateForeign(ctx context.Context, name, from string, out *outputFlags) (bool, error) {
	to := formNamed(out.to)
	if to == nil && out.file != stdName {
		to = formOfName(out.file)
	}
	if to == nil || !strings.HasPrefix(to.name, "amanda") {
		return false, nil
	}
	f, text, file, err := a.peek(ctx, name, from)
	if err != nil || f.imports == nil {
		return err != nil, err
	}
	g, err := foreignAmanda(text.Data, file, &a.imports.vocabularies)
	if err != nil {
		return true, err
	}
	return true, storeAmanda(ctx, a, out.file, to, g, &constants.Loader{Dir: filepath.Dir(name)})
}
