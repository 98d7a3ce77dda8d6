package guide

import (
	"bytes"
	"fmt"

	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/search/variants"
)

// The lines around the table of decisions in the guide to searching.
const (
	decisionsBegin = "<!-- The table of decisions, made by `go run ./cmd/tapc docs docs`. -->\n"
	decisionsEnd   = "<!-- End of the table of decisions. -->\n"
)

// WithDecisions renews the table of decisions in a document.
func WithDecisions(document []byte) ([]byte, error) {
	head, rest, begins := bytes.Cut(document, []byte(decisionsBegin))
	_, tail, ends := bytes.Cut(rest, []byte(decisionsEnd))
	if !begins || !ends {
		return nil, diag.Usage("the guide to searching lacks the lines around the table of decisions")
	}
	var b bytes.Buffer
	b.Write(head)
	b.WriteString(decisionsBegin + "\n| `--space` | what is decided | where | needs | priced | field of plans | mutators | else |\n|---|---|---|---|---|---|---|---|\n")
	for _, k := range variants.Table() {
		needs := "nothing"
		if k.Needs != 0 {
			needs = "`--allow=" + k.Needs.String() + "` for sums of floats"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s | `%s` | %s | %s |\n", k.Name, k.Doc, k.On, needs, k.Priced, k.Field, k.Fuel, k.Else)
	}
	b.WriteString("\n" + decisionsEnd)
	b.Write(tail)
	return b.Bytes(), nil
}
