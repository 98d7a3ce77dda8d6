//go:build amd64 || arm64 || riscv64

package host

import (
	"errors"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// auditArch is the name that the kernel's filters have for this architecture.
var auditArch = map[string]uint32{"amd64": unix.AUDIT_ARCH_X86_64, "arm64": unix.AUDIT_ARCH_AARCH64, "riscv64": unix.AUDIT_ARCH_RISCV64}[runtime.GOARCH]

// Offsets in struct seccomp_data.
const (
	offsetNumber = 0
	offsetArch   = 4
	offsetArg0   = 16 // its low half; all the architectures above are little-endian
	offsetArg1   = 24
)

// foreignABI is the first system call of the x32 interface of amd64, which a filter of the numbers below would not see.
const foreignABI = 0x40000000

// socketTypeMask leaves the type of a socket without its flags.
const socketTypeMask = 0xf

// reachingCalls reach other processes of the user, or what those keep in the kernel, by ways that are neither files nor
// sockets: keys, shared memory, semaphores and queues, traces. io_uring makes calls that no filter sees.
var reachingCalls = []uint32{unix.SYS_IO_URING_SETUP, unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY, unix.SYS_SHMGET, unix.SYS_SHMAT,
	unix.SYS_MSGGET, unix.SYS_MSGSND, unix.SYS_MSGRCV, unix.SYS_SEMGET, unix.SYS_SEMOP, unix.SYS_SEMTIMEDOP, unix.SYS_MQ_OPEN, unix.SYS_PTRACE,
	unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_PIDFD_GETFD, unix.SYS_PERF_EVENT_OPEN, unix.SYS_BPF}

// filter denies this thread and what it starts the system calls that a plugin has no use for, and says whether the kernel has
// filters. Landlock knows TCP and, lately, some more; a filter knows all kinds of sockets on every kernel: without the network
// there are none but Unix stream sockets, which may be listened on and not connected.
func filter(network bool) (bool, error) {
	program := filterProgram(network)
	prog := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	err := unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&prog)), 0, 0)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) {
		return false, nil // a kernel without filters
	}
	return err == nil, err
}

// filterProgram gives the filter as instructions of the kernel's packet filter. Jumps count the instructions that are skipped.
func filterProgram(network bool) []unix.SockFilter {
	load := func(offset uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: offset}
	}
	jump := func(test uint16, k uint32, yes, no uint8) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_JMP | test | unix.BPF_K, Jt: yes, Jf: no, K: k}
	}
	give := func(k uint32) unix.SockFilter { return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: k} }
	deny := func(errno unix.Errno) unix.SockFilter { return give(unix.SECCOMP_RET_ERRNO | uint32(errno)) }
	program := []unix.SockFilter{
		load(offsetArch), jump(unix.BPF_JEQ, auditArch, 1, 0), deny(unix.ENOSYS),
		load(offsetNumber), jump(unix.BPF_JGE, foreignABI, 0, 1), deny(unix.ENOSYS),
	}
	for _, call := range reachingCalls {
		program = append(program, jump(unix.BPF_JEQ, call, 0, 1), deny(unix.ENOSYS))
	}
	if !network {
		program = append(program,
			jump(unix.BPF_JEQ, unix.SYS_CONNECT, 0, 1), deny(unix.EACCES),
			jump(unix.BPF_JEQ, unix.SYS_SOCKET, 1, 0), jump(unix.BPF_JEQ, unix.SYS_SOCKETPAIR, 0, 7),
			load(offsetArg0), jump(unix.BPF_JEQ, unix.AF_UNIX, 1, 0), deny(unix.EAFNOSUPPORT),
			load(offsetArg1), unix.SockFilter{Code: unix.BPF_ALU | unix.BPF_AND | unix.BPF_K, K: socketTypeMask},
			jump(unix.BPF_JEQ, unix.SOCK_STREAM, 1, 0), deny(unix.EPROTONOSUPPORT))
	}
	return append(program, give(unix.SECCOMP_RET_ALLOW))
}

// filters says whether the kernel has filters.
func filters() bool {
	_, err := unix.PrctlRetInt(unix.PR_GET_SECCOMP, 0, 0, 0, 0)
	return err == nil
}
