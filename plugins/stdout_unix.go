//go:build unix

package plugins

import (
	"os"

	"golang.org/x/sys/unix"
)

// takeStdout gives the real standard output and makes descriptor 1 another name of standard error, so that no library, not
// even one that is not written in Go, can spoil the handshake.
func takeStdout() (*os.File, error) {
	fd, err := unix.FcntlInt(1, unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return nil, err
	}
	if err := unix.Dup2(2, 1); err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), "handshake"), nil
}
