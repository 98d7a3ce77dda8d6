// Package outputfile writes files whole or not at all: beside their place, under a hidden name, and moves them there. It must not
// import anything of tapc.
package outputfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"tensortapestry.org/tapc/internal/inputfile"
)

// Check is an error, an *fs.PathError, if a name stands for something that a new file must not replace: a device, a pipe, a socket or a
// directory. A name that stands for nothing is fine, whatever becomes of creating it.
func Check(path string) error {
	info, err := os.Stat(path)
	if err != nil || info.Mode().IsRegular() {
		return nil
	}
	return &fs.PathError{Op: "write", Path: path, Err: fmt.Errorf("expected a regular file or none there, found %s", inputfile.Kind(info.Mode()))}
}

// Replace gives a file what write writes into the file that it is handed, or by its name: the whole of it or, after an error, nothing. A
// file that is there keeps its permissions; a new one gets mode less the umask. Of a symbolic link it replaces the file, not the link.
func Replace(path string, mode fs.FileMode, write func(f *os.File) error) error {
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
		return err
	}
	err = write(f)
	if closed := f.Close(); err == nil && !errors.Is(closed, fs.ErrClosed) {
		err = closed
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
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
