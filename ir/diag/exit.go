package diag

import (
	"errors"
	"fmt"
	"syscall"
)

// Exit statuses of tapc.
const (
	ExitOK       = 0 // done
	ExitInput    = 1 // the input is at fault
	ExitUsage    = 2 // the command line is at fault
	ExitInternal = 3 // tapc, a plugin or the machine is at fault
)

// StatusError is an error that decides the exit status.
type StatusError struct {
	Status int
	Err    error
}

// Error gives the message of the wrapped error.
func (e *StatusError) Error() string { return e.Err.Error() }

// Unwrap gives the wrapped error.
func (e *StatusError) Unwrap() error { return e.Err }

// Usage makes an error of the command line.
func Usage(format string, args ...any) error {
	return &StatusError{ExitUsage, fmt.Errorf(format, args...)}
}

// Fault makes an error of tapc, a plugin or the machine, not of the user's graph.
func Fault(format string, args ...any) error {
	return &StatusError{ExitInternal, fmt.Errorf(format, args...)}
}

// ExitStatus tells the exit status for an error: 0 for nil, ExitInternal if a disk is full, the status of a StatusError in the chain, otherwise ExitInput.
func ExitStatus(err error) int {
	if err == nil {
		return ExitOK
	}
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return ExitInternal
	}
	var s *StatusError
	if errors.As(err, &s) {
		return s.Status
	}
	return ExitInput
}
