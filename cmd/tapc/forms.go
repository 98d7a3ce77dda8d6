package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"tensortapestry.org/tapc/backends/constants"
	"tensortapestry.org/tapc/cmd/tapc/codec"
	"tensortapestry.org/tapc/cmd/tapc/content"
	"tensortapestry.org/tapc/cmd/tapc/datanames"
	"tensortapestry.org/tapc/dialects"
	"tensortapestry.org/tapc/internal/interruptible"
	"tensortapestry.org/tapc/ir"
	"tensortapestry.org/tapc/ir/diag"
)

// importer reads a graph of a form that may be in a foreign vocabulary.
type importer func(a *app, data []byte, file string) (*imported, error)

// writable says whether graphs can be written in the form.
func (f *form) writable() bool { return f.write != nil || f.into != "" }

// readable says whether files of the form can be read.
func (f *form) readable() bool { return f.read != nil || f.imports != nil }

// form is one way to write a graph down. A form that is only written has no read, and one that is only read no write.
type form struct {
	name     string
	doc      string
	suffixes []string // of file names
	binary   bool
	starts   func(data []byte) bool // whether a text is of this form, told by its beginning
	read     func(data []byte, file string, reg *ir.Registry) (*ir.Graph, error)
	imports  importer // of a foreign form, which has this and no read
	into     string   // the vocabulary that a foreign form is written in where none is named; it has this and no write
	write    func(w io.Writer, g *ir.Graph, o shown) error
}

type shown = codec.Shown

// source is a file that was read.
type source struct {
	form *form
	text *content.Content
}

// origin is where a graph came from: its file's directory, and how to read it once more.
type origin struct {
	dir   string
	again func() (*ir.Graph, error)
}

// formNames lists the forms that can be written or, if read is set, read.
func formNames(read bool) []string {
	var names []string
	for _, f := range forms {
		if read && f.readable() || !read && f.writable() {
			names = append(names, f.name)
		}
	}
	return names
}

func formNamed(name string) *form {
	for i := range forms {
		if forms[i].name == name {
			return &forms[i]
		}
	}
	return nil
}

// formOfName gives the form that a file name's suffix stands for, or nil.
func formOfName(name string) *form {
	for i := range forms {
		for _, s := range forms[i].suffixes {
			if strings.HasSuffix(name, s) {
				return &forms[i]
			}
		}
	}
	return nil
}

// detect gives the form of a file's content: what its name says or, without a known suffix, what it begins with.
func detect(name string, data []byte) (*form, error) {
	f := formOfName(name)
	if f != nil && f.readable() {
		return f, nil
	}
	if f != nil {
		return nil, fmt.Errorf("%s: %s is a form that tapc only writes", name, f.name)
	}
	for i := range forms {
		if forms[i].readable() && forms[i].starts(data) {
			return &forms[i], nil
		}
	}
	return nil, fmt.Errorf("%s: neither its name nor its content tell which form of a graph it is: expected one of %s",
		name, strings.Join(formNames(true), ", "))
}

// load reads a graph file in any form; "-" is standard input. The text is kept for the excerpts of diagnostics, whose
// locations name the file as the graph's File does. Errors are reported as they are: a diag.List or a plain error. At the end of the
// context nobody waits for the reading.
func (a *app) load(ctx context.Context, name string) (*ir.Graph, error) {
	return a.loadAs(ctx, name, "")
}

// loadAs reads a graph file in a form that is named, or found out if it is "".
func (a *app) loadAs(ctx context.Context, name, formName string) (*ir.Graph, error) {
	f, text, file, err := a.openGraph(ctx, name, formName)
	if err != nil {
		return nil, err
	}
	read := func() (*ir.Graph, error) { return graphOf(ctx, a, f, text, file) }
	g, err := interruptible.Value(ctx, read)
	if err == nil {
		a.origins[g] = origin{filepath.Dir(name), read}
		content.GraphRead(text, a.tuned)
	}
	return g, err
}

// graphOf reads the graph of a file's text.
func graphOf(ctx context.Context, a *app, f *form, text *content.Content, file string) (*ir.Graph, error) {
	data, err := text.Bytes()
	if err != nil {
		return nil, err
	}
	if f.imports == nil {
		if err := a.imports.noModel(file); err != nil {
			return nil, err
		}
		return f.read(data, file, dialects.Registry())
	}
	x, err := f.imports(a, data, file)
	if err != nil {
		return nil, err
	}
	return x.graph(ctx, a)
}

// openGraph reads a graph file, and finds out its form if that is not named.
func (a *app) openGraph(ctx context.Context, name, formName string) (f *form, text *content.Content, file string, err error) {
	if text, file, err = a.readFile(ctx, name); err != nil {
		return nil, nil, "", err
	}
	if f = formNamed(formName); f == nil {
		if f, err = detect(file, text.Data); err != nil {
			return nil, nil, "", err
		}
	}
	a.sources[file] = source{f, text}
	return f, text, file, nil
}

// readFile reads a whole file and gives the name that messages use.
func (a *app) readFile(ctx context.Context, name string) (text *content.Content, file string, err error) {
	if name == stdName {
		data, err := interruptible.Value(ctx, func() ([]byte, error) { return io.ReadAll(a.stdin) })
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
func (a *app) dirOf(g *ir.Graph) string {
	if o, ok := a.origins[g]; ok {
		return o.dir
	}
	return "."
}

// store writes a graph to a file in the form that is named or, if it is "", in that of the file's name (tap for others). The data
// files that it names, which from finds, get names that are right there.
func (a *app) store(ctx context.Context, name, formName string, g *ir.Graph, from *constants.Loader, o shown) error {
	if f := formFor(name, formName); f.into != "" {
		n, err := a.imports.vocabularies.Find("", f.into)
		if err != nil {
			return err
		}
		return a.storeInto(ctx, name, f, n, g, from)
	}
	if !formFor(name, formName).readable() { // who looks at a drawing reads no data
		return a.storeAs(ctx, name, formName, g, o)
	}
	if err := datanames.Graph(g, datanames.SeenFrom(name, from)); err != nil {
		return err
	}
	return a.storeAs(ctx, name, formName, g, o)
}

// formFor gives the form of an output: the one that is named, or else that of its name, or else tap.
func formFor(name, formName string) *form {
	return cmp.Or(formNamed(formName), formOfName(name), formNamed(defaultForm))
}

// storeAs writes a graph as it is.
func (a *app) storeAs(ctx context.Context, name, formName string, g *ir.Graph, o shown) error {
	f := formFor(name, formName)
	if f.write == nil {
		return diag.Usage("%s: %s is a form that tapc only reads", name, f.name)
	}
	return a.writeFile(ctx, name, func(w io.Writer) error { return f.write(w, g, o) })
}
