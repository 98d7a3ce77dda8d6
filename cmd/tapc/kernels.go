package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tensortapestry.org/tapc/dialects/tensorops/kernels"
)

const kernelsHelp = `List the kernels that graphs can use or, with a name, show a kernel's declaration.

A name may have one of the namespaces that graphs use: op:matmul, tapc:matmul.
Operands show their element type and index: how the kernel's dimensions address the
tensor. *s is any number of dimensions; "broadcast" stretches sizes of 1, as NumPy
does; "drop" and "permute" name the parameter that says which dimensions.`

func (a *app) kernelsCommand() *cobra.Command {
	lib := kernels.Builtin()
	c := &cobra.Command{Use: "kernels [NAME...]", Short: "List kernels or show their declarations", Long: kernelsHelp,
		Example: "  tapc kernels\n  tapc kernels matmul linear", ValidArgs: lib.Names()}
	return a.command(c, func(_ context.Context, names []string) error {
		if len(names) == 0 {
			a.printf("%s", kernelList(lib))
			return nil
		}
		for i, name := range names {
			d, ok := lib.Find(name)
			if !ok {
				return unknown("kernel", name, slices.Clone(lib.Names()))
			}
			if i > 0 {
				a.printf("\n")
			}
			a.printf("%s", kernelPage(d))
		}
		return nil
	})
}

// kernelList gives a line for each kernel: its name and the first sentence about it.
func kernelList(lib *kernels.Library) string {
	var b strings.Builder
	wide := 0
	for _, name := range lib.Names() {
		wide = max(wide, len(name))
	}
	for _, name := range lib.Names() {
		d, _ := lib.Find(name)
		first, _, _ := strings.Cut(d.Doc, ". ")
		fmt.Fprintf(&b, "%-*s  %s\n", wide, name, strings.TrimSuffix(first, "."))
	}
	return b.String()
}

// kernelPage gives everything that a declaration says.
func kernelPage(d *kernels.Decl) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n%s\n", d.Name, wrap(d.Doc, "  ", lineWidth))
	for _, out := range []bool{false, true} {
		title := "inputs"
		if out {
			title = "outputs"
		}
		var lines []string
		for i := range d.Operands {
			if o := &d.Operands[i]; o.Out == out {
				lines = append(lines, operandLine(o))
			}
		}
		section(&b, title, lines)
	}
	var types, attrs, lets []string
	for _, v := range d.Types {
		types = append(types, v.Name+": "+v.Class)
	}
	for i := range d.Attrs {
		attrs = append(attrs, attrLine(&d.Attrs[i]))
	}
	for _, l := range d.Lets {
		lets = append(lets, l.Name+" = "+l.Text)
	}
	section(&b, "types", types)
	section(&b, "parameters", attrs)
	section(&b, "value", lets)
	fmt.Fprintf(&b, "  declared in %s\n", d.Source)
	return b.String()
}

func section(b *strings.Builder, title string, lines []string) {
	if len(lines) > 0 {
		fmt.Fprintf(b, "  %s:\n    %s\n", title, strings.Join(lines, "\n    "))
	}
}

func operandLine(o *kernels.OperandDecl) string {
	text := o.Name()
	if o.Variadic {
		text += "..."
	}
	items := make([]string, len(o.Index))
	for i, x := range o.Index {
		items[i] = x.String()
	}
	text += ": " + o.Type + " [" + strings.Join(items, ", ") + "]"
	if o.Optional {
		text += ", optional"
	}
	if len(o.Names) > 1 {
		text += ", also called " + wordList(o.Names[1:])
	}
	return text
}

func attrLine(at *kernels.AttrDecl) string {
	text := at.Name + ": " + at.Type.String()
	switch {
	case at.Of != "":
		text += " of " + at.Of
	case len(at.Words) > 0:
		text += " " + wordList(at.Words)
	}
	if at.HasDefault {
		return text + ", default " + at.Default
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
