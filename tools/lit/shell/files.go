package shell

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
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
