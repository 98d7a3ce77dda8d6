// Package atomicfile writes a file whole or not at all: the bytes go to a
// temporary file in the same directory, which then takes the name.
//
// It imports only the standard library. Callers: tools/examples, tools/digits.
package atomicfile

import (
	"fmt"
	"os"
	"path/filepath"
)

// Write puts data at path with mode 0644, making missing parent directories.
// After an error path holds what it held before, and no temporary file is left.
func Write(path string, data []byte) error {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	tmp, err := os.CreateTemp(dir, "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	if err := fill(tmp, data); err != nil {
		os.Remove(tmp.Name())
		return fmt.Errorf("writing %s: %w", path, err)
	}
	if err := os.Rename(tmp.Name(), path); err != nil {
		os.Remove(tmp.Name())
		return err
	}
	return nil
}

// fill writes data, sets the mode and closes f; it reports the first error.
func fill(f *os.File, data []byte) error {
	_, err := f.Write(data)
	if e := f.Chmod(0o644); err == nil {
		err = e
	}
	if e := f.Close(); err == nil {
		err = e
	}
	return err
}
