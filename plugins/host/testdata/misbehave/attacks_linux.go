package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"tensortapestry.org/tapc/plugins"
)

// targets are what the attacks are aimed at: things of the user's that a test has made and can spare.
type targets struct {
	Victim     int    // a process
	Group      int    // a process group of the user's session
	Descriptor int    // open in tapc, and not meant for a plugin
	File       string // a file of the user's
	Shared     int    // shared memory
	Semaphore  int    //
	Queue      int    // of messages
	Named      string // a queue with a name
	Socket     string // a service's
	Abstract   string // a service's, without a file
	Datagrams  string // a service's that takes datagrams
	Address    string // a service's, of TCP
}

// attacks are ways out. One that succeeds gives no error. They leave no trace that would keep another from success.
var attacks = map[string]func(*targets) error{
	"read":     func(t *targets) error { _, err := os.ReadFile(t.File); return err },
	"stat":     func(t *targets) error { _, err := os.Stat(t.File); return err },
	"write":    func(t *targets) error { return os.WriteFile(t.File, []byte("attacked"), 0o600) },
	"truncate": func(t *targets) error { return os.Truncate(t.File, 0) },
	"empty":    func(t *targets) error { return open(t.File, os.O_RDONLY|os.O_TRUNC) },
	"create": func(t *targets) error {
		return open(filepath.Join(filepath.Dir(t.File), "new"), os.O_CREATE|os.O_WRONLY)
	},
	"dev-shm":   func(*targets) error { return open("/dev/shm/tapc-attack", os.O_CREATE|os.O_WRONLY) },
	"processes": func(*targets) error { _, err := os.ReadFile("/proc/1/status"); return err },

	"chmod":       func(t *targets) error { return os.Chmod(t.File, 0o600) },
	"fchmodat":    func(t *targets) error { return unix.Fchmodat(unix.AT_FDCWD, t.File, 0o600, 0) },
	"chown":       func(t *targets) error { return os.Chown(t.File, os.Getuid(), os.Getgid()) },
	"utimes":      func(t *targets) error { return os.Chtimes(t.File, time.Time{}, time.Now()) },
	"setxattr":    func(t *targets) error { return unix.Setxattr(t.File, "user.attack", []byte("x"), 0) },
	"removexattr": func(t *targets) error { return missing(unix.Removexattr(t.File, "user.none")) },

	"kill":   func(t *targets) error { return syscall.Kill(t.Victim, 0) },
	"tgkill": func(t *targets) error { return unix.Tgkill(t.Victim, t.Victim, 0) },
	"tkill":  func(t *targets) error { return call(unix.SYS_TKILL, uintptr(t.Victim), 0, 0) },
	"pidfd":  pidfdKill,
	"sigio": func(t *targets) error {
		return onSocket(func(fd int) error { return fcntl(fd, unix.F_SETOWN, t.Victim) })
	},
	"fiosetown": func(t *targets) error {
		return onSocket(func(fd int) error { return unix.IoctlSetPointerInt(fd, 0x8901, t.Victim) })
	},
	"join-group": joinGroup,

	"prlimit":     func(t *targets) error { return relimit(t.Victim, unix.RLIMIT_CPU) },
	"prlimit-sup": func(*targets) error { return relimit(os.Getppid(), unix.RLIMIT_NOFILE) },
	"priority":    func(t *targets) error { return unix.Setpriority(unix.PRIO_PROCESS, t.Victim, 1) },
	"priorities":  func(*targets) error { return unix.Setpriority(unix.PRIO_USER, 0, 1) },
	"affinity":    affinity,
	"ptrace":      func(t *targets) error { return unix.PtraceSeize(t.Victim) }, // it ends with this process
	"vm-read":     readMemory,

	"program":     func(*targets) error { return exec.Command("/bin/true").Run() },
	"loader":      loader,
	"self":        func(*targets) error { return exec.Command(os.Getenv("TAPC_PLUGIN_PATH"), "nothing").Run() },
	"memfd":       fromMemory,
	"memfd-size":  func(*targets) error { return closing(unix.MemfdCreate("attack", 0)) },
	"shared-anon": func(*targets) error { return mapped(-1, unix.MAP_SHARED|unix.MAP_ANONYMOUS) },
	"shared-zero": sharedZero,

	"shmctl":    func(t *targets) error { return call(unix.SYS_SHMCTL, uintptr(t.Shared), unix.IPC_STAT, buffer()) },
	"shmat":     func(t *targets) error { _, err := unix.SysvShmAttach(t.Shared, 0, 0); return err },
	"semctl":    func(t *targets) error { return call(unix.SYS_SEMCTL, uintptr(t.Semaphore), 0, getValue) },
	"msgctl":    func(t *targets) error { return call(unix.SYS_MSGCTL, uintptr(t.Queue), unix.IPC_STAT, buffer()) },
	"mq-unlink": unlinkQueue,
	"keyctl":    func(*targets) error { return call(unix.SYS_KEYCTL, 0, uintptr(0xfffffffd), 0) }, // the session's keys

	"connect":  func(t *targets) error { return dial("unix", t.Socket) },
	"abstract": func(t *targets) error { return dial("unix", t.Abstract) },
	"datagram": func(t *targets) error {
		return send(t, func() (int, error) { return unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM, 0) })
	},
	"pair":    func(t *targets) error { return send(t, unixPair) },
	"udp":     func(t *targets) error { return dial("udp", t.Address) },
	"tcp":     func(t *targets) error { return dial("tcp", t.Address) },
	"netlink": func(*targets) error { return closing(unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW, 0)) },
	"packet":  func(*targets) error { return closing(unix.Socket(unix.AF_PACKET, unix.SOCK_RAW, 0)) },

	"descriptor": func(t *targets) error { _, err := unix.Pread(t.Descriptor, make([]byte, 1), 0); return err },

	"capabilities": capabilities,
	"setuid": func(*targets) error {
		return call(unix.SYS_SETRESUID, uintptr(os.Getuid()), uintptr(os.Getuid()), uintptr(os.Getuid()))
	},
	"io-uring":    func(*targets) error { return closing2(unix.SYS_IO_URING_SETUP, 4, buffer()) },
	"userfaultfd": func(*targets) error { return closing2(unix.SYS_USERFAULTFD, 1, 0) },
	"personality": func(*targets) error { return call(unix.SYS_PERSONALITY, 0xffffffff, 0, 0) },
	"unknown":     func(*targets) error { return unknownCall() },
}

