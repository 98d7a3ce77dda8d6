// Package graphfiles reads and writes files of graphs in every form (table.go): finds out which form a file has, maps graphs in foreign vocabularies to tapc's kernels
// and back, and holds graphs to their dialects. It must not import cmd/tapc or cmd/tapc/compiling. Read next: table.go, forms.go, imported.go.
package graphfiles

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"tensortapestry.org/tapc/backends/constants"
	"tensortapestry.org/tapc/cmd/tapc/app"
	"tensortapestry.org/tapc/cmd/tapc/codec"
	"tensortapestry.org/tapc/cmd/tapc/content"
	"tensortapestry.org/tapc/cmd/tapc/datanames"
	"tensortapestry.org/tapc/cost/marginal"
	"tensortapestry.org/tapc/dialects"
	"tensortapestry.org/tapc/dialects/tensorops/composite"
	"tensortapestry.org/tapc/dialects/tensorops/reduced"
	"tensortapestry.org/tapc/internal/interruptible"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/passes/pipeline"
)

// importer reads a graph of a form that may be in a foreign vocabulary.
type importer func(a *app.App, data []byte, file string) (*Imported, error)

// writable says whether graphs can be written in the form.
func (f *form) writable() bool { return f.Write != nil || f.Into != "" }

// readable says whether files of the form can be read.
func (f *form) readable() bool { return f.Read != nil || f.Imports != nil }

// form is one way to write a graph down. A form that is only written has no read, and one that is only read no write.
type form struct {
	Name     string
	Doc      string
	Suffixes []string // of file names
	binary   bool
	starts   func(data []byte) bool // whether a text is of this form, told by its beginning
	Read     func(data []byte, file string, reg *ir.Registry) (*ir.Graph, error)
	Imports  importer // of a foreign form, which has this and no read
	Into     string   // the vocabulary that a foreign form is written in where none is named; it has this and no write
	Write    func(w io.Writer, g *ir.Graph, o Shown) error
}

type Shown = codec.Shown

// formNames lists the forms that can be written or, if read is set, read.
func formNames(read bool) []string {
	var names []string
	for _, f := range Forms {
		if read && f.readable() || !read && f.writable() {
			names = append(names, f.Name)
		}
	}
	return names
}

func formNamed(name string) *form {
	for i := range Forms {
		if Forms[i].Name == name {
			return &Forms[i]
		}
	}
	return nil
}

// formOfName gives the form that a file name's suffix stands for, or nil.
func formOfName(name string) *form {
	for i := range Forms {
		for _, s := range Forms[i].Suffixes {
			if strings.HasSuffix(name, s) {
				return &Forms[i]
			}
		}
	}
	return nil
}

// Detect gives the form of a file's content: what its name says or, without a known suffix, what it begins with.
func Detect(name string, data []byte) (*form, error) {
	f := formOfName(name)
	if f != nil && f.readable() {
		return f, nil
	}
	if f != nil {
		return nil, fmt.Errorf("%s: %s is a form that tapc only writes", name, f.Name)
	}
	for i := range Forms {
		if Forms[i].readable() && Forms[i].starts(data) {
			return &Forms[i], nil
		}
	}
	return nil, fmt.Errorf("%s: neither its name nor its content tell which form of a graph it is: expected one of %s",
		name, strings.Join(formNames(true), ", "))
}

// Load reads a graph file in any form; "-" is standard input. The text is kept for the excerpts of diagnostics, whose
// locations name the file as the graph's File does. Errors are reported as they are: a diag.List or a plain error. At the end of the
// context nobody waits for the reading.
func Load(ctx context.Context, a *app.App, name string) (*ir.Graph, error) {
	return LoadAs(ctx, a, name, "")
}

// LoadAs reads a graph file in a form that is named, or found out if it is "".
func LoadAs(ctx context.Context, a *app.App, name, formName string) (*ir.Graph, error) {
	f, text, file, err := OpenGraph(ctx, a, name, formName)
	if err != nil {
		return nil, err
	}
	read := func() (*ir.Graph, error) { return graphOf(ctx, a, f, text, file) }
	g, err := interruptible.Value(ctx, read)
	if err == nil {
		a.Origins[g] = app.Origin{Dir: filepath.Dir(name), Again: read}
		content.GraphRead(text, a.Tuned)
	}
	return g, err
}

