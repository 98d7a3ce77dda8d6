// Package plugintemplate has the files of a new plugin, which "tapc plugin new" writes. Names of files that end in ".tmpl" are templates.
package plugintemplate

import (
	"bytes"
	"embed"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"text/template"

	"tensortapestry.org/tapc/ir/diag"
)

//go:embed *.tmpl model.tap
var files embed.FS

// path is that of tapc's own Go module.
const path = "tensortapestry.org/tapc"

// Module is the tapc that a new plugin is built against.
type Module struct {
	version string
	dir     string // of the source; "" is the published version
	needs   string // the modules that it needs, as lines of go.mod
	sums    []byte // its go.sum
}

// ModuleOf finds the tapc that a new plugin is built against: the source in a directory, the version of this program or, for
// one built from source, that source.
func ModuleOf(dir string) (*Module, error) {
	if dir == "" {
		info, ok := debug.ReadBuildInfo()
		if ok && strings.HasPrefix(info.Main.Version, "v") && !strings.Contains(info.Main.Version, "-0.") && !strings.Contains(info.Main.Version, "+") {
			return &Module{version: info.Main.Version}, nil
		}
		_, file, _, _ := runtime.Caller(0)
		if dir = filepath.Dir(filepath.Dir(filepath.Dir(filepath.Dir(file)))); !filepath.IsAbs(dir) {
			return nil, diag.Usage("this tapc was built from source that is not here: name a directory with --tapc")
		}
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, diag.Fault("%w", err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err != nil || !bytes.HasPrefix(text, []byte("module "+path+"\n")) {
		return nil, diag.Usage("%s does not hold the source of tapc: name a directory with --tapc", dir)
	}
	m := &Module{version: "v0.0.0", dir: dir, needs: requirements(string(text))}
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

// File is a file of a new plugin.
type File struct {
	Name string // in its folder
	Text []byte
}

// Files gives the files of a new plugin.
func Files(name string, m *Module) ([]File, error) {
	data := map[string]string{"Name": name, "Module": path, "Version": m.version, "Dir": m.dir, "Needs": m.needs, "Go": strings.TrimPrefix(runtime.Version(), "go")}
	if minor := strings.SplitN(data["Go"], ".", 3); len(minor) > 1 {
		data["Go"] = minor[0] + "." + minor[1] + ".0"
	}
	entries, err := files.ReadDir(".")
	if err != nil {
		return nil, diag.Fault("%w", err)
	}
	var list []File
	for _, e := range entries {
		text, err := files.ReadFile(e.Name())
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
		list = append(list, File{strings.Replace(strings.TrimSuffix(e.Name(), ".tmpl"), "dot-", ".", 1), b.Bytes()})
	}
	if m.sums != nil {
		list = append(list, File{"go.sum", m.sums})
	}
	return list, nil
}

// Resolved says whether the modules that the plugin needs are known, so that "go mod tidy" need not find them.
func (m *Module) Resolved() bool { return m.sums != nil }
