//go:build amd64 || arm64 || riscv64

package confine

import "golang.org/x/sys/unix"

// terms are what the rules of a filter depend on.
type terms struct {
	network   bool
	execute   bool
	watched   bool // the start of programs is watched by a supervisor
	inside    bool // signals reach only processes inside
	rooted    bool // what may not be written is mounted read-only
	truncates bool // files that may not be written can not be emptied either
	pid       int  // of the program
}

// rule says what a filter does with some system calls. Calls that no rule names do not exist (ENOSYS), so that libraries do without
// them, and so do those that kernels will gain.
type rule struct {
	calls []uint32
	ok    bool       // they are let through, if all checks hold; without, they are forbidden
	args  []check    //
	errno unix.Errno // what is answered otherwise; 0 is EPERM
	watch bool       // they are let through or not by who listens to the filter
	why   string     // for the reader
}

// check looks at the low half of an argument; the calls below take what is checked as 32 bits.
type check struct {
	arg   int
	mask  uint32 // 0 is all bits
	not   bool   // the values are refused, and not those let through
	in    []uint32
	errno unix.Errno // what is answered if the check fails; 0 is the rule's
}

type calls = []uint32

// namespaceFlags are the flags of clone that make namespaces.
const namespaceFlags = unix.CLONE_NEWNS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC | unix.CLONE_NEWUSER |
	unix.CLONE_NEWPID | unix.CLONE_NEWNET

// socketTypeMask leaves the type of a socket without its flags.
const socketTypeMask = 0xf

// sharedAnonymous is memory that stays when no process has it in its page tables: nothing but a control group counts it.
const sharedAnonymous = unix.MAP_ANONYMOUS | unix.MAP_SHARED

const mapType = 0xf // the bits of mmap's flags that say how a mapping is shared

// Requests of ioctl that concern a descriptor itself (asm-generic/ioctls.h).
const (
	fionclex = 0x5450
	fioclex  = 0x5451
	fionbio  = 0x5421
)

// emptying are the flags of open that empty a file without the right to write it.
var emptying = []uint32{unix.O_TRUNC, unix.O_TRUNC | unix.O_ACCMODE}

// openCheck keeps open from emptying files, where nothing else does. The flags are its argument arg.
func (t *terms) openCheck(arg int) []check {
	if t.truncates {
		return nil
	}
	return []check{{arg: arg, mask: unix.O_ACCMODE | unix.O_TRUNC, not: true, in: emptying}}
}

// targets are the processes that signals may go to, as the first argument of the calls that send them.
func (t *terms) targets() []check {
	if t.inside {
		return nil
	}
	return []check{{arg: 0, in: []uint32{0, uint32(t.pid), uint32(-t.pid)}}}
}

// itself is a check that the argument names the caller by a 0.
func itself(arg int) check { return check{arg: arg, in: []uint32{0}} }

// sockets are the kinds of sockets that may be made.
func (t *terms) sockets() []check {
	if t.network {
		return []check{{arg: 0, in: []uint32{unix.AF_UNIX, unix.AF_INET, unix.AF_INET6, unix.AF_NETLINK}, errno: unix.EAFNOSUPPORT}}
	}
	return []check{{arg: 0, in: []uint32{unix.AF_UNIX}, errno: unix.EAFNOSUPPORT},
		{arg: 1, mask: socketTypeMask, in: []uint32{unix.SOCK_STREAM}, errno: unix.EPROTONOSUPPORT}} // from a datagram socket others can be reached
}

// rules is the table of the filter. Numbers that only some architectures have are in ownRules.
func rules(t *terms) []rule {
	return append(append(append(memoryRules(t), fileRules(t)...), processRules(t)...), append(forbidden(), ownRules(t)...)...)
}

