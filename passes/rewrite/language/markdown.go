package language

import (
	"fmt"
	"slices"
	"strings"

	"tensortapestry.org/tapc/passes/rewrite/values"
)

// LanguageTables writes the guards and functions of the rule language as lists.
func LanguageTables() string {
	var b strings.Builder
	b.WriteString("Conditions on values:\n\n")
	list(&b, "xyz", predicates, func(p predicate) (int, string) { return p.args, "holds if " + p.doc })
	b.WriteString("\nFacts of values:\n\n")
	list(&b, "xyz", facts, func(f fact) (int, string) { return f.args, f.doc })
	b.WriteString("\nFunctions of parameters and facts, in guards and for parameters of new operations. Where one has no value, a comparison does not hold, and a rule does not match:\n\n")
	list(&b, "pqr", values.Functions, func(f values.Function) (int, string) { return f.Args, f.Doc })
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
