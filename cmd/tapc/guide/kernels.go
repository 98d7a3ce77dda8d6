package guide

import (
	"fmt"
	"slices"
	"strings"

	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/dialects/tensorops/kernels/page"
	"tensortapestry.org/tapc/ir/diag"
)

// KernelPages gives the pages of kernels by name, of all of them without names.
func KernelPages(lib *kernels.Library, names []string) ([]*page.Page, error) {
	if len(names) == 0 {
		names = lib.Names()
	}
	pages := make([]*page.Page, len(names))
	for i, name := range names {
		d, ok := lib.Find(name)
		if !ok {
			return nil, diag.Unknown("kernel", name, slices.Clone(lib.Names()))
		}
		p, err := page.Of(d)
		if err != nil {
			return nil, err
		}
		pages[i] = p
	}
	return pages, nil
}

// KernelList gives a line for each kernel: its name and the first sentence about it, by families.
func KernelList(lib *kernels.Library) string {
	var b strings.Builder
	wide := 0
	for _, name := range lib.Names() {
		wide = max(wide, len(name))
	}
	for i, f := range lib.Families() {
		if i > 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "%s\n", f.Name)
		for _, name := range f.Kernels {
			d, _ := lib.Find(name)
			fmt.Fprintf(&b, "  %-*s  %s\n", wide, name, firstSentence(d.Doc))
		}
	}
	return b.String()
}

// firstSentence gives a text up to the first full stop or colon.
func firstSentence(text string) string {
	first, _, _ := strings.Cut(text, ". ")
	return strings.TrimSuffix(first, ".")
}

// KernelText lays a page out for a terminal.
func KernelText(p *page.Page) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s (%s)\n%s\n", p.Name, p.Family, wrap(p.Doc, "  ", lineWidth))
	section(&b, "inputs", lines(p.Inputs, operandLine))
	section(&b, "outputs", lines(p.Outputs, operandLine))
	section(&b, "types", lines(p.Types, typeLine))
	section(&b, "parameters", lines(p.Parameters, parameterLine))
	section(&b, "body", p.Body)
	section(&b, "cost", lines([]string{p.Cost}, costLine))
	if p.Opaque != "" {
		fmt.Fprintf(&b, "  signature wider than what is read:\n%s\n", wrap(p.Opaque, "    ", lineWidth))
	}
	for _, c := range p.Cases {
		section(&b, "case", caseLines(c))
	}
	fmt.Fprintf(&b, "  declared in %s\n", p.Source)
	return b.String()
}

func lines[T any](list []T, line func(T) string) []string {
	out := make([]string, len(list))
	for i, x := range list {
		out[i] = line(x)
	}
	return out
}

func section(b *strings.Builder, title string, lines []string) {
	if len(lines) > 0 {
		fmt.Fprintf(b, "  %s:\n    %s\n", title, strings.Join(lines, "\n    "))
	}
}

func operandLine(o page.Operand) string {
	text := o.Names[0]
	if o.Variadic {
		text += "..."
	}
	text += ": " + o.Type + " " + o.Index
	if o.Optional {
		text += ", optional"
	}
	if len(o.Names) > 1 {
		text += ", also called " + WordList(o.Names[1:])
	}
	return text
}

func typeLine(v page.Type) string {
	if len(v.DTypes) == 0 {
		return v.Name + ": " + v.Class
	}
	return v.Name + ": " + v.Class + " (" + strings.Join(v.DTypes, " ") + ")"
}

func parameterLine(p page.Parameter) string {
	text := p.Name + ": " + p.Type
	if p.HasDefault {
		return text + ", default " + p.Default
	}
	return text + ", required where it is used"
}

func costLine(cost string) string {
	if cost == "" {
		return "the operations of the body"
	}
	return cost
}

func caseLines(c page.Case) []string {
	text := []string{c.Text, fmt.Sprintf("index %s, %d operations", c.Index, c.Flops)}
	for _, m := range c.Inputs {
		text = append(text, "reads "+m)
	}
	for _, m := range c.Outputs {
		text = append(text, "writes "+m)
	}
	return text
}

// lineWidth is how long lines of prose are.
const lineWidth = 88

// wrap breaks prose into lines, each with a lead.
func wrap(text, lead string, width int) string {
	var b strings.Builder
	line := lead
	for _, word := range strings.Fields(text) {
		if len(line) > len(lead) && len(line)+1+len(word) > width {
			b.WriteString(line + "\n")
			line = lead
		}
		if len(line) > len(lead) {
			line += " "
		}
		line += word
	}
	b.WriteString(line)
	return b.String()
}

// WordList writes words for a sentence.
func WordList(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
}