func memoryRules(t *terms) []rule {
	return []rule{
		{calls: calls{unix.SYS_BRK, unix.SYS_MUNMAP, unix.SYS_MPROTECT, unix.SYS_MREMAP, unix.SYS_MADVISE, unix.SYS_MSYNC, unix.SYS_MINCORE,
			unix.SYS_MLOCK, unix.SYS_MLOCK2, unix.SYS_MUNLOCK, unix.SYS_MLOCKALL, unix.SYS_MUNLOCKALL, unix.SYS_MEMBARRIER, unix.SYS_MSEAL,
			unix.SYS_MAP_SHADOW_STACK}, ok: true, why: "its own memory"},
		{calls: calls{unix.SYS_MMAP}, ok: true, args: []check{{arg: 3, mask: unix.MAP_ANONYMOUS | mapType, not: true, in: []uint32{sharedAnonymous}},
			{arg: 3, mask: unix.MAP_HUGETLB, in: []uint32{0}}}, why: "memory that a supervisor sees"},
		{calls: calls{unix.SYS_MEMFD_CREATE, unix.SYS_MEMFD_SECRET}, errno: unix.ENOSYS, why: "memory that no supervisor sees, and programs in it"},
	}
}

func fileRules(t *terms) []rule {
	return []rule{
		{calls: calls{unix.SYS_READ, unix.SYS_WRITE, unix.SYS_READV, unix.SYS_WRITEV, unix.SYS_PREAD64, unix.SYS_PWRITE64, unix.SYS_PREADV,
			unix.SYS_PWRITEV, unix.SYS_PREADV2, unix.SYS_PWRITEV2, unix.SYS_LSEEK, unix.SYS_CLOSE, unix.SYS_CLOSE_RANGE, unix.SYS_DUP, unix.SYS_DUP3,
			unix.SYS_FSYNC, unix.SYS_FDATASYNC, unix.SYS_FALLOCATE, unix.SYS_FTRUNCATE, unix.SYS_FADVISE64, unix.SYS_READAHEAD,
			unix.SYS_SYNC_FILE_RANGE, unix.SYS_SENDFILE, unix.SYS_COPY_FILE_RANGE, unix.SYS_SPLICE, unix.SYS_TEE, unix.SYS_FLOCK, unix.SYS_PIPE2,
			unix.SYS_EVENTFD2}, ok: true, why: "what it has open"},
		{calls: calls{unix.SYS_FSTAT, unix.SYS_NEWFSTATAT, unix.SYS_STATX, unix.SYS_STATFS, unix.SYS_FSTATFS, unix.SYS_FACCESSAT, unix.SYS_FACCESSAT2,
			unix.SYS_READLINKAT, unix.SYS_GETDENTS64, unix.SYS_GETCWD, unix.SYS_CHDIR, unix.SYS_FCHDIR, unix.SYS_UMASK, unix.SYS_GETXATTR,
			unix.SYS_LGETXATTR, unix.SYS_FGETXATTR, unix.SYS_LISTXATTR, unix.SYS_LLISTXATTR, unix.SYS_FLISTXATTR}, ok: true, why: "looking at files"},
		{calls: calls{unix.SYS_OPENAT}, ok: true, args: t.openCheck(2), why: "Landlock and the root directory say which"},
		{calls: calls{unix.SYS_OPENAT2}, ok: t.truncates, errno: unix.ENOSYS, why: "its flags are in memory, where a filter can not look"},
		{calls: calls{unix.SYS_MKDIRAT, unix.SYS_MKNODAT, unix.SYS_UNLINKAT, unix.SYS_LINKAT, unix.SYS_SYMLINKAT, unix.SYS_RENAMEAT2}, ok: true,
			why: "Landlock and the root directory say where"},
		{calls: calls{unix.SYS_TRUNCATE}, ok: t.truncates, why: "early versions of Landlock do not know it"},
		{calls: calls{unix.SYS_FCHMOD, unix.SYS_FCHMODAT, unix.SYS_FCHMODAT2, unix.SYS_FCHOWN, unix.SYS_FCHOWNAT, unix.SYS_UTIMENSAT, unix.SYS_SETXATTR,
			unix.SYS_LSETXATTR, unix.SYS_FSETXATTR, unix.SYS_SETXATTRAT, unix.SYS_REMOVEXATTR, unix.SYS_LREMOVEXATTR, unix.SYS_FREMOVEXATTR,
			unix.SYS_REMOVEXATTRAT, unix.SYS_FILE_SETATTR}, ok: t.rooted, why: "Landlock does not know them"},
		{calls: calls{unix.SYS_FCNTL}, ok: true, args: []check{{arg: 1, in: []uint32{unix.F_DUPFD, unix.F_DUPFD_CLOEXEC, unix.F_GETFD, unix.F_SETFD, unix.F_GETFL,
			unix.F_SETFL, unix.F_GETLK, unix.F_SETLK, unix.F_SETLKW, unix.F_OFD_GETLK, unix.F_OFD_SETLK, unix.F_OFD_SETLKW, unix.F_GETPIPE_SZ,
			unix.F_SETPIPE_SZ}}}, why: "F_SETOWN and F_SETSIG send any signal to any process"},
		{calls: calls{unix.SYS_IOCTL}, ok: true, args: []check{{arg: 1, in: []uint32{unix.TIOCINQ, fionbio, fioclex, fionclex, unix.TCGETS,
			unix.TCGETS2, unix.TIOCGWINSZ, unix.TIOCGPGRP}}}, errno: unix.ENOTTY, why: "not TIOCSTI, FIOSETOWN, FS_IOC_SETFLAGS and the like"},
		{calls: calls{unix.SYS_EPOLL_CREATE1, unix.SYS_EPOLL_CTL, unix.SYS_EPOLL_PWAIT, unix.SYS_EPOLL_PWAIT2, unix.SYS_PPOLL, unix.SYS_PSELECT6},
			ok: true, why: "waiting for what it has open"},
		{calls: calls{unix.SYS_SOCKET, unix.SYS_SOCKETPAIR}, ok: true, args: t.sockets(), why: "a plugin listens on a Unix stream socket"},
		{calls: calls{unix.SYS_CONNECT}, ok: t.network, why: "Unix sockets of others"},
		{calls: calls{unix.SYS_BIND, unix.SYS_LISTEN, unix.SYS_ACCEPT, unix.SYS_ACCEPT4, unix.SYS_GETSOCKNAME, unix.SYS_GETPEERNAME, unix.SYS_SENDTO,
			unix.SYS_SENDMSG, unix.SYS_SENDMMSG, unix.SYS_RECVFROM, unix.SYS_RECVMSG, unix.SYS_RECVMMSG, unix.SYS_SHUTDOWN, unix.SYS_SETSOCKOPT,
			unix.SYS_GETSOCKOPT}, ok: true, why: "the sockets that it could make"},
	}
}

