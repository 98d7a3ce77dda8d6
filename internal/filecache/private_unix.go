//go:build unix

package filecache

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// Private is an error unless a file or folder belongs to this user and nobody else may write it.
func Private(info fs.FileInfo) error {
	s, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case !ok:
		return fmt.Errorf("its owner is not known")
	case int(s.Uid) != os.Geteuid():
		return fmt.Errorf("expected it to belong to user %d, found %d", os.Geteuid(), s.Uid)
	case info.Mode().Perm()&0o022 != 0:
		return fmt.Errorf("expected that others can not write it, found permissions %#o", info.Mode().Perm())
	}
	return nil
}
