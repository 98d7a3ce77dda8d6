//go:build amd64 || arm64 || riscv64

package confine

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// run is the kernel's packet filter as far as the program of a filter uses it.
func run(t *testing.T, program []unix.SockFilter, arch, number uint32, args [6]uint32) uint32 {
	t.Helper()
	data := map[uint32]uint32{offsetNumber: number, offsetArch: arch}
	for i, a := range args {
		data[offsetArgs+argSize*uint32(i)] = a
	}
	var a uint32
	for pc := 0; pc < len(program); pc++ {
		x := program[pc]
		yes := false
		switch x.Code {
		case unix.BPF_LD | unix.BPF_W | unix.BPF_ABS:
			value, ok := data[x.K]
			if !ok {
				t.Fatalf("instruction %d reads at %d", pc, x.K)
			}
			a = value
			continue
		case unix.BPF_ALU | unix.BPF_AND | unix.BPF_K:
			a &= x.K
			continue
		case unix.BPF_RET | unix.BPF_K:
			return x.K
		case unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K:
			yes = a == x.K
		case unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K:
			yes = a >= x.K
		default:
			t.Fatalf("instruction %d is %+v", pc, x)
		}
		if yes {
			pc += int(x.Jt)
		} else {
			pc += int(x.Jf)
		}
	}
	t.Fatal("the program has no end")
	return 0
}

func errno(e unix.Errno) uint32 { return unix.SECCOMP_RET_ERRNO | uint32(e) }

const allow = unix.SECCOMP_RET_ALLOW