// assault tries all attacks, or those named, and reports those that succeed.
func assault(_ context.Context, p *plugins.Context) error {
	p.Unchanged()
	var t targets
	if err := json.Unmarshal([]byte(p.Text("at")), &t); err != nil {
		return err
	}
	for name, attack := range attacks {
		if attack(&t) == nil {
			p.Count(name, 1)
		}
	}
	return nil
}

func open(path string, flags int) error {
	f, err := os.OpenFile(path, flags, 0o600)
	if err == nil {
		f.Close()
	}
	return err
}

// missing takes the answer that something is not there for success: it was looked for.
func missing(err error) error {
	if errors.Is(err, unix.ENODATA) {
		return nil
	}
	return err
}

func call(number, a, b, c uintptr) error {
	_, _, errno := unix.Syscall(number, a, b, c)
	if errno != 0 {
		return errno
	}
	return nil
}

var scratch [4096]byte

// buffer is memory that a system call may write to.
func buffer() uintptr {
	clear(scratch[:])
	return uintptr(unsafe.Pointer(&scratch))
}

func closing(fd int, err error) error {
	if err == nil {
		unix.Close(fd)
	}
	return err
}

func closing2(number, a, b uintptr) error {
	fd, _, errno := unix.Syscall(number, a, b, 0)
	if errno != 0 {
		return errno
	}
	return unix.Close(int(fd))
}

func unixPair() (int, error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM, 0)
	if err == nil {
		unix.Close(fds[1])
	}
	return fds[0], err
}

func dial(network, address string) error {
	c, err := net.Dial(network, address)
	if err == nil {
		c.Close()
	}
	return err
}

// send sends to a service from a socket that is made.
func send(t *targets, makeSocket func() (int, error)) error {
	fd, err := makeSocket()
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return unix.Sendto(fd, []byte("x"), 0, &unix.SockaddrUnix{Name: t.Datagrams})
}

// onSocket does something with a socket.
func onSocket(do func(fd int) error) error {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fds[0])
	defer unix.Close(fds[1])
	return do(fds[0])
}

func fcntl(fd, command, arg int) error {
	_, err := unix.FcntlInt(uintptr(fd), command, arg)
	return err
}

func pidfdKill(t *targets) error {
	fd, err := unix.PidfdOpen(t.Victim, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return unix.PidfdSendSignal(fd, 0, nil, 0)
}

// joinGroup makes itself one of a process group of the user's, all of which it could then kill with kill(0, …).
func joinGroup(t *targets) error {
	if err := unix.Setpgid(0, t.Group); err != nil {
		return err
	}
	return unix.Setpgid(0, 0)
}

// relimit sets a limit of a process to what it is.
func relimit(pid, which int) error {
	var l unix.Rlimit
	if err := unix.Prlimit(pid, which, nil, &l); err != nil {
		return err
	}
	return unix.Prlimit(pid, which, &l, nil)
}

func affinity(t *targets) error {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return err
	}
	return unix.SchedSetaffinity(t.Victim, &set)
}

func readMemory(t *targets) error {
	b := make([]byte, 8)
	local := []unix.Iovec{{Base: &b[0], Len: 8}}
	_, err := unix.ProcessVMReadv(t.Victim, local, []unix.RemoteIovec{{Base: 0, Len: 8}}, 0)
	if err == unix.EFAULT { // it was looked at, and nothing is there
		return nil
	}
	return err
}

