package main

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"

	"github.com/spf13/cobra"

	"tensortapestry.org/tapc/cmd/tapc/plugintemplate"
	"tensortapestry.org/tapc/ir/diag"
)

var pluginName = regexp.MustCompile(`^[a-z][a-z0-9]*(-[a-z0-9]+)*$`)

func (a *app) pluginNewCommand() *cobra.Command {
	c := &cobra.Command{Use: "new NAME", Short: "Make a plugin to begin with", Args: cobra.ExactArgs(1),
		Example: "  tapc plugin new my-pass\n  cd my-pass && go test ./... && go build && tapc opt --plugin ./my-pass --passes=my-pass model.tap",
		Long:    "Make a directory NAME with a plugin in Go that works, and a test. It needs Go and\nnothing else; README.md in it says how to go on.\n\nThe plugin is built against the tapc that makes it: the same version or, for a tapc\nbuilt from source, that source. --tapc names another directory with the source."}
	source := c.Flags().String("tapc", "", "directory with the source of tapc that the plugin is built against")
	return a.command(c, func(ctx context.Context, args []string) error {
		name := filepath.Base(args[0])
		if !pluginName.MatchString(name) {
			return diag.Usage("the name of a plugin is lower-case words joined by hyphens, not %q", name)
		}
		if _, err := os.Lstat(args[0]); !errors.Is(err, fs.ErrNotExist) {
			return diag.Usage("%s is there already", args[0])
		}
		mod, err := plugintemplate.ModuleOf(*source)
		if err != nil {
			return err
		}
		files, err := plugintemplate.Files(name, mod)
		if err != nil {
			return err
		}
		for _, f := range files {
			if err := a.writeData(ctx, filepath.Join(args[0], f.Name), f.Text); err != nil {
				return err
			}
		}
		a.printf("made %s; next:\n  cd %s\n", args[0], args[0])
		if !mod.Resolved() {
			a.printf("  go mod tidy\n")
		}
		a.printf("  go test ./...\n  go build\n  tapc opt --plugin ./%s --passes=%s model.tap\n", name, name)
		return nil
	})
}
