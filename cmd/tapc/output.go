package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"io"
	"maps"
	"os"
	"slices"

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
	if err := a.notRead(name); err != nil {
		return err
	}
	if outputfile.Check(name) != nil {
		return writeDirectly(name, write)
	}
	return outputfile.Replace(name, 0o666, func(f *os.File) error { return cmp.Or(fill(f, write), context.Cause(ctx)) })
}

// notRead is an error of the command line if an output is one of the files that a command reads, which it would replace: those that were
// read so far, and others.
func (a *app) notRead(out string, others ...string) error {
	at, err := os.Stat(out)
	if err != nil || !at.Mode().IsRegular() {
		return nil
	}
	for _, name := range slices.Concat(slices.Sorted(maps.Keys(a.sources)), others) {
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