// loaders are the programs that start programs, where the usual systems have them.
var loaders = []string{"/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1", "/lib/ld-linux-riscv64-lp64d.so.1", "/lib/ld-musl-x86_64.so.1"}

// loader starts a program that may only be read.
func loader(*targets) error {
	for _, path := range loaders {
		if exec.Command(path, "/bin/true").Run() == nil {
			return nil
		}
	}
	return errors.New("no loader starts a program")
}

// fromMemory starts a program that is in no file system.
func fromMemory(*targets) error {
	fd, err := unix.MemfdCreate("attack", 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	text, err := os.ReadFile("/bin/true")
	if err == nil {
		_, err = unix.Write(fd, text)
	}
	if err != nil {
		return err
	}
	empty, args := []byte{0}, []*byte{nil, nil}
	args[0] = &empty[0]
	pid, _, errno := unix.RawSyscall6(unix.SYS_CLONE, uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0)
	if errno != 0 {
		return errno
	}
	if pid == 0 { // a copy, in which only system calls may be made
		unix.RawSyscall6(unix.SYS_EXECVEAT, uintptr(fd), uintptr(unsafe.Pointer(&empty[0])), uintptr(unsafe.Pointer(&args[0])),
			uintptr(unsafe.Pointer(&args[1])), unix.AT_EMPTY_PATH, 0)
		unix.RawSyscall(unix.SYS_EXIT_GROUP, 1, 0, 0)
	}
	var status unix.WaitStatus
	if _, err = unix.Wait4(int(pid), &status, 0, nil); err == nil && status.ExitStatus() != 0 {
		err = errors.New("it did not start")
	}
	return err
}

func mapped(fd, flags int) error {
	b, err := unix.Mmap(fd, 0, 4096, unix.PROT_READ, flags)
	if err == nil {
		unix.Munmap(b)
	}
	return err
}

func sharedZero(*targets) error {
	f, err := os.Open("/dev/zero")
	if err != nil {
		return err
	}
	defer f.Close()
	return mapped(int(f.Fd()), unix.MAP_SHARED)
}

const getValue = 12 // GETVAL of linux/sem.h

func unlinkQueue(t *targets) error {
	name, err := unix.BytePtrFromString(t.Named)
	if err != nil {
		return err
	}
	return call(unix.SYS_MQ_UNLINK, uintptr(unsafe.Pointer(name)), 0, 0)
}

func capabilities(*targets) error {
	var data [2]unix.CapUserData
	if err := unix.Capget(&unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}, &data[0]); err != nil {
		return err
	}
	for _, d := range data {
		if d.Effective|d.Permitted|d.Inheritable != 0 {
			return nil
		}
	}
	return errors.New("there are none")
}

// unknownCall makes a call that no kernel has. It succeeds if the kernel itself says so: the filter does it in its place.
func unknownCall() error {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil || !strings.Contains(string(status), "Seccomp:\t0") {
		return errors.New("there is a filter")
	}
	return nil
}

// offspring starts a process that leaves its family: its own session, no parent, and all the descriptors it can get. It is a copy of this
// one, in which only system calls may be made.
func offspring() error {
	pid, _, errno := unix.RawSyscall6(unix.SYS_CLONE, uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0)
	if errno != 0 {
		return errno
	}
	if pid == 0 {
		unix.RawSyscall(unix.SYS_SETSID, 0, 0, 0)
		for {
			unix.RawSyscall6(unix.SYS_PPOLL, 0, 0, 0, 0, 0, 0)
		}
	}
	return nil
}

// linkedSocket serves, and puts a link in the place of its socket before it says so.
func linkedSocket() {
	dir := os.Getenv("PLUGIN_UNIX_SOCKET_DIR")
	l, err := net.Listen("unix", filepath.Join(dir, "real"))
	if err == nil {
		err = os.Symlink("real", filepath.Join(dir, "socket"))
	}
	if err != nil {
		panic(err)
	}
	defer l.Close()
	shake("1|1|unix|%s/socket|grpc|" + someCertificate())
}

// filler fills its folder with files of a size below the limit of one, with a name or without.
func filler(names bool) func(context.Context, *plugins.Context) error {
	return func(_ context.Context, p *plugins.Context) error {
		var all []*os.File
		for i := 0; ; i++ {
			f, err := os.Create(fmt.Sprintf("file-%d", i))
			if err == nil && !names {
				err = os.Remove(f.Name())
			}
			if err == nil {
				_, err = f.Write(make([]byte, 8<<20))
			}
			if err != nil {
				return fmt.Errorf("file %d: %w", len(all), err)
			}
			if names {
				f.Close()
			}
			all = append(all, f) // and with it the files without names stay open
			time.Sleep(20 * time.Millisecond)
		}
	}
}
