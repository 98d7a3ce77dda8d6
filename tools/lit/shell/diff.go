package shell

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/diff"
)

// differ is an invocation of diff.
type differ struct {
	p       *Process
	letters string // single options
	strip   bool   // carriage returns at line ends
	ignore  *regexp.Regexp
	names   []string
}

// diffCommand compares two files, or with -r two directories. It supports -u, -U N (with its own context), -w, -b, -q,
// -a, -r, -I REGEXP (lines that match are left out) and --strip-trailing-cr.
func diffCommand(_ context.Context, p *Process) int {
	d := differ{p: p}
	if err := d.parse(p.Args); err != nil {
		p.fail("%s", err)
		return 2
	}
	if strings.Contains(d.letters, "r") {
		return d.trees(d.names[0], d.names[1])
	}
	return d.files(d.names[0], d.names[1])
}

func (d *differ) parse(args []string) error {
	for len(args) > 0 {
		arg := args[0]
		args = args[1:]
		switch {
		case arg == "--strip-trailing-cr":
			d.strip = true
		case strings.HasPrefix(arg, "-U") || strings.HasPrefix(arg, "-I"):
			value := arg[2:]
			if value == "" && len(args) > 0 {
				value, args = args[0], args[1:]
			}
			if err := d.valued(arg[1], value); err != nil {
				return err
			}
		case len(arg) > 1 && arg[0] == '-' && strings.Trim(arg[1:], "uwbqra") == "":
			d.letters += arg[1:]
		case len(arg) > 1 && arg[0] == '-':
			return fmt.Errorf("unsupported option %q", arg)
		default:
			d.names = append(d.names, arg)
		}
	}
	if len(d.names) != 2 {
		return fmt.Errorf("needs two files, found %d", len(d.names))
	}
	return nil
}

func (d *differ) valued(option byte, value string) error {
	if option == 'U' {
		if n, err := strconv.Atoi(value); err != nil || n < 0 {
			return fmt.Errorf("invalid '-U' argument: %s", value)
		}
		return nil
	}
	var err error
	d.ignore, err = regexp.Compile(value)
	return err
}

func (d differ) files(a, b string) int {
	old, err := d.read(a)
	if err == nil {
		var now []byte
		if now, err = d.read(b); err == nil {
			return d.compare(a, old, b, now)
		}
	}
	d.p.fail("%s", err)
	return 2
}

func (d differ) compare(a string, old []byte, b string, now []byte) int {
	if bytes.Equal(old, now) {
		return 0
	}
	if strings.Contains(d.letters, "q") {
		fmt.Fprintf(d.p.Stdout, "Files %s and %s differ\n", a, b)
		return 1
	}
	d.p.Stdout.Write(diff.Diff(a, old, b, now))
	return 1
}

// read reads a file and drops the differences that are to be ignored.
func (d differ) read(name string) ([]byte, error) {
	f, err := d.p.open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(f)
	if err != nil || !d.strip && d.ignore == nil && !strings.ContainsAny(d.letters, "wb") {
		return data, err
	}
	var out bytes.Buffer
	for line := range bytes.Lines(data) {
		body, ended := bytes.CutSuffix(line, []byte{'\n'})
		if d.ignore != nil && d.ignore.Match(body) {
			continue
		}
		out.Write(d.normal(body))
		if ended {
			out.WriteByte('\n')
		}
	}
	return out.Bytes(), nil
}

// normal returns a line without the differences that are to be ignored.
func (d differ) normal(line []byte) []byte {
	if d.strip {
		line = bytes.TrimSuffix(line, []byte{'\r'})
	}
	switch {
	case strings.Contains(d.letters, "w"):
		return bytes.Join(bytes.Fields(line), nil)
	case strings.Contains(d.letters, "b"):
		fields := bytes.Fields(line)
		if len(line) > 0 && (line[0] == ' ' || line[0] == '\t') {
			fields = append([][]byte{nil}, fields...)
		}
		return bytes.Join(fields, []byte{' '})
	}
	return line
}

// Where a name occurs in two trees, and as what.
const (
	inOld = 1 << iota
	inNew
	dirInOld
	dirInNew
)

// trees compares the files of two directories.
func (d differ) trees(a, b string) int {
	names := map[string]int{}
	for i, dir := range []string{a, b} {
		if dir == "-" {
			d.p.fail("cannot recursively compare '-'")
			return 2
		}
		err := fs.WalkDir(os.DirFS(within(d.p.Dir, dir)), ".", func(path string, e fs.DirEntry, err error) error {
			if err == nil {
				names[path] |= inOld << i
				if e.IsDir() {
					names[path] |= dirInOld << i
				}
			}
			return err
		})
		if err != nil {
			d.p.fail("%s", err)
			return 2
		}
	}
	status := 0
	for _, name := range sortedNames(names) {
		status = max(status, d.entry(a, b, name, names[name]))
	}
	return status
}

// entry compares what two trees have under a name.
func (d differ) entry(a, b, name string, where int) int {
	switch {
	case where&inNew == 0:
		fmt.Fprintf(d.p.Stdout, "Only in %s: %s\n", a, name)
		return 1
	case where&inOld == 0:
		fmt.Fprintf(d.p.Stdout, "Only in %s: %s\n", b, name)
		return 1
	case where == inOld|inNew:
		return d.files(filepath.Join(a, name), filepath.Join(b, name))
	case where&dirInOld == 0:
		fmt.Fprintf(d.p.Stdout, "File %s/%s is a file while file %s/%s is a directory\n", a, name, b, name)
		return 1
	case where&dirInNew == 0:
		fmt.Fprintf(d.p.Stdout, "File %s/%s is a directory while file %s/%s is a file\n", a, name, b, name)
		return 1
	}
	return 0
}
