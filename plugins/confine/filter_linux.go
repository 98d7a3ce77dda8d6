//go:build amd64 || arm64 || riscv64

package confine

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
	offsetArgs   = 16 // the low half of the first; all the architectures above are little-endian
	argSize      = 8
)

// foreignABI is the first system call of the x32 interface of amd64, which a filter of the numbers below would not see.
const foreignABI = 0x40000000

// filter puts the filter of a table on this thread and what it starts, and says whether the kernel has filters. If programs are to
// be watched, listener is the descriptor of who is asked about them, and otherwise -1.
func filter(t terms) (filtered bool, listener int, err error) {
	if t.watched {
		program := assemble(rules(&t))
		prog := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
		fd, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_NEW_LISTENER, uintptr(unsafe.Pointer(&prog)))
		if errno == 0 {
			unix.CloseOnExec(int(fd))
			return true, int(fd), nil
		}
		t.watched = false // somebody listens already, or nobody can
	}
	program := assemble(rules(&t))
	prog := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	err = unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&prog)), 0, 0)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) {
		return false, -1, nil // a kernel without filters
	}
	return err == nil, -1, err
}

// Instructions of the kernel's packet filter. Jumps count the instructions that are skipped.
func load(offset uint32) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: offset}
}

func mask(k uint32) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_ALU | unix.BPF_AND | unix.BPF_K, K: k}
}

func jump(test uint16, k uint32, yes, no int) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_JMP | test | unix.BPF_K, Jt: uint8(yes), Jf: uint8(no), K: k}
}

func give(k uint32) unix.SockFilter { return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: k} }

func deny(errno unix.Errno) unix.SockFilter { return give(unix.SECCOMP_RET_ERRNO | uint32(errno)) }

// assemble makes the program of a table: for each rule a chain of its calls' numbers, and behind it what is done with them. New
// kernels remember what is let through whatever its arguments are, and do not run the program for it.
func assemble(table []rule) []unix.SockFilter {
	program := []unix.SockFilter{
		load(offsetArch), jump(unix.BPF_JEQ, auditArch, 1, 0), deny(unix.ENOSYS),
		load(offsetNumber), jump(unix.BPF_JGE, foreignABI, 0, 1), deny(unix.ENOSYS),
	}
	for i := range table {
		action := table[i].action()
		n := len(table[i].calls)
		for k, call := range table[i].calls {
			otherwise := 0 // the next number
			if k == n-1 {
				otherwise = len(action)
			}
			program = append(program, jump(unix.BPF_JEQ, call, n-1-k, otherwise))
		}
		program = append(program, action...)
	}
	return append(program, deny(unix.ENOSYS))
}

// action is what is done with the calls of a rule.
func (r *rule) action() []unix.SockFilter {
	errno := r.errno
	if errno == 0 {
		errno = unix.EPERM
	}
	switch {
	case !r.ok:
		return []unix.SockFilter{deny(errno)}
	case r.watch:
		return []unix.SockFilter{give(unix.SECCOMP_RET_USER_NOTIF)}
	}
	var program []unix.SockFilter
	for i := range r.args {
		program = append(program, r.args[i].program(errno)...)
	}
	return append(program, give(unix.SECCOMP_RET_ALLOW))
}

// program answers with an error if the check fails, and falls through if it holds.
func (c *check) program(errno unix.Errno) []unix.SockFilter {
	if c.errno != 0 {
		errno = c.errno
	}
	program := []unix.SockFilter{load(offsetArgs + argSize*uint32(c.arg))}
	if c.mask != 0 {
		program = append(program, mask(c.mask))
	}
	n := len(c.in)
	for k, value := range c.in {
		toDeny, toNext := n-1-k, n-k // behind the last comparison stands the denial, and then what comes next
		switch {
		case c.not && k == n-1:
			program = append(program, jump(unix.BPF_JEQ, value, toDeny, toNext))
		case c.not:
			program = append(program, jump(unix.BPF_JEQ, value, toDeny, 0))
		default:
			program = append(program, jump(unix.BPF_JEQ, value, toNext, 0))
		}
	}
	return append(program, deny(errno))
}
