package confine

import (
	"encoding/binary"
	"errors"
	"io/fs"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Rights of Landlock, by what they let a process do.
const (
	rightRead    = unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR
	rightExecute = unix.LANDLOCK_ACCESS_FS_EXECUTE
	rightConnect = 1 << 16 // LANDLOCK_ACCESS_FS_RESOLVE_UNIX: connect to a Unix socket from outside
	rightWrite   = unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE | rightConnect
	rightMake    = unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE | unix.LANDLOCK_ACCESS_FS_MAKE_CHAR |
		unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_REG | unix.LANDLOCK_ACCESS_FS_MAKE_SOCK |
		unix.LANDLOCK_ACCESS_FS_MAKE_FIFO | unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK | unix.LANDLOCK_ACCESS_FS_MAKE_SYM |
		unix.LANDLOCK_ACCESS_FS_REFER
	rightAll  = rightRead | rightExecute | rightWrite | rightMake | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	rightFile = unix.LANDLOCK_ACCESS_FS_READ_FILE | rightExecute | rightWrite | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV // of things that are no directories
)

// grant is a right over a file or everything below a directory.
type grant struct {
	path   string
	rights uint64
}

// systemGrants are what every program needs: the system's libraries and data, and the devices that are no devices. The
// process information in /proc is not among them, and neither is /dev/zero: what is mapped of it is memory that no supervisor sees.
var systemGrants = []grant{
	{"/usr", rightRead}, {"/lib", rightRead | rightExecute}, {"/lib64", rightRead | rightExecute},
	{"/usr/lib", rightRead | rightExecute}, {"/usr/lib64", rightRead | rightExecute}, {"/usr/local/lib", rightRead | rightExecute},
	{"/bin", rightRead}, {"/sbin", rightRead}, {"/etc/ld.so.cache", rightRead}, {"/etc/alternatives", rightRead},
	{"/etc/localtime", rightRead}, {"/dev/null", rightRead | rightWrite}, {"/dev/full", rightRead | rightWrite},
	{"/dev/urandom", rightRead}, {"/dev/random", rightRead},
}

// executeGrants are what Access.Execute adds.
var executeGrants = []grant{{"/usr", rightRead | rightExecute}, {"/bin", rightRead | rightExecute}, {"/sbin", rightRead | rightExecute}}

// networkGrants are what Access.Network adds: how names are resolved and certificates checked.
var networkGrants = []grant{
	{"/etc/resolv.conf", rightRead}, {"/etc/hosts", rightRead}, {"/etc/nsswitch.conf", rightRead}, {"/etc/host.conf", rightRead},
	{"/etc/gai.conf", rightRead}, {"/etc/services", rightRead}, {"/etc/ssl", rightRead}, {"/etc/pki", rightRead},
}

func (t *Task) grants() []grant {
	list := append([]grant{{t.Folder, rightAll &^ rightExecute}}, systemGrants...)
	for _, p := range t.Read {
		list = append(list, grant{p, rightRead})
	}
	for _, p := range t.Write {
		list = append(list, grant{p, rightRead | rightWrite | rightMake})
	}
	for _, p := range t.Runnable {
		list = append(list, grant{p, rightRead | rightExecute})
	}
	if t.Execute {
		list = append(list, executeGrants...)
	}
	if t.Network {
		list = append(list, networkGrants...)
	}
	return list
}

// rulesetAttr is struct landlock_ruleset_attr.
type rulesetAttr struct{ fs, net, scoped uint64 }

// landlock confines this thread to the files of a task, whose program is open as exe, and gives the version of the interface that did it; 0 is none.
func (t *Task) landlock(exe int) (int, error) {
	abi, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 || t.Off.Has(Landlock) {
		return 0, nil
	}
	handled := rulesetAttr{fs: handledRights(int(abi))}
	size := unsafe.Sizeof(handled.fs)
	if abi >= 4 {
		size *= 2
		if !t.Network {
			handled.net = unix.LANDLOCK_ACCESS_NET_BIND_TCP | unix.LANDLOCK_ACCESS_NET_CONNECT_TCP
		}
	}
	if abi >= landlockSignals {
		size = unsafe.Sizeof(handled)
		handled.scoped = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL
	}
	ruleset, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&handled)), size, 0)
	if errno != 0 {
		return 0, errno
	}
	defer unix.Close(int(ruleset))
	if err := addRule(int(ruleset), exe, (rightRead|rightExecute)&handled.fs); err != nil {
		return 0, err
	}
	for _, g := range t.grants() {
		if err := addPath(int(ruleset), g, handled.fs); err != nil {
			return 0, &os.PathError{Op: "landlock", Path: g.path, Err: err}
		}
	}
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, ruleset, 0, 0); errno != 0 {
		return 0, errno
	}
	return int(abi), nil
}

// handledRights gives the rights that a version of the interface knows.
func handledRights(abi int) uint64 {
	rights := uint64(rightAll)
	for _, x := range []struct {
		since int
		right uint64
	}{{2, unix.LANDLOCK_ACCESS_FS_REFER}, {landlockTruncates, unix.LANDLOCK_ACCESS_FS_TRUNCATE}, {5, unix.LANDLOCK_ACCESS_FS_IOCTL_DEV},
		{landlockUnix, rightConnect}} {
		if abi < x.since {
			rights &^= x.right
		}
	}
	return rights
}

// addPath adds a grant; a path that is not there grants nothing.
func addPath(ruleset int, g grant, handled uint64) error {
	fd, err := unix.Open(g.path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) || errors.Is(err, unix.ENOTDIR) {
		return nil
	}
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return addRule(ruleset, fd, g.rights&handled)
}

// addRule grants rights over what a descriptor stands for.
func addRule(ruleset, fd int, rights uint64) error {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		rights &= rightFile
	}
	var rule [12]byte // struct landlock_path_beneath_attr, which is packed
	binary.NativeEndian.PutUint64(rule[0:], rights)
	binary.NativeEndian.PutUint32(rule[8:], uint32(fd))
	_, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(ruleset), unix.LANDLOCK_RULE_PATH_BENEATH,
		uintptr(unsafe.Pointer(&rule)), 0, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}
