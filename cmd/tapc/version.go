package main

import (
	"context"

	"github.com/spf13/cobra"

	"tensortapestry.org/tapc/cmd/tapc/app"
	"tensortapestry.org/tapc/internal/release"
)

func versionCommand(a *app.App) *cobra.Command {
	c := &cobra.Command{Use: "version", Short: "Print the version of tapc", Args: cobra.NoArgs,
		Long:    "Print the version of tapc, its revision if known, and the Go version and platform that it\nwas built with.",
		Example: "  tapc version"}
	return a.Command(c, func(context.Context, []string) error {
		a.Printf("%s\n", release.Text())
		return nil
	})
}
