package rewrite

import (
	"fmt"
	"slices"
	"strings"
)

// Markdown writes a table of rules with what each does and the identity that it rests on.
func Markdown(rules []Rule) string {
	var b strings.Builder
	for _, r := range rules {
		fmt.Fprintf(&b, "### `%s` (%s)\n\n", r.Name, r.Class)
		if r.Source == "Go" {
			fmt.Fprintf(&b, "%s\n\n", r.Text)
		} else {
			fmt.Fprintf(&b, "```\n%s\n```\n\n", wrapRule(r.Text))
		}
		fmt.Fprintf(&b, "Because %s.\n\n", r.Because)
	}
	return b.String()
}

// wrapRule breaks a rule's text before its alternatives, its result and its guard if it is long.
func wrapRule(text string) string {
	if len(text) <= 100 {
		return text
	}
	for _, at := range []string{" | ", " => ", " if "} {
		text = strings.ReplaceAll(text, at, "\n   "+strings.TrimRight(at, " ")+" ")
	}
	return text
}

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
