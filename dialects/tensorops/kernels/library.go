// Package kernels is the library of kernels: tapc's own, declared in library/, and those of users and plugins; and what it says of the
// operations of a graph.
//
// A kernel is declared once, in one file. declaration reads that; infer finds the shapes of a call's results; bind applies a kernel to a call, and
// instance is what comes of it: loops, accesses and statements, from which the polyhedral signature follows, the work, and what the reference
// evaluator runs and every back end compiles. example works out cases, sample makes calls for tests, page is for documentation. None of these
// imports a back end or a pass. Read next: declaration/parse.go for the language, bind/bind.go for what is derived.
package kernels

import (
	"embed"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"

	"tensortapestry.org/tapc/dialects/tensorops/kernels/declaration"
)

//go:embed library/*.kernel
var libraryFiles embed.FS

// namespaces are the prefixes under which the built-in kernels go, the usual one first.
var namespaces = []string{"op", "ops", "builtins", "tapc"}

// Bare gives a kernel's name without a namespace of tapc's; what is in another namespace stays as it is.
func Bare(name string) string {
	if space, rest, ok := strings.Cut(name, ":"); ok && slices.Contains(namespaces, space) {
		return rest
	}
	return name
}

// ID gives the name by which a graph uses a kernel: with a namespace.
func ID(name string) string {
	if strings.Contains(name, ":") {
		return name
	}
	return namespaces[0] + ":" + name
}

// Library is a set of kernels by name.
type Library struct {
	byName   map[string]*declaration.Kernel
	names    []string
	families []Family
}

// Family is the kernels of one file: what the comment at its head says, and their names in the order of the file.
type Family struct {
	Name, Doc string
	Kernels   []string
}

// Builtin gives the kernels that come with tapc. A fault in a declaration is an error of tapc itself and panics here; a test
// reads them all.
var Builtin = sync.OnceValue(func() *Library {
	lib := &Library{byName: map[string]*declaration.Kernel{}}
	files, err := fs.Glob(libraryFiles, "library/*.kernel")
	for _, f := range files {
		var text []byte
		if text, err = libraryFiles.ReadFile(f); err == nil {
			err = lib.load(f, string(text), declaration.Parse) // a test works out the cases
		}
		if err != nil {
			break
		}
	}
	if err != nil {
		panic(err)
	}
	return lib
})

func (l *Library) load(file, text string, parse func(file, text string) ([]*declaration.Kernel, error)) error {
	decls, err := parse(file, text)
	if err != nil {
		return err
	}
	family := Family{Doc: declaration.Head(text)}
	for _, d := range decls {
		if old := l.byName[d.Name]; old != nil {
			return &declaration.SyntaxError{File: d.File, Line: d.Line, Err: fmt.Errorf("kernel %s is declared already, at %s", d.Name, old.Source())}
		}
		l.byName[d.Name] = d
		l.names = append(l.names, d.Name)
		family.Name, family.Kernels = d.Family(), append(family.Kernels, d.Name)
	}
	slices.Sort(l.names)
	if len(decls) > 0 {
		l.families = append(l.families, family)
	}
	return nil
}

// Families gives the kernels by the files that declare them, in the order in which those were loaded.
func (l *Library) Families() []Family { return l.families }

// Names gives the kernels' names in order.
func (l *Library) Names() []string { return l.names }

// Find finds a kernel by the name a graph uses: for one of tapc's its own, under any of the namespaces op, ops, builtins and
// tapc or none, and for any other its name in its namespace.
func (l *Library) Find(name string) (*declaration.Kernel, bool) {
	d, ok := l.byName[Bare(name)]
	return d, ok
}
