package supervise

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"tensortapestry.org/tapc/plugins/confine"
)

// supervise does a supervisor's work and ends the process.
func supervise() {
	runtime.LockOSThread() // the plugin dies with the thread that starts it, so that one must stay
	s := &supervisor{out: linkOf(statusFD), folder: -1}
	control := bufio.NewReader(os.NewFile(controlFD, "control"))
	err := confine.SealDescriptors(controlFD)
	if err == nil {
		err = s.prepare(control)
	}
	if err != nil {
		s.refuse(state{Error: fmt.Sprintf("the supervisor can not work: %v", err)})
	}
	first := s.start()
	if first.Error != "" {
		s.refuse(first)
	}
	s.out.send(first, s.rights()...)
	go func() {
		io.Copy(io.Discard, control) // ends when tapc closes it or dies
		s.kill("")
	}()
	go s.watch()
	end := s.reap()
	if s.group.starved() && end.Reason == "" {
		end.Reason = "memory"
	}
	s.group.remove()
	os.RemoveAll(s.order.Task.Folder) // tapc does so too, if it can still do anything
	s.out.send(state{End: &end})
	os.Exit(0)
}

type supervisor struct {
	order   order
	out     *link
	pid     int // of the plugin
	root    int // this process, as /proc names it
	folder  int // the plugin's folder if it is in memory, or -1
	group   *cgroup
	killing atomic.Bool
	reason  atomic.Pointer[string]
}

// prepare reads the order and makes this process one that everything which descends from it comes back to.
func (s *supervisor) prepare(control *bufio.Reader) error {
	line, err := control.ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &s.order)
	}
	if err == nil {
		err = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
	}
	if err == nil {
		err = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) // nothing of the user's reads or writes this process
	}
	if err != nil {
		return err
	}
	self, err := os.Readlink("/proc/self") // another number than this process's own where it has a PID namespace
	if err == nil {
		s.root, err = strconv.Atoi(self)
	}
	return err
}

// rights are the descriptors that tapc gets: the folder, if only that names it.
func (s *supervisor) rights() []int {
	if s.folder < 0 {
		return nil
	}
	return []int{s.folder}
}

// refuse reports that the plugin does not run, and ends the process.
func (s *supervisor) refuse(e state) {
	s.group.remove()
	s.out.send(e)
	os.Exit(0)
}

// start starts the plugin, by way of a launcher that gets the order, and gives what tapc is to know of it.
func (s *supervisor) start() (first state) {
	fail := func(err error) state { return state{Error: err.Error()} }
	orderOut, orderIn, err := os.Pipe()
	if err != nil {
		return fail(err)
	}
	report, theirs, err := linkPair()
	if err != nil {
		return fail(err)
	}
	if err := s.fork([]uintptr{0, 1, 2, exeFD, uintptr(theirs.fd), orderOut.Fd()}); err != nil {
		return fail(err)
	}
	closeAll([]*os.File{theirs.file, orderOut})
	if err := closeStandard(); err != nil {
		return fail(err)
	}
	json.NewEncoder(orderIn).Encode(s.order) // if the launcher is gone, the report says so
	orderIn.Close()
	first, fds, err := report.receive()
	if err != nil {
		return fail(fmt.Errorf("the launcher ended before its work was done: %w", err))
	}
	if first.Confine.Rooted {
		s.folder, fds = fds[0], fds[1:]
	}
	if first.Confine.Once {
		go confine.WatchPrograms(fds[0], report.fd)
	}
	if failure, _, err := report.receive(); err == nil { // the connection ends when the launcher has become the plugin
		return failure
	}
	first.Confine.Supervised, first.Confine.Sealed, first.Confine.Cgroup = true, true, s.group != nil
	return first
}

// fork starts the launcher, in a control group and with the namespaces that are to be had.
func (s *supervisor) fork(files []uintptr) (err error) {
	t := &s.order.Task
	if !t.Off.Has(confine.Cgroup) {
		s.group, _ = newCgroup(cgroupRoot, filepath.Base(t.Folder), cgroupNeeds, t.Limits.Memory, s.order.Processes) // without, this process looks
	}
	if s.group != nil {
		if err = s.forkInto(s.group, files); err == nil {
			return nil
		}
		s.group.remove()
		s.group = nil
	}
	return s.forkInto(nil, files)
}

// forkInto starts the launcher in a group; nil is that of this process.
func (s *supervisor) forkInto(group *cgroup, files []uintptr) (err error) {
	t := &s.order.Task
	attempts := []confine.Namespaces{{Mount: true, IPC: true, Network: !t.Network}, {}}
	if t.Off.Has(confine.Spaces) {
		attempts = attempts[1:]
	}
	outer := t.Namespaces
	for _, inner := range attempts {
		t.Namespaces = confine.Namespaces{User: outer.User, PID: outer.PID, Mount: inner.Mount, Network: inner.Network, IPC: inner.IPC}
		s.pid, err = syscall.ForkExec("/proc/self/exe", []string{launcherName}, &syscall.ProcAttr{
			Env: ownEnvironment, Files: files,
			// A session of its own, so that it can not join a process group of the user's and signal that.
			Sys: group.into(&syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL, Cloneflags: confine.CloneFlags(inner)}),
		})
		if err == nil {
			return nil
		}
	}
	return err
}

// closeStandard lets go of the plugin's three pipes, so that their ends show when the plugin closes them.
func closeStandard() error {
	null, err := syscall.Open("/dev/null", syscall.O_RDWR|syscall.O_CLOEXEC, 0)
	for fd := 0; fd < 3 && err == nil; fd++ {
		err = unix.Dup3(null, fd, unix.O_CLOEXEC)
	}
	return err
}

// reap waits for everything that descends from this process, and tells how the plugin ended.
func (s *supervisor) reap() Outcome {
	end := Outcome{}
	for {
		var ws syscall.WaitStatus
		var use syscall.Rusage
		pid, err := syscall.Wait4(-1, &ws, 0, &use)
		switch {
		case err == syscall.EINTR:
			continue
		case err != nil: // ECHILD: nothing is left
			if r := s.reason.Load(); r != nil {
				end.Reason = *r
			}
			return end
		case pid == s.pid:
			end.Exited, end.Code = ws.Exited(), max(ws.ExitStatus(), 0)
			if ws.Signaled() {
				end.Signal = int(ws.Signal())
			}
			end.RSS = use.Maxrss << 10
			end.CPU = time.Duration(use.Utime.Nano() + use.Stime.Nano())
			go s.kill("")
		}
	}
}

// kill kills everything that descends from this process, again and again until it ends. Once is enough for what is there, but
// a process that was starting another leaves that one to this process.
func (s *supervisor) kill(reason string) {
	if reason != "" {
		s.reason.CompareAndSwap(nil, &reason)
	}
	if !s.killing.CompareAndSwap(false, true) {
		return
	}
	for wait := time.Millisecond; ; wait = min(2*wait, 50*time.Millisecond) {
		s.killOnce()
		time.Sleep(wait)
	}
}

// killOnce kills what is there now.
func (s *supervisor) killOnce() {
	if s.order.Task.Namespaces.PID {
		syscall.Kill(-1, syscall.SIGKILL) // all but this process, which is the namespace's first
		return
	}
	syscall.Kill(-s.pid, syscall.SIGKILL)
	for _, p := range processes() {
		if p.parent == s.root {
			syscall.Kill(p.pid, syscall.SIGKILL)
		}
	}
}
