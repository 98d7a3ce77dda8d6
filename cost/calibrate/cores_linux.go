package calibrate

import (
	"os/exec"
	"runtime"
	"slices"

	"golang.org/x/sys/unix"
)

// cores lists those that programs may use, the last first: the first serves devices, too.
func cores() (list []int) {
	var set unix.CPUSet
	if unix.SchedGetaffinity(0, &set) != nil {
		return nil
	}
	for i := range len(set) * 64 {
		if set.IsSet(i) {
			list = append(list, i)
		}
	}
	slices.Reverse(list)
	return list
}

// startOn starts a program that may use some cores alone, any if they are none. A process may use the cores of the thread that starts it.
func startOn(c *exec.Cmd, cores []int) error {
	if len(cores) == 0 {
		return c.Start()
	}
	runtime.LockOSThread()
	var before, set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &before); err != nil {
		runtime.UnlockOSThread()
		return c.Start()
	}
	for _, i := range cores {
		set.Set(i)
	}
	_ = unix.SchedSetaffinity(0, &set) // a core that was taken away meanwhile is no reason not to measure
	err := c.Start()
	if unix.SchedSetaffinity(0, &before) == nil { // otherwise the thread ends with this goroutine
		runtime.UnlockOSThread()
	}
	return err
}