// graphOf reads the graph of a file's text.
func graphOf(ctx context.Context, a *app.App, f *form, text *content.Content, file string) (*ir.Graph, error) {
	data, err := text.Bytes()
	if err != nil {
		return nil, err
	}
	if f.Imports == nil {
		if err := a.Imports.NoModel(file); err != nil {
			return nil, err
		}
		return f.Read(data, file, dialects.Registry())
	}
	x, err := f.Imports(a, data, file)
	if err != nil {
		return nil, err
	}
	return x.graph(ctx, a)
}

// OpenGraph reads a graph file, and finds out its form if that is not named.
func OpenGraph(ctx context.Context, a *app.App, name, formName string) (f *form, text *content.Content, file string, err error) {
	if text, file, err = ReadFile(ctx, a, name); err != nil {
		return nil, nil, "", err
	}
	if f = formNamed(formName); f == nil {
		if f, err = Detect(file, text.Data); err != nil {
			return nil, nil, "", err
		}
	}
	a.Sources[file] = SourceOf(f, text)
	return f, text, file, nil
}

// SourceOf is the text of a file of a form.
func SourceOf(f *form, text *content.Content) app.Source {
	return app.Source{Text: text, Binary: f.binary, Loom: f.Name == "loom"}
}

// ReadFile reads a whole file and gives the name that messages use.
func ReadFile(ctx context.Context, a *app.App, name string) (text *content.Content, file string, err error) {
	if name == app.Standard {
		data, err := interruptible.Value(ctx, func() ([]byte, error) { return io.ReadAll(a.Stdin) })
		if cause := context.Cause(ctx); cause != nil {
			return nil, "", cause
		}
		if err != nil {
			return nil, "", diag.Fault("standard input: %w", err)
		}
		return &content.Content{Data: data}, "<stdin>", nil
	}
	text, err = content.Read(name)
	return text, name, err
}

// dirOf gives the directory that names of data files in a graph are relative to: that of the file it was read from.
func dirOf(a *app.App, g *ir.Graph) string {
	if o, ok := a.Origins[g]; ok {
		return o.Dir
	}
	return "."
}

// Store writes a graph to a file in the form that is named or, if it is "", in that of the file's name (tap for others). The data
// files that it names, which from finds, get names that are right there.
func Store(ctx context.Context, a *app.App, name, formName string, g *ir.Graph, from *constants.Loader, o Shown) error {
	if f := FormFor(name, formName); f.Into != "" {
		n, err := a.Imports.Vocabularies.Find("", f.Into)
		if err != nil {
			return err
		}
		return storeInto(ctx, a, name, f, n, g, from)
	}
	if !FormFor(name, formName).readable() { // who looks at a drawing reads no data
		return StoreAs(ctx, a, name, formName, g, o)
	}
	if err := datanames.Graph(g, datanames.SeenFrom(name, from)); err != nil {
		return err
	}
	return StoreAs(ctx, a, name, formName, g, o)
}

// FormFor gives the form of an output: the one that is named, or else that of its name, or else tap.
func FormFor(name, formName string) *form {
	return cmp.Or(formNamed(formName), formOfName(name), formNamed(defaultForm))
}

// StoreAs writes a graph as it is.
func StoreAs(ctx context.Context, a *app.App, name, formName string, g *ir.Graph, o Shown) error {
	f := FormFor(name, formName)
	if f.Write == nil {
		return diag.Usage("%s: %s is a form that tapc only reads", name, f.Name)
	}
	return a.WriteFile(ctx, name, func(w io.Writer) error { return f.Write(w, g, o) })
}

// VerifyAs holds a graph to a dialect's constraints, and its operations to their kernels. Of one that is scheduled, statements say what is computed, so
// that kernels may be any.
func VerifyAs(ctx context.Context, a *app.App, g *ir.Graph, dialect string, foreign bool) diag.List {
	stage, ok := pipeline.StageNamed(dialect)
	if !ok {
		stage = pipeline.StageOf(g)
	}
	found, lib := stage.Environment().Verify(ctx, g), a.Plugins.Library()
	if !found.HasErrors() {
		foreign = foreign || stage == pipeline.ScheduledKernels
		found = append(append(found, lib.CheckOperations(g, foreign)...), reduced.CheckOperations(g, lib)...)
		found = append(found, composite.CheckOperations(g, lib, foreign)...)
		found = append(found, marginal.CheckOperations(g, lib)...)
	}
	return found
}

// LoaderOf does the same where no flags say where data files are.
func LoaderOf(a *app.App, g *ir.Graph) *constants.Loader { return &constants.Loader{Dir: dirOf(a, g)} }
