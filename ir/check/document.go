package check

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// Document writes the reference of the constraints of some environments as Markdown: each constraint once, under the first
// environment that has it, with its meaning, what it requires and its codes.
func Document(envs ...*Environment) []byte {
	var b bytes.Buffer
	b.WriteString(documentHead)
	seen := map[string]bool{}
	for i, e := range envs {
		fmt.Fprintf(&b, "\n## The %s dialect\n\nConstraints, in the order in which they are checked: ", e.Name)
		own := e.All()
		if i > 0 && begins(own, envs[i-1].All()) {
			fmt.Fprintf(&b, "those of the %s dialect, then ", envs[i-1].Name)
			own = own[len(envs[i-1].All()):]
		}
		fmt.Fprintf(&b, "%s.\n", constraintLinks(own))
		for _, k := range e.All() {
			if !seen[k.ID] {
				seen[k.ID] = true
				documentOne(&b, k)
			}
		}
	}
	b.WriteString("\n## The verification itself\n\n| code | meaning |\n|---|---|\n")
	fmt.Fprintf(&b, "| `%s` | a remark: there are more findings than the %d that are listed |\n", CodeMore, MaxFindings)
	fmt.Fprintf(&b, "| `%s` | the verification was interrupted, so nothing is proved |\n", CodeInterrupted)
	fmt.Fprintf(&b, "| `%s` | the environment itself is not valid: a fault of its author, not of the graph |\n", CodeEnvironment)
	return b.Bytes()
}

// begins says whether a list of constraints begins with another.
func begins(all, first []Constraint) bool {
	return len(first) <= len(all) && slices.EqualFunc(all[:len(first)], first, func(a, b Constraint) bool { return a.ID == b.ID })
}

const documentHead = `# Constraints

<!-- Generated from the tables of constraints; do not edit. To renew: go generate ./dialects/schedule/constraints -->

Each dialect has an ordered list of constraints. They are checked before the first pass, between passes and on request
(` + "`tapc verify`" + `), one after the other, each only while no error has been found: a report holds every problem of the first
constraint that fails. Every message carries the code and the constraint's id as they stand here; both are stable.
`

func constraintLinks(all []Constraint) string {
	links := make([]string, len(all))
	for i, k := range all {
		links[i] = fmt.Sprintf("[%s](#%s)", k.ID, strings.ToLower(k.ID))
	}
	return strings.Join(links, ", ")
}

func documentOne(b *bytes.Buffer, k Constraint) {
	fmt.Fprintf(b, "\n### %s\n\n%s\n\n", k.ID, k.Doc)
	if len(k.Requires) > 0 {
		fmt.Fprintf(b, "Requires: %s.\n\n", strings.Join(k.Requires, ", "))
	}
	b.WriteString("| code | meaning |\n|---|---|\n")
	for _, c := range k.Codes {
		fmt.Fprintf(b, "| `%s` | %s |\n", c.ID, c.Meaning)
	}
}
