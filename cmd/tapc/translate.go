package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"
)

const translateHelp = `Write a graph in another form.

Reading checks the form of the file, not the constraints of a dialect (see verify).
Every form but dot can be read back and gives the same graph.`

func (a *app) translateCommand() *cobra.Command {
	c := &cobra.Command{Use: "translate --to=FORM [-o FILE] [FILE]", Short: "Write a graph in another form",
		Args: needFiles(0, 1), Example: "  tapc translate --to=tap model.loom.json\n  tapc translate -o model.loom.json model.tap"}
	c.Long = translateHelp + "\n\nForms:\n" + formTable()
	to := c.Flags().String("to", "", "form of the output: "+wordList(formNames(false))+"; default: that of the output's name")
	from := c.Flags().String("from", "", "form of the input, if neither name nor content tell: "+wordList(formNames(true)))
	out := c.Flags().StringP("output", "o", stdName, `file to write; "-" is standard output`)
	complete(c, "to", formNames(false))
	complete(c, "from", formNames(true))
	return a.command(c, func(ctx context.Context, args []string) error {
		if err := formFlag("--from", *from, true); err != nil {
			return err
		}
		if err := formFlag("--to", *to, false); err != nil {
			return err
		}
		g, err := a.loadAs(fileArg(args), *from)
		if err != nil {
			return err
		}
		return a.store(ctx, *out, *to, g)
	})
}

// formFlag checks the name of a form; "" stands for the one that is found out.
func formFlag(flag, name string, read bool) error {
	if name == "" {
		return nil
	}
	return oneOf(flag, name, formNames(read))
}

// fileArg gives the only argument; none is standard input.
func fileArg(args []string) string {
	if len(args) == 0 {
		return stdName
	}
	return args[0]
}

func formTable() string {
	var b strings.Builder
	for _, f := range forms {
		b.WriteString("  " + f.name + strings.Repeat(" ", 6-len(f.name)) + f.doc)
		if len(f.suffixes) > 0 {
			b.WriteString(" (" + strings.Join(f.suffixes, ", ") + ")")
		}
		b.WriteString("\n")
	}
	return strings.TrimRight(b.String(), "\n")
}

// wordList writes words for a sentence.
func wordList(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
}
