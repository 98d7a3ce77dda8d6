package app

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"tensortapestry.org/tapc/internal/outputfile"
	"tensortapestry.org/tapc/ir/diag"
)

// Standard is the file name that means standard input or output.
const Standard = "-"

// WriteFile gives a file what write writes: the whole of it or, after an error or an interruption, none. "-" is standard
// output. A name that is not a regular file, such as /dev/null, is written to directly.
func (a *App) WriteFile(ctx context.Context, name string, write func(io.Writer) error) error {
	if name == Standard {
		return write(a.Stdout)
	}
	if err := a.NotRead(name); err != nil {
		return err
	}
	if outputfile.Check(name) != nil {
		return writeDirectly(name, write)
	}
	return outputfile.Replace(name, 0o666, func(f *os.File) error { return cmp.Or(fill(f, write), context.Cause(ctx)) })
}

// NotRead is an error of the command line if an output is one of the files that a command reads, which it would replace: those that were
// read so far, and others.
func (a *App) NotRead(out string, others ...string) error {
	at, err := os.Stat(out)
	if err != nil || !at.Mode().IsRegular() {
		return nil
	}
	for _, name := range slices.Concat(slices.Sorted(maps.Keys(a.Sources)), others) {
		if info, err := os.Stat(name); err == nil && os.SameFile(at, info) {
			return diag.Usage("the output %s is a file that is read, and would be lost: expected another name", out)
		}
	}
	return nil
}

func writeDirectly(name string, write func(io.Writer) error) error {
	f, err := os.OpenFile(name, os.O_WRONLY, 0)
	if err != nil {
		return outputfile.Unfit(name, err)
	}
	return errors.Join(fill(f, write), f.Close())
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

// Temporary gives a new folder and the function that removes it.
func Temporary() (string, func(), error) {
	dir, err := os.MkdirTemp("", "tapc-")
	if err != nil {
		return "", nil, diag.Fault("%v", err)
	}
	return dir, func() { os.RemoveAll(dir) }, nil
}

// WriteData writes a file whole or not at all, and the directories that it needs.
func (a *App) WriteData(ctx context.Context, name string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		return diag.Fault("%w", err)
	}
	return a.WriteFile(ctx, name, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}
