// Package inputfile opens files that a user or another file names, and neither waits for ever nor reads without end, whatever the name
// stands for. It must not import anything of tapc.
package inputfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// MaxText bounds texts that people write: rules, kernels, plans, locks. In bytes.
const MaxText = 64 << 20

// Any is the limit of a file that may be as large as memory allows.
const Any = 1 << 62

// Open opens a regular file for reading. Errors are of type *fs.PathError; of a pipe, a device, a socket or a directory they say what
// it is, and it is not opened: opening a pipe waits until somebody writes, and opening a device may do anything.
func Open(path string) (*os.File, error) {
	if err := expect(path, regular); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // it may have become a pipe
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !regular(info.Mode()) {
		err = unexpected(path, info.Mode())
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// ReadText reads a whole file of at most limit bytes. It may be a pipe, as shells make them of <(command), but not a device, a socket or
// a directory.
func ReadText(path string, limit int64) ([]byte, error) {
	if err := expect(path, func(m fs.FileMode) bool { return regular(m) || m&fs.ModeNamedPipe != 0 }); err != nil {
		return nil, err
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var text bytes.Buffer
	if info, err := f.Stat(); err == nil && regular(info.Mode()) {
		text.Grow(int(min(info.Size(), limit)) + bytes.MinRead) // so that it need not grow
	}
	_, err = text.ReadFrom(io.LimitReader(f, limit+1))
	if err == nil && int64(text.Len()) > limit {
		err = &fs.PathError{Op: "read", Path: path, Err: fmt.Errorf("expected at most %d bytes, found more", limit)}
	}
	return text.Bytes(), err
}

// Again is the error of a file that is read several times and can be read but once, as a pipe; nil of one that is not there, which reading it tells.
func Again(path string) error {
	if info, err := os.Stat(path); err == nil && !regular(info.Mode()) {
		return unexpected(path, info.Mode())
	}
	return nil
}

func regular(m fs.FileMode) bool { return m.IsRegular() }

// expect asks what a name stands for, without opening it.
func expect(path string, good func(fs.FileMode) bool) error {
	info, err := os.Stat(path)
	var p *fs.PathError
	switch {
	case errors.As(err, &p):
		return &fs.PathError{Op: "open", Path: path, Err: p.Err}
	case err == nil && !good(info.Mode()):
		return unexpected(path, info.Mode())
	}
	return err
}

func unexpected(path string, m fs.FileMode) error {
	return &fs.PathError{Op: "open", Path: path, Err: fmt.Errorf("expected a regular file, found %s", Kind(m))}
}

// Kind says what a file is that is not regular, with its article.
func Kind(m fs.FileMode) string {
	switch {
	case m.IsDir():
		return "a directory"
	case m&fs.ModeNamedPipe != 0:
		return "a named pipe"
	case m&fs.ModeSocket != 0:
		return "a socket"
	}
	return "a device"
}
