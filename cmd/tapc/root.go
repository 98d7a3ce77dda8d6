package main

import (
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"tensortapestry.org/tapc/cmd/tapc/arguments"
	"tensortapestry.org/tapc/cmd/tapc/dictionaries"
	"tensortapestry.org/tapc/cmd/tapc/flagnames"
	"tensortapestry.org/tapc/internal/release"
	"tensortapestry.org/tapc/ir/diag"
)

const rootHelp = `tapc compiles tensor graph files to executables.

A graph comes in as Loom JSON (.loom.json), as text (.tap), as protobuf (.tapb), as
an ONNX model or as an Amanda graph (.yaml); it is verified, lowered by passes through
the Operation Expression, Application Expression and Scheduled Kernels dialects, and
goes out as a native program or in any of the forms.

Files are named on the command line; "-" is standard input or output. A file that
is written appears whole, under its name, or not at all.

Exit status: 0 done; 1 the input is at fault; 2 the command line is; 3 tapc, a
plugin or the machine is; 129 hung up, 130 interrupted (Ctrl-C), 143 terminated.`

const rootExample = `  tapc verify model.loom.json
  tapc translate --to=tap model.loom.json
  tapc opt --passes='simplify,verify' --timing model.tap -o better.tap
  tapc kernels matmul`

// root makes the command line.
func (a *app) root() *cobra.Command {
	root := &cobra.Command{Use: "tapc", Short: "Compile tensor graph files to executables", Long: rootHelp, Example: rootExample,
		SilenceErrors: true, SilenceUsage: true, Version: release.Text(), Args: a.unknownCommand}
	root.RunE = func(cmd *cobra.Command, _ []string) error {
		a.started = true
		return cmd.Help()
	}
	root.SetIn(a.stdin)
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	root.SetVersionTemplate("{{.Version}}\n")
	root.SetFlagErrorFunc(a.flagError)
	root.PersistentFlags().StringVar(&a.format, "diagnostics", a.format, "form of diagnostics on standard error: text, json or sarif")
	root.PersistentFlags().StringArrayVar(&a.kernelFiles, "kernels", nil, "know the kernels declared in this file besides tapc's own (repeatable)")
	root.PersistentPreRunE = func(c *cobra.Command, _ []string) error {
		if err := a.addKernels(c.Context()); err != nil || len(a.imports.vocabularies.Values) == 0 {
			return err
		}
		a.started = true // what is wrong now is wrong in a file
		return a.imports.vocabularies.Read()
	}
	flagnames.Words(root.PersistentFlags(), "diagnostics", diagnosticForms)
	flagnames.Texts(root.PersistentFlags(), "kernels")
	root.PersistentFlags().StringArrayVar(&a.imports.vocabularies.Values, "namespace", nil, "vocabulary of an Amanda graph that names none, such as tensorflow/1.13.1; or FILE.ns, a dictionary that graphs, rules and --into may name besides tapc's own (repeatable)")
	dictionaries.Check(root.PersistentFlags(), "namespace", a.args)
	complete(root, "diagnostics", diagnosticForms)
	root.AddCommand(a.commands()...)
	arguments.Guard(root, a.unknownCommand)
	if len(a.args) == 0 || !strings.HasPrefix(a.args[0], cobra.ShellCompRequestCmd) { // which reads flags twice
		flagnames.Guard(root)
	}
	return root
}

// unknownCommand says what is wrong with words after tapc that name no command.
func (a *app) unknownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names []string
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	return diag.Unknown("command", args[0], names)
}

// oneOf checks the value of a flag that is one of a few words.
func oneOf(flag, word string, words []string) error {
	if slices.Contains(words, word) {
		return nil
	}
	return diag.Unknown("value of "+flag, word, slices.Clone(words))
}

// flagError turns an error of the flags into one that helps.
func (a *app) flagError(cmd *cobra.Command, err error) error {
	if !cmd.HasParent() && len(a.args) > 0 && !strings.HasPrefix(a.args[0], "-") {
		return a.unknownCommand(cmd, a.args) // its flags are not known either
	}
	var wrong *diag.StatusError
	if errors.As(err, &wrong) {
		return wrong
	}
	var missing *pflag.NotExistError
	if !errors.As(err, &missing) {
		return diag.Usage("%s; see %s --help", flagnames.Plainly(err.Error()), cmd.CommandPath())
	}
	if missing.GetSpecifiedShortnames() != "" {
		return diag.NotKnown("unknown flag -%s; see %s --help", missing.GetSpecifiedName(), cmd.CommandPath())
	}
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	if near, ok := diag.Nearest(missing.GetSpecifiedName(), names); ok {
		return diag.NotKnown("unknown flag --%s: did you mean --%s?", missing.GetSpecifiedName(), near)
	}
	return diag.NotKnown("unknown flag --%s; see %s --help", missing.GetSpecifiedName(), cmd.CommandPath())
}

// words makes a flag take words of a list, and offers them to the shell.
func words(cmd *cobra.Command, flag string, list []string) {
	flagnames.Words(cmd.Flags(), flag, list)
	complete(cmd, flag, list)
}

// complete offers words for a flag to the shell.
func complete(cmd *cobra.Command, flag string, words []string) {
	err := cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
	if err != nil {
		panic(err) // a flag that does not exist: a fault of this program that any test shows
	}
}
