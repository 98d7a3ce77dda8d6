package diag

import (
	"errors"
	"fmt"
	"io/fs"
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
