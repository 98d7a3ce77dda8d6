package mapping

import (
	"embed"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"
)

//go:embed rules/*.map
var ruleFiles embed.FS

// Builtin gives the tables that come with tapc, by file name. A fault in one is an error of tapc itself and panics here; a test reads them
// all.
var Builtin = sync.OnceValue(func() []*Table {
	names, err := fs.Glob(ruleFiles, "rules/*.map")
	if err != nil {
		panic(err)
	}
	var out []*Table
	for _, name := range names {
		var text []byte
		var t *Table
		if text, err = ruleFiles.ReadFile(name); err == nil {
			t, err = ParseWith(name, string(text), out)
		}
		if err != nil {
			panic(err)
		}
		out = append(out, t)
	}
	return out
})

// Parse reads a table, which may use the functions of the built-in ones of its namespace.
func Parse(file, text string) (*Table, error) { return ParseWith(file, text, Builtin()) }

// TablesFor gives the tables from a namespace: those of the user first, so that their rules are tried before the built-in ones.
func TablesFor(namespace string, user []*Table) []*Table {
	var out []*Table
	for _, t := range append(slices.Clone(user), Builtin()...) {
		if t.Namespace == namespace {
			out = append(out, t)
		}
	}
	return out
}

// Text gives the text of a built-in table, for documents.
func Text(name string) (string, error) {
	b, err := ruleFiles.ReadFile("rules/" + name + ".map")
	return strings.TrimSpace(string(b)), err
}

// Signature writes the head of a rule as its table has it.
func (r *Rule) Signature() string {
	name := r.Op
	if r.Domain != "" {
		name = fmt.Sprintf("%q", r.Domain+":"+r.Op)
	}
	switch {
	case r.To >= 0:
		name += fmt.Sprintf(" %d..%d", r.From, r.To)
	case r.From > 0:
		name += fmt.Sprintf(" %d..", r.From)
	}
	return name
}

// File gives the name of the file that the table was read from.
func (t *Table) File() string { return t.file }
