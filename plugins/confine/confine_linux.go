package confine

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Confined is what came of a task.
type Confined struct {
	State
	Program  string // what to execute
	Listener int    // of the filter, for who watches the start of programs: WatchPrograms; -1 is none
	Folder   int    // the folder, if it is in memory; -1 otherwise
}

// Confine bounds this thread, and the program that the process becomes when this thread says so. Its file is open as exe. What the
// kernel can not do is left out and told; what it should do and refuses is an error.
func (t *Task) Confine(exe int) (*Confined, error) {
	c := &Confined{Program: fmt.Sprintf("/proc/self/fd/%d", exe), Folder: -1, Listener: -1}
	c.Namespaces = t.Namespaces
	if t.Namespaces.Mount && !t.Off.Has(Root) {
		program, folder, err := t.newRoot(exe)
		if err == nil {
			c.Rooted, c.Program, c.Folder = true, program, folder
			unix.CloseOnExec(exe)
		}
	}
	if err := os.Chdir(t.Folder); err != nil {
		return nil, err
	}
	if err := t.Limits.set(); err != nil {
		return nil, err
	}
	if err := dropCapabilities(); err != nil {
		return nil, fmt.Errorf("capabilities: %w", err)
	}
	c.Capless = true
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return nil, err
	}
	var err error
	if c.Landlock, err = t.landlock(exe); err != nil || t.Off.Has(Filter) {
		return c, err
	}
	watched := !t.Off.Has(Once) && !t.Execute && kernelSince(5, 5) // since then, who listens can let a call go on
	c.Filtered, c.Listener, err = filter(terms{network: t.Network, execute: t.Execute, watched: watched, inside: c.inside(), rooted: c.Rooted,
		truncates: c.truncates(), pid: os.Getpid()})
	c.Once = c.Listener >= 0
	return c, err
}

// kernelSince says whether the kernel has at least a version.
func kernelSince(major, minor int) bool {
	var u unix.Utsname
	if unix.Uname(&u) != nil {
		return false
	}
	var a, b int
	if n, _ := fmt.Sscanf(unix.ByteSliceToString(u.Release[:]), "%d.%d", &a, &b); n < 2 {
		return false
	}
	return a > major || a == major && b >= minor
}

// memorySlack is how much more a process may map than it may have resident: run-time systems map ahead of use.
const memorySlack = 512 << 20

// set sets the resource limits of this process, which the program inherits.
func (l *Limits) set() error {
	cpu := uint64(max(l.CPU/time.Second, 1))
	for _, x := range []struct {
		which int
		soft  uint64
		hard  uint64
	}{
		{unix.RLIMIT_DATA, uint64(l.Memory) + memorySlack, uint64(l.Memory) + memorySlack},
		{unix.RLIMIT_CPU, cpu, cpu + 1},
		{unix.RLIMIT_FSIZE, uint64(l.FileSize), uint64(l.FileSize)},
		{unix.RLIMIT_NOFILE, uint64(l.Files), uint64(l.Files)},
		{unix.RLIMIT_CORE, 0, 0},
	} {
		var old syscall.Rlimit
		if err := syscall.Getrlimit(x.which, &old); err != nil {
			return err
		}
		hard := min(x.hard, old.Max)
		if err := syscall.Setrlimit(x.which, &syscall.Rlimit{Cur: min(x.soft, hard), Max: hard}); err != nil {
			return err
		}
	}
	return nil
}

// Securebits by which user 0 gets no capability when it starts a program, for good (linux/securebits.h).
const noRoot = 1<<0 | 1<<1 | 1<<2 | 1<<3 // NOROOT, NO_SETUID_FIXUP, and that they stay

// dropCapabilities takes all capabilities from this thread, and the way to gain any.
func dropCapabilities() error {
	for c := uintptr(0); ; c++ {
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0); err != nil {
			break // behind the last; or this user has none to drop, and no_new_privs keeps files from giving it some
		}
	}
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return err
	}
	if err := unix.Prctl(unix.PR_SET_SECUREBITS, noRoot, 0, 0, 0); err != nil && !errors.Is(err, unix.EPERM) {
		return err
	}
	return unix.Capset(&unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}, &make([]unix.CapUserData, 2)[0])
}

// SealDescriptors marks every open descriptor from first on, so that no program which this process starts gets it unless it is
// given to it.
func SealDescriptors(first int) error {
	err := unix.CloseRange(uint(first), ^uint(0), unix.CLOSE_RANGE_CLOEXEC)
	if !errors.Is(err, unix.ENOSYS) && !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.EPERM) {
		return err
	}
	entries, err := os.ReadDir("/proc/self/fd") // before Linux 5.11
	for _, e := range entries {
		if fd, err := strconv.Atoi(e.Name()); err == nil && fd >= first {
			unix.CloseOnExec(fd)
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("/proc is not mounted: %w", err)
	}
	return err
}
