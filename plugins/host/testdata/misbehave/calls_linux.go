package main

import (
	"fmt"
	"syscall"
)

// pairs makes a pair of stream sockets, which is allowed, and one of datagram sockets, from which any socket can be reached.
func pairs() error {
	if _, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0); err != nil {
		return err
	}
	return mustFail(syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_DGRAM|syscall.SOCK_CLOEXEC, 0))
}

// keys tries system calls that reach what other processes keep in the kernel.
func keys() error {
	for _, call := range []uintptr{syscall.SYS_KEYCTL, syscall.SYS_SHMGET, syscall.SYS_MQ_OPEN, syscall.SYS_PTRACE} {
		if _, _, errno := syscall.Syscall(call, 0, 0, 0); errno != syscall.ENOSYS {
			return fmt.Errorf("system call %d gives %v", call, errno)
		}
	}
	return nil
}
