package main

import (
	"bufio"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"tensortapestry.org/tapc/ir/diag"
)

// stdName is the file name that means standard input or output.
const stdName = "-"

// writeFile gives a file what write writes: the whole of it or, after an error or an interruption, none. "-" is standard
// output. A name that is not a regular file, such as /dev/null, is written to directly.
func (a *app) writeFile(ctx context.Context, name string, write func(io.Writer) error) error {
	if name == stdName {
		return write(a.stdout)
	}
	if target, err := filepath.EvalSymlinks(name); err == nil {
		name = target // replace the file, not the link
	}
	mode := fs.FileMode(0o666)
	info, err := os.Stat(name)
	switch {
	case err == nil && !info.Mode().IsRegular():
		return writeDirectly(name, write)
	case err == nil:
		mode = info.Mode().Perm()
	case !errors.Is(err, fs.ErrNotExist):
		return outputError(err)
	}
	return replaceFile(ctx, name, mode, write)
}

func writeDirectly(name string, write func(io.Writer) error) error {
	f, err := os.OpenFile(name, os.O_WRONLY, 0)
	if err != nil {
		return outputError(err)
	}
	return errors.Join(fill(f, write), f.Close())
}

// outputError says whose fault it is that a file can not be written: the command line's if the name can not be one, else the
// machine's.
func outputError(err error) error {
	status := diag.ExitInternal
	for _, e := range []error{fs.ErrNotExist, syscall.ENOTDIR, syscall.EISDIR, syscall.ENAMETOOLONG} {
		if errors.Is(err, e) {
			status = diag.ExitUsage
		}
	}
	return &diag.StatusError{Status: status, Err: err}
}

// replaceFile writes beside the file and renames.
func replaceFile(ctx context.Context, name string, mode fs.FileMode, write func(io.Writer) error) error {
	f, err := createBeside(name, mode)
	if err != nil {
		return outputError(err)
	}
	err = fill(f, write)
	if closeErr := f.Close(); err == nil && closeErr != nil {
		err = diag.Fault("%w", closeErr)
	}
	if err == nil {
		err = context.Cause(ctx)
	}
	if err == nil {
		if err = os.Rename(f.Name(), name); err == nil {
			return nil
		}
		err = diag.Fault("%w", err)
	}
	os.Remove(f.Name())
	return err
}

// createBeside opens a new hidden file in the directory of another, with its permissions (less the umask).
func createBeside(name string, mode fs.FileMode) (*os.File, error) {
	dir, base := filepath.Split(name)
	for i := 0; ; i++ {
		beside := filepath.Join(dir, temporaryName(base, i))
		f, err := os.OpenFile(beside, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
		if !errors.Is(err, fs.ErrExist) || i == maxTemporary {
			return f, err
		}
	}
}

func fill(f *os.File, write func(io.Writer) error) error {
	w := &faultWriter{w: f}
	b := bufio.NewWriterSize(w, 1<<16)
	err := write(b)
	if err == nil {
		err = b.Flush()
	}
	if w.err != nil {
		return diag.Fault("%w", w.err) // the disk's fault, whatever write made of it
	}
	return err
}

// faultWriter remembers the error of the file under it.
type faultWriter struct {
	w   io.Writer
	err error
}

func (f *faultWriter) Write(p []byte) (int, error) {
	n, err := f.w.Write(p)
	if err != nil && f.err == nil {
		f.err = err
	}
	return n, err
}

// maxTemporary bounds the search for a free name.
const maxTemporary = 1000

// temporaryName gives the i-th name tried for a file that is being written.
func temporaryName(base string, i int) string {
	return "." + base + "." + strconv.Itoa(os.Getpid()) + "-" + strconv.Itoa(i) + ".tmp"
}
