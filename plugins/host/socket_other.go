//go:build !linux

package host

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// openSocket looks at the socket with a path below a folder, which must not be behind links. There is nothing to keep open.
func openSocket(folder *os.File, path string) (socket *os.File, address string, err error) {
	address = filepath.Join(folder.Name(), path)
	real, err := filepath.EvalSymlinks(filepath.Dir(address))
	if err != nil {
		return nil, "", err
	}
	info, err := os.Lstat(address)
	if err == nil && (real != filepath.Dir(address) || info.Mode()&fs.ModeSocket == 0) {
		err = errors.New("it is not a socket")
	}
	return nil, address, err
}
