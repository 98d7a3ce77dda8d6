// Package guide writes down what tapc's commands, passes and kernels are: for a terminal, and for the pages of docs/ that are made from the
// program. It only prints; what there is it is given.
package guide

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

const cliHead = `# Commands

Made by ` + "`go run ./cmd/tapc docs docs`" + ` from the commands themselves; a test checks that it is current.

`

// Commands describes every command in Markdown.
func Commands(root *cobra.Command) []byte {
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
