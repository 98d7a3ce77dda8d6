package diag

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"
	"testing"
)

func TestExitStatus(t *testing.T) {
	full := &fs.PathError{Op: "write", Path: "y.npy", Err: syscall.ENOSPC}
	for _, c := range []struct {
		err  error
		want int
	}{
		{nil, ExitOK},
		{errors.New("a graph"), ExitInput},
		{Usage("a flag"), ExitUsage},
		{fmt.Errorf("a plugin: %w", Fault("it ended")), ExitInternal},
		{fmt.Errorf("output y: %w", full), ExitInternal}, // a full disk is the machine's
		{Usage("--output: %w", full), ExitInternal},
		{&fs.PathError{Op: "open", Path: "y.npy", Err: syscall.ENOENT}, ExitInput},
	} {
		if got := ExitStatus(c.err); got != c.want {
			t.Errorf("%v: status %d, want %d", c.err, got, c.want)
		}
	}
}

// TestEveryErrorHasACode: what has no code of its own gets that of who is at fault.
func TestEveryErrorHasACode(t *testing.T) {
	place := Location{File: "--passes", Line: 1, Column: 1}
	for _, c := range []struct {
		err  error
		want string
	}{
		{Usage("two files"), codeUsage},
		{fmt.Errorf("--dim: %w", Usage("a size")), codeUsage},
		{Unknown("pass", "xyzzy", nil), CodeUnknown},
		{fmt.Errorf("a flag: %w", NotKnown("unknown flag --x")), CodeUnknown},
		{Fault("it ended"), codeFault},
		{&fs.PathError{Op: "write", Path: "y.npy", Err: syscall.ENOSPC}, codeFault},
		{errors.New("no graph"), codeInput},
		{&StatusError{Status: ExitUsage, Err: List{Errorf("", "", place, "no such pass")}}, codeUsage},
		{&StatusError{Status: ExitUsage, Err: Errorf("TAP0101", "", place, "a node")}, "TAP0101"}, // its own
	} {
		if list := Reported(c.err); len(list) != 1 || list[0].Code != c.want {
			t.Errorf("%v: found %v, want the code %s", c.err, list, c.want)
		}
	}
	both := List{{Message: "one"}, {Severity: Remark, Message: "two"}}
	if list := Reported(both); list[0].Code != codeInput || list[1].Code != "" || both[0].Code != "" {
		t.Errorf("%v of %v", list, both)
	}
}

// TestCodeIsInTheFirstLine: what others say, as a C compiler, is behind it.
func TestCodeIsInTheFirstLine(t *testing.T) {
	var b strings.Builder
	if err := WriteText(&b, Reported(Fault("cc failed:\na.c:1: error\n")), nil); err != nil || b.String() != "error: cc failed: ["+codeFault+"]\na.c:1: error\n" {
		t.Errorf("%q, %v", b.String(), err)
	}
}
