package main

import (
	"context"

	"github.com/spf13/cobra"

	"tensortapestry.org/tapc/internal/filecache"
	"tensortapestry.org/tapc/ir/diag"
)

const cacheHelp = `Look at the cache of compiled objects, or empty it.

Objects that the C compiler made are kept by a digest of what they are made of, in
tapc/objects of the user's cache folder or in the folder that TAPC_CACHE names;
TAPC_CACHE=off keeps none. The folder and each entry must belong to the user, be
writable by nobody else, and be no symbolic link; an entry must have the content that
was written. What does not hold is not used: its object is compiled again.`

func (a *app) cacheCommand() *cobra.Command {
	c := &cobra.Command{Use: "cache", Short: "Look at the cache of compiled objects, or empty it", Long: cacheHelp, Args: needCommand,
		Example: "  tapc cache info\n  TAPC_CACHE=off tapc build model.onnx -o model"}
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		a.started = true
		return cmd.Help()
	}
	c.AddCommand(a.cacheInfoCommand(), a.cacheCleanCommand())
	return c
}

func (a *app) cacheInfoCommand() *cobra.Command {
	c := &cobra.Command{Use: "info", Short: "Say where the cache is, what it holds and what it would drop", Args: cobra.NoArgs,
		Long: "Say where the cache is, what it holds, its limits, and what the next build drops; or why\nthere is none.", Example: "  tapc cache info"}
	return a.command(c, func(context.Context, []string) error {
		cache, err := filecache.Open()
		if err != nil {
			a.printf("no cache: %v\n", err)
			return nil
		}
		defer cache.Close()
		i := cache.Info()
		a.printf("folder:  %s\nentries: %d (limit %d)\nbytes:   %d (limit %d)\ndropped by the next build that adds to it: %d entries, %d bytes\n", i.Folder,
			i.Entries, filecache.MaxEntries, i.Bytes, filecache.MaxBytes, i.Surplus, i.SurplusSize)
		return nil
	})
}

func (a *app) cacheCleanCommand() *cobra.Command {
	c := &cobra.Command{Use: "clean", Short: "Remove the entries of the cache", Args: cobra.NoArgs,
		Long: "Remove the entries of the cache. Other files in its folder stay.", Example: "  tapc cache clean"}
	return a.command(c, func(context.Context, []string) error {
		cache, err := filecache.Open()
		if err != nil {
			return diag.Fault("no cache: %w", err)
		}
		defer cache.Close()
		n, bytes, err := cache.Clean()
		a.printf("removed %d entries, %d bytes\n", n, bytes)
		if err != nil {
			return diag.Fault("%w", err)
		}
		return nil
	})
}
