package host

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// openSocket opens the socket with a path below a folder, and gives an address by which that very socket is reached, whatever the
// plugin puts in its place. Links are not followed, and it must be one that the plugin made there.
func openSocket(folder *os.File, path string) (socket *os.File, address string, err error) {
	at := int(folder.Fd())
	names := strings.Split(path, "/")
	for i, name := range names {
		flags := unix.O_PATH | unix.O_NOFOLLOW | unix.O_CLOEXEC
		if i < len(names)-1 {
			flags |= unix.O_DIRECTORY
		}
		fd, err := unix.Openat(at, name, flags, 0)
		if socket != nil {
			socket.Close()
		}
		if err != nil {
			return nil, "", err
		}
		socket, at = os.NewFile(uintptr(fd), name), fd
	}
	var st unix.Stat_t
	err = unix.Fstat(at, &st)
	switch {
	case err != nil:
	case st.Mode&unix.S_IFMT != unix.S_IFSOCK:
		err = errors.New("it is not a socket")
	case int(st.Uid) != os.Geteuid() || st.Nlink != 1:
		err = errors.New("it is the socket of another program")
	default:
		return socket, fmt.Sprintf("/proc/self/fd/%d", at), nil
	}
	socket.Close()
	return nil, "", err
}
