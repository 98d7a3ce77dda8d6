package host

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
	report := json.NewEncoder(os.NewFile(launchReportFD, "report"))
	in := os.NewFile(launchOrderFD, "order")
	unix.CloseOnExec(launchOrderFD)
	var o order
	err := json.NewDecoder(in).Decode(&o)
	if err == nil {
		err = os.Chdir(o.Dir)
	}
	var c Confinement
	if err == nil {
		if c, err = confine(&o); err != nil {
			err = fmt.Errorf("confinement: %w", err)
		}
	}
	if err == nil {
		report.Encode(state{Confine: c})
		// The descriptor that tapc opened is run, so that what runs is what was checked. It stays open, for the interpreter
		// of a script reads it from there.
		err = syscall.Exec(fmt.Sprintf("/proc/self/fd/%d", launchExeFD), []string{o.Path}, o.Env)
	} else {
		report.Encode(state{})
	}
	failure := state{Error: err.Error()}
	var errno syscall.Errno
	if errors.As(err, &errno) {
		failure.Errno = int(errno)
	}
	report.Encode(failure)
	os.Exit(0)
}
