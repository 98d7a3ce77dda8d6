package shell

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

func sortedNames[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

const splitHelp = `OVERVIEW: Split input into its parts, which start behind lines "(.|//)--- name"

USAGE: split-file [options] filename directory

OPTIONS:

Generic Options:

  --help              - Show this text

split-file Options:

  --leading-lines     - Keep the line numbers of parts by empty lines before them
  --no-leading-lines  - Do not (the default)
`

// splitFile writes the parts of a file into a directory. A part starts behind a line "#--- name" (any one character
// before the dashes) or "//--- name".
func splitFile(_ context.Context, p *Process) int {
	leading := false
	var names []string
	for _, arg := range p.Args {
		switch strings.TrimLeft(arg, "-") {
		case "help":
			io.WriteString(p.Stdout, splitHelp)
			return 0
		case "leading-lines":
			leading = true
		case "no-leading-lines":
			leading = false
		default:
			names = append(names, arg)
		}
	}
	err := splitInto(p, append(names, "", "")[:max(2, len(names))], leading)
	if err == nil {
		return 0
	}
	var bad partErrors
	if errors.As(err, &bad) {
		fmt.Fprintln(p.Stderr, err)
		return 1
	}
	fmt.Fprintf(p.Stderr, "split-file: error: %s\n", err)
	return 1
}

func splitInto(p *Process, names []string, leading bool) error {
	switch {
	case names[0] == "":
		return errors.New("input filename is not specified")
	case names[1] == "":
		return errors.New("output directory is not specified")
	case len(names) > 2:
		return fmt.Errorf("unexpected argument %q", names[2])
	}
	f, err := p.open(names[0])
	if err != nil {
		return err
	}
	defer f.Close()
	in, err := io.ReadAll(f)
	if err != nil {
		return err
	}
	dir := within(p.Dir, names[1])
	if info, err := os.Stat(dir); err == nil && !info.IsDir() {
		if !info.Mode().IsRegular() {
			return fmt.Errorf("%s: output cannot be a special file", names[1])
		}
		if err := os.Remove(dir); err != nil {
			return err
		}
	}
	parts, err := split(names[0], in, leading)
	if err != nil {
		return err
	}
	return writeParts(dir, parts)
}

// partErrors are the faults of separator lines, each with its file and line.
type partErrors []string

func (e partErrors) Error() string { return strings.Join(e, "\n") }

// split returns the parts by name.
func split(file string, in []byte, leading bool) (map[string][]byte, error) {
	parts := map[string][]byte{}
	var bad partErrors
	name := ""
	number := 0
	for line := range bytes.Lines(in) {
		number++
		text := strings.TrimRight(string(line), "\r\n")
		part, ok := partName(text)
		if !ok {
			if name != "" {
				parts[name] = append(parts[name], line...)
			}
			continue
		}
		if fault := partFault(text, part, parts); fault != "" {
			bad = append(bad, fmt.Sprintf("%s:%d: error: %s", file, number, fault))
			continue
		}
		name = part
		parts[name] = []byte{}
		if leading {
			parts[name] = bytes.Repeat(line[len(text):], number)
		}
	}
	if bad != nil {
		return nil, bad
	}
	if len(parts) == 0 {
		return nil, fmt.Errorf("%s: no part separator was found", file)
	}
	return parts, nil
}

// partFault says what is wrong with a separator line, or "".
func partFault(line, part string, parts map[string][]byte) string {
	switch {
	case part == "":
		return "empty part name"
	case strings.TrimSpace(part) != part:
		return "part name cannot have leading or trailing space"
	case !filepath.IsLocal(part):
		return "part name cannot leave the output directory"
	case parts[part] != nil:
		return "'" + line + "' occurs more than once"
	}
	return ""
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

// writeParts adds the parts to dir.
func writeParts(dir string, parts map[string][]byte) error {
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
