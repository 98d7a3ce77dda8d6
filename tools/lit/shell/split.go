package shell

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

func sortedNames[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// splitFile writes the parts of a file into a directory. A part starts behind a line "#--- name" (any one character
// before the dashes) or "//--- name". With --leading-lines a part keeps its line numbers by empty lines before it.
func splitFile(_ context.Context, p *Process) int {
	leading := false
	var names []string
	for _, arg := range p.Args {
		switch arg {
		case "--leading-lines", "-leading-lines":
			leading = true
		case "--no-leading-lines", "-no-leading-lines":
			leading = false
		default:
			names = append(names, arg)
		}
	}
	if len(names) != 2 {
		return p.fail("needs a file and a directory")
	}
	in, err := os.ReadFile(within(p.Dir, names[0]))
	if err != nil {
		return p.fail("%s", err)
	}
	parts, err := split(in, leading)
	if err != nil {
		return p.fail("%s: %s", names[0], err)
	}
	if err := writeParts(within(p.Dir, names[1]), parts); err != nil {
		return p.fail("%s", err)
	}
	return 0
}

// split returns the parts by name.
func split(in []byte, leading bool) (map[string][]byte, error) {
	parts := map[string][]byte{}
	name := ""
	lineNumber := 0
	for line := range bytes.Lines(in) {
		lineNumber++
		part, ok := partName(strings.TrimRight(string(line), "\r\n"))
		if !ok {
			if name != "" {
				parts[name] = append(parts[name], line...)
			}
			continue
		}
		switch {
		case part == "":
			return nil, fmt.Errorf("line %d: empty part name", lineNumber)
		case strings.TrimSpace(part) != part:
			return nil, fmt.Errorf("line %d: part name %q starts or ends with space", lineNumber, part)
		case !filepath.IsLocal(part):
			return nil, fmt.Errorf("line %d: part name %q leaves the directory", lineNumber, part)
		case parts[part] != nil:
			return nil, fmt.Errorf("line %d: part %q occurs more than once", lineNumber, part)
		}
		name = part
		parts[name] = []byte{}
		if leading {
			parts[name] = bytes.Repeat([]byte{'\n'}, lineNumber)
		}
	}
	if len(parts) == 0 {
		return nil, fmt.Errorf("no part separator was found")
	}
	return parts, nil
}

// partName returns the name on a separator line.
func partName(line string) (name string, ok bool) {
	if strings.HasPrefix(line, "//") {
		return strings.CutPrefix(line, "//--- ")
	}
	if len(line) < 5 || line[1:5] != "--- " {
		return "", false
	}
	return line[5:], true
}

// writeParts replaces dir by the parts.
func writeParts(dir string, parts map[string][]byte) error {
	if info, err := os.Lstat(dir); err == nil && !info.IsDir() {
		if err := os.Remove(dir); err != nil {
			return err
		}
	}
	for _, name := range sortedNames(parts) {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			return err
		}
		if err := os.WriteFile(path, parts[name], 0o666); err != nil {
			return err
		}
	}
	return nil
}
