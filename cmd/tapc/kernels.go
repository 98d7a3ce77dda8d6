package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tensortapestry.org/tapc/backends/reference"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/internal/inputfile"
	"tensortapestry.org/tapc/ir/diag"
)

const kernelsHelp = `List the kernels that graphs can use or, with names, show the pages of kernels.

A name may have one of the namespaces that graphs use: op:matmul, tapc:matmul.
Operands show their element type and index string: how the kernel's dimensions address
the tensor. *s is any number of dimensions; "broadcast" stretches sizes of 1, as NumPy
does; "drop", "keep" and "permute" name the parameter that says which dimensions; what
stands behind = is the coordinate that is read. docs/kernels.md explains the rest.

--kernels FILE, which every command has, adds kernels declared in a file, and computes their
cases: a wrong one is an error.`

func (a *app) kernelsCommand() *cobra.Command {
	c := &cobra.Command{Use: "kernels [NAME...]", Short: "List kernels or show their pages", Long: kernelsHelp,
		Example: "  tapc kernels\n  tapc kernels matmul linear\n  tapc kernels --format=json --kernels mine.kernel mine:cube", ValidArgs: kernels.Builtin().Names()}
	format := c.Flags().String("format", "text", "form of the output: text or json")
	complete(c, "format", kernelFormats)
	return a.command(c, func(_ context.Context, names []string) error {
		if err := oneOf("--format", *format, kernelFormats); err != nil {
			return err
		}
		lib := a.plugins.library()
		if len(names) == 0 && *format == "text" {
			a.printf("%s", kernelList(lib))
			return nil
		}
		pages, err := kernelPages(lib, names)
		if err != nil {
			return err
		}
		if *format == "json" {
			e := json.NewEncoder(a.stdout)
			e.SetEscapeHTML(false)
			e.SetIndent("", "  ")
			return e.Encode(pages)
		}
		for i, p := range pages {
			if i > 0 {
				a.printf("\n")
			}
			a.printf("%s", kernelText(p))
		}
		return nil
	})
}

var kernelFormats = []string{"text", "json"}

// addKernels makes the kernels declared in the files of --kernels known.
func (a *app) addKernels(ctx context.Context) error {
	lib := kernels.Builtin()
	for _, file := range a.kernelFiles {
		a.started = true // what is wrong now is wrong in a file
		text, err := inputfile.ReadText(file, inputfile.MaxText)
		if err != nil {
			return fmt.Errorf("--kernels: %w", err)
		}
		a.sources[file] = source{&form{}, &content{data: text}}
		more, err := lib.With(file, string(text), "")
		if err != nil {
			return kernelFault(err)
		}
		if err := checkCases(ctx, lib, more); err != nil {
			return err
		}
		lib = more
	}
	a.plugins.base = lib
	return nil
}

// checkCases computes the cases of the kernels that a library has more than another.
func checkCases(ctx context.Context, old, lib *kernels.Library) error {
	for _, name := range lib.Names() {
		if _, ok := old.Find(name); ok {
			continue
		}
		d, _ := lib.Find(name)
		for _, c := range d.Cases {
			if err := reference.CheckCase(ctx, lib, d, c); err != nil {
				return diag.Errorf("TAP0603", kernels.ConstraintID, diag.Location{File: d.File, Line: c.Line}, "kernel %s, in a case: %v", name, err)
			}
		}
	}
	return nil
}

// kernelFault turns what is wrong with declarations into a diagnostic.
func kernelFault(err error) error {
	var at *kernels.SyntaxError
	if !errors.As(err, &at) {
		return err
	}
	expected, found := "", ""
	message := at.Err.Error()
	if head, tail, ok := strings.Cut(message, "expected "); ok {
		if want, have, ok := strings.Cut(tail, ", found "); ok {
			message, expected, found = strings.TrimRight(head, ": "), want, have
		}
	}
	if message == "" {
		message = "this is no clause of a declaration"
	}
	return diag.Errorf("TAP0603", kernels.ConstraintID, diag.Location{File: at.File, Line: at.Line}, "%s", message).Want(expected, found)
}

// kernelPages gives the pages of kernels by name, of all of them without names.
func kernelPages(lib *kernels.Library, names []string) ([]*kernels.Page, error) {
	if len(names) == 0 {
		names = lib.Names()
	}
	pages := make([]*kernels.Page, len(names))
	for i, name := range names {
		d, ok := lib.Find(name)
		if !ok {
			return nil, diag.Unknown("kernel", name, slices.Clone(lib.Names()))
		}
		p, err := d.Page()
		if err != nil {
			return nil, err
		}
		pages[i] = p
	}
	return pages, nil
}

// kernelList gives a line for each kernel: its name and the first sentence about it, by families.
func kernelList(lib *kernels.Library) string {
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

// kernelText lays a page out for a terminal.
func kernelText(p *kernels.Page) string {
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

func operandLine(o kernels.PageOperand) string {
	text := o.Names[0]
	if o.Variadic {
		text += "..."
	}
	text += ": " + o.Type + " " + o.Index
	if o.Optional {
		text += ", optional"
	}
	if len(o.Names) > 1 {
		text += ", also called " + wordList(o.Names[1:])
	}
	return text
}

func typeLine(v kernels.PageType) string {
	if len(v.DTypes) == 0 {
		return v.Name + ": " + v.Class
	}
	return v.Name + ": " + v.Class + " (" + strings.Join(v.DTypes, " ") + ")"
}

func parameterLine(p kernels.PageParameter) string {
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

func caseLines(c kernels.PageCase) []string {
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
