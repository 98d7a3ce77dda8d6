package supervise

import (
	"encoding/json"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"

	"tensortapestry.org/tapc/plugins/confine"
)

// state is what a supervisor writes to tapc: once when it has started the plugin, or not, and once when all is over. A launcher writes
// to its supervisor what the first of them is made of.
type state struct {
	Errno   int           `json:",omitempty"` // of the start; the plugin does not run
	Error   string        `json:",omitempty"`
	Confine confine.State //
	End     *Outcome      `json:",omitempty"`
}

// maxState bounds a state as JSON, in bytes; an error holds a path or two.
const maxState = 32 << 10

// link is one end of a connection over which states go, each with the descriptors that come with it.
type link struct {
	fd   int
	file *os.File
}

// linkPair gives the end of a connection that receives, and the one that sends, for another process.
func linkPair() (in, out *link, err error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err == nil {
		err = unix.SetNonblock(fds[0], true) // so that receiving can have a deadline
	}
	if err != nil {
		return nil, nil, os.NewSyscallError("socketpair", err)
	}
	return linkOf(fds[0]), linkOf(fds[1]), nil
}

// linkOf gives the end that a descriptor stands for.
func linkOf(fd int) *link { return &link{fd, os.NewFile(uintptr(fd), "link")} }

// send writes a state. The descriptors stay open here.
func (l *link) send(v state, fds ...int) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	var rights []byte
	if len(fds) > 0 {
		rights = unix.UnixRights(fds...)
	}
	return unix.Sendmsg(l.fd, text, rights, nil, unix.MSG_NOSIGNAL)
}

// receive reads a state and its descriptors; io.EOF says that the other end is closed.
func (l *link) receive() (v state, fds []int, err error) {
	text, rights := make([]byte, maxState), make([]byte, unix.CmsgSpace(4*maxRights))
	raw, err := l.file.SyscallConn()
	if err != nil {
		return v, nil, err
	}
	n, m := 0, 0
	waited := raw.Read(func(fd uintptr) bool {
		n, m, _, _, err = unix.Recvmsg(int(fd), text, rights, unix.MSG_CMSG_CLOEXEC)
		return err != unix.EAGAIN && err != unix.EINTR
	})
	if waited != nil {
		return v, nil, waited
	}
	if err != nil {
		return v, nil, err
	}
	if fds, err = descriptors(rights[:m]); err == nil && n == 0 {
		err = io.EOF
	}
	if err == nil {
		err = json.Unmarshal(text[:n], &v)
	}
	if err != nil {
		closeDescriptors(fds)
		return state{}, nil, err
	}
	return v, fds, nil
}

// maxRights is how many descriptors come with a state at most: the folder and the listener of the filter.
const maxRights = 2

// descriptors gives the descriptors in a control message.
func descriptors(rights []byte) ([]int, error) {
	messages, err := unix.ParseSocketControlMessage(rights)
	if err != nil || len(messages) == 0 {
		return nil, err
	}
	if len(messages) > 1 {
		return nil, fmt.Errorf("%d control messages in place of one", len(messages))
	}
	return unix.ParseUnixRights(&messages[0])
}

func closeDescriptors(fds []int) {
	for _, fd := range fds {
		unix.Close(fd)
	}
}
