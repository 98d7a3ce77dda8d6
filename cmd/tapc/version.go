package main

import (
	"context"

	"github.com/spf13/cobra"

	"tensortapestry.org/tapc/internal/release"
)

func (a *app) versionCommand() *cobra.Command {
	c := &cobra.Command{Use: "version", Short: "Print the version of tapc", Args: cobra.NoArgs,
		Long:    "Print the version of tapc, its revision if known, and the Go version and platform that it\nwas built with.",
		Example: "  tapc version"}
	return a.command(c, func(context.Context, []string) error {
		a.printf("%s\n", release.Text())
		return nil
	})
}
