package confine

import "golang.org/x/sys/unix"

// CloneFlags are the flags with which a process is started in namespaces of its own.
func CloneFlags(n Namespaces) uintptr {
	var flags uintptr
	for _, x := range []struct {
		own  bool
		flag uintptr
	}{{n.User, unix.CLONE_NEWUSER}, {n.PID, unix.CLONE_NEWPID}, {n.Mount, unix.CLONE_NEWNS}, {n.Network, unix.CLONE_NEWNET}, {n.IPC, unix.CLONE_NEWIPC}} {
		if x.own {
			flags |= x.flag
		}
	}
	return flags
}