func processRules(t *terms) []rule {
	return []rule{
		{calls: calls{unix.SYS_EXIT, unix.SYS_EXIT_GROUP, unix.SYS_WAIT4, unix.SYS_WAITID, unix.SYS_SET_TID_ADDRESS, unix.SYS_SET_ROBUST_LIST, unix.SYS_RSEQ,
			unix.SYS_RESTART_SYSCALL, unix.SYS_SCHED_YIELD, unix.SYS_GETPID, unix.SYS_GETPPID, unix.SYS_GETTID, unix.SYS_GETPGID, unix.SYS_GETSID,
			unix.SYS_SETPGID, unix.SYS_SETSID, unix.SYS_GETUID, unix.SYS_GETEUID, unix.SYS_GETGID, unix.SYS_GETEGID, unix.SYS_GETRESUID, unix.SYS_GETRESGID,
			unix.SYS_GETGROUPS, unix.SYS_CAPGET}, ok: true, why: "its own processes"},
		{calls: calls{unix.SYS_CLONE}, ok: true, args: []check{{arg: 0, mask: namespaceFlags, in: []uint32{0}}},
			why: "threads and copies of itself, in no namespace in which it would have capabilities"},
		{calls: calls{unix.SYS_CLONE3}, errno: unix.ENOSYS, why: "its flags are in memory; libraries use clone then"},
		{calls: calls{unix.SYS_EXECVE, unix.SYS_EXECVEAT}, ok: true, watch: t.watched && !t.execute, why: "the program itself begins with one; then there are no more"},
		{calls: calls{unix.SYS_PRLIMIT64}, ok: true, args: []check{itself(0)}, why: "limits of others kill and blind them; its own are bounded"},
		{calls: calls{unix.SYS_GETRLIMIT, unix.SYS_SETRLIMIT, unix.SYS_GETRUSAGE, unix.SYS_TIMES, unix.SYS_SYSINFO, unix.SYS_UNAME, unix.SYS_GETCPU,
			unix.SYS_GETRANDOM}, ok: true, why: "its own limits and use, and the system's names"},
		{calls: calls{unix.SYS_SCHED_GETAFFINITY, unix.SYS_SCHED_GETATTR, unix.SYS_SCHED_GETPARAM, unix.SYS_SCHED_GETSCHEDULER,
			unix.SYS_SCHED_GET_PRIORITY_MAX, unix.SYS_SCHED_GET_PRIORITY_MIN, unix.SYS_SCHED_RR_GET_INTERVAL, unix.SYS_GETPRIORITY, unix.SYS_IOPRIO_GET},
			ok: true, why: "looking at priorities"},
		{calls: calls{unix.SYS_SCHED_SETAFFINITY, unix.SYS_SCHED_SETATTR, unix.SYS_SCHED_SETPARAM, unix.SYS_SCHED_SETSCHEDULER}, ok: true,
			args: []check{itself(0)}, why: "priorities and processors of others"},
		{calls: calls{unix.SYS_SETPRIORITY}, ok: true, args: []check{{arg: 0, in: []uint32{unix.PRIO_PROCESS}}, itself(1)}, why: "as above"},
		{calls: calls{unix.SYS_KILL, unix.SYS_TGKILL, unix.SYS_RT_SIGQUEUEINFO, unix.SYS_RT_TGSIGQUEUEINFO}, ok: true, args: t.targets(),
			why: "signals to itself, or to all inside if they reach no other"},
		{calls: calls{unix.SYS_TKILL, unix.SYS_PIDFD_OPEN, unix.SYS_PIDFD_SEND_SIGNAL}, ok: t.inside, why: "they do not say whose thread, or by a descriptor"},
		{calls: calls{unix.SYS_RT_SIGACTION, unix.SYS_RT_SIGPROCMASK, unix.SYS_RT_SIGRETURN, unix.SYS_RT_SIGPENDING, unix.SYS_RT_SIGSUSPEND,
			unix.SYS_RT_SIGTIMEDWAIT, unix.SYS_SIGALTSTACK, unix.SYS_SIGNALFD4}, ok: true, why: "taking signals"},
		{calls: calls{unix.SYS_FUTEX, unix.SYS_FUTEX_WAITV, unix.SYS_FUTEX_WAIT, unix.SYS_FUTEX_WAKE, unix.SYS_FUTEX_REQUEUE}, ok: true, why: "locks"},
		{calls: calls{unix.SYS_NANOSLEEP, unix.SYS_CLOCK_NANOSLEEP, unix.SYS_CLOCK_GETTIME, unix.SYS_CLOCK_GETRES, unix.SYS_GETTIMEOFDAY,
			unix.SYS_GETITIMER, unix.SYS_SETITIMER, unix.SYS_TIMER_CREATE, unix.SYS_TIMER_SETTIME, unix.SYS_TIMER_GETTIME, unix.SYS_TIMER_GETOVERRUN,
			unix.SYS_TIMER_DELETE, unix.SYS_TIMERFD_CREATE, unix.SYS_TIMERFD_SETTIME, unix.SYS_TIMERFD_GETTIME}, ok: true, why: "clocks and timers"},
		{calls: calls{unix.SYS_PRCTL}, ok: true, args: []check{{arg: 0, in: []uint32{unix.PR_SET_NAME, unix.PR_GET_NAME, unix.PR_SET_PDEATHSIG,
			unix.PR_GET_PDEATHSIG, unix.PR_SET_VMA, unix.PR_GET_DUMPABLE, unix.PR_CAPBSET_READ, unix.PR_SET_NO_NEW_PRIVS, unix.PR_GET_NO_NEW_PRIVS,
			unix.PR_SET_TIMERSLACK, unix.PR_GET_TIMERSLACK, unix.PR_SET_THP_DISABLE, unix.PR_GET_THP_DISABLE, unix.PR_GET_SECCOMP}}},
			errno: unix.EINVAL, why: "not PR_SET_DUMPABLE, PR_SET_MM, PR_SET_SECCOMP and the like"},
	}
}

