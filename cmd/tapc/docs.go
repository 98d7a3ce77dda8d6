package main

import (
	"context"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"tensortapestry.org/tapc/cmd/tapc/app"
	"tensortapestry.org/tapc/cmd/tapc/guide"
	"tensortapestry.org/tapc/dialects/tensorops/kernels"
)

// docsCommand writes the documentation that is made from the program itself.
func docsCommand(a *app.App) *cobra.Command {
	c := &cobra.Command{Use: "docs DIR", Short: "Write the documentation of commands, passes and kernels", Hidden: true, Args: cobra.ExactArgs(1),
		Long:    "Write DIR/cli.md, the list of passes in DIR/passes.md, the pages of kernels in\nDIR/kernels.md and the decisions in DIR/search.md, from what this program holds.",
		Example: "  tapc docs docs\n  tapc docs --man man"}
	man := c.Flags().Bool("man", false, "write manual pages into DIR, and nothing else")
	return a.Command(c, func(ctx context.Context, args []string) error {
		if *man {
			return guide.WriteManPages(root(a), func(name string, page []byte) error { return a.WriteData(ctx, filepath.Join(args[0], name), page) })
		}
		for file, renew := range map[string]func(old []byte) ([]byte, error){
			"passes.md":  func(old []byte) ([]byte, error) { return guide.WithPasses(old, app.Passes()) },
			"kernels.md": func(old []byte) ([]byte, error) { return guide.WithKernels(old, kernels.Builtin()) },
			"search.md":  guide.WithDecisions,
		} {
			name := filepath.Join(args[0], file)
			old, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			page, err := renew(old)
			if err != nil {
				return err
			}
			if err := a.WriteData(ctx, name, page); err != nil {
				return err
			}
		}
		return a.WriteData(ctx, filepath.Join(args[0], "cli.md"), guide.Commands(root(a)))
	})
}
