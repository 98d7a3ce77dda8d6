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

// Codes of errors that are about no place in a graph, and have no code of their own. docs/errors.md lists them.
const (
	codeUsage   = "TAP0865" // of the command line
	CodeUnknown = "TAP0866" // of the command line: a name that is not known; also where a parser finds it
	codeFault   = "TAP0867" // of tapc, a plugin or the machine
	codeInput   = "TAP0868" // of a file or a value as a whole
)

// StatusError is an error that decides the exit status. Code is that of a diagnostic made of it where Err has none; "" is that of the status.
type StatusError struct {
	Status int
	Err    error
	Code   string
}

// codeOf gives the code of an error that is no diagnostic.
func codeOf(err error) string {
	var s *StatusError
	if errors.As(err, &s) && s.Code != "" {
		return s.Code
	}
	return map[int]string{ExitInput: codeInput, ExitUsage: codeUsage, ExitInternal: codeFault}[ExitStatus(err)]
}

// Error gives the message of the wrapped error.
func (e *StatusError) Error() string { return e.Err.Error() }

// Unwrap gives the wrapped error.
func (e *StatusError) Unwrap() error { return e.Err }

// Usage makes an error of the command line.
func Usage(format string, args ...any) error {
	return &StatusError{Status: ExitUsage, Err: fmt.Errorf(format, args...)}
}

// NotKnown makes an error of the command line about a name that is not known.
func NotKnown(format string, args ...any) error {
	return &StatusError{Status: ExitUsage, Err: fmt.Errorf(format, args...), Code: CodeUnknown}
}

// Fault makes an error of tapc, a plugin or the machine, not of the user's graph.
func Fault(format string, args ...any) error {
	return &StatusError{Status: ExitInternal, Err: fmt.Errorf(format, args...)}
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