// forbidden are calls that reach others or the system, and that programs might try: they get EPERM and not ENOSYS, so that the answer
// says why.
func forbidden() []rule {
	return []rule{
		{calls: calls{unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_PIDFD_GETFD, unix.SYS_KCMP,
			unix.SYS_PROCESS_MADVISE, unix.SYS_PROCESS_MRELEASE, unix.SYS_MIGRATE_PAGES, unix.SYS_MOVE_PAGES, unix.SYS_GET_ROBUST_LIST, unix.SYS_IOPRIO_SET},
			why: "other processes"},
		{calls: calls{unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY}, why: "keys of the user"},
		{calls: calls{unix.SYS_SHMGET, unix.SYS_SHMAT, unix.SYS_SHMDT, unix.SYS_SHMCTL, unix.SYS_SEMGET, unix.SYS_SEMOP, unix.SYS_SEMTIMEDOP,
			unix.SYS_SEMCTL, unix.SYS_MSGGET, unix.SYS_MSGSND, unix.SYS_MSGRCV, unix.SYS_MSGCTL, unix.SYS_MQ_OPEN, unix.SYS_MQ_UNLINK,
			unix.SYS_MQ_TIMEDSEND, unix.SYS_MQ_TIMEDRECEIVE, unix.SYS_MQ_NOTIFY, unix.SYS_MQ_GETSETATTR}, why: "memory, semaphores and queues of others"},
		{calls: calls{unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER}, why: "it makes calls that no filter sees"},
		{calls: calls{unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD, unix.SYS_SECCOMP, unix.SYS_PERSONALITY, unix.SYS_FANOTIFY_INIT,
			unix.SYS_FANOTIFY_MARK, unix.SYS_SYSLOG, unix.SYS_LOOKUP_DCOOKIE}, why: "the kernel's inside"},
		{calls: calls{unix.SYS_UNSHARE, unix.SYS_SETNS, unix.SYS_CHROOT, unix.SYS_PIVOT_ROOT, unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_MOVE_MOUNT,
			unix.SYS_OPEN_TREE, unix.SYS_OPEN_TREE_ATTR, unix.SYS_FSOPEN, unix.SYS_FSCONFIG, unix.SYS_FSMOUNT, unix.SYS_FSPICK, unix.SYS_MOUNT_SETATTR,
			unix.SYS_NAME_TO_HANDLE_AT, unix.SYS_OPEN_BY_HANDLE_AT, unix.SYS_QUOTACTL, unix.SYS_QUOTACTL_FD}, why: "namespaces and mounts"},
		{calls: calls{unix.SYS_CAPSET, unix.SYS_SETUID, unix.SYS_SETGID, unix.SYS_SETREUID, unix.SYS_SETREGID, unix.SYS_SETRESUID, unix.SYS_SETRESGID,
			unix.SYS_SETFSUID, unix.SYS_SETFSGID, unix.SYS_SETGROUPS}, why: "being another"},
		{calls: calls{unix.SYS_REBOOT, unix.SYS_KEXEC_LOAD, unix.SYS_KEXEC_FILE_LOAD, unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE,
			unix.SYS_SWAPON, unix.SYS_SWAPOFF, unix.SYS_ACCT, unix.SYS_VHANGUP, unix.SYS_SETHOSTNAME, unix.SYS_SETDOMAINNAME, unix.SYS_SETTIMEOFDAY,
			unix.SYS_CLOCK_SETTIME, unix.SYS_ADJTIMEX, unix.SYS_CLOCK_ADJTIME}, why: "the machine"},
	}
}
