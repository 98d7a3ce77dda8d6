package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"syscall"

	"tensortapestry.org/tapc/internal/outputfile"
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
	if outputfile.Check(name) != nil {
		return writeDirectly(name, write)
	}
	begun := false
	err := outputfile.Replace(name, 0o666, func(f *os.File) error {
		begun = true
		return cmp.Or(fill(f, write), context.Cause(ctx))
	})
	var moved *os.LinkError
	switch {
	case err == nil || begun && !errors.As(err, &moved):
		return err
	case begun:
		return diag.Fault("%w", err)
	}
	return outputError(err)
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
