//go:build linux || darwin || freebsd || netbsd || openbsd

package filecache

import (
	"errors"
	"os"
	"syscall"
)

// TryLock takes the lock of the cache, which one program has at a time, until Close or its end, and says whether it could. Nothing else that a cache does looks
// at the lock.
func (c *Cache) TryLock() (bool, error) {
	f, err := c.root.OpenFile("lock", os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return false, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			err = nil
		}
		return false, err
	}
	c.lock = f
	return true, nil
}
