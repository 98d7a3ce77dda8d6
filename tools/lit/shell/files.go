package shell

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/rogpeppe/go-internal/diff"
)

// mkdir supports -p.
func mkdir(_ context.Context, p *Process) int {
	letters, dirs, ok := p.options("p")
	if !ok {
		return 1
	}
	if len(dirs) == 0 {
		return p.fail("missing operand")
	}
	for _, dir := range dirs {
		err := error(nil)
		if strings.Contains(letters, "p") {
			err = os.MkdirAll(within(p.Dir, dir), 0o777)
		} else {
			err = os.Mkdir(within(p.Dir, dir), 0o777)
		}
		if err != nil {
			return p.fail("%s", err)
		}
	}
	return 0
}

// remove supports -r, -R and -f.
func remove(_ context.Context, p *Process) int {
	letters, names, ok := p.options("rRf")
	if !ok {
		return 1
	}
	force := strings.Contains(letters, "f")
	if len(names) == 0 && !force {
		return p.fail("missing operand")
	}
	for _, name := range names {
		path := within(p.Dir, name)
		info, err := os.Lstat(path)
		switch {
		case errors.Is(err, fs.ErrNotExist) && force:
			continue
		case err != nil:
		case info.IsDir() && !strings.ContainsAny(letters, "rR"):
			err = fmt.Errorf("%s is a directory", name)
		default:
			err = os.RemoveAll(path)
		}
		if err != nil {
			return p.fail("%s", err)
		}
	}
	return 0
}

// touch creates files that do not exist.
func touch(_ context.Context, p *Process) int {
	for _, name := range p.Args {
		f, err := os.OpenFile(within(p.Dir, name), os.O_WRONLY|os.O_CREATE, 0o666)
		if err != nil {
			return p.fail("%s", err)
		}
		f.Close()
	}
	return 0
}

// copyCommand supports -r, -R, -f and -p.
func copyCommand(_ context.Context, p *Process) int {
	letters, names, ok := p.options("rRfp")
	if !ok {
		return 1
	}
	if len(names) < 2 {
		return p.fail("missing operand")
	}
	to := within(p.Dir, names[len(names)-1])
	info, err := os.Stat(to)
	intoDir := err == nil && info.IsDir()
	if len(names) > 2 && !intoDir {
		return p.fail("%s is not a directory", names[len(names)-1])
	}
	for _, name := range names[:len(names)-1] {
		from, target := within(p.Dir, name), to
		if intoDir {
			target = filepath.Join(to, filepath.Base(from))
		}
		if err := copyPath(from, target, strings.ContainsAny(letters, "rR")); err != nil {
			return p.fail("%s", err)
		}
	}
	return 0
}

func copyPath(from, to string, recursive bool) error {
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return copyFile(from, to, info.Mode().Perm())
	}
	if !recursive {
		return fmt.Errorf("%s is a directory", from)
	}
	if rel, err := filepath.Rel(from, to); err == nil && !strings.HasPrefix(rel, "..") {
		return fmt.Errorf("cannot copy %s into itself", from)
	}
	return os.CopyFS(to, os.DirFS(from))
}

func copyFile(from, to string, perm fs.FileMode) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, perm)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// diffCommand compares two files, or with -r two directories. It supports -u, -w, -b, -q, -r, -a and
// --strip-trailing-cr.
func diffCommand(_ context.Context, p *Process) int {
	strip := false
	var args []string
	for _, a := range p.Args {
		if a == "--strip-trailing-cr" {
			strip = true
			continue
		}
		args = append(args, a)
	}
	p.Args = args
	letters, names, ok := p.options("uwbqra")
	if !ok {
		return 2
	}
	if len(names) != 2 {
		p.fail("needs two files")
		return 2
	}
	d := differ{p: p, letters: letters, strip: strip}
	if strings.Contains(letters, "r") {
		return d.trees(names[0], names[1])
	}
	return d.files(names[0], names[1])
}

type differ struct {
	p       *Process
	letters string
	strip   bool
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
	if err != nil || !d.strip && !strings.ContainsAny(d.letters, "wb") {
		return data, err
	}
	var out bytes.Buffer
	for line := range bytes.Lines(data) {
		body, ended := bytes.CutSuffix(line, []byte{'\n'})
		switch {
		case strings.Contains(d.letters, "w"):
			body = bytes.Join(bytes.Fields(body), nil)
		case strings.Contains(d.letters, "b"):
			fields := bytes.Fields(body)
			if len(body) > 0 && (body[0] == ' ' || body[0] == '\t') {
				out.WriteByte(' ')
			}
			body = bytes.Join(fields, []byte{' '})
		case d.strip:
			body = bytes.TrimSuffix(body, []byte{'\r'})
		}
		out.Write(body)
		if ended {
			out.WriteByte('\n')
		}
	}
	return out.Bytes(), nil
}

// trees compares the files of two directories.
func (d differ) trees(a, b string) int {
	names := map[string]int{}
	for i, dir := range []string{a, b} {
		err := fs.WalkDir(os.DirFS(within(d.p.Dir, dir)), ".", func(path string, e fs.DirEntry, err error) error {
			if err == nil && !e.IsDir() {
				names[path] |= 1 << i
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
		switch names[name] {
		case 1:
			fmt.Fprintf(d.p.Stdout, "Only in %s: %s\n", a, name)
			status = 1
		case 2:
			fmt.Fprintf(d.p.Stdout, "Only in %s: %s\n", b, name)
			status = 1
		default:
			status = max(status, d.files(filepath.Join(a, name), filepath.Join(b, name)))
		}
	}
	return status
}
