package main

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// versionText gives tapc's version, as the Go build recorded it, and the Go version and platform.
func versionText() string {
	version, revision := "(unknown version)", ""
	if info, ok := debug.ReadBuildInfo(); ok {
		version = info.Main.Version
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				revision = " " + s.Value
			}
		}
	}
	return fmt.Sprintf("tapc %s%s %s %s/%s", version, revision, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

func (a *app) versionCommand() *cobra.Command {
	c := &cobra.Command{Use: "version", Short: "Print the version of tapc", Args: cobra.NoArgs,
		Long:    "Print the version of tapc, its revision if known, and the Go version and platform that it\nwas built with.",
		Example: "  tapc version"}
	return a.command(c, func(context.Context, []string) error {
		a.printf("%s\n", versionText())
		return nil
	})
}
