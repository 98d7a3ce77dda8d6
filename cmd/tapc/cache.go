package main

import (
	"context"

	"github.com/spf13/cobra"

	"tensortapestry.org/tapc/cmd/tapc/app"
	"tensortapestry.org/tapc/cmd/tapc/caches"
)

func cacheCommand(a *app.App) *cobra.Command {
	c := &cobra.Command{Use: "cache", Short: "Look at the cache of compiled objects, or empty it", Long: caches.Help, Args: app.NeedCommand,
		Example: "  tapc cache info\n  TAPC_CACHE=off tapc build model.onnx -o model"}
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		a.Started = true
		return cmd.Help()
	}
	info := &cobra.Command{Use: "info", Short: "Say where the cache is, what it holds and what it would drop", Args: cobra.NoArgs, Long: caches.InfoHelp, Example: "  tapc cache info"}
	clean := &cobra.Command{Use: "clean", Short: "Remove the entries of the cache", Args: cobra.NoArgs, Long: caches.CleanHelp, Example: "  tapc cache clean"}
	tuned := clean.Flags().Bool("tuned", false, "remove what tapc tune measured, instead")
	c.AddCommand(a.Command(info, func(context.Context, []string) error { return caches.Info(a.Stdout) }),
		a.Command(clean, func(context.Context, []string) error { return caches.Clean(a.Stdout, *tuned) }))
	return c
}
