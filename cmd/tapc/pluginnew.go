package main

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"strings"
	"text/template"

	"github.com/spf13/cobra"

	"tensortapestry.org/tapc/ir/diag"
)

// pluginTemplate holds the files of a new plugin; ".tmpl" falls off their names.
//
//go:embed plugintemplate
var pluginTemplate embed.FS

// module is the path of tapc's own Go module.
const module = "tensortapestry.org/tapc"

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
		mod, err := moduleOf(*source)
		if err != nil {
			return err
		}
		files, err := newPlugin(name, mod)
		if err != nil {
			return err
		}
		for _, f := range files {
			if err := a.writeData(ctx, filepath.Join(args[0], f.name), f.text); err != nil {
				return err
			}
		}
		a.printf("made %s; next:\n  cd %s\n", args[0], args[0])
		if mod.sums == nil {
			a.printf("  go mod tidy\n")
		}
		a.printf("  go test ./...\n  go build\n  tapc opt --plugin ./%s --passes=%s model.tap\n", name, name)
		return nil
	})
}

// goModule is the tapc that a new plugin is built against.
type goModule struct {
	version string
	dir     string // of the source; "" is the published version
	needs   string // the modules that it needs, as lines of go.mod
	sums    []byte // its go.sum
}

// moduleOf finds the tapc that a new plugin is built against: the source in a directory, the version of this program or, for
// one built from source, that source.
func moduleOf(dir string) (*goModule, error) {
	if dir == "" {
		info, ok := debug.ReadBuildInfo()
		if ok && strings.HasPrefix(info.Main.Version, "v") && !strings.Contains(info.Main.Version, "-0.") && !strings.Contains(info.Main.Version, "+") {
			return &goModule{version: info.Main.Version}, nil
		}
		_, file, _, _ := runtime.Caller(0)
		if dir = filepath.Dir(filepath.Dir(filepath.Dir(file))); !filepath.IsAbs(dir) {
			return nil, diag.Usage("this tapc was built from source that is not here: name a directory with --tapc")
		}
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, diag.Fault("%w", err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err != nil || !bytes.HasPrefix(text, []byte("module "+module+"\n")) {
		return nil, diag.Usage("%s does not hold the source of tapc: name a directory with --tapc", dir)
	}
	m := &goModule{version: "v0.0.0", dir: dir, needs: requirements(string(text))}
	m.sums, err = os.ReadFile(filepath.Join(dir, "go.sum"))
	return m, err
}

// requirements gives the lines of a go.mod that name modules, all marked as indirect.
func requirements(text string) string {
	var b strings.Builder
	inside := false
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		switch {
		case len(fields) == 2 && fields[0] == "require" && fields[1] == "(":
			inside = true
		case len(fields) == 1 && fields[0] == ")":
			inside = false
		case inside && len(fields) >= 2:
			fmt.Fprintf(&b, "\t%s %s // indirect\n", fields[0], fields[1])
		case len(fields) >= 3 && fields[0] == "require":
			fmt.Fprintf(&b, "\t%s %s // indirect\n", fields[1], fields[2])
		}
	}
	return b.String()
}

type newFile struct {
	name string
	text []byte
}

// newPlugin gives the files of a new plugin.
func newPlugin(name string, m *goModule) ([]newFile, error) {
	data := map[string]string{"Name": name, "Module": module, "Version": m.version, "Dir": m.dir, "Needs": m.needs, "Go": strings.TrimPrefix(runtime.Version(), "go")}
	if minor := strings.SplitN(data["Go"], ".", 3); len(minor) > 1 {
		data["Go"] = minor[0] + "." + minor[1] + ".0"
	}
	entries, err := pluginTemplate.ReadDir("plugintemplate")
	if err != nil {
		return nil, diag.Fault("%w", err)
	}
	var files []newFile
	for _, e := range entries {
		text, err := pluginTemplate.ReadFile("plugintemplate/" + e.Name())
		if err != nil {
			return nil, diag.Fault("%w", err)
		}
		t, err := template.New(e.Name()).Parse(string(text))
		if err != nil {
			return nil, diag.Fault("%w", err)
		}
		var b bytes.Buffer
		if err := t.Execute(&b, data); err != nil {
			return nil, diag.Fault("%w", err)
		}
		files = append(files, newFile{strings.Replace(strings.TrimSuffix(e.Name(), ".tmpl"), "dot-", ".", 1), b.Bytes()})
	}
	if m.sums != nil {
		files = append(files, newFile{"go.sum", m.sums})
	}
	return files, nil
}
