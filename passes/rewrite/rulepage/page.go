// Package rulepage writes lists of rules for documentation. It must not import a pass. Read next: docs/rewrites.md.
package rulepage

import (
	"fmt"
	"strings"

	"tensortapestry.org/tapc/passes/rewrite"
)

// Markdown writes a table of rules with what each does and the identity that it rests on.
func Markdown(rules []rewrite.Rule) string {
	var b strings.Builder
	for _, r := range rules {
		fmt.Fprintf(&b, "### `%s` (%s)\n\n", r.Name, needs(r))
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

// needs says whether a rule may or must be applied, and what it needs to be allowed to do to numbers.
func needs(r rewrite.Rule) string {
	if r.Allow == 0 {
		return r.Class.String()
	}
	return fmt.Sprintf("%s, with the permission %s", r.Class, strings.Join(r.Allow.Words(), ", "))
}