// TestFilterProgram runs the program of the filter over calls that are let through, checked, forbidden and unknown.
func TestFilterProgram(t *testing.T) {
	pid := uint32(os.Getpid())
	strict, loose := terms{watched: true, pid: int(pid)}, terms{network: true, execute: true, watched: true, inside: true, rooted: true, truncates: true}
	for _, x := range []struct {
		name          string
		call          uint32
		args          [6]uint32
		strict, loose uint32
	}{
		{"read", unix.SYS_READ, [6]uint32{}, allow, allow},
		{"the last of a row", unix.SYS_EVENTFD2, [6]uint32{}, allow, allow},
		{"a call of the future", 4000, [6]uint32{}, errno(unix.ENOSYS), errno(unix.ENOSYS)},
		{"clone3", unix.SYS_CLONE3, [6]uint32{}, errno(unix.ENOSYS), errno(unix.ENOSYS)},
		{"a thread", unix.SYS_CLONE, [6]uint32{unix.CLONE_VM | unix.CLONE_THREAD}, allow, allow},
		{"a user namespace", unix.SYS_CLONE, [6]uint32{unix.CLONE_NEWUSER | uint32(unix.SIGCHLD)}, errno(unix.EPERM), errno(unix.EPERM)},
		{"programs", unix.SYS_EXECVE, [6]uint32{}, unix.SECCOMP_RET_USER_NOTIF, allow},
		{"own limits", unix.SYS_PRLIMIT64, [6]uint32{0}, allow, allow},
		{"limits of another", unix.SYS_PRLIMIT64, [6]uint32{1}, errno(unix.EPERM), errno(unix.EPERM)},
		{"signal to itself", unix.SYS_KILL, [6]uint32{pid}, allow, allow},
		{"signal to its group", unix.SYS_KILL, [6]uint32{-pid}, allow, allow},
		{"signal to another", unix.SYS_KILL, [6]uint32{pid + 1}, errno(unix.EPERM), allow},
		{"signal to all", unix.SYS_KILL, [6]uint32{^uint32(0)}, errno(unix.EPERM), allow},
		{"signal by descriptor", unix.SYS_PIDFD_SEND_SIGNAL, [6]uint32{}, errno(unix.EPERM), allow},
		{"a stream socket", unix.SYS_SOCKET, [6]uint32{unix.AF_UNIX, unix.SOCK_STREAM | unix.SOCK_CLOEXEC}, allow, allow},
		{"a datagram socket", unix.SYS_SOCKET, [6]uint32{unix.AF_UNIX, unix.SOCK_DGRAM}, errno(unix.EPROTONOSUPPORT), allow},
		{"the network", unix.SYS_SOCKET, [6]uint32{unix.AF_INET, unix.SOCK_STREAM}, errno(unix.EAFNOSUPPORT), allow},
		{"packets", unix.SYS_SOCKET, [6]uint32{unix.AF_PACKET, unix.SOCK_RAW}, errno(unix.EAFNOSUPPORT), errno(unix.EAFNOSUPPORT)},
		{"connect", unix.SYS_CONNECT, [6]uint32{}, errno(unix.EPERM), allow},
		{"open", unix.SYS_OPENAT, [6]uint32{0, 0, unix.O_RDONLY}, allow, allow},
		{"open to write", unix.SYS_OPENAT, [6]uint32{0, 0, unix.O_WRONLY | unix.O_TRUNC}, allow, allow},
		{"open to empty", unix.SYS_OPENAT, [6]uint32{0, 0, unix.O_RDONLY | unix.O_TRUNC}, errno(unix.EPERM), allow},
		{"open2", unix.SYS_OPENAT2, [6]uint32{}, errno(unix.ENOSYS), allow},
		{"mode", unix.SYS_FCHMODAT, [6]uint32{}, errno(unix.EPERM), allow},
		{"memory", unix.SYS_MMAP, [6]uint32{3: unix.MAP_PRIVATE | unix.MAP_ANONYMOUS}, allow, allow},
		{"a file in memory", unix.SYS_MMAP, [6]uint32{3: unix.MAP_SHARED}, allow, allow},
		{"shared memory", unix.SYS_MMAP, [6]uint32{3: unix.MAP_SHARED | unix.MAP_ANONYMOUS}, errno(unix.EPERM), errno(unix.EPERM)},
		{"huge pages", unix.SYS_MMAP, [6]uint32{3: unix.MAP_PRIVATE | unix.MAP_ANONYMOUS | unix.MAP_HUGETLB}, errno(unix.EPERM), errno(unix.EPERM)},
		{"a descriptor's flags", unix.SYS_FCNTL, [6]uint32{1: unix.F_SETFL}, allow, allow},
		{"a descriptor's owner", unix.SYS_FCNTL, [6]uint32{1: unix.F_SETOWN}, errno(unix.EPERM), errno(unix.EPERM)},
		{"typing for the user", unix.SYS_IOCTL, [6]uint32{1: unix.TIOCSTI}, errno(unix.ENOTTY), errno(unix.ENOTTY)},
		{"name", unix.SYS_PRCTL, [6]uint32{unix.PR_SET_NAME}, allow, allow},
		{"hiding from /proc", unix.SYS_PRCTL, [6]uint32{unix.PR_SET_DUMPABLE}, errno(unix.EINVAL), errno(unix.EINVAL)},
		{"own priority", unix.SYS_SETPRIORITY, [6]uint32{unix.PRIO_PROCESS}, allow, allow},
		{"the user's priority", unix.SYS_SETPRIORITY, [6]uint32{unix.PRIO_USER}, errno(unix.EPERM), errno(unix.EPERM)},
	} {
		for _, y := range []struct {
			terms *terms
			want  uint32
		}{{&strict, x.strict}, {&loose, x.loose}} {
			if got := run(t, assemble(rules(y.terms)), auditArch, x.call, x.args); got != y.want {
				t.Errorf("%s, under %+v: %#x, not %#x", x.name, *y.terms, got, y.want)
			}
		}
	}
	program := assemble(rules(&loose))
	for name, got := range map[string]uint32{"another architecture": run(t, program, auditArch+1, unix.SYS_READ, [6]uint32{}),
		"another set of numbers": run(t, program, auditArch, foreignABI|unix.SYS_READ, [6]uint32{})} {
		if got != errno(unix.ENOSYS) {
			t.Errorf("%s: %#x", name, got)
		}
	}
}

// TestRules looks at the table: a call stands in it once, and each row says why.
func TestRules(t *testing.T) {
	seen := map[uint32]string{}
	for _, r := range rules(&terms{}) {
		if r.why == "" || len(r.calls) == 0 {
			t.Errorf("the row %+v is no row", r)
		}
		for _, c := range r.calls {
			if old, twice := seen[c]; twice {
				t.Errorf("call %d stands under %q and %q", c, old, r.why)
			}
			seen[c] = r.why
		}
	}
	if n := len(assemble(rules(&terms{}))); n > 4096 {
		t.Errorf("the program has %d instructions, and the kernel takes 4096", n)
	}
}
