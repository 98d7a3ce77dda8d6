// Package plugintemplate has the files of a new plugin, which "tapc plugin new" writes: those of each language are in its folder, and what all
// have beside it. Names of files that end in ".tmpl" are templates. Read next: files.go.
package plugintemplate

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"

	"tensortapestry.org/tapc/ir/diag"
)

// modulePath is that of tapc's own Go module.
const modulePath = "tensortapestry.org/tapc"

// module is the tapc that a new plugin in Go is built against.
type module struct {
	version string
	dir     string // of the source; "" is the published version
	needs   string // the modules that it needs, as lines of go.mod
	sums    []byte // its go.sum
}

// moduleOf finds the tapc that a new plugin is built against: the source in a directory, the version of this program or, for
// one built from source, that source.
func moduleOf(dir string) (*module, error) {
	if dir == "" {
		info, ok := debug.ReadBuildInfo()
		if ok && strings.HasPrefix(info.Main.Version, "v") && !strings.Contains(info.Main.Version, "-0.") && !strings.Contains(info.Main.Version, "+") {
			return &module{version: info.Main.Version}, nil
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
	if err != nil || !bytes.HasPrefix(text, []byte("module "+modulePath+"\n")) {
		return nil, diag.Usage("%s does not hold the source of tapc: name a directory with --tapc", dir)
	}
	m := &module{version: "v0.0.0", dir: dir, needs: requirements(string(text))}
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
