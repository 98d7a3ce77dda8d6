// Package outputfile writes files whole or not at all: beside their place, under a hidden name, and moves them there. It imports
// only ir/diag, whose errors say who is at fault, and internal/inputfile.
package outputfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"

	"tensortapestry.org/tapc/internal/inputfile"
	"tensortapestry.org/tapc/ir/diag"
)

// Check is an error of the command line if a name stands for something that a new file must not replace: a device, a pipe, a socket or a
// directory. A name that stands for nothing is fine, whatever becomes of creating it.
func Check(path string) error {
	info, err := os.Stat(path)
	if err != nil || info.Mode().IsRegular() {
		return nil
	}
	return diag.Usage("%s: expected a regular file or none there, found %s", path, inputfile.Kind(info.Mode()))
}

// Place is an error if no file can be made under a name: of the command line if the name can not be one, else of the machine. It leaves nothing behind.
func Place(path string) error {
	if err := Check(path); err != nil {
		return err
	}
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	f, err := createBeside(path, 0o600)
	if err != nil {
		return Unfit(path, err)
	}
	return Unfit(path, errors.Join(f.Close(), os.Remove(f.Name())))
}

// Replace gives a file what write writes into the file that it is handed, or by its name: the whole of it or, after an error, nothing. An error is that of write, of the
// command line if the name can not be one, else of the machine. A file that is there keeps its permissions; a new one gets mode less the umask. Of a symbolic link it replaces the file, not the link.
func Replace(path string, mode fs.FileMode, write func(f *os.File) error) error {
	var one Files
	defer one.Discard()
	if err := one.Add(path, mode, write); err != nil {
		return err
	}
	return one.Place()
}

// Files are files that belong together: all of them are put in their places or, after an error, none. The zero Files has none. Any goroutine may add one.
type Files struct {
	lock  sync.Mutex
	ready []ready
}

// ready is a file that is complete under a hidden name.
type ready struct{ hidden, path string }

// Add writes a file as Replace does, which Place moves to its place.
func (s *Files) Add(path string, mode fs.FileMode, write func(f *os.File) error) error {
	if err := Check(path); err != nil {
		return err
	}
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	if info, err := os.Stat(path); err == nil {
		mode = info.Mode().Perm()
	}
	f, err := createBeside(path, mode)
	if err != nil {
		return Unfit(path, err)
	}
	err = write(f)
	if closed := f.Close(); err == nil && !errors.Is(closed, fs.ErrClosed) {
		err = Unfit(path, closed)
	}
	if err != nil {
		os.Remove(f.Name())
		return err
	}
	s.lock.Lock()
	defer s.lock.Unlock()
	s.ready = append(s.ready, ready{f.Name(), path})
	return nil
}

// Place moves the files to their places. If one can not be moved, those that were are removed.
func (s *Files) Place() error {
	for i, r := range s.ready {
		if err := os.Rename(r.hidden, r.path); err != nil {
			for _, moved := range s.ready[:i] {
				os.Remove(moved.path)
			}
			return Unfit(r.path, err)
		}
	}
	s.ready = nil
	return nil
}

// Discard removes the files that were not put in their places.
func (s *Files) Discard() {
	for _, r := range s.ready {
		os.Remove(r.hidden) // nothing is there of one that was moved
	}
}

// Unfit says whose fault it is that a file can not be made.
func Unfit(path string, err error) error {
	if err == nil {
		return nil
	}
	var p *fs.PathError
	var l *os.LinkError
	why := err
	if errors.As(err, &p) {
		why = p.Err
	} else if errors.As(err, &l) {
		why = l.Err
	}
	for _, e := range []error{fs.ErrNotExist, syscall.ENOTDIR, syscall.EISDIR, syscall.ENAMETOOLONG} {
		if errors.Is(err, e) {
			return diag.Usage("%s: %w", path, why)
		}
	}
	return diag.Fault("%s: %w", path, why)
}

// createBeside opens a new hidden file in the directory of another.
func createBeside(path string, mode fs.FileMode) (*os.File, error) {
	const most = 1000
	dir, base := filepath.Split(path)
	for i := 0; ; i++ {
		name := filepath.Join(dir, "."+base+"."+strconv.Itoa(os.Getpid())+"-"+strconv.Itoa(i)+".tmp")
		f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
		if !errors.Is(err, fs.ErrExist) || i == most {
			return f, err
		}
	}
}
