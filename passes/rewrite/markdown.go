package rewrite

import (
	"fmt"
	"slices"
	"strings"
)

// LanguageTables writes the guards and functions of the rule language as lists.
func LanguageTables() string {
	var b strings.Builder
	b.WriteString("Conditions on values:\n\n")
	list(&b, "xyz", predicates, func(p predicate) (int, string) { return p.args, "holds if " + p.doc })
	b.WriteString("\nFacts of values, to compare:\n\n")
	list(&b, "xyz", facts, func(f fact) (int, string) { return f.args, f.doc })
	b.WriteString("\nFunctions of parameters:\n\n")
	list(&b, "pqr", functions, func(f function) (int, string) { return f.args, f.doc })
	return b.String()
}

func list[T any](b *strings.Builder, letters string, table map[string]T, of func(T) (args int, doc string)) {
	var names []string
	for name := range table {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		n, doc := of(table[name])
		fmt.Fprintf(b, "- `%s(%s)`: %s.\n", name, strings.Join(strings.Split(letters[:n], ""), ", "), doc)
	}
}
