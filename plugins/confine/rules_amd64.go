//go:build linux

package confine

import "golang.org/x/sys/unix"

// ownRules are the calls of this architecture: those that later ones replace.
func ownRules(t *terms) []rule {
	return []rule{
		{calls: calls{unix.SYS_STAT, unix.SYS_LSTAT, unix.SYS_ACCESS, unix.SYS_READLINK, unix.SYS_GETDENTS, unix.SYS_PIPE, unix.SYS_DUP2, unix.SYS_POLL,
			unix.SYS_SELECT, unix.SYS_EPOLL_CREATE, unix.SYS_EPOLL_WAIT, unix.SYS_EVENTFD, unix.SYS_SIGNALFD}, ok: true, why: "files"},
		{calls: calls{unix.SYS_OPEN}, ok: true, args: t.openCheck(1), why: "as openat"},
		{calls: calls{unix.SYS_CREAT, unix.SYS_MKDIR, unix.SYS_MKNOD, unix.SYS_RMDIR, unix.SYS_UNLINK, unix.SYS_LINK, unix.SYS_SYMLINK, unix.SYS_RENAME,
			unix.SYS_RENAMEAT}, ok: true, why: "Landlock and the root directory say where"},
		{calls: calls{unix.SYS_CHMOD, unix.SYS_CHOWN, unix.SYS_LCHOWN, unix.SYS_UTIME, unix.SYS_UTIMES, unix.SYS_FUTIMESAT}, ok: t.rooted,
			why: "Landlock does not know them"},
		{calls: calls{unix.SYS_FORK, unix.SYS_VFORK, unix.SYS_GETPGRP, unix.SYS_PAUSE, unix.SYS_ALARM, unix.SYS_TIME, unix.SYS_ARCH_PRCTL}, ok: true,
			why: "its own processes"},
		{calls: calls{unix.SYS_IOPL, unix.SYS_IOPERM, unix.SYS_MODIFY_LDT, unix.SYS_USELIB}, why: "the machine"},
	}
}
