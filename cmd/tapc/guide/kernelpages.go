package guide

import (
	"bytes"
	"fmt"
	"strings"

	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/dialects/tensorops/kernels/page"
	"tensortapestry.org/tapc/ir/diag"
)

// The lines around the pages of kernels in their guide.
const (
	pagesBegin = "<!-- The pages of kernels, made by `go run ./cmd/tapc docs docs`. -->\n"
	pagesEnd   = "<!-- End of the pages of kernels. -->\n"
)

// WithKernels renews the pages of all kernels in a document.
func WithKernels(document []byte, lib *kernels.Library) ([]byte, error) {
	head, rest, begins := bytes.Cut(document, []byte(pagesBegin))
	_, tail, ends := bytes.Cut(rest, []byte(pagesEnd))
	if !begins || !ends {
		return nil, diag.Usage("the guide to kernels lacks the lines around the pages")
	}
	var b bytes.Buffer
	b.Write(head)
	b.WriteString(pagesBegin)
	for _, f := range lib.Families() {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n", f.Name, f.Doc)
		for _, name := range f.Kernels {
			d, _ := lib.Find(name)
			p, err := page.Of(d)
			if err != nil {
				return nil, err
			}
			kernelMarkdown(&b, p)
		}
	}
	b.WriteString("\n" + pagesEnd)
	b.Write(tail)
	return b.Bytes(), nil
}

// kernelMarkdown writes a page.
func kernelMarkdown(b *bytes.Buffer, p *page.Page) {
	fmt.Fprintf(b, "\n### %s\n\n%s\n\n```text\n", p.Name, strings.ReplaceAll(p.Doc, "*", `\*`))
	for _, o := range p.Inputs {
		fmt.Fprintf(b, "in    %s\n", operandLine(o))
	}
	for _, o := range p.Outputs {
		fmt.Fprintf(b, "out   %s\n", operandLine(o))
	}
	for _, v := range p.Types {
		fmt.Fprintf(b, "types %s: %s\n", v.Name, v.Class)
	}
	for _, x := range p.Parameters {
		fmt.Fprintf(b, "attr  %s\n", parameterLine(x))
	}
	for _, line := range p.Body {
		word, rest, _ := strings.Cut(line, " ")
		fmt.Fprintf(b, "%-5s %s\n", word, rest)
	}
	if p.Cost != "" {
		fmt.Fprintf(b, "cost  %s\n", p.Cost)
	}
	b.WriteString("```\n")
	if p.Opaque != "" {
		fmt.Fprintf(b, "\nThe signature is wider than what is read: %s\n", p.Opaque)
	}
	if len(p.Cases) > 0 {
		b.WriteString("\n```text\n")
	}
	for i, c := range p.Cases {
		fmt.Fprintf(b, "case  %s\n", c.Text)
		if i == 0 {
			for _, line := range caseLines(c)[1:] {
				fmt.Fprintf(b, "      %s\n", line)
			}
		}
	}
	if len(p.Cases) > 0 {
		b.WriteString("```\n")
	}
}
