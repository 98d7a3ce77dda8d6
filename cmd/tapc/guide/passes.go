package guide

import (
	"bytes"
	"fmt"
	"strings"

	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/passes/pipeline"
)

// PassList describes the passes of a table.
func PassList(t *pipeline.Table) string {
	var b strings.Builder
	for i := range t.Passes {
		p := &t.Passes[i]
		fmt.Fprintf(&b, "%s\n  %s\n  takes: %s\n", p.Name, strings.ReplaceAll(p.Doc, "\n", "\n  "), stagesText(p))
		for _, o := range p.Options {
			fmt.Fprintf(&b, "  option %s=%s: %s%s\n", o.Name, strings.ToUpper(o.Type.String()), o.Doc, defaultText(o))
		}
		for _, o := range p.After {
			fmt.Fprintf(&b, "  after %s: %s\n", o.Name, o.Reason)
		}
	}
	return b.String()
}

func stagesText(p *pipeline.Pass) string {
	text := p.Needs.String()
	if p.Upto > p.Needs {
		text += " to " + p.Upto.String()
	}
	if p.Gives > p.Needs {
		text += "; gives: " + p.Gives.String()
	}
	return text
}

func defaultText(o pipeline.Option) string {
	if o.Default == "" {
		return ""
	}
	return " (default " + o.Default + ")"
}

// The lines around the list of passes in the guide to passes.
const (
	listBegins = "<!-- The list of passes, made by `go run ./cmd/tapc docs docs`. -->\n"
	listEnds   = "<!-- End of the list of passes. -->\n"
)

// WithPasses renews the list of passes in a document.
func WithPasses(document []byte, t *pipeline.Table) ([]byte, error) {
	head, rest, begins := bytes.Cut(document, []byte(listBegins))
	_, tail, ends := bytes.Cut(rest, []byte(listEnds))
	if !begins || !ends {
		return nil, diag.Usage("the guide to passes lacks the lines around the list")
	}
	var b bytes.Buffer
	b.Write(head)
	b.WriteString(listBegins)
	passSections(&b, t)
	b.WriteString("\n" + listEnds)
	b.Write(tail)
	return b.Bytes(), nil
}

func passSections(b *bytes.Buffer, t *pipeline.Table) {
	for i := range t.Passes {
		p := &t.Passes[i]
		fmt.Fprintf(b, "\n### %s\n\n%s\n\nTakes: %s. Runs: %s.\n", p.Name, p.Doc, stagesText(p), p.Standard)
		if len(p.Options) > 0 {
			b.WriteString("\n| option | type | default | meaning |\n| --- | --- | --- | --- |\n")
		}
		for _, o := range p.Options {
			fmt.Fprintf(b, "| `%s` | %s | %s | %s |\n", o.Name, o.Type, o.Default, strings.ReplaceAll(o.Doc, "|", `\|`))
		}
		if len(p.After) > 0 {
			b.WriteString("\n")
		}
		for _, o := range p.After {
			fmt.Fprintf(b, "- After [%s](#%s): %s.\n", o.Name, o.Name, o.Reason)
		}
	}
}
