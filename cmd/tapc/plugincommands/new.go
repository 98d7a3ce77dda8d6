package plugincommands

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"tensortapestry.org/tapc/cmd/tapc/app"
	"tensortapestry.org/tapc/cmd/tapc/flagnames"
	"tensortapestry.org/tapc/cmd/tapc/plugintemplate"
	"tensortapestry.org/tapc/ir/diag"
)

var pluginName = regexp.MustCompile(`^[a-z][a-z0-9]*(-[a-z0-9]+)*$`)

func pluginNewCommand(a *app.App) *cobra.Command {
	c := &cobra.Command{Use: "new NAME", Short: "Make a plugin to begin with", Args: cobra.ExactArgs(1),
		Example: "  tapc plugin new my-pass\n  cd my-pass && go test ./... && go build && tapc opt --plugin ./my-pass --passes=my-pass model.tap\n  tapc plugin new --lang=python my-pass",
		Long:    "Make a directory NAME with a plugin that works, and tests. README.md in it says how to\ngo on. In Go it needs Go and nothing else; in Python, Python's packages for gRPC, which its\nbuild.py installs into a folder of its own.\n\nA plugin in Go is built against the tapc that makes it: the same version or, for a tapc\nbuilt from source, that source. --tapc names another directory with the source."}
	source := c.Flags().String("tapc", "", "directory with the source of tapc that a plugin in Go is built against")
	language := c.Flags().String("lang", "go", "language: go or python")
	flagnames.Texts(c.Flags(), "tapc")
	app.Words(c, "lang", plugintemplate.Languages)
	return a.Command(c, func(ctx context.Context, args []string) error {
		name := filepath.Base(args[0])
		if !pluginName.MatchString(name) {
			return diag.Usage("the name of a plugin is lower-case words joined by hyphens, not %q", name)
		}
		if _, err := os.Lstat(args[0]); !errors.Is(err, fs.ErrNotExist) {
			return diag.Usage("%s is there already", args[0])
		}
		kit, err := plugintemplate.New(*language, name, *source)
		if err != nil {
			return err
		}
		for _, f := range kit.Files {
			if err := a.WriteData(ctx, filepath.Join(args[0], f.Name), f.Text); err != nil {
				return err
			}
		}
		a.Printf("made %s; next:\n  cd %s\n  %s\n", args[0], args[0], strings.Join(kit.Next, "\n  "))
		return nil
	})
}
