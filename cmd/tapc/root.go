package main

import (
	"errors"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"tensortapestry.org/tapc/cmd/tapc/app"
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
func root(a *app.App) *cobra.Command {
	root := &cobra.Command{Use: "tapc", Short: "Compile tensor graph files to executables", Long: rootHelp, Example: rootExample,
		SilenceErrors: true, SilenceUsage: true, Version: release.Text(), Args: app.UnknownCommand}
	root.RunE = func(cmd *cobra.Command, _ []string) error {
		a.Started = true
		return cmd.Help()
	}
	root.SetIn(a.Stdin)
	root.SetOut(a.Stdout)
	root.SetErr(a.Stderr)
	root.SetVersionTemplate("{{.Version}}\n")
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return flagError(a, cmd, err) })
	root.PersistentFlags().StringVar(&a.Format, "diagnostics", a.Format, "form of diagnostics on standard error: text, json or sarif")
	root.PersistentFlags().StringArrayVar(&a.KernelFiles, "kernels", nil, "know the kernels declared in this file besides tapc's own (repeatable)")
	root.PersistentPreRunE = func(c *cobra.Command, _ []string) error {
		if err := a.AddKernels(c.Context()); err != nil || len(a.Imports.Vocabularies.Values) == 0 {
			return err
		}
		a.Started = true // what is wrong now is wrong in a file
		return a.Imports.Vocabularies.Read()
	}
	flagnames.Words(root.PersistentFlags(), "diagnostics", app.DiagnosticForms)
	flagnames.Texts(root.PersistentFlags(), "kernels")
	root.PersistentFlags().StringArrayVar(&a.Imports.Vocabularies.Values, "namespace", nil, "vocabulary of an Amanda graph that names none, such as tensorflow/1.13.1; or FILE.ns, a dictionary that graphs, rules and --into may name besides tapc's own (repeatable)")
	dictionaries.Check(root.PersistentFlags(), "namespace", a.Args)
	app.Complete(root, "diagnostics", app.DiagnosticForms)
	root.AddCommand(commands(a)...)
	arguments.Guard(root, app.UnknownCommand)
	if len(a.Args) == 0 || !strings.HasPrefix(a.Args[0], cobra.ShellCompRequestCmd) { // which reads flags twice
		flagnames.Guard(root)
	}
	return root
}

// flagError turns an error of the flags into one that helps.
func flagError(a *app.App, cmd *cobra.Command, err error) error {
	if !cmd.HasParent() && len(a.Args) > 0 && !strings.HasPrefix(a.Args[0], "-") {
		return app.UnknownCommand(cmd, a.Args) // its flags are not known either
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
