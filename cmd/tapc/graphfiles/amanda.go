package graphfiles

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
	"tensortapestry.org/tapc/cmd/tapc/app"
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

func IsAmanda(data []byte) bool { return amandaStart.Match(data[:min(len(data), 1<<12)]) }

// ReadAmanda reads an Amanda graph and holds it to its invariants. One that names no vocabulary is in that of the command line.
func ReadAmanda(data []byte, file string, known *dictionaries.Known) (*amanda.Graph, error) {
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
func importAmanda(a *app.App, data []byte, file string) (*Imported, error) {
	ag, err := ReadAmanda(data, file, &a.Imports.Vocabularies)
	if err != nil {
		return nil, err
	}
	o, err := a.Imports.Options(a.Plugins.Library())
	if err != nil {
		return nil, err
	}
	if isOwn(ag) {
		g, err := own.ToIR(ag, o.Library, o.Functions)
		return &Imported{Own: g}, err
	}
	fg, bodies, err := closed.Lower(ag, filepath.Dir(file), a.Imports.Vocabularies.Set(), o.Functions)
	if err == nil {
		err = a.Imports.Settle(fg, &o)
	}
	if err != nil {
		return nil, err
	}
	natives := amanda.Natives()
	if fg.Namespace == "onnx" {
		maps.Copy(natives, onnx.Natives())
	}
	return &Imported{Foreign: fg, Fault: bodies.Check(a.Imports.Vocabularies.Set(), fg).Err(), Options: mapping.Options{Tables: rules.For(fg.Namespace, o.Tables),
		Dims: o.Dims, Bind: o.Bind, Library: o.Library, Natives: natives, Bodies: bodies.Function, Functions: o.Functions, Unchecked: o.Unchecked}}, nil
}

// foreignAmanda gives the abstraction of a graph in a foreign vocabulary, without mapping it.
func foreignAmanda(data []byte, file string, known *dictionaries.Known) (*amanda.Graph, error) {
	if IsAmanda(data) {
		return ReadAmanda(data, file, known)
	}
	m, err := onnx.Read(data, file)
	if err != nil {
		return nil, err
	}
	return closed.Lift(m.Graph, known.Set())
}

// writeAmanda writes a graph of tapc's kernels as an Amanda graph.
func writeAmanda(write func(io.Writer, *amanda.Graph) error) func(w io.Writer, g *ir.Graph, _ Shown) error {
	return func(w io.Writer, g *ir.Graph, _ Shown) error {
		ag, err := own.FromIR(g)
		if err != nil {
			return err
		}
		return write(w, ag)
	}
}

// peek opens a graph that is read again.
func peek(ctx context.Context, a *app.App, name, from string) (f *form, text *content.Content, file string, err error) {
	if f, text, file, err = OpenGraph(ctx, a, name, from); err == nil && name == app.Standard {
		a.Stdin = bytes.NewReader(text.Data)
	}
	return f, text, file, err
}

// TranslateForeign writes a foreign graph as an Amanda graph in its own vocabulary. It gives false if input or output is something else.
func TranslateForeign(ctx context.Context, a *app.App, name, from string, out *outputFlags) (bool, error) {
	to := formNamed(out.To)
	if to == nil && out.File != app.Standard {
		to = formOfName(out.File)
	}
	if to == nil || !strings.HasPrefix(to.Name, "amanda") {
		return false, nil
	}
	f, text, file, err := peek(ctx, a, name, from)
	if err != nil || f.Imports == nil {
		return err != nil, err
	}
	g, err := foreignAmanda(text.Data, file, &a.Imports.Vocabularies)
	if err != nil {
		return true, err
	}
	return true, storeAmanda(ctx, a, out.File, to, g, &constants.Loader{Dir: filepath.Dir(name)})
}
