package app

import (
	"slices"

	"github.com/spf13/cobra"

	"tensortapestry.org/tapc/cmd/tapc/flagnames"
	"tensortapestry.org/tapc/ir/diag"
)

// Words makes a flag take words of a list, and offers them to the shell.
func Words(cmd *cobra.Command, flag string, list []string) {
	flagnames.Words(cmd.Flags(), flag, list)
	Complete(cmd, flag, list)
}

// Complete offers words for a flag to the shell.
func Complete(cmd *cobra.Command, flag string, words []string) {
	err := cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
	if err != nil {
		panic(err) // a flag that does not exist: a fault of this program that any test shows
	}
}

// OneOf checks the value of a flag that is one of a few words.
func OneOf(flag, word string, words []string) error {
	if slices.Contains(words, word) {
		return nil
	}
	return diag.Unknown("value of "+flag, word, slices.Clone(words))
}

// JSONFlag adds the flag for an answer in JSON.
func JSONFlag(c *cobra.Command) *bool { return c.Flags().Bool("json", false, "answer in JSON") }

// NeedCommand refuses words that are no command.
func NeedCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names []string
	for _, c := range cmd.Commands() {
		names = append(names, c.Name())
	}
	return diag.Unknown("command", args[0], names)
}

// FirstError gives the first of some errors that is one.
func FirstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// FileArgument gives the only argument; none is standard input.
func FileArgument(args []string) string {
	if len(args) == 0 {
		return Standard
	}
	return args[0]
}

// NeedFiles says how many files a command takes; more than one if most is 0.
func NeedFiles(least, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case slices.Contains(args, ""):
			return diag.Usage("%s: the name of a file is empty", cmd.CommandPath())
		case len(args) < least:
			return diag.Usage("%s needs a file (%q is standard input); see %s --help", cmd.CommandPath(), Standard, cmd.CommandPath())
		case most > 0 && len(args) > most:
			return diag.Usage("%s takes %d file%s, not also %q", cmd.CommandPath(), most, "s"[:min(most-1, 1)], args[most])
		}
		return nil
	}
}

// UnknownCommand says what is wrong with words after tapc that name no command.
func UnknownCommand(cmd *cobra.Command, args []string) error {
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
