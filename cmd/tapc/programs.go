package main

import (
	"context"
	"os"

	"github.com/spf13/cobra"

	"tensortapestry.org/tapc/cmd/tapc/app"
	"tensortapestry.org/tapc/cmd/tapc/flagnames"
	"tensortapestry.org/tapc/cmd/tapc/inspect"
	"tensortapestry.org/tapc/cmd/tapc/rebuild"
	"tensortapestry.org/tapc/internal/childproc"
	"tensortapestry.org/tapc/ir/diag"
)

func inspectCommand(a *app.App) *cobra.Command {
	c := &cobra.Command{Use: "inspect PROGRAM", Short: "Say what a program is and what made it", Long: inspect.Help, Args: app.NeedFiles(1, 1),
		Example: "  tapc inspect ./model\n  tapc inspect --json libmodel.so"}
	asJSON := app.JSONFlag(c)
	return a.Command(c, func(_ context.Context, args []string) error {
		f, err := inspect.Read(args[0])
		if err != nil {
			return err
		}
		if *asJSON {
			return f.WriteJSON(a.Stdout)
		}
		return f.Write(a.Stdout)
	})
}

func rebuildCommand(a *app.App) *cobra.Command {
	c := &cobra.Command{Use: "rebuild PROGRAM {-o FILE | --check}", Short: "Build a program again from what made it", Long: rebuild.Help, Args: app.NeedFiles(1, 1),
		Example: "  tapc rebuild ./model --check\n  tapc rebuild ./model --from=models -o again"}
	j := &rebuild.Job{}
	c.Flags().StringVar(&j.From, "from", ".", "folder of the files that the program was made from")
	c.Flags().StringVarP(&j.Output, "output", "o", "", "file to write")
	check := c.Flags().Bool("check", false, "write nothing; programs that differ are an error")
	flagnames.Files(c.Flags(), flagnames.Folder, "from")
	flagnames.Files(c.Flags(), flagnames.Written, "output")
	own := rebuild.AddOwn(c.Flags())
	return a.Command(c, func(ctx context.Context, args []string) error {
		if *check == (j.Output != "") {
			return diag.Usage("rebuild needs either -o FILE or --check")
		}
		self, err := os.Executable()
		if err != nil {
			return diag.Fault("%w", err)
		}
		j.Program, j.Own, j.Print = args[0], own(), a.Stdout
		j.Build = func(ctx context.Context, folder string, args []string) error {
			cmd := childproc.Command(ctx, self, args...)
			cmd.Dir, cmd.Stderr = folder, a.Stderr
			return exited(ctx, childproc.Run(ctx, cmd))
		}
		return j.Run(ctx)
	})
}
