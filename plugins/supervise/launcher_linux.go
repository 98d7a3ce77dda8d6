package supervise

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// launch confines this process and makes it the plugin.
func launch() {
	runtime.LockOSThread() // what confines belongs to a thread until the process becomes another program
	unix.CloseOnExec(launchReportFD)
	report := linkOf(launchReportFD)
	in := os.NewFile(launchOrderFD, "order")
	unix.CloseOnExec(launchOrderFD)
	var o order
	err := json.NewDecoder(in).Decode(&o)
	if err == nil {
		err = o.become(report)
	}
	failure := state{Error: err.Error()}
	var errno syscall.Errno
	if errors.As(err, &errno) {
		failure.Errno = int(errno)
	}
	report.send(failure)
	os.Exit(0)
}

// become makes this process the plugin, and returns if it can not. The report is a state without an error, when only the start of the
// program is left to do, with the folder if it is in memory, and then the listener of the filter if it has one.
func (o *order) become(report *link) error {
	c, err := o.Task.Confine(launchExeFD)
	if err != nil {
		return fmt.Errorf("confinement: %w", err)
	}
	var fds []int
	for _, fd := range []int{c.Folder, c.Listener} {
		if fd >= 0 {
			fds = append(fds, fd)
		}
	}
	if err := report.send(state{Confine: c.State}, fds...); err != nil {
		return err
	}
	if o.Probe {
		os.Exit(0)
	}
	// What tapc opened is run, so that what runs is what was checked. Where it has no name of its own, it stays open for the
	// interpreter of a script, which reads it from there.
	return syscall.Exec(c.Program, []string{o.Task.Path}, o.Env)
}
