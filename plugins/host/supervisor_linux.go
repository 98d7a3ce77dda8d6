package host

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// supervise does a supervisor's work and ends the process.
func supervise() {
	runtime.LockOSThread() // the plugin dies with the thread that starts it, so that one must stay
	s := &supervisor{out: json.NewEncoder(os.NewFile(statusFD, "status"))}
	for _, fd := range []int{controlFD, statusFD, exeFD} {
		unix.CloseOnExec(fd)
	}
	control := bufio.NewReader(os.NewFile(controlFD, "control"))
	line, err := control.ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &s.order)
	}
	if err == nil {
		err = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
	}
	if err != nil {
		s.refuse(state{Error: fmt.Sprintf("the supervisor can not work: %v", err)})
	}
	first := s.start(line)
	if first.Error != "" {
		s.refuse(first)
	}
	s.out.Encode(first)
	go func() {
		io.Copy(io.Discard, control) // ends when tapc closes it or dies
		s.kill("")
	}()
	go s.watch()
	end := s.reap()
	os.RemoveAll(s.order.Dir) // tapc does so too, if it can still do anything
	s.out.Encode(state{End: &end})
	os.Exit(0)
}

type supervisor struct {
	order   order
	out     *json.Encoder
	pid     int
	killing atomic.Bool
	reason  atomic.Pointer[string]
}

// refuse reports that the plugin does not run, and ends the process.
func (s *supervisor) refuse(e state) {
	s.out.Encode(e)
	os.Exit(0)
}

// start starts the plugin, by way of a launcher that gets the order, and gives what tapc is to know of it.
func (s *supervisor) start(order []byte) (first state) {
	fail := func(err error) state { return state{Error: err.Error()} }
	orderOut, orderIn, err := os.Pipe()
	if err != nil {
		return fail(err)
	}
	reportOut, reportIn, err := os.Pipe()
	if err != nil {
		return fail(err)
	}
	s.pid, err = syscall.ForkExec("/proc/self/exe", []string{launcherName}, &syscall.ProcAttr{
		Env: []string{}, Files: []uintptr{0, 1, 2, exeFD, reportIn.Fd(), orderOut.Fd()},
		Sys: &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL},
	})
	if err != nil {
		return fail(err)
	}
	closeAll([]*os.File{reportIn, orderOut})
	if err := closeStandard(); err != nil {
		return fail(err)
	}
	orderIn.Write(order) // if the launcher is gone, the report says so
	orderIn.Close()
	reports := json.NewDecoder(reportOut)
	if err := reports.Decode(&first); err != nil {
		return fail(fmt.Errorf("the launcher ended before its work was done: %w", err))
	}
	var failure state
	if reports.Decode(&failure) == nil { // the pipe closes when the launcher has become the plugin
		return failure
	}
	first.Confine.Supervised = true
	return first
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
func (s *supervisor) reap() outcome {
	end := outcome{}
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
		syscall.Kill(-s.pid, syscall.SIGKILL)
		for _, p := range processes() {
			if p.parent == os.Getpid() {
				syscall.Kill(p.pid, syscall.SIGKILL)
			}
		}
		time.Sleep(wait)
	}
}

// The supervisor's looks at what the plugin uses: often at the plugin, and every treeTurn-th time at all that descends from it.
const (
	lookInterval = 100 * time.Millisecond
	treeTurn     = 5
)

// watch kills everything when limits are passed.
func (s *supervisor) watch() {
	page := int64(os.Getpagesize())
	for turn := 0; ; turn++ {
		time.Sleep(lookInterval)
		use := resident(s.pid) * page
		if turn%treeTurn == 0 {
			pids := tree(os.Getpid(), processes())
			use = 0
			for _, p := range pids {
				use += resident(p) * page
			}
			if len(pids) > s.order.Limits.Processes {
				s.kill("processes")
			}
		}
		if use > s.order.Limits.Memory {
			s.kill("memory")
		}
	}
}

// process is one entry of /proc.
type process struct{ pid, parent int }

// processes lists the processes of the system.
func processes() []process {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	var list []process
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		text, err := os.ReadFile("/proc/" + name + "/stat")
		if err != nil {
			continue
		}
		// pid (name) state parent …; the name may hold anything, so the last parenthesis counts
		fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
		if len(fields) > 1 {
			parent, _ := strconv.Atoi(fields[1])
			list = append(list, process{pid, parent})
		}
	}
	return list
}

// tree gives everything that descends from a process.
func tree(root int, list []process) []int {
	children := map[int][]int{}
	for _, p := range list {
		children[p.parent] = append(children[p.parent], p.pid)
	}
	all := []int{}
	for next := children[root]; len(next) > 0; {
		all = append(all, next...)
		var deeper []int
		for _, p := range next {
			deeper = append(deeper, children[p]...)
		}
		next = deeper
	}
	return all
}

// resident gives the resident pages of a process, 0 if it is gone.
func resident(pid int) int64 {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/statm")
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(text))
	if len(fields) < 2 {
		return 0
	}
	n, _ := strconv.ParseInt(fields[1], 10, 64)
	return n
}
