package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"tensortapestry.org/tapc/dialects/tensorops/kernels"
	"tensortapestry.org/tapc/ir/diag"
)

// docsCommand writes the documentation that is made from the program itself.
func (a *app) docsCommand() *cobra.Command {
	c := &cobra.Command{Use: "docs DIR", Short: "Write the documentation of commands, passes and kernels", Hidden: true, Args: cobra.ExactArgs(1),
		Long:    "Write DIR/cli.md, the list of passes in DIR/passes.md and the pages of kernels in\nDIR/kernels.md, from what this program holds.",
		Example: "  tapc docs docs"}
	return a.command(c, func(ctx context.Context, args []string) error {
		name := filepath.Join(args[0], "passes.md")
		old, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		guide, err := withPassList(old)
		if err != nil {
			return err
		}
		if err := a.writeData(ctx, name, guide); err != nil {
			return err
		}
		name = filepath.Join(args[0], "kernels.md")
		if old, err = os.ReadFile(name); err != nil {
			return err
		}
		if guide, err = withKernelPages(old, kernels.Builtin()); err != nil {
			return err
		}
		if err := a.writeData(ctx, name, guide); err != nil {
			return err
		}
		return a.writeData(ctx, filepath.Join(args[0], "cli.md"), cliDocument(a.root()))
	})
}

const cliHead = `# Commands

Made by ` + "`go run ./cmd/tapc docs docs`" + ` from the commands themselves; a test checks that it is current.

`

// cliDocument describes every command in Markdown.
func cliDocument(root *cobra.Command) []byte {
	var b bytes.Buffer
	b.WriteString(cliHead)
	fmt.Fprintf(&b, "```text\n%s\n```\n\n", root.Long)
	b.WriteString("| command | what it does |\n| --- | --- |\n")
	for _, c := range root.Commands() {
		if isDocumented(c) {
			fmt.Fprintf(&b, "| [`tapc %s`](#tapc-%s) | %s |\n", c.Name(), c.Name(), c.Short)
		}
	}
	b.WriteString("\nFlags of every command:\n\n")
	flagTable(&b, root.PersistentFlags())
	commandSections(&b, root)
	return b.Bytes()
}

// commandSections describes the commands below one, each before those below it.
func commandSections(b *bytes.Buffer, of *cobra.Command) {
	for _, c := range of.Commands() {
		if isDocumented(c) {
			commandSection(b, c)
			commandSections(b, c)
		}
	}
}

func isDocumented(c *cobra.Command) bool {
	return c.IsAvailableCommand() && c.Name() != "help" && c.Name() != "completion"
}

func commandSection(b *bytes.Buffer, c *cobra.Command) {
	fmt.Fprintf(b, "\n## %s\n\n```text\n%s\n\nUsage: %s\n```\n\n```sh\n%s\n```\n", c.CommandPath(), c.Long, c.UseLine(), dedent(c.Example))
	if c.LocalFlags().HasAvailableFlags() {
		b.WriteString("\n")
		flagTable(b, c.LocalFlags())
	}
}

func dedent(text string) string {
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		lines[i] = strings.TrimPrefix(l, "  ")
	}
	return strings.Join(lines, "\n")
}

func flagTable(w io.Writer, flags *pflag.FlagSet) {
	fmt.Fprintf(w, "| flag | default | meaning |\n| --- | --- | --- |\n")
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Name == "help" {
			return
		}
		kind, usage := pflag.UnquoteUsage(f)
		name := "--" + f.Name
		if f.Shorthand != "" {
			name = "-" + f.Shorthand + ", " + name
		}
		if kind != "" {
			kind = " " + kind
		}
		fmt.Fprintf(w, "| `%s%s` | %s | %s |\n", name, kind, defaultOf(f), strings.ReplaceAll(usage, "|", `\|`))
	})
}

// defaultOf shows a flag's default where it is not the type's zero.
func defaultOf(f *pflag.Flag) string {
	switch f.DefValue {
	case "", "false", "[]", "0":
		return ""
	}
	return "`" + f.DefValue + "`"
}

// The lines around the list of passes in the guide to passes.
const (
	listBegins = "<!-- The list of passes, made by `go run ./cmd/tapc docs docs`. -->\n"
	listEnds   = "<!-- End of the list of passes. -->\n"
)

// withPassList renews the list of passes in a document.
func withPassList(document []byte) ([]byte, error) {
	head, rest, begins := bytes.Cut(document, []byte(listBegins))
	_, tail, ends := bytes.Cut(rest, []byte(listEnds))
	if !begins || !ends {
		return nil, diag.Usage("the guide to passes lacks the lines around the list")
	}
	var b bytes.Buffer
	b.Write(head)
	b.WriteString(listBegins)
	passSections(&b)
	b.WriteString("\n" + listEnds)
	b.Write(tail)
	return b.Bytes(), nil
}

func passSections(b *bytes.Buffer) {
	t := passes()
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
