package main

import (
	"context"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"tensortapestry.org/tapc/cmd/tapc/app"
	"tensortapestry.org/tapc/ir/diag"
	"tensortapestry.org/tapc/tools/filecheck/check"
	"tensortapestry.org/tapc/tools/lit/run"
)

const litHelp = `Run regression tests that are written as RUN lines in the files they test.

It is LLVM's test runner, with a shell of its own and filecheck built in: docs/lit.md
has its options, which come before the paths, and says what tests look like. In RUN
lines, tapc is this program unless -tool tapc=PATH names another.

The exit status is 0 if no test failed, 1 if one did, 2 for wrong usage.`

const filecheckHelp = `Check that a text has what the CHECK lines of a file ask for.

It takes the arguments of LLVM's FileCheck and gives its exit status; docs/filecheck.md
says what CHECK lines mean. The text is standard input or --input-file.`

// testCommands are the tools for tests as commands. They read their own flags.
func testCommands(a *app.App) []*cobra.Command {
	lit := &cobra.Command{Use: "lit [OPTION...] PATH...", Short: "Run tests that are written in the files they test", Long: litHelp,
		DisableFlagParsing: true, Example: "  tapc lit -v tests\n  tapc lit -filter fuse -j 2 tests"}
	filecheck := &cobra.Command{Use: "filecheck [OPTION...] CHECKFILE", Short: "Check a text against the CHECK lines of a file", Long: filecheckHelp,
		DisableFlagParsing: true, Example: "  tapc opt --passes=simplify model.tap | tapc filecheck model.tap"}
	return []*cobra.Command{
		a.Command(lit, func(_ context.Context, args []string) error {
			if self, err := os.Executable(); err == nil {
				args = slices.Concat([]string{"-tool", "tapc=" + self}, args)
			}
			return exitWith(run.Main(args, a.Stdout, a.Stderr))
		}),
		a.Command(filecheck, func(_ context.Context, args []string) error {
			return exitWith(check.Main(check.Command{Name: "tapc filecheck", Args: args, Getenv: os.Getenv, Stdin: a.Stdin, Stdout: a.Stdout, Stderr: a.Stderr}))
		})}
}

// exitWith ends with a status of a tool that has said why itself.
func exitWith(status int) error {
	if status == diag.ExitOK {
		return nil
	}
	return &diag.StatusError{Status: status, Err: app.Reported{}}
}
