package confine

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// notice is struct seccomp_notif: a call that waits for an answer.
type notice struct {
	id    uint64
	pid   uint32
	flags uint32
	data  [64]byte // struct seccomp_data
}

// answer is struct seccomp_notif_resp.
type answer struct {
	id    uint64
	value int64
	errno int32
	flags uint32
}

// WatchPrograms answers for a filter that watches the start of programs. The process that confined itself may start its program, once
// or, where a signal came between, again; from then on none starts. That it has is seen by the end of a stream that it holds the other
// end of, which is closed when the program starts and before it runs. WatchPrograms returns when the filter is no longer in use.
func WatchPrograms(listener, stream int) {
	for asked(listener) {
		var n notice
		switch errno := control(listener, unix.SECCOMP_IOCTL_NOTIF_RECV, unsafe.Pointer(&n)); errno {
		case 0:
		case unix.EINTR, unix.ENOENT: // who asked is gone
			continue
		default:
			return
		}
		a := answer{id: n.id, flags: unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE}
		if ended(stream) {
			a = answer{id: n.id, errno: -int32(unix.EPERM)}
		}
		control(listener, unix.SECCOMP_IOCTL_NOTIF_SEND, unsafe.Pointer(&a)) // if who asked is gone, nobody waits
	}
}

func control(fd int, request uintptr, arg unsafe.Pointer) unix.Errno {
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), request, uintptr(arg))
	return errno
}

// asked waits until somebody asks the listener, and says whether somebody still can.
func asked(listener int) bool { return poll(listener, unix.POLLIN, -1) == unix.POLLIN }

// ended says whether the other end of a stream is closed. Where that can not be told it is.
func ended(stream int) bool { return poll(stream, 0, 0) != 0 }

// poll waits for events of a descriptor, at most for a time in milliseconds, and gives them.
func poll(fd int, events int16, timeout int) int16 {
	polled := []unix.PollFd{{Fd: int32(fd), Events: events}}
	for {
		switch _, err := unix.Poll(polled, timeout); err {
		case nil:
			return polled[0].Revents
		case unix.EINTR:
		default:
			return unix.POLLERR
		}
	}
}
