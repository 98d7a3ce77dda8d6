// Package rules holds the rules by which operations of foreign vocabularies become tapc's kernels, and kernels such operations: the language
// of tables, tapc's own tables, and what is checked in them.
//
// A Table is a file of rules (docs/mapping.md describes the language). What a rule says is data here; frontends/mapping applies it. Read next:
// table.go, then frontends/mapping/expr for the expressions in rules.
package rules

import (
	"embed"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"
)

//go:embed *.map
var ruleFiles embed.FS

// Builtin gives the tables that come with tapc, by file name. A fault in one is an error of tapc itself and panics here; a test reads them
// all.
var Builtin = sync.OnceValue(func() []*Table {
	names, err := fs.Glob(ruleFiles, "*.map")
	if err != nil {
		panic(err)
	}
	var out []*Table
	for _, name := range names {
		var text []byte
		var t *Table
		if text, err = ruleFiles.ReadFile(name); err == nil {
			t, err = ParseWith("rules/"+name, string(text), out)
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

// For gives the tables from a namespace: those of the user first, so that their rules are tried before the built-in ones.
func For(namespace string, user []*Table) []*Table {
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
	b, err := ruleFiles.ReadFile(name + ".map")
	return strings.TrimSpace(string(b)), err
}

// At says whether the rule is for a version of the vocabulary.
func (r *Rule) At(version int64) bool { return version >= r.From && (r.To < 0 || version <= r.To) }

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

// Operator splits the name of an operator, "domain:Type" or "Type".
func Operator(s string) (domain, op string) {
	for i := len(s) - 1; i >= 0; i-- {
		if s[i] == ':' {
			return s[:i], s[i+1:]
		}
	}
	return "", s
}

// NearBack says whether what is equal to a kernel in a vocabulary is rounded elsewhere than the kernel is: a rule back for it says "near".
func NearBack(tables []*Table, kernel string) bool {
	for _, t := range tables {
		if slices.ContainsFunc(t.Backs, func(r *Rule) bool { return r.Op == kernel && r.Back.Near }) {
			return true
		}
	}
	return false
}
